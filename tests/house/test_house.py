"""The house stands as it is drawn: contracts, light imports, files that are rooms."""

from __future__ import annotations

import ast
import runpy
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
import rooms

ROOT = Path(__file__).parents[2]
PACKAGES = ("pxp_fsm", "guards", "backends", "proofs")
HOUSE = runpy.run_path(str(ROOT / "benchmarks" / "house.py"))
MODULES = HOUSE["modules"]()
HEAVY = (
    "rdkit",
    "sqlalchemy",
    "alembic",
    "psycopg",
    "pyarrow",
    "networkx",
    "anthropic",
    "openai",
    "httpx2",
    "opentelemetry",
    "jsonschema",
    "wasmtime",
    "rich",
    "numpy",
    "scipy",
    "skimage",
    "matplotlib",
    "jinja2",
    "markupsafe",
    "PIL",
    "flint",
    "stormpy",
    "aalpy",
    "hypothesis",
    "fastapi",
    "uvicorn",
    "inspect_ai",
)


def sources() -> list[Path]:
    return sorted(path for package in PACKAGES for path in (ROOT / package).rglob("*.py"))


def test_no_files_import_each_other_in_a_circle() -> None:
    assert HOUSE["circles"](MODULES) == []


def test_own_modules_are_imported_at_the_top_of_files() -> None:
    assert HOUSE["inner_imports"](MODULES) == []


def test_a_stranger_can_guess_what_is_in_a_module() -> None:
    assert HOUSE["forbidden_names"](MODULES) == []


def test_a_class_name_stands_for_one_class() -> None:
    """The rechecker stands alone, and what begins with _ is its module's own."""
    defined = Counter(
        statement.name
        for module in MODULES.values()
        if not module.path.name.startswith("recheck")
        for statement in module.tree.body
        if isinstance(statement, ast.ClassDef) and not statement.name.startswith("_")
    )
    twice = {name for name, count in defined.items() if count > 1}
    assert twice == set()


def test_the_picture_of_the_rooms_is_that_of_the_contract() -> None:
    assert rooms.PICTURE.read_text("utf-8") == rooms.svg(), "run python benchmarks/rooms.py"
    assert ["guards", "backends", "proofs"] in rooms.layers()


@pytest.mark.parametrize(
    "package",
    [
        "pxp_fsm",
        "guards",
        "backends",
        "proofs",
        "backends.models.registry",
    ],
)
def test_importing_a_room_loads_nothing_heavy(package: str) -> None:
    check_import(package)


def check_import(package: str) -> None:
    """No heavy library is loaded with it."""
    heavy = loaded_by(f"import {package}")
    assert not heavy, f"import {package} loads {', '.join(heavy)}"


@pytest.mark.parametrize("name", ["", "run", "check", "show", "export", "serve"])
def test_the_commands_help_loads_nothing_heavy(name: str) -> None:
    check_help(name)


def check_help(name: str) -> None:
    """No heavy library is loaded to print it."""
    assert not loaded_by(
        "import sys; from pxp_fsm.cli.main import main\n"
        f"try: main([*{name.split()}, '--help'])\nexcept SystemExit: pass"
    )


def loaded_by(code: str) -> list[str]:
    """The heavy libraries that are loaded after `code` has run in a fresh interpreter."""
    probe = f"{code}\nimport sys; print('LOADED', *sorted(sys.modules))"
    done = subprocess.run(
        [sys.executable, "-c", probe], capture_output=True, text=True, check=True, cwd=ROOT
    )
    loaded = done.stdout.rpartition("LOADED")[2].split()
    return [name for name in HEAVY if name in loaded]


def test_nothing_is_evaluated_unpickled_or_imported_by_a_string() -> None:
    banned = ("eval(", "exec(", "pickle", "import_module", "__import__")
    for path in sources():
        text = path.read_text("utf-8")
        found = [word for word in banned if word in text]
        # the names of commands, and those of the package's door, are constants of one table; a
        # machine of the user's own is in the module that he names on the command line
        lazy = path.parts[-2:] in (
            ("pxp_fsm", "__init__.py"),
            ("pxp_fsm", "registry.py"),
            ("pxp_fsm", "lazy.py"),
            ("pxp_fsm", "shadowing.py"),
            ("machines", "cli.py"),
        )
        assert found == (["import_module"] if lazy else []), path
