"""`pxp check` of systems: members, channels, limits, reductions, and Ctrl-C."""

from __future__ import annotations

import json
import os
import runpy
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from proofs import recheck
from proofs.core.results import Verdict
from pxp_fsm.cli.main import commands
from tests.command_line import interrupted

HUB = """
format = 1
name = "hub"
title = "Hub"
initial = "START"
final = ["DONE"]
states = [
  { name = "START" }, { name = "ONE" }, { name = "BOTH" }, { name = "LAST" }, { name = "DONE" },
]
rows = [
  { from = "START", to = "ONE", send = "TASK", partner = "left" },
  { from = "ONE", to = "BOTH", send = "TASK", partner = "right" },
  { from = "BOTH", to = "LAST", receive = "RESULT" },
  { from = "LAST", to = "DONE", receive = "RESULT" },
]
"""
WORKER = """
format = 1
name = "worker"
title = "Worker"
initial = "IDLE"
final = ["GONE"]
states = [{ name = "IDLE" }, { name = "BUSY" }, { name = "GONE" }]
rows = [
  { from = "IDLE", to = "BUSY", receive = "TASK", partner = "hub" },
  { from = "BUSY", to = "GONE", send = "RESULT", partner = "hub" },
]
"""
CROWD = """
format = 1
name = "crowd"
title = "Everybody tells everybody"
initial = "A"
final = ["A"]
states = [{ name = "A" }, { name = "B" }]
rows = [
  { from = "A", to = "B", send = ["X", "Y", "Z"] },
  { from = "B", to = "A", send = ["X", "Y", "Z"] },
  { from = ["A", "B"], to = "A", receive = ["X", "Y", "Z"] },
]
"""


