"""The numbers of certificates, asked of other provers: SMT solvers and Coq."""

from __future__ import annotations

import copy
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import z3
from click.testing import CliRunner

from proofs.claims import certificates
from proofs.rules.conditions import as_coq, as_smt
from pxp_fsm.cli.main import commands

SHIPPED = sorted((Path(certificates.__file__).parent / "certificates").glob("*.json"))
EXAMPLES = Path(__file__).parents[2] / "examples" / "with_rules"


def shipped(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(path.read_text("utf-8"))
    return found


def lemmas(document: dict[str, Any]) -> int:
    return sum(len(part["lemmas"]) for part in document["parts"])


def answers(script: str) -> list[str]:
    """What Z3 answers to each question of a script."""
    head, *questions = re.split(r"(?m)^; part .*\n", script)
    found = []
    for question in questions:
        solver = z3.Solver()
        asserted = "".join(line for line in question.splitlines() if line.startswith("(assert"))
        solver.add(z3.parse_smt2_string(head + asserted))
        found.append(str(solver.check()))
    return found


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_another_solver_finds_every_lemma_of_the_protocols(path: Path) -> None:
    document = shipped(path)
    assert answers(as_smt(document)) == ["unsat"] * lemmas(document)


def test_there_are_lemmas_to_be_asked_about() -> None:
    assert len(SHIPPED) == 3
    assert sum(lemmas(shipped(path)) for path in SHIPPED) > 30


@pytest.mark.deep
def test_a_lemma_that_is_none_is_found_by_another_solver() -> None:
    document = next(found for path in SHIPPED if lemmas(found := shipped(path)))
    for part in document["parts"]:
        for place, lemma in enumerate(part["lemmas"]):
            changed = copy.deepcopy(document)
            index = document["parts"].index(part)
            changed["parts"][index]["lemmas"][place] = lemma[1:]  # without one of its conditions
            assert answers(as_smt(changed)).count("sat") == 1


@pytest.mark.parametrize("name", ["commit", pytest.param("net", marks=pytest.mark.deep), "polls"])
def test_what_is_proved_of_a_system_is_written_for_other_provers(name: str, tmp_path: Path) -> None:
    system = str(EXAMPLES / f"{name}.toml")
    for ending in ("json", "smt2", "v"):
        file = tmp_path / f"{name}.{ending}"
        done = CliRunner().invoke(commands, ["check", system, "--certificate", str(file)])
        assert done.exit_code == 0 and str(file) in done.output, done.output
    document = json.loads((tmp_path / f"{name}.json").read_text("utf-8"))
    assert (tmp_path / f"{name}.smt2").read_text("utf-8") == as_smt(document)
    assert (tmp_path / f"{name}.v").read_text("utf-8") == as_coq(document)
    assert answers(as_smt(document)) == ["unsat"] * lemmas(document)


def test_what_was_explored_has_no_conditions_on_numbers(tmp_path: Path) -> None:
    file = tmp_path / "pxp.smt2"
    arguments = ["check", "pxp", "--property", "no-deadlock", "--certificate", str(file)]
    done = CliRunner().invoke(commands, arguments)
    assert done.exit_code == 2 and "only a proof for all parameters" in done.output
    assert not file.exists()


def test_the_text_for_coq_has_a_lemma_for_each() -> None:
    for path in SHIPPED:
        document = shipped(path)
        text = as_coq(document)
        assert len(re.findall(r"(?m)^Lemma part_\d+_lemma_\d+ :$", text)) == lemmas(document)
        assert text.count("Proof. intros; lia. Qed.") == lemmas(document)
        assert text.isascii()
        for lemma in text.split("Lemma ")[1:]:
            bound = re.search("forall (.*) : Z,", lemma)
            names = set(bound[1].split()) if bound else set()
            assert (
                set(re.findall(r"\bx\d+\b", lemma.partition(":\n")[2].split("Proof")[0])) == names
            )


def test_where_no_lemma_is_needed_the_text_says_so() -> None:
    nothing: dict[str, Any] = {"members": [["a", ""]], "parts": [{"lemmas": []}]}
    says = "It needs none: all follows from the states, which the checker of certificates computes."
    assert as_coq(nothing).splitlines()[-1] == f"(* {says} *)"
    assert as_smt(nothing).splitlines()[-1] == f"; {says}"


@pytest.mark.deep
@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
@pytest.mark.skipif(shutil.which("coqc") is None, reason="coqc is not installed")
def test_coq_proves_every_lemma(path: Path, tmp_path: Path) -> None:
    file = tmp_path / "conditions.v"
    file.write_text(as_coq(shipped(path)), "utf-8")
    subprocess.run(["coqc", str(file)], check=True, cwd=tmp_path, capture_output=True)


CVC5 = """
import cvc5, sys
solver = cvc5.Solver()
parser = cvc5.InputParser(solver)
parser.setFileInput(cvc5.InputLanguage.SMT_LIB_2_6, sys.argv[1])
solver.setOption("incremental", "true")
while not (command := parser.nextCommand()).isNull():
    print(command.invoke(solver, parser.getSymbolManager()), end="")
"""


@pytest.mark.deep
@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_cvc5_agrees(path: Path, tmp_path: Path) -> None:
    pytest.importorskip("cvc5")
    file, document = tmp_path / "conditions.smt2", shipped(path)
    file.write_text(as_smt(document), "utf-8")
    told = subprocess.run(
        [sys.executable, "-c", CVC5, str(file)], check=True, capture_output=True, text=True
    )
    assert told.stdout.split() == ["unsat"] * lemmas(document)


def test_a_number_of_smt_lib_has_no_sign() -> None:
    """Z3 reads `-3` all the same; the standard knows `(- 3)` alone."""
    written = as_smt(next(found for path in SHIPPED if lemmas(found := shipped(path))))
    numbers = re.findall(r"(?<![\w|.])-?\d+", re.sub(r"\|[^|\n]*\||;.*", "", written))
    assert numbers and not [number for number in numbers if number[0] == "-"]
    assert "(- 1)" in written
