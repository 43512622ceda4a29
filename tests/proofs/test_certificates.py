"""The bundled certificates are about the tables that run."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from proofs import recheck
from proofs.claims.catalogue import LIKE
from proofs.claims.certificates import certify, coverage, filename_of, proved_table
from pxp_fsm.automata.automaton import Kind
from pxp_fsm.automata.serialization import document as document_of
from pxp_fsm.automata.serialization import to_toml
from pxp_fsm.automata.tables import builtin, parse_automaton
from pxp_fsm.errors import UsageError
from pxp_fsm.protocol.relations import EQUIVALENCE, NOISY, TOLERANCE, Assumption
from pxp_fsm.protocol.rules import Interact, Pxp, Rules
from tests.proofs.shipped_certificates import FILES
from tests.sampling import sampled

ANYHOW = ("terminates", "never-stuck", "silent-end", "reject-after-k")
SAFE = ("never-stuck", "silent-end", "replies-INIT")
REPLIES = ("replies-RATIFY", "replies-REFUTE", "replies-REVISE", "replies-REJECT")
SHARED = frozenset({Assumption.DETERMINISTIC, Assumption.SHARED})


@pytest.mark.parametrize("protocol", sampled(["pxp", "interact", "pxp(k)"], 3))
def test_what_is_shipped_is_what_is_proved_now(protocol: str) -> None:
    """Where a table is changed on purpose, `pxp check --certificate` writes them anew."""
    found = certify(protocol)
    assert found.certificate is not None
    assert all(proof.proved for proof in found.proofs)
    assert FILES[protocol].name == found.certificate.filename
    assert FILES[protocol].read_text("utf-8") == found.certificate.text()


@pytest.mark.parametrize(
    ("rules", "assumptions", "claims"),
    sampled([
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
    ], 3),
)  # fmt: skip
def test_a_session_is_covered_by_what_is_proved_under_its_assumptions(
    rules: Rules, assumptions: frozenset[Assumption], claims: tuple[str, ...]
) -> None:
    found = coverage(rules, assumptions)
    assert found is not None
    assert found.path == FILES["pxp(k)" if rules == Pxp(2) else rules.name]
    assert set(found.claims) == set(claims)


@pytest.mark.deep
def test_a_changed_table_has_no_certificate_until_one_is_written(tmp_path: Path) -> None:
    table = builtin("interact")
    rows = tuple(t for t in table.transitions if (t.kind, t.label) != (Kind.SEND, "REJECT"))
    changed = replace(table, transitions=rows)
    rules = Interact(table=changed)
    assert coverage(rules, EQUIVALENCE) is None
    certificate = certify("interact", changed).certificate
    assert certificate is not None
    certificate.write(tmp_path)
    found = coverage(rules, EQUIVALENCE, [tmp_path])
    assert found is not None
    assert "never-stuck" not in found.claims
    assert "no-revise-at-2" in found.claims


@pytest.mark.deep
def test_a_changed_rule_is_another_table(tmp_path: Path) -> None:
    """The patient agent of the variants, which rejects after message 2k: proved anew."""
    text = to_toml(builtin("interact"))
    assert "j + 1 > k" in text
    patient = parse_automaton(text.replace("j + 1 > k", "j + 1 > 2*k"))
    rules = Interact(table=patient)
    assert coverage(rules, EQUIVALENCE) is None
    found = certify("interact", patient)
    assert found.certificate is not None
    assert all(proof.proved for proof in found.proofs)  # 2k is above k
    found.certificate.write(tmp_path)
    assert coverage(rules, NOISY, [tmp_path]) is not None
    hasty = parse_automaton(text.replace("j + 1 > k", "j + 2 > k"))
    unproved = {proof.claim.name for proof in certify("interact", hasty).proofs if proof.obstacle}
    assert unproved == {"reject-after-k"}


@pytest.mark.parametrize("key", ["claims", "parts", "relations", "members", "protocol"])
def test_a_forged_certificate_in_a_folder_of_the_user_is_not_believed(
    tmp_path: Path, key: str
) -> None:
    document = json.loads(FILES["pxp(k)"].read_text("utf-8"))
    path = tmp_path / FILES["pxp(k)"].name
    path.write_text(json.dumps(document), "utf-8")
    rules = Pxp(2)
    assert coverage(rules, NOISY, [tmp_path]) is not None
    strong = document["parts"][1]
    match key:
        case "claims":
            document["parts"][0]["claims"] += strong["claims"]
        case "parts":
            document["parts"] = [strong | {"relations": ""}]
        case "relations":
            strong["relations"] = ""
        case "members":
            document["members"].reverse()
        case "protocol":
            document["protocol"] = "pxp"
    path.write_text(json.dumps(document), "utf-8")
    assert coverage(rules, NOISY, [tmp_path]) is None


def test_a_claim_under_a_due_name_that_says_less_covers_nothing(tmp_path: Path) -> None:
    """A certificate that names no protocol may say what it likes: what is due is compared."""
    document = json.loads(FILES["pxp"].read_text("utf-8"))
    del document["protocol"]
    path = tmp_path / FILES["pxp"].name
    for part in document["parts"]:
        for claim in part["claims"]:
            if claim["name"] == "silent-end":
                claim["step"] = "true"
    path.write_text(json.dumps(document), "utf-8")
    found = coverage(Pxp(), NOISY, [tmp_path])
    assert found is not None
    assert set(found.claims) == {"never-stuck", "replies-INIT"}


def test_a_part_without_relations_covers_no_session_of_a_protocol(tmp_path: Path) -> None:
    """The checker accepts what is claimed of any answers, but sessions compare theirs."""
    document, table = json.loads(FILES["pxp"].read_text("utf-8")), builtin("pxp")
    del document["protocol"]
    path = tmp_path / FILES["pxp"].name
    path.write_text(json.dumps(document), "utf-8")
    assert coverage(Pxp(), NOISY, [tmp_path]) is not None
    document["parts"].append(document["parts"][0] | {"relations": None})
    assert all(fine for fine, _ in recheck.check_rules(document, document_of(table)))
    path.write_text(json.dumps(document), "utf-8")
    assert coverage(Pxp(), NOISY, [tmp_path]) is None


@pytest.mark.parametrize("text", ["", "[]", "{}", "[" * 100_000, '{"format": 1}'])
def test_a_file_that_is_no_certificate_is_none(tmp_path: Path, text: str) -> None:
    (tmp_path / FILES["interact"].name).write_text(text, "utf-8")
    assert coverage(Interact(), EQUIVALENCE, [tmp_path]) is None


def test_rules_that_hang_up_have_a_table_without_certificate() -> None:
    for k in (None, 2):
        rules = Pxp(k, hang_up=lambda _sent, _answered: False)
        assert coverage(rules, EQUIVALENCE) is None


def test_a_table_without_rules_of_its_own_is_not_what_is_proved() -> None:
    """It decides by INTERACT's rules, but nothing has been proved of its rows."""
    rules = Interact(table=builtin("interact").without_rules())
    assert proved_table(rules) is None
    assert coverage(rules, EQUIVALENCE) is None
    assert filename_of(builtin("interact")) == FILES["interact"].name


@pytest.mark.parametrize("wrong", ["nonsense", 3, None])
def test_only_a_protocol_is_certified_by_its_name(wrong: Any) -> None:
    with pytest.raises(UsageError, match=r"certify proves the claims of interact, pxp, pxp\(k\)"):
        certify(wrong)
