"""The figures of the house: modules, lines, circles of files, imports inside functions, names.

`python benchmarks/house.py` prints them; `tests/house/test_house.py` holds some of them to their
limits.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import networkx as nx

ROOT = Path(__file__).resolve().parents[1]
FACE = "pxp_fsm"
ROOMS = (FACE, "guards", "backends", "proofs")

FORBIDDEN = frozenset(
    {
        *("asked", "asking", "covering", "fairly", "following", "leaving", "made", "meeting"),
        *("named", "reaching", "said", "saying", "seated", "seating", "showing", "standing"),
        *("stuck", "telling", "told", "watching", "wording", "whatever", "whoever"),
        *("base", "helpers", "manager", "misc", "util", "utils"),
    }
)
"""Words that name no module: a stranger could not guess what is in it."""


@dataclass(frozen=True)
class Module:
    """A file of the product: its dotted name, its text, and what it imports of ours."""

    name: str
    path: Path

    @cached_property
    def text(self) -> str:
        return self.path.read_text("utf-8")

    @cached_property
    def tree(self) -> ast.Module:
        return ast.parse(self.text)

    @property
    def lines(self) -> int:
        """Lines that are neither blank nor a comment."""
        stripped = map(str.strip, self.text.splitlines())
        return sum(bool(line) and not line.startswith("#") for line in stripped)

    @cached_property
    def imports(self) -> list[tuple[ast.ImportFrom, bool]]:
        """Its imports from our own modules, and whether each is at the top of the file.

        Types alone may be imported there under `if TYPE_CHECKING`. Doors name their modules once
        more so: those are left out.
        """
        typing = {
            id(node)
            for block in self.tree.body
            if isinstance(block, ast.If) and ast.unparse(block.test) == "TYPE_CHECKING"
            for node in block.body
        }
        left_out = typing if self.path.name == "__init__.py" else set[int]()
        top = typing | set(map(id, self.tree.body))
        return [
            (node, id(node) in top)
            for node in _statements(self.tree.body)
            if isinstance(node, ast.ImportFrom) and id(node) not in left_out
            if node.module and _is_ours(node.module)
        ]


def _statements(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """Every statement, at whatever depth: expressions, the bulk of a tree, have none within."""
    for statement in body:
        yield statement
        for part in ("body", "orelse", "finalbody"):
            yield from _statements(getattr(statement, part, []))
        for branch in (*getattr(statement, "handlers", ()), *getattr(statement, "cases", ())):
            yield from _statements(branch.body)


def modules(root: Path = ROOT) -> dict[str, Module]:
    """Every module of the product, by its dotted name."""
    by_name = {}
    for room in ROOMS:
        for path in sorted((root / room).rglob("*.py")):
            name = ".".join(path.relative_to(root).with_suffix("").parts).removesuffix(".__init__")
            by_name[name] = Module(name, path)
    return by_name


def circles(by_name: dict[str, Module]) -> list[list[str]]:
    """The groups of files that import each other, at whatever place in the file."""
    graph: nx.DiGraph[str] = nx.DiGraph()
    for module in by_name.values():
        for node, _ in module.imports:
            for target in _targets(node, by_name):
                graph.add_edge(module.name, target)
    loops = [name for name in graph if graph.has_edge(name, name)]
    groups = [sorted(group) for group in nx.strongly_connected_components(graph) if len(group) > 1]
    return sorted(groups) + [[name] for name in sorted(loops)]


def inner_imports(by_name: dict[str, Module]) -> list[str]:
    """Where one of our own modules is imported anywhere but at the top of a file.

    A `__main__` may see to Ctrl-C before it loads anything.
    """
    return [
        f"{module.name}:{node.lineno}"
        for module in by_name.values()
        for node, at_top in module.imports
        if not at_top and not module.name.endswith(".__main__")
    ]


def forbidden_names(by_name: dict[str, Module]) -> list[str]:
    """The modules that a word of `FORBIDDEN` names."""
    return [
        name for name in by_name if not FORBIDDEN.isdisjoint(name.rpartition(".")[2].split("_"))
    ]


def _targets(node: ast.ImportFrom, by_name: dict[str, Module]) -> Iterator[str]:
    for alias in node.names:
        full = f"{node.module}.{alias.name}"
        yield full if full in by_name else str(node.module)


def _is_ours(name: str) -> bool:
    return name.split(".", maxsplit=1)[0] in ROOMS


def main() -> None:
    by_name = modules()
    longest = sorted(by_name.values(), key=lambda module: -module.text.count("\n"))[:5]
    rows = {
        "modules": len(by_name),
        "lines without blanks and comments": sum(module.lines for module in by_name.values()),
        "circles of files": len(circles(by_name)),
        "own imports not at the top": len(inner_imports(by_name)),
        "modules named by a forbidden word": len(forbidden_names(by_name)),
    }
    for title, number in rows.items():
        print(f"{title:<36}{number:>8,}")
    for module in longest:
        print(f"  {module.text.count(chr(10)):>4} lines: {module.name}")
    if "-v" in sys.argv:
        where = [
            *map(", ".join, circles(by_name)),
            *inner_imports(by_name),
            *forbidden_names(by_name),
        ]
        print(*where, sep="\n")


if __name__ == "__main__":
    main()
