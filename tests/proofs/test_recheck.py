"""The certificates of the protocols are checked again, by one file that stands alone."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from proofs import recheck
from proofs.claims.theorems import TABLES as PROTOCOLS
from tests.proofs.shipped_certificates import DOCUMENTS, FILES, TABLES, accepts, tampered

protocols = pytest.mark.parametrize("protocol", PROTOCOLS)


@protocols
def test_the_real_certificate_is_accepted(protocol: str, tmp_path: Path) -> None:
    table = tmp_path / "table.toml"
    table.write_text(TABLES[protocol], "utf-8")
    done = subprocess.run(
        [sys.executable, "-I", "-S", recheck.__file__, FILES[protocol], table],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    lines = done.stdout.splitlines()
    assert (done.returncode, done.stderr) == (0, "")
    assert len(lines) == sum(len(part["claims"]) for part in recheck.DUE[protocol])
    assert all(line.startswith("ok ") for line in lines)


@protocols
def test_a_certificate_is_of_a_few_kilobytes(protocol: str) -> None:
    assert FILES[protocol].stat().st_size < 11_000


@protocols
def test_the_checker_knows_the_tables_that_come_with_the_package(protocol: str) -> None:
    assert recheck.Rules(tomllib.loads(TABLES[protocol])).digest == recheck.DIGESTS[protocol]


CHANGES = {
    "to another state": ('to = "WAIT", guard = "RAT"', 'to = "END", guard = "RAT"'),
    "another tag": ('guard = "REF", send = "REFUTE"', 'guard = "REF", send = "REVISE"'),
    "a tag that is not taken": ('receive = ["RATIFY", ', "receive = ["),
    "where it begins": ('initial = "IDLE"', 'initial = "WAIT"'),
    "where it ends": ('final = ["END"]', 'final = ["IDLE"]'),
    "when a guard is true": ('"match and agree', '"match and not agree'),
    "what is compared": ('relation = "MATCH", of = ["received", "own"]',
                         'relation = "MATCH", of = ["own", "received"]'),
    "another relation": ('agree = { relation = "AGREE"', 'agree = { relation = "MATCH"'),
    "when it is asked": ('ask = "', 'ask = "never, or '),
}  # fmt: skip


@protocols
@pytest.mark.parametrize("name", CHANGES)
def test_the_same_certificate_for_another_table_is_rejected(protocol: str, name: str) -> None:
    old, new = CHANGES[name]
    assert old in TABLES[protocol]
    assert not accepts(DOCUMENTS[protocol], TABLES[protocol].replace(old, new))


def test_the_rules_that_count_are_part_of_what_is_certified() -> None:
    for protocol, old, new in (
        ("interact", "j >= n", "j > n"),
        ("interact", 'j = "j + 1"', 'j = "j + 2"'),
        ("interact", "k = { min = 1 }", "k = { min = 0 }"),
        ("interact", "j = { init = 0, min = 0 }", "j = { init = 1, min = 0 }"),
        ("interact", ", urgent = true", ""),
        ("pxp", 'carry = "own"', 'carry = "new"'),
        ("pxp(k)", "ratified >= k", "ratified > k"),
    ):
        assert old in TABLES[protocol]
        assert not accepts(DOCUMENTS[protocol], TABLES[protocol].replace(old, new))


@protocols
def test_prose_order_and_layout_do_not_matter(protocol: str) -> None:
    table = TABLES[protocol].replace('title = "', 'title = "Another ').replace("{ from", "{  from")
    lines = table.replace("match and agree", "match  and\\n agree")
    assert accepts(DOCUMENTS[protocol], lines)


@protocols
def test_a_claim_by_a_due_name_that_says_something_else_is_rejected(protocol: str) -> None:
    """Under the name of the protocol nothing else can be claimed, and nothing less."""
    for text in ("false", "m.at == h.at and false"):
        document = tampered(protocol)
        for part in document["parts"]:
            for claim in part["claims"]:
                for key in ("never", "step"):
                    if key in claim:
                        claim[key] = text if key == "never" else "true"
        assert not accepts(document, TABLES[protocol])


@protocols
def test_a_certificate_that_names_no_protocol_says_what_it_claims_in_full(
    protocol: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """It may claim less then; whoever reads it sees the expression, not a name alone."""
    document = tampered(protocol)
    del document["protocol"]
    document["parts"] = document["parts"][:1]
    claim = next(one for one in document["parts"][0]["claims"] if one["check"] == "step")
    claim["step"] = "true"
    assert accepts(document, TABLES[protocol])
    assert f"{claim['name']}: step true, relations noisy" in capsys.readouterr().out


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


def test_what_is_no_file_or_too_large_is_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ValueError, match="/dev/null is a pipe or a device; give a file"):
        recheck.content("/dev/null")
    monkeypatch.setattr(recheck, "MOST_BYTES", 100)
    with pytest.raises(ValueError, match=r"\.json has more than 100 bytes"):
        recheck.content(str(FILES["pxp"]))


def test_a_key_that_is_there_twice_is_rejected() -> None:
    text = FILES["pxp"].read_text("utf-8")
    assert recheck.read(text) == DOCUMENTS["pxp"]
    with pytest.raises(ValueError, match="twice: format"):
        recheck.read(text.replace("{", '{"format": 1, ', 1))


@pytest.mark.parametrize("value", [0, 2, "1", True, 1.0])
def test_another_format_is_refused_with_what_to_do(
    value: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    assert not recheck.main(tampered("pxp") | {"format": value}, TABLES["pxp"])
    said = capsys.readouterr().out.splitlines()
    assert said == ["WRONG its format is another; write it anew with: pxp check --certificate FILE"]
