"""Rules decide in what is checked and compared where their parameters are known."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from subprocess import CompletedProcess

import pytest

import pxp_fsm as pxp
from proofs import recheck
from proofs.claims.system_certificates import NotCertified
from proofs.core.results import Status
from tests import command_line

SENSOR = """
format = 1
name = "sensor"
title = "Asks again"
peer = "base"
initial = "ASK"
final = ["OK", "FAILED"]
states = [{{ name = "ASK" }}, {{ name = "WAIT" }}, {{ name = "OK" }}, {{ name = "FAILED" }}]
rows = [
  {{ from = "ASK", to = "WAIT", send = "REQ" }},
  {{ from = "WAIT", to = "OK", receive = "RESP" }},
  {{ from = "WAIT", to = "ASK", event = "AGAIN", when = "tries<{most}", do = {{tries="tries+1"}}}},
  {{ from = "WAIT", to = "FAILED", event = "GIVE_UP", when = "tries == {most}" }},
]
[registers]
tries = {{ init = 0, min = 0 }}
"""
DECLARED = "[parameters]\nmost = { min = 0 }\n"
BASE = """
format = 1
name = "base"
title = "Answers, or not"
peer = "sensor"
initial = "IDLE"
final = ["IDLE"]
states = [{ name = "IDLE" }, { name = "BUSY" }]
rows = [
  { from = "IDLE", to = "BUSY", receive = "REQ" },
  { from = "BUSY", to = "IDLE", send = "RESP" },
  { from = "BUSY", to = "BUSY", receive = "REQ" },
]
"""
SYSTEM = """
format = 1
name = "retries"
title = "Retries"
channel = "fifo:4"
members = [{{ name = "sensor", table = "open.toml" }}, {{ name = "base", table = "base.toml" }}]
[parameters]
most = {most}
"""


def command(*arguments: str) -> CompletedProcess[str]:
    return command_line.pxp(*arguments, cwd=Path.cwd())


@pytest.fixture(autouse=True)
def _files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("two.toml").write_text(SENSOR.format(most=2), "utf-8")
    Path("three.toml").write_text(SENSOR.format(most=3), "utf-8")
    Path("open.toml").write_text(SENSOR.format(most="most") + DECLARED, "utf-8")
    Path("base.toml").write_text(BASE, "utf-8")
    for most in (2, 3):
        Path(f"system_{most}.toml").write_text(SYSTEM.format(most=most), "utf-8")


def test_rules_without_parameters_decide_in_what_is_checked() -> None:
    bound = "G sensor.tries<={}"
    for most, verdict in ((3, "HOLDS"), (2, "FAILS")):
        done = command("check", "three.toml", "base.toml", "--formula", bound.format(most))
        assert verdict in done.stdout, done.stdout + done.stderr
        system = pxp.System.load("three.toml", "base.toml")
        assert str(pxp.check(system, bound.format(most))[0].status) == verdict


def test_one_try_more_is_a_difference_where_the_number_is_known() -> None:
    for pair in (("two.toml", "three.toml"), ("system_2.toml", "system_3.toml")):
        found = {one.name: one.status for one in pxp.compare(*pair)}
        assert found["trace-inclusion"] is Status.FAILS, pair
        assert command("compare", *pair).returncode == 1
    free = pxp.compare("open.toml", "three.toml")
    assert free[0].assumptions == "whoever decides, nothing hidden"
    for most, status in ((3, Status.HOLDS), (2, Status.FAILS)):
        named = pxp.compare("three.toml", "open.toml", parameters={"most": most})
        assert {one.name: one.status for one in named}["weak-bisimilarity"] is status
        done = command("compare", "three.toml", "open.toml", "--with", f"most={most}")
        assert done.returncode == (0 if status is Status.HOLDS else 1)


def test_a_parameter_that_neither_has_is_named() -> None:
    done = command("compare", "two.toml", "open.toml", "--with", "least=1")
    assert done.returncode == 2
    assert "neither counts with a parameter least; there are: most" in done.stderr


def test_a_certificate_of_every_decision_takes_no_parameters() -> None:
    """With parameters more fails than without, of which the certificate is."""
    arguments = ("check", "open.toml", "base.toml", "--with", "most=1", "--certificate", "c.json")
    done = command(*arguments)
    assert done.returncode == 2
    assert "a certificate is of every decision" in done.stderr
    assert not Path("c.json").exists()
    system = pxp.System.load("open.toml", "base.toml")
    with pytest.raises(NotCertified, match="certify the system without parameters"):
        pxp.proofs.certify_system(system.with_parameters({"most": 1}))


def test_the_checker_names_what_it_cannot_read() -> None:
    Path("none.json").write_text("{}", "utf-8")
    for name, said in (("none.json", "'format' is missing"), ("c.json", "c.json cannot be read")):
        command = [sys.executable, "-I", "-S", recheck.__file__, name, "base.toml"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 1
        assert done.stderr.startswith("These cannot be checked: ")
        assert said in done.stderr


def test_an_end_that_rules_never_let_a_member_reach_is_not_reachable() -> None:
    """A state of the table is asked about, and has to be reached, whether rules ever let it be."""
    never = Path("three.toml").read_text("utf-8").replace("tries == 3", "tries > 3")
    never = never.replace('final = ["OK", "FAILED"]', 'final = ["FAILED"]')
    Path("never.toml").write_text(never, "utf-8")
    system = pxp.System.load("never.toml", "base.toml")
    found = {one.name: one for one in pxp.check(system)}
    assert found["end-reachable-from-everywhere"].status is Status.FAILS
    assert found["end-reachable-from-everywhere"].assumptions == "by rules, sync"
    assert pxp.check(system, "G !sensor@FAILED")[0].status is Status.HOLDS
    done = command("check", "never.toml", "base.toml", "--property", "termination")
    assert done.returncode == 1, done.stderr


def test_what_is_no_protocol_has_no_claims_to_certify() -> None:
    for given in ("contract", pxp.System.load("three.toml", "base.toml")):
        with pytest.raises(pxp.PXPError, match="a system is certified by certify_system"):
            pxp.proofs.certify(given)  # type: ignore[arg-type] # what it refuses
