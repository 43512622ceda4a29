"""Collection of the code blocks of README, docs and workbooks as tests.

Python blocks are doctests; `console` blocks are `pxp` commands, run in one temporary folder a
document with `examples/` in it, whose output must be what the document shows (`...` stands for
anything); Python runs there too. A block of `toml`, `py`, `sh` or `text` that begins with a file's
name (`# mine.toml`, `-- mine.cfsm`) is that file in the folder.
"""

from __future__ import annotations

import doctest
import gc
import os
import re
import shlex
import signal
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import settings
from sybil import Example, Sybil
from sybil.parsers.markdown import CodeBlockParser, PythonCodeBlockParser

from pxp_fsm.cli.main import SEARCHES
from pxp_fsm.diagrams import rendering
from tests.command_line import pxp

# Tests are never timed. `make test-deep` loads the profile `whole`.
settings.register_profile("whole", settings(), deadline=None)
settings.register_profile("sample", settings(), deadline=None)
settings.load_profile("sample")

# A shell starts what runs in the background deaf to Ctrl-C; programs that tests start inherit it.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

SHARE, FEW, MANY = 4, 8, 6
SETTINGS = "_hypothesis_internal_use_settings"
"""Where Hypothesis and its plug-in for pytest keep the settings of a test."""


def pytest_itemcollected(item: pytest.Item) -> None:
    """Try a quarter of the examples of a property: `make test-deep` tries all.

    A handful is not divided: such a number was chosen for its test.
    """
    test = getattr(item, "function", None)
    whole = getattr(test, SETTINGS, None)
    if settings.get_current_profile_name() != "sample" or whole is None or hasattr(test, "sampled"):
        return
    few = max(whole.max_examples // SHARE, min(whole.max_examples, FEW))
    setattr(test, SETTINGS, settings(whole, max_examples=few))
    setattr(test, "sampled", True)  # noqa: B010 - the function is shared by its parametrised items


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Try a quarter of the cases of a test with many, spread over its table; the others are deep.

    What checks the house itself is tried whole: a change is taken in after it. So is everything
    under a profile of somebody else's, such as that of the mutants.
    """
    if settings.get_current_profile_name() not in ("sample", "whole"):
        return
    tables: dict[str, list[pytest.Item]] = {}
    for item in items:
        if hasattr(item, "callspec") and not item.get_closest_marker("deep"):
            tables.setdefault(item.nodeid.partition("[")[0], []).append(item)
    for test, cases in tables.items():
        if len(cases) >= MANY and not test.startswith("tests/house/"):
            for case in (case for place, case in enumerate(cases) if place % SHARE):
                case.add_marker(pytest.mark.deep)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Do not import a file of slow tests where none is run: some load what nothing else does.

    A slow page that is named is run all the same.
    """
    if config.option.markexpr != "not deep":
        return None
    if collection_path.suffix == ".py":
        return ALL_DEEP.search(collection_path.read_text("utf-8")) is not None or None
    page = str(collection_path.relative_to(ROOT)) if collection_path.is_relative_to(ROOT) else ""
    return (page in SLOW_PAGES and not {page, str(collection_path)} & {*config.args}) or None


ROOT = Path(__file__).parent
SLOW_PAGES = {
    *("docs/audit.md", "docs/automata.md", "docs/blackboard.md", "docs/conformance.md"),
    *("docs/drug.md", "docs/experiments.md", "docs/studies.md"),
    *("docs/labels.md", "docs/lan.md", "docs/lan_measures.md", "docs/languages.md"),
    *("docs/logic.md", "docs/odds.md", "docs/proofs.md", "docs/rad.md", "docs/reports.md"),
    *("examples/labels/README.md", "examples/two_phase_commit/README.md"),
}
"""Pages with much to compute; what they show is tested elsewhere. `make test-deep` runs them."""

ALL_DEEP = re.compile(r"^pytestmark = \[?\s*pytest\.mark\.deep\b", re.MULTILINE)


gc.disable()  # what is collected stays


def pytest_collection_finish() -> None:
    """Leave what was loaded out of the searches for garbage, and search seldom: 15% else.

    The same picture is made a pixel image once: most runs of a table draw its automaton.
    """
    made, zoom = rendering._png, rendering._zoom
    once = cache(lambda drawn, others, _zoom: made(drawn, others))
    setattr(rendering, "_png", lambda drawn, others: once(drawn, others, zoom(drawn)))  # noqa: B010
    gc.enable()
    gc.collect()
    gc.freeze()
    gc.set_threshold(*SEARCHES)


OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def run_console(example: Example) -> str | None:
    """Run each `$ pxp ...` line; the text says where the output is not the document's."""
    for block in str(example.parsed).split("$ ")[1:]:
        command, _, expected = block.partition("\n")
        program, *arguments = shlex.split(command)
        if program != "pxp":
            return f"{command}: only pxp is run in documents; use a block of another language"
        folder = Path(example.namespace["folder"].name)
        done = pxp(*arguments, cwd=folder, COLUMNS="140")
        got = done.stdout + done.stderr
        if expected.strip() and not doctest.OutputChecker().check_output(expected, got, OPTIONS):
            return f"{command}\nshould print\n{expected}\nbut printed ({done.returncode})\n{got}"
    return None


def keep_file(example: Example) -> None:
    """Save a block that says which file it is."""
    named = re.match(r"(?:#|--) ([a-z_]+\.(?:toml|py|sh|cfsm))\n", str(example.parsed))
    if named:
        Path(example.namespace["folder"].name, named[1]).write_text(str(example.parsed), "utf-8")


def enter(namespace: dict[str, Any]) -> None:
    namespace["folder"] = TemporaryDirectory()
    Path(namespace["folder"].name, "examples").symlink_to(Path(__file__).parent / "examples")
    os.chdir(namespace["folder"].name)


def leave(namespace: dict[str, Any]) -> None:
    os.chdir(Path(__file__).parent)
    namespace["folder"].cleanup()


pytest_collect_file = Sybil(
    parsers=[
        PythonCodeBlockParser(doctest_optionflags=OPTIONS),
        CodeBlockParser(language="console", evaluator=run_console),
        *(
            CodeBlockParser(language=one, evaluator=keep_file)
            for one in ("toml", "py", "sh", "text")
        ),
    ],
    patterns=["README.md", "docs/*.md", "examples/*/README.md"],
    setup=enter,
    teardown=leave,
).pytest()
