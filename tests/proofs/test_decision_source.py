"""The digest of decision functions: what they do, all of it, and nothing else."""

from __future__ import annotations

import ast
import importlib.util
import os
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from types import ModuleType
from typing import Any, cast

import pytest

from proofs.induction.numbers import Unknown
from proofs.induction.source import read
from pxp_fsm.protocol import decisions
from pxp_fsm.protocol.interfaces import Decisions
from tests.proofs.exact_functions import BOUND, helper, roundabout
from tests.proofs.inexact_functions import changed
from tests.proofs.mutants import Mutant, decision_mutants
from tests.pythons import OTHERS, find_python

ROOT = Path(__file__).parents[2]


def test_the_digest_is_that_of_what_functions_do() -> None:
    digest = read(decisions).digest
    assert read(changed("done", decisions.done)).digest == digest
    seen = {digest}
    for one in (roundabout, helper_20, helper_21, by_constant):
        seen.add(read(changed("done", one)).digest)
    assert len(seen) == 5


def helper_20(sent: int, n: int, stopped: bool) -> bool:
    return helper(sent, 20)


def helper_21(sent: int, n: int, stopped: bool) -> bool:
    return helper(sent, 21)


def by_constant(sent: int, n: int, stopped: bool) -> bool:
    return sent > BOUND


def test_a_constant_elsewhere_and_a_helper_elsewhere_are_in_the_digest(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    before = [read(changed("done", one)).digest for one in (by_constant, helper_20)]
    monkeypatch.setattr(sys.modules[__name__], "BOUND", 21)
    monkeypatch.setattr(sys.modules[__name__], "helper", decisions.repeats)
    after = [read(changed("done", one)).digest for one in (by_constant, helper_20)]
    assert all(one != two for one, two in zip(before, after, strict=True))


def test_layout_comments_documentation_and_annotations_are_not_in_the_digest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = Path(decisions.__file__).read_text("utf-8")
    tree = ast.parse(text)
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            node.returns = None
            node.body = node.body[1:] if ast.get_docstring(node) else node.body
            for argument in node.args.args:
                argument.annotation = None
    assert _digest(tmp_path / "one.py", ast.unparse(tree)) == read(decisions).digest
    spread = text.replace("return ", "return \\\n        ").replace("\n\n\n", "\n\n\n# Said.\n\n")
    assert _digest(tmp_path / "two.py", spread) == read(decisions).digest
    other = text.replace("sent + 1 > n", "sent + 2 > n")
    assert _digest(tmp_path / "three.py", other) != read(decisions).digest


def _module(path: Path, text: str) -> ModuleType:
    path.write_text(text, "utf-8")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module


def _digest(path: Path, text: str) -> str:
    return read(cast(Decisions, _module(path, text))).digest


def test_source_that_is_not_the_code_that_runs_is_refused(tmp_path: Path) -> None:
    text = Path(decisions.__file__).read_text("utf-8")
    module = _module(tmp_path / "four.py", text)
    other = text.replace("sent + 1 > n", "sent + 2 > n")
    (tmp_path / "four.py").write_text(other, "utf-8")
    with pytest.raises(Unknown, match=r"no source of done that is the code that runs"):
        read(cast(Decisions, module))
    (tmp_path / "four.py").unlink()
    with pytest.raises(Unknown, match="no source of category"):
        read(cast(Decisions, module))


def test_a_function_without_source_is_refused() -> None:
    known: dict[str, Any] = {}
    exec("def done(sent, n, stopped): return stopped or sent + 1 > n", known)  # noqa: S102
    with pytest.raises(Unknown, match="no source of done"):
        read(changed("done", known["done"]))


def digests(mutants: Iterable[Mutant]) -> list[str]:
    found = [read(decisions).digest]
    for mutant in mutants:
        assert mutant.instead is not None
        try:
            found.append(read(mutant.instead.functions).digest)
        except Unknown:
            assert "//" in mutant.change
            found.append("refused")
    return found


@pytest.mark.deep
def test_every_single_change_of_a_decision_function_has_another_digest() -> None:
    found = digests(decision_mutants())
    assert (len({*found}), len(found)) == (415, 415)


@pytest.mark.parametrize("version", OTHERS)
def test_the_digest_is_the_same_on_every_python(version: str) -> None:
    found = find_python(version)
    code = "from proofs.induction.source import read; from pxp_fsm.protocol import decisions; "
    done = subprocess.run(
        [found, "-c", f"{code}print(read(decisions).digest)"],
        capture_output=True, text=True, check=False, env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    assert done.stdout.strip() == read(decisions).digest, done.stderr