@pytest.fixture
def tables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, text in (("hub", HUB), ("worker", WORKER), ("crowd", CROWD)):
        (tmp_path / f"{name}.toml").write_text(text, "utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


FAIR = ("--fair", "strong:rows", "--fair", "weak:agents")
SYSTEM = ("hub.toml", "left=worker.toml", "right=worker.toml")


def checked(*arguments: str) -> Result:
    return CliRunner().invoke(commands, ["check", *arguments])


@pytest.mark.usefixtures("tables")
def test_the_same_property_has_a_line_a_channel() -> None:
    channels = ("--channel", "sync", "--channel", "fifo:2", "--channel", "lossy:1")
    done = checked(*SYSTEM, *channels, "--formula", "AG EF ended", "--json")
    lines = json.loads(done.output)
    assert done.exit_code == 1
    assert [line["verdict"] for line in lines] == ["HOLDS", "HOLDS", "FAILS"]
    assert {line["subject"] for line in lines} == {"hub; left, right: worker"}
    assert lines[2]["trace"] == ["hub>left +TASK lost"]
    assert "chosen" not in lines[2]["itf"]["vars"]
    assert lines[2]["itf"]["states"][0]["at"] == {"#tup": ["START", "IDLE", "IDLE"]}
    done = checked(*SYSTEM, *channels, "--json")
    properties = [line["property"] for line in json.loads(done.output)]
    assert properties[:4] == ["no-deadlock"] * 3 + ["no-unspecified-reception"]
    assert len(properties) == 20
    assert properties[-2:] == ["machine-agrees-with-table"] * 2


@pytest.mark.usefixtures("tables")
@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (SYSTEM, 0, "8 verdicts, 0 not as expected"),
        ((*SYSTEM, "--property", "no-deadlock"), 0, "1 verdict, 0 not as expected"),
        (("pxp", "--channel", "fifo:1", "--formula", "G !(1@WAIT & 2@WAIT)"), 1, "FAILS"),
        (("pxp", "--channel", "sync", "--formula", "AG EF ended"), 0, "pxp1, pxp2"),
        (("a=pxp", "b=pxp", "--formula", "F a.INIT | F b.INIT"), 0, "a, b: pxp"),
        ((*SYSTEM, "--channel", "fifo:2", "--limit", "5"), 4, "more than 5 states: 6 states met"),
        ((*SYSTEM, "--channel", "fifo:2", "--memory", "1"), 4, "more than 1 MB of memory"),
        ((*SYSTEM, "--limit", "2", "--formula", "F ended"), 4, "or a higher limit of"),
        ((*SYSTEM, "--channel", "fifo:2", "--limit", "5"), 4, "a smaller capacity than 2"),
        (
            (*SYSTEM, "--reduce", "partial-order", "--channel", "fifo:1", "--formula", "F ended"),
            0,
            "fifo:1, complete runs, partial-order",
        ),
        ((*SYSTEM, "--channel", "fifo:1", "--formula", "F ended", *FAIR), 0, "strong:rows, weak:"),
        (
            ("pxp", "--channel", "fifo:1", "--formula", "F ended", *FAIR[:2]),
            1,
            "+INIT, pxp2>pxp1 +INIT",
        ),
        ((*SYSTEM, *FAIR), 2, "has no effect without a formula"),
        (
            (*SYSTEM, "--formula", "F ended", "--fair", "weak:left.TASK"),
            2,
            "did you mean left?TASK",
        ),
        ((*SYSTEM, "--formula", "F ended", *FAIR, "--reduce", "symmetry"), 2, "cannot be used"),
        ((*SYSTEM, "--property", "termination"), 0, "7 verdicts, 0 not as expected"),
        ((*SYSTEM, "--property", "termination", "--channel", "lossy:1"), 1, "hub>left +TASK lost"),
        ((*SYSTEM, "--property", "termination", "--limit", "3"), 4, "more than 3 states"),
        (
            (*SYSTEM, "--property", "termination", "--limit", "3"),
            4,
            "; try fewer members or a higher limit of states or memory",
        ),
        (
            (*SYSTEM, "--channel", "fifo:1", "--channel", "lossy:1", "--formula", "F (ended|lost)"),
            0,
            "2 verdicts, 0 not as expected",
        ),
        (
            (*SYSTEM, "--property", "termination", "--reduce", "symmetry"),
            2,
            "has its own properties",
        ),
        ((*SYSTEM, "--property", "termination", "--channel", "fifo"), 2, "write fifo:C"),
        ((*SYSTEM, "--reduce", "symmetry"), 2, "no two members are interchangeable"),
        ((*SYSTEM, "--reduce", "partial-order"), 2, "it needs buffers"),
        (("crowd.toml", "--reduce", "symmetry", "--channel", "fifo:1"), 1, "symmetry"),
        ((*SYSTEM, "--channel", "tcp"), 2, "there is no channel 'tcp'"),
        ((*SYSTEM, "--formula", "F left@WAITING"), 2, "no reachable state has 'left@WAITING'"),
        ((*SYSTEM, "--formula", "F ("), 2, "ends too early"),
        ((*SYSTEM, "--relations", "noisy"), 2, "--relations: relations and explicit"),
        ((*SYSTEM, "--property", "terminates"), 2, "is not a property of a system"),
        ((*SYSTEM, "--formula", "F ended", "--property", "no-deadlock"), 0, "2 verdicts, 0 not as"),
        (("--channel", "sync"), 2, "no table is given"),
        (("hub.toml", "worker.toml"), 2, "there is no member left"),
        ((*SYSTEM[:2], "right=nothing.toml"), 2, "nothing.toml"),
        (("hub.toml", "left=worker.toml", "left=worker.toml"), 2, "2 members are called left"),
    ],
)
def test_the_command(arguments: tuple[str, ...], code: int, said: str) -> None:
    done = checked(*arguments)
    assert (done.exit_code, said in done.output) == (code, True), done.output


@pytest.mark.usefixtures("tables")
def test_ctrl_c_leaves_what_was_found(monkeypatch: pytest.MonkeyPatch) -> None:
    from proofs.systems import standard_checks

    def pressed(_standard: object) -> Verdict:
        raise KeyboardInterrupt

    name = "end-reachable-from-everywhere"
    check = replace(standard_checks.STANDARD[name], decide=pressed)
    monkeypatch.setitem(standard_checks.STANDARD, name, check)
    done = checked(*SYSTEM, "--channel", "fifo:1", "--channel", "fifo:2")
    _, *lines = done.output.splitlines()
    assert done.exit_code == 130
    assert "UNKNOWN" in lines[4]
    assert "interrupted: 1 states met" in lines[4]
    assert "end-reachable-from-everywhere" in lines[4]
    assert all("HOLDS" in line for line in lines[:4])
    assert lines[-1] == "Stopped."
    assert "Traceback" not in done.output


