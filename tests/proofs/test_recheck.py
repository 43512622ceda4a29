"""The certificate is checked again by code that shares nothing with the prover."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proofs import recheck
from proofs.claims.certificates import PROTOCOLS
from proofs.claims.theorems import THEOREMS
from proofs.induction.source import read
from pxp_fsm.protocol import decisions
from tests.proofs.shipped_certificates import DOCUMENTS, FILES, TABLES, accepts, tampered

WORDS = {"INIT", "RATIFY", "REFUTE", "REVISE", "REJECT", "WAIT", "DECIDE", "END", "odd", "even"}


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_the_real_certificate_is_accepted(protocol: str, tmp_path: Path) -> None:
    table = tmp_path / "table.toml"
    table.write_text(TABLES[protocol], "utf-8")
    done = subprocess.run(
        [sys.executable, "-I", "-S", recheck.__file__, FILES[protocol], table],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    lines = done.stdout.splitlines()
    assert (done.returncode, done.stderr) == (0, "")
    assert len(lines) == sum(
        len(theorem.claim.tried) for name, theorem in THEOREMS.items() if name.startswith(protocol)
    )
    assert all(line.startswith("ok ") for line in lines)


@settings(max_examples=25, deadline=None)
@given(st.data())
def test_a_certificate_without_one_of_its_states_is_rejected(data: st.DataObject) -> None:
    protocol = data.draw(st.sampled_from(sorted(PROTOCOLS)))
    document = tampered(protocol)
    states = data.draw(st.sampled_from(document["parts"]))["states"]
    states.pop(data.draw(st.integers(0, len(states) - 1)))
    assert not accepts(document, TABLES[protocol])


@settings(max_examples=25, deadline=None)
@given(st.data())
def test_a_certificate_with_another_word_in_a_state_is_rejected(data: st.DataObject) -> None:
    protocol = data.draw(st.sampled_from(sorted(PROTOCOLS)))
    document = tampered(protocol)
    part = data.draw(st.sampled_from(document["parts"]))
    index = data.draw(st.integers(0, len(part["states"]) - 1))
    state = part["states"][index]
    field = data.draw(st.sampled_from(sorted(state)))
    new = {
        "at": st.lists(st.sampled_from(sorted(WORDS)), min_size=2, max_size=2),
        "numbers": st.dictionaries(st.sampled_from(["sent", "room", "others"]), st.text("<=n12")),
        "said": st.none() | st.lists(st.sampled_from(["m INIT", "h RATIFY"])),
    }.get(field, st.none() | st.sampled_from(["", "INIT", "RATIFY", "bound", "stuck"]))
    value = data.draw(new.filter(lambda other: other != state[field]))
    state[field] = value
    assert not accepts(document, TABLES[protocol])


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_certificate_with_any_verdict_changed_is_rejected(protocol: str) -> None:
    other = {"proved": "not inductive", "not inductive": "proved"}
    for p, part in enumerate(DOCUMENTS[protocol]["parts"]):
        for c, claim in enumerate(part["claims"]):
            for verdict in (other[claim["verdict"]], "", "holds"):
                document = tampered(protocol)
                document["parts"][p]["claims"][c]["verdict"] = verdict
                assert not accepts(document, TABLES[protocol])


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize(
    "ranking", [{}, None, {"n": 1}, {"n": 1, "sent": 0}, {"": 6, "k": 2, "sent": -1}, {"sent": -1}]
)
def test_a_certificate_with_another_ranking_is_rejected(protocol: str, ranking: Any) -> None:
    document = tampered(protocol)
    claims = [c for part in document["parts"] for c in part["claims"] if "ranking" in c]
    assert len(claims) == 1
    claims[0]["ranking"] = ranking
    assert not accepts(document, TABLES[protocol])


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize(
    ("field", "value"), [("fingerprint", "0" * 64), ("format", 1), ("format", "2")]
)
def test_another_fingerprint_or_format_is_rejected(protocol: str, field: str, value: Any) -> None:
    document = tampered(protocol)
    document[field] = value
    assert not accepts(document, TABLES[protocol])


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_fewer_assumptions_and_other_bounds_and_subjects_are_rejected(protocol: str) -> None:
    for p, part in enumerate(DOCUMENTS[protocol]["parts"]):
        for field, value in (
            ("bounds", [["n >= 0", "k >= 1"]]),
            ("subject", "pxp" if part["subject"] != "pxp" else "pxp(k)"),
            *(
                ("assumptions", [*part["assumptions"][:i], *part["assumptions"][i + 1 :]])
                for i in (0, 2)
            ),
        ):
            document = tampered(protocol)
            if value == part[field]:
                continue  # there was no such assumption
            document["parts"][p][field] = value
            assert not accepts(document, TABLES[protocol])


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_the_same_certificate_for_another_table_is_rejected(protocol: str) -> None:
    """Any row changed; also where the fingerprint is that of the changed table."""
    changes = [
        ('to = "WAIT", guard = "RAT"', 'to = "END", guard = "RAT"'),
        ('guard = "REF", send = "REFUTE"', 'guard = "REF", send = "REVISE"'),
        ('guard = "REV", send = "REVISE"', 'guard = "REV", send = "REJECT"'),
        ('receive = ["RATIFY", ', "receive = ["),
        ('initial = "IDLE"', 'initial = "WAIT"'),
        ('final = ["END"]', 'final = ["IDLE"]'),
    ]
    for old, new in changes:
        changed = TABLES[protocol].replace(old, new)
        assert changed != TABLES[protocol]
        assert not accepts(DOCUMENTS[protocol], changed)


def test_the_table_s_prose_and_order_do_not_matter() -> None:
    table = TABLES["interact"].replace('title = "INTERACT"', 'title = "Another"')
    assert accepts(DOCUMENTS["interact"], table)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_claim_that_the_checker_does_not_know_is_rejected(protocol: str) -> None:
    for name in (f"{protocol}.anything", "terminates", "another.never-stuck"):
        for verdict in ("proved", "not inductive"):
            document = tampered(protocol)
            document["parts"][0]["claims"][0].update(name=name, verdict=verdict)
            assert not accepts(document, TABLES[protocol])


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_certificate_with_a_state_too_many_is_rejected(protocol: str) -> None:
    for p, part in enumerate(DOCUMENTS[protocol]["parts"]):
        document = tampered(protocol)
        document["parts"][p]["states"].append({**part["states"][-1], "at": ["WAIT", "WAIT"]})
        assert not accepts(document, TABLES[protocol])


@pytest.mark.parametrize("text", ["nonsense", "[]", "{}", "null", '{"parts": 3}', "[" * 100_000])
def test_a_file_that_is_no_certificate_is_told_so(text: str, tmp_path: Path) -> None:
    certificate, table = tmp_path / "c.json", tmp_path / "t.toml"
    certificate.write_text(text, "utf-8")
    table.write_text(TABLES["pxp"], "utf-8")
    done = subprocess.run(
        [sys.executable, "-I", "-S", recheck.__file__, certificate, table],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (1, "")
    assert "These cannot be checked: " in done.stderr
    assert "Traceback" not in done.stderr


def test_a_key_that_is_there_twice_is_rejected() -> None:
    text = FILES["pxp"].read_text("utf-8")
    assert recheck.read(text) == DOCUMENTS["pxp"]
    with pytest.raises(ValueError, match="twice: format"):
        recheck.read(text.replace("{", '{"format": 2, ', 1))


def test_an_earlier_format_is_refused_with_what_to_do(capsys: pytest.CaptureFixture[str]) -> None:
    assert not recheck.main(tampered("pxp") | {"format": 1}, TABLES["pxp"])
    said = capsys.readouterr().out.splitlines()
    assert said == [
        "WRONG its format is 1, not 2; write it anew with: pxp check --certificates DIR"
    ]


def test_the_checker_states_the_rules_of_the_functions_that_run() -> None:
    assert read(decisions).digest == recheck.DECISIONS


def test_the_checker_has_the_claims_of_the_catalogue() -> None:
    known = {
        (subject, frozenset(recheck.ASSUMED[x] for x in given), tuple(along), claim)
        for subject, given, along, claims in recheck.PARTS
        for claim in claims.split()
    }
    assert known == {
        (
            theorem.subject.name,
            frozenset(map(str, given)),
            tuple(map(str, theorem.induction.keep.along)),
            theorem.claim.name,
        )
        for theorem in THEOREMS.values()
        for given in theorem.claim.tried
    }
