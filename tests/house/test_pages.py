"""What the pages promise a beginner."""

from __future__ import annotations

import ast
import builtins
import doctest
import importlib
import json
import re
from contextlib import suppress
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]
MADE = (
    "docs/findings.md",
    "docs/findings-odds.md",
    "docs/findings-panels.md",
    "docs/mutants.md",
)
"""Written by a command from a run, as the reference is from the code."""

FENCED = re.compile(r"^(`{3,}|~{3,})(.*?)\n(.*?)^\1[ \t]*$", re.DOTALL | re.MULTILINE)


def pages() -> dict[str, str]:
    """Every page of the site that somebody has written, by its path."""
    found = [*(ROOT / "docs").glob("*.md"), *(ROOT / "examples").glob("*/README.md")]
    texts = {str(path.relative_to(ROOT)): path.read_text("utf-8") for path in found}
    for path in (ROOT / "examples" / "notebooks").glob("*.ipynb"):
        cells = json.loads(path.read_text("utf-8"))["cells"]
        texts[str(path.relative_to(ROOT))] = "\n\n".join(
            "".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown"
        )
    return {name: text for name, text in texts.items() if name not in MADE}


@pytest.mark.parametrize(
    "name",
    [
        "docs/tutorial_agents.md",
        "docs/tutorial_experiment.md",
        "docs/tutorial_gateway.md",
        "docs/running_systems.md",
        "examples/own_protocol/README.md",
    ],
)
def test_a_page_for_beginners_needs_no_file_of_the_repository(name: str) -> None:
    blocks = [found[3] for found in FENCED.finditer(pages()[name])]
    assert len(blocks) > 3
    assert not [block for block in blocks if "examples/" in block]


OTHERS = {
    "Authorization": "HTTP",
    "BatchSpanProcessor": "OpenTelemetry",
    "CancelTask": "A2A",
    "CreateTaskPushNotificationConfig": "A2A",
    "Next": "TLA+",
    "SameSite": "HTTP",
    "SendMessage": "A2A",
    "Spec": "TLA+",
    "TaskNotCancelableError": "A2A",
    "TaskUpdater": "A2A",
    "UnsupportedOperationError": "A2A",
}
"""Names on the pages that are somebody else's."""

ROOTS = {"pxp": "pxp_fsm", "pxp_fsm": "pxp_fsm", "proofs": "proofs", "guards": "guards"}
ROOTS |= {"backends": "backends", "conformance": "pxp_fsm.plugins.conformance"}


def defined() -> set[str]:
    """Every class, function and variable of a module of the product, and Python's own."""
    found = set(dir(builtins))
    for folder in ("pxp_fsm", "proofs", "guards", "backends"):
        for path in (ROOT / folder).rglob("*.py"):
            for node in ast.parse(path.read_text("utf-8")).body:
                match node:
                    case ast.ClassDef(name) | ast.FunctionDef(name) | ast.AsyncFunctionDef(name):
                        found.add(name)
                    case ast.Assign(targets):
                        found |= {one.id for one in targets if isinstance(one, ast.Name)}
                    case ast.AnnAssign(ast.Name(name)):
                        found.add(name)
    return found


def is_there(dotted: str) -> bool:
    """Whether a dotted name of the product can be had as a reader would."""
    root, *rest = dotted.split(".")
    path = ROOTS[root]
    value: object = importlib.import_module(path)
    for name in rest:
        path = f"{path}.{name}"
        if isinstance(value, ModuleType) and not hasattr(value, name):
            with suppress(ModuleNotFoundError):
                importlib.import_module(path)
        if not hasattr(value, name):
            return False
        value = getattr(value, name)
    return True


def test_every_name_of_the_product_on_a_page_is_there() -> None:
    known, missing = defined() | OTHERS.keys(), set[tuple[str, str]]()
    for page, text in pages().items():
        for code in re.findall(r"`([^`\n]+)`", FENCED.sub("", text)):
            if word := re.fullmatch(r"([A-Z][a-z]+(?:[A-Z][a-z]+)*)(?:\(.*\))?", code):
                missing |= {(page, word[1])} - {(page, one) for one in known}
            dotted = re.fullmatch(rf"((?:{'|'.join(ROOTS)})(?:\.\w+)+)(?:\(.*\))?", code)
            if dotted and not dotted[1].endswith((".toml", ".py")) and not is_there(dotted[1]):
                missing.add((page, dotted[1]))
    assert missing == set()


def python_of(page: Path) -> list[ast.stmt]:
    """The Python of a page."""
    blocks = [
        found[3] for found in FENCED.finditer(page.read_text("utf-8")) if found[2] == "python"
    ]
    examples = [doctest.DocTestParser().get_examples(block) for block in blocks]
    return ast.parse("".join(example.source for block in examples for example in block)).body


def test_the_examples_of_readme_are_those_whose_types_are_checked() -> None:
    """mypy checks `readme.py` with all other tests."""
    _, *typed = ast.parse((ROOT / "tests" / "house" / "readme.py").read_text("utf-8")).body
    assert [*map(ast.dump, python_of(ROOT / "README.md"))] == [*map(ast.dump, typed)]


def test_contributors_are_sent_to_files_that_are_there() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    paths = re.findall(r"`((?:[\w.-]+/)+(?:[\w-]+\.\w+)?)`", text)
    assert len(paths) > 20
    made = ("dist/", "static/")
    assert [path for path in paths if not (ROOT / path).exists() and path not in made] == []
