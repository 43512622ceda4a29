"""Build the page that checks tables in a browser: `python docs/browser/build.py FOLDER`.

FOLDER then holds all that the page loads: Pyodide and Graphviz from npm, this package without its
plug-ins, and the libraries of its core, as they are installed here, compiled by Pyodide's Python.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from pxp_fsm.artifacts import policy_digest
from pxp_fsm.web.bundles import static

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
PAGE = ("page.css", "page.js", "worker.js")
PYODIDE = (
    "pyodide.mjs",
    "pyodide.asm.mjs",
    "pyodide.asm.wasm",
    "pyodide-lock.json",
    "python_stdlib.zip",
)
LIBRARIES = (
    "attr",
    "attrs",
    "graphviz",
    "jsonschema",
    "jsonschema_specifications",
    "lark",
    "networkx",
    "referencing",
    "six",
    "transitions",
    "typing_extensions",
)
STATIC = ("base.css", "explorer.css", "explorer.js", "icon.svg", "licenses.txt")
EXAMPLES = (
    ("a deal between two", ("own_protocol/buyer.toml", "own_protocol/seller.toml"), ""),
    ("a deal in which both may offer: a bug", ("own_protocol/deal.toml",), "fifo:1"),
    ("two-phase commit", ("two_phase_commit",), ""),
    ("contract net", ("contract_net",), ""),
)
BUILT_IN = ("interact", "pxp", "pxp_k", "pxp_hang_up")


def main(folder: Path) -> None:
    """Write the page into `folder`."""
    subprocess.run(["npm", "ci", "--silent", "--no-audit", "--no-fund"], cwd=HERE, check=True)  # noqa: S607
    modules = HERE / "node_modules"
    (folder / "pyodide").mkdir(parents=True, exist_ok=True)
    for name in PAGE:
        shutil.copy(HERE / name, folder / name)
    for name in PYODIDE:
        shutil.copy(modules / "pyodide" / name, folder / "pyodide" / name)
    # The explorer stands in a frame, to which the policy of the page applies.
    script, style = static("explorer.js"), static("base.css") + static("explorer.css")
    page = (HERE / "index.html").read_text("utf-8")
    policy = {"script": policy_digest(script), "style": policy_digest(style)}
    (folder / "index.html").write_text(page.format_map(policy), "utf-8")
    shutil.copy(modules / "@viz-js" / "viz" / "dist" / "viz.js", folder)
    (folder / "examples.json").write_text(json.dumps([*examples()], ensure_ascii=False), "utf-8")
    with zipfile.ZipFile(folder / "package.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        for name in ("work.py", "rpds.py"):
            archive.write(HERE / name, name)
        for path, name in sources():
            archive.write(path, name)
    # Compiling took as long as importing, in every browser anew.
    command = ["node", "compile.mjs", str((folder / "package.zip").resolve())]
    subprocess.run(command, cwd=HERE, check=True)  # noqa: S603 - the files are ours


def sources() -> Iterator[tuple[Path, str]]:
    """Each file of the package and of its libraries, with its path in the browser."""
    for package in ("pxp_fsm", "proofs", "guards", "backends"):
        for path in sorted((ROOT / package).rglob("*")):
            name = path.relative_to(ROOT)
            inside = name.parts[1:2]
            left_out = inside in (("plugins",), ("pages",)) or "frontend" in name.parts
            asset = path.suffix in (".js", ".css", ".svg", ".txt") and path.name not in STATIC
            if path.is_file() and "__pycache__" not in name.parts and not left_out and not asset:
                yield path, name.as_posix()
    for library in LIBRARIES:
        spec = find_spec(library)
        if spec is None or spec.origin is None:
            raise SystemExit(f"{library} is not installed")
        origin = Path(spec.origin)
        top = origin.parent if origin.name == "__init__.py" else origin
        for path in sorted(top.rglob("*")) if top.is_dir() else [top]:
            left_out = {"__pycache__", "tests", "benchmarks"}.intersection(path.parts)
            if path.is_file() and not left_out:
                yield path, path.relative_to(top.parent).as_posix()


def examples() -> Iterator[dict[str, Any]]:
    """The tables with which a reader can begin."""
    for title, names, channel in EXAMPLES:
        files = dict[str, str]()
        for path in (ROOT / "examples" / name for name in names):
            tables = [path] if path.is_file() else sorted(path.glob("*.toml"))
            files |= {table.name: table.read_text("utf-8") for table in tables}
        yield {"title": title, "files": files, "channel": channel}
    for name in BUILT_IN:
        text = (ROOT / "pxp_fsm" / "automata" / "data" / f"{name}.toml").read_text("utf-8")
        yield {"title": name, "files": {f"{name}.toml": text}, "channel": ""}


if __name__ == "__main__":
    main(Path(sys.argv[1]))