@pytest.mark.usefixtures("tables")
@pytest.mark.parametrize("asked", [(), ("--formula", "F ended"), ("--formula", "G !left@GONE")])
def test_where_the_memory_is_used_up_nothing_is_known(
    asked: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    from proofs.systems.product import Composition

    def full(_self: Composition, _state: int) -> None:
        raise MemoryError

    monkeypatch.setattr(Composition, "moves", full)
    done = checked(*SYSTEM, *asked)
    assert done.exit_code == 4
    assert "the memory is used up: 1 states met" in done.output
    assert len(done.output.splitlines()) == (3 if asked else 10)


@pytest.mark.deep
def test_ctrl_c_leaves_the_claims_that_were_checked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from proofs.claims.checking import ClaimChecker

    def pressed(_self: ClaimChecker, _claim: object, _name: str) -> object:
        raise KeyboardInterrupt

    monkeypatch.setattr(ClaimChecker, "check", pressed)
    done = checked(
        "interact",
        *("--property", "interact.never-stuck", "--property", "no-deadlock"),
        *("--certificate", str(tmp_path)),
    )
    _, *lines = done.output.splitlines()
    assert done.exit_code == 130
    assert "no-deadlock" in lines[0]
    assert "HOLDS" in lines[0]
    assert "never-stuck" in lines[1]
    assert "UNKNOWN" in lines[1]
    assert "interrupted" in lines[1]
    assert lines[-1] == "Stopped."


EXPLORING = """
import os, sys
from proofs.core.limits import Effort
from pxp_fsm.cli.__main__ import main
spent = Effort.spent

def told(effort, states, *more):
    if states > 10_000 and Effort.spent is told:
        Effort.spent = spent
        os.write(1, b"explores\\n")
    return spent(effort, states, *more)

Effort.spent = told
main(sys.argv[1:], "pxp")
"""


@pytest.mark.deep
@pytest.mark.skipif(os.name != "posix", reason="sends SIGINT")
def test_ctrl_c_while_states_are_explored(tables: Path) -> None:
    command = [sys.executable, "-c", EXPLORING, "check"]
    crowd = [f"m{number}=crowd.toml" for number in range(4)]
    child = subprocess.Popen(
        [*command, *crowd, "--channel", "fifo:8"],
        cwd=tables,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert child.stdout is not None
    assert "explores\n" in iter(child.stdout.readline, "")
    said, told = interrupted(child)
    assert child.returncode == 130
    assert "UNKNOWN" in said
    assert "interrupted: " in said
    assert "Traceback" not in said + told


CERTIFY = (*SYSTEM, "--certificate", "proof.json")


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (CERTIFY, 0, "Certificate: proof.json"),
        (
            (*CERTIFY, "--property", "termination", "--channel", "fifo:2"),
            0,
            "Certificate: proof.json",
        ),
        ((*CERTIFY, "--channel", "lossy:1"), 1, "Certificate: proof.json"),
        ((*CERTIFY, "--formula", "F ended"), 4, "not certified: a certificate is of formulas G p"),
        ((*CERTIFY, "--formula", "G !hub@ONE", "--limit", "5"), 1, "FAILS"),
        ((*CERTIFY, "--formula", "G !(hub@ONE & left@GONE)", "--limit", "5"), 4, "more than 5"),
        ((*CERTIFY, "--channel", "fifo"), 4, "k-MC is about other systems"),
        ((*CERTIFY, "--channel", "fifo:1", "--channel", "fifo:2"), 2, "give one channel"),
        ((*CERTIFY, "--channel", "fifo:1", "--reduce", "partial-order"), 2, "no reduction"),
        ((*SYSTEM, "--certificate", "nowhere/proof.json"), 2, "there is no folder nowhere"),
        ((*SYSTEM, "--certificate", "."), 2, "fill a folder; write FILE.json"),
    ],
)
def test_a_certificate_is_written_of_what_holds(
    tables: Path, arguments: tuple[str, ...], code: int, said: str
) -> None:
    done = checked(*arguments)
    assert (done.exit_code, said in done.output) == (code, True), done.output
    assert (tables / "proof.json").exists() is ("Certificate: proof.json" in done.output)


def test_a_check_of_a_certificate_that_is_none_says_so(
    tables: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = {
        "empty.json": "",
        "list.json": "[]",
        "deep.json": "[" * 100_000,
        "number.json": "1",
        "twice.json": '{"members": 1, "members": 2}',
        "members.json": '{"members": [1], "channel": [], "claims": 0}',
    }
    for name, text in files.items():
        (tables / name).write_text(text, "utf-8")
    for name in (*files, ".", "nothing.json"):
        monkeypatch.setattr(sys, "argv", ["recheck", name, "hub.toml", "worker.toml"])
        with pytest.raises(SystemExit, match="These cannot be checked"):
            runpy.run_path(recheck.__file__, run_name="__main__")
