"""The bundled certificates are about the tables and functions that run."""

from __future__ import annotations

import functools
import json
from dataclasses import replace
from importlib import resources
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from proofs import recheck
from proofs.claims.catalogue import LIKE
from proofs.claims.certificates import PROTOCOLS, certify, coverage
from proofs.induction.source import read
from pxp_fsm.automata.automaton import Kind
from pxp_fsm.automata.tables import builtin
from pxp_fsm.protocol import decisions
from pxp_fsm.protocol.interfaces import Decisions
from pxp_fsm.protocol.relations import EQUIVALENCE, NOISY, TOLERANCE, Assumption
from pxp_fsm.protocol.rules import Interact, Pxp, Rules
from tests.proofs.shipped_certificates import FILES

ANYHOW = ("terminates", "never-stuck", "silent-end", "reject-after-k")
SAFE = ("never-stuck", "silent-end", "replies-INIT")
REPLIES = ("replies-RATIFY", "replies-REFUTE", "replies-REVISE", "replies-REJECT")
SHARED = frozenset({Assumption.DETERMINISTIC, Assumption.SHARED})


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_what_is_shipped_is_what_is_proved_now(protocol: str) -> None:
    """Where a table or a decision function is changed on purpose, `pxp check --certificates`
    writes the certificates anew."""
    certificate = certify(protocol)
    assert FILES[protocol].name == certificate.filename
    assert FILES[protocol].read_text("utf-8") == certificate.text()


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_the_independent_checker_accepts_what_is_shipped_for_this_table_alone(
    protocol: str,
) -> None:
    document = json.loads(FILES[protocol].read_text("utf-8"))
    table = (
        resources.files("pxp_fsm.automata").joinpath("data", f"{protocol}.toml").read_text("utf-8")
    )
    assert recheck.main(document, table)
    changed = table.replace('guard = "REF", send = "REFUTE"', 'guard = "REF", send = "REVISE"')
    assert changed != table
    assert not recheck.main(document, changed)


@pytest.mark.parametrize(
    ("rules", "assumptions", "claims"),
    [
        (Interact(), NOISY, ANYHOW),
        (Interact(5, 1), TOLERANCE, (*ANYHOW, "no-revise-at-2", "revised-never", "ratified-at-3",
                                     "strong-once", "never-ultra")),
        (Interact(), LIKE - {Assumption.SHARED} | {Assumption.TRANSITIVE},
         (*ANYHOW, "revised-never")),
        (Interact(), LIKE, (*ANYHOW, "ratified-at-3")),
        (Interact(), EQUIVALENCE - {Assumption.REFLEXIVE},
         (*ANYHOW, "revised-never", "ratified-at-3", "refuted-never")),
        (Pxp(), NOISY, SAFE),
        (Pxp(), TOLERANCE, (*SAFE, *REPLIES)),
        (Pxp(2), NOISY, (*SAFE, "self-loops")),
        (Pxp(2), TOLERANCE, (*SAFE, *REPLIES, "self-loops", "terminates", "no-alternation")),
        (Pxp(2), SHARED, (*SAFE, "replies-REFUTE", "replies-REVISE", "self-loops")),
    ],
)  # fmt: skip
def test_a_session_is_covered_by_what_is_proved_under_its_assumptions(
    rules: Rules, assumptions: frozenset[Assumption], claims: tuple[str, ...]
) -> None:
    found = coverage(rules, assumptions)
    assert found is not None
    assert found.path == FILES[rules.name]
    assert set(found.claims) == set(claims)


def test_a_changed_table_has_no_certificate_until_one_is_written(tmp_path: Path) -> None:
    table = builtin("interact")
    rows = tuple(t for t in table.transitions if (t.kind, t.label) != (Kind.SEND, "REJECT"))
    changed = replace(table, transitions=rows)
    rules = Interact(table=changed)
    assert coverage(rules, EQUIVALENCE) is None
    certify("interact", changed).write(tmp_path)
    found = coverage(rules, EQUIVALENCE, [tmp_path])
    assert found is not None
    assert "never-stuck" not in found.claims


def test_changed_decision_functions_have_no_certificate() -> None:
    functions = SimpleNamespace(**vars(decisions))
    assert coverage(Interact(functions=cast(Decisions, functions)), EQUIVALENCE) is not None
    functions.done = done_but_at_one_bound
    other = cast(Decisions, functions)
    assert read(other).digest != read(decisions).digest
    assert coverage(Interact(functions=other), EQUIVALENCE) is None
    functions.done = functools.cache(decisions.done)
    assert coverage(Interact(functions=other), EQUIVALENCE) is None


def done_but_at_one_bound(sent: int, n: int, stopped: bool) -> bool:
    """It differs from what is proved for one n alone, larger than any that is ever tried."""
    return stopped or (sent + 1 > n and n != 1_000_003)


@pytest.mark.parametrize("key", ["claims", "states", "parts", "verdict", "assumptions"])
def test_a_forged_certificate_in_a_folder_of_the_user_is_not_believed(
    tmp_path: Path, key: str
) -> None:
    document = json.loads(FILES["pxp"].read_text("utf-8"))
    (tmp_path / FILES["pxp"].name).write_text(json.dumps(document), "utf-8")
    rules = Pxp(2)
    assert coverage(rules, NOISY, [tmp_path]) is not None
    strong = document["parts"][-1]
    match key:
        case "claims":
            document["parts"][0]["claims"] += strong["claims"]
        case "states":
            strong["states"].pop()
        case "parts":
            document["parts"] = [strong | {"assumptions": []}]
        case "verdict":
            strong["claims"][0]["verdict"] = "not inductive"
        case "assumptions":
            strong["assumptions"] = []
    (tmp_path / FILES["pxp"].name).write_text(json.dumps(document), "utf-8")
    assert coverage(rules, NOISY, [tmp_path]) is None


@pytest.mark.parametrize("text", ["", "[]", "{}", "[" * 100_000, '{"format": 1}'])
def test_a_file_that_is_no_certificate_is_none(tmp_path: Path, text: str) -> None:
    (tmp_path / FILES["interact"].name).write_text(text, "utf-8")
    assert coverage(Interact(), EQUIVALENCE, [tmp_path]) is None


def test_a_damaged_certificate_is_none(tmp_path: Path) -> None:
    document = json.loads(FILES["interact"].read_text("utf-8"))
    document["parts"] = [{"subject": "interact"}]
    (tmp_path / FILES["interact"].name).write_text(json.dumps(document), "utf-8")
    assert coverage(Interact(), EQUIVALENCE, [tmp_path]) is None


def test_rules_that_hang_up_have_a_table_without_certificate() -> None:
    assert coverage(Pxp(hang_up=lambda _sent, _answered: False), EQUIVALENCE) is None
