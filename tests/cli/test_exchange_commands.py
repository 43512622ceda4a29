"""`pxp export` and `pxp import` of tables and systems, and `--channel fifo`, as people use them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from proofs.core.limits import Effort
from proofs.systems import System
from proofs.systems.pictures import product_diagram
from pxp_fsm.analysis.exports import formats, of_systems, of_tables
from pxp_fsm.automata.tables import builtin, load_automaton
from pxp_fsm.cli.main import commands

EXAMPLES = Path(__file__).parents[2] / "examples"
COMMIT = str(EXAMPLES / "two_phase_commit" / "two_phase.toml")
PUSH = str(EXAMPLES / "agent_protocols" / "a2a" / "push.toml")
CLIENT = """\
format = 1
name = "client"
title = "Client"
peer = "server"
initial = "IDLE"
final = ["DONE"]
states = [{ name = "IDLE" }, { name = "ASKED" }, { name = "DONE" }]
rows = [
  { from = "IDLE", to = "ASKED", send = "ASK" },
  { from = "ASKED", to = "IDLE", receive = "ANSWER" },
  { from = "IDLE", to = "DONE", send = "BYE" },
]
"""
SERVER = """\
format = 1
name = "server"
title = "Server"
peer = "client"
initial = "READY"
final = ["GONE"]
states = [{ name = "READY" }, { name = "ASKED" }, { name = "GONE" }]
rows = [
  { from = "READY", to = "ASKED", receive = "ASK" },
  { from = "ASKED", to = "READY", send = "ANSWER" },
  { from = "READY", to = "GONE", receive = "BYE" },
]
"""


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("client.toml").write_text(CLIENT, "utf-8")
    Path("server.toml").write_text(SERVER, "utf-8")


def pxp(*arguments: str) -> Result:
    return CliRunner().invoke(commands, arguments)


@pytest.mark.parametrize("form", sorted({*of_tables(), *of_systems()}))
def test_every_format_is_written_under_a_name_of_its_own_and_never_over_a_file(form: str) -> None:
    done = pxp("export", "pxp", "--format", form)
    assert done.exit_code == 0, done.output
    name = f"pxp{formats()[form].ending}"
    assert f"Exported: {name}" in done.output
    before = Path(name).read_bytes()
    again = pxp("export", "pxp", "--format", form)
    assert (again.exit_code, "already exists" in again.output) == (2, True)
    assert Path(name).read_bytes() == before


def test_a_format_that_is_only_read_is_named_with_those_that_are_written() -> None:
    reading = [name for name in formats() if name not in {*of_tables(), *of_systems()}]
    for form in reading:
        done = pxp("export", "pxp", "--format", form)
        assert done.exit_code == 2
        assert f"{form} is only read; tables are written as toml, json" in done.output


@pytest.mark.parametrize("ending", [".toml", ".json"])
def test_what_is_exported_is_imported_as_the_same_table(ending: str) -> None:
    assert pxp("export", "interact", "-o", f"mine{ending}").exit_code == 0
    assert pxp("check", f"mine{ending}").exit_code in (0, 1)  # read as it is, too
    done = pxp("import", f"mine{ending}", "-o", "back.toml")
    assert done.output == (
        "Imported as back.toml: INTERACT, 4 states, 12 transitions, fingerprint 17fdc5d6f5be\n"
    )
    assert load_automaton("back.toml") == load_automaton(f"mine{ending}") == builtin("interact")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("export", "pxp"), "pxp is a table, which requires --format: toml, json, dot"),
        (("export", "client.toml", "server.toml"), "requires --format"),
        (("export", "client.toml"), "client.toml is a table, which requires --format"),
        (("export", "a-1", "b-1", "--format", "jsonl"), "'a-1' is no file and no name"),
        (("export", "pxp", "--format", "jsonl"), "--format: jsonl is a format of runs"),
        (("export", "pxp", "-o", "x.csv"), "x.csv must end in .toml or .json"),
        (
            ("export", "pxp", "--format", "toml", "--database", "x"),
            "--database has no effect: pxp is a table",
        ),
        (("export", "pxp", "-o", "x.dot", "--format", "toml"), "x.dot must end in .toml"),
        (("export", "pxp", "-o", "no/x.toml"), "there is no folder no"),
        (("export", "none.toml", "-o", "x.json"), "there is no file none.toml"),
        (("import", "client.toml", "-o", "x.mmd"), "x.mmd must end in .toml or .json"),
        (("import", "client.toml"), "client.toml already exists"),
        (("check", "machine.scxml"), "there is no file machine.scxml"),
        (("check", "pxp", "--channel", "fifo", "--formula", "F ended"), "write fifo:C"),
        (("check", "pxp", "--channel", "fifo", "--property", "no-deadlock"), "not a property of"),
        (
            ("check", "pxp", "--channel", "fifo", "--reduce", "symmetry"),
            "--reduce: this has no effect over fifo",
        ),
        (
            ("check", "pxp", "--channel", "fifo", "--relations", "noisy"),
            "--relations: this has no effect over",
        ),
        (
            ("check", "pxp", "--channel", "fifo", "--fair", "weak:rows"),
            "--fair: this has no effect over fifo",
        ),
        (
            ("check", "pxp", "--channel", "fifo:1", "--runs", "finite"),
            "--runs: the choice of runs has no",
        ),
    ],
)
def test_what_cannot_be_done_is_said(arguments: tuple[str, ...], said: str) -> None:
    done = pxp(*arguments)
    assert (done.exit_code, said in done.output) == (2, True), done.output
    assert {path.name for path in Path().iterdir()} == {"client.toml", "server.toml"}


def test_channels_without_a_bound_beside_bounded_ones() -> None:
    done = pxp("check", "client.toml", "server.toml", "--channel", "fifo", "--channel", "fifo:1")
    assert done.exit_code == 0, done.output
    assert "1-multiparty compatible: any capacity from 1, and unbounded" in done.output
    assert "free guards, fifo of any capacity" in done.output
    assert "free guards, fifo:1" in done.output
    done = pxp("check", "interact", "--channel", "fifo", "--property", "progress")
    assert (done.exit_code, "both sends and receives" in done.output) == (4, True), done.output


def test_ctrl_c_leaves_what_was_found_over_channels_without_a_bound(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from proofs.systems import compatibility

    searched = compatibility.within

    def pressed(system: System, k: int, effort: Effort) -> compatibility.WithinCapacity:
        bounded = searched(system, k, effort)
        if k > 1:
            raise KeyboardInterrupt
        first = next(iter(bounded.space.steps))
        unmet = compatibility.Unmet("1-exhaustive", "a cannot send", first)
        return replace(bounded, unmet=unmet, certain={**bounded.certain, "progress": first})

    monkeypatch.setattr(compatibility, "within", pressed)
    done = pxp("check", "client.toml", "server.toml", "--channel", "fifo")
    _, reception, progress, summary, explained, stopped = done.output.splitlines()
    assert done.exit_code == 130
    assert "UNKNOWN" in reception
    assert "interrupted: " in reception
    assert "FAILS" in progress
    assert summary.startswith("2 verdicts, 2 not as expected")
    assert (explained, stopped) == ("Explained by: pxp help progress", "Stopped.")


def test_too_much_over_channels_without_a_bound_is_unknown() -> None:
    for option, value in (("--limit", "2"), ("--memory", "1")):
        done = pxp("check", "client.toml", "server.toml", "--channel", "fifo", option, value)
        assert (done.exit_code, f"with capacity 1 more than {value} " in done.output) == (4, True)


@pytest.mark.parametrize(
    ("tables", "name", "channel", "said"),
    [
        (("pxp",), "no-deadlock", "fifo:1", ["1 INIT<br/>not received"]),
        (("pxp",), "progress", "fifo", ["2 INIT<br/>not received", "reached in 2 steps"]),
        (("pxp",), "F ended", "sync", ["3 RATIFY", "the last 2 of 3 steps go on for ever"]),
        (("client.toml", "server.toml"), "G !lost", "lossy:1", ["1 ASK<br/>lost"]),
        (
            ("client.toml", "server.toml"),
            "G !server.ANSWER",
            "fifo:1",
            ["1 ASK<br/>received in step 2", "3 ANSWER<br/>not received"],
        ),
        (
            ("client.toml", "server.toml"),
            "no-orphan-message",
            "duplicating:1",
            ["1 BYE<br/>received in step 2, and a copy is left"],
        ),
        (
            ("client.toml", "server.toml"),
            "G !(client.BYE & server@READY)",
            "duplicating:2",
            ["reached in 1 step"],
        ),
        (("interact",), "G !ended", "sync", ["CLOSE in step 2", "#69;ND"]),
    ],
)
def test_how_tables_of_ones_own_fail_is_drawn(
    tables: tuple[str, ...], name: str, channel: str, said: list[str]
) -> None:
    drawing = ("draw", *tables, "--counterexample", name, "--channel", channel, "-o", "x.mmd")
    done = pxp(*drawing)
    assert done.exit_code == 0, done.output
    first, *others = done.output.splitlines()
    assert first == "Drawn: x.mmd"
    assert all(line.startswith("Drawn: x-") and line.endswith(".mmd") for line in others)
    assert len(others) == (2 if len(tables) < 3 else len(tables))
    told = Path("x.mmd").read_text("utf-8")
    for text in said:
        assert text in told, told


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("pxp", "--counterexample", "AG EF ended"), "has no counterexample: HOLDS"),
        (("pxp", "--counterexample", "no such"), "cannot be read at character"),
        (("pxp", "--counterexample", "nodeadlock"), "did you mean no-deadlock"),
        (("pxp", "--counterexample", "ended2"), "no reachable state has 'ended2'"),
        (("pxp", "--counterexample", "F ended", "--relations", "noisy"), "applies to claims"),
        (("pxp", "--channel", "sync"), "--channel: this requires --counterexample"),
        (("--counterexample", "terminates", "--channel", "sync"), "requires tables"),
        (("pxp", "interact"), "give one X to draw"),
        ((PUSH, "--channel", "fifo:2"), "more than 200 states"),
        ((COMMIT, "--channel", "sync", "--with", "n=1"), "--with: this does not apply"),
    ],
)
def test_what_cannot_be_drawn_is_said(arguments: tuple[str, ...], said: str) -> None:
    done = pxp("draw", *arguments)
    assert (done.exit_code, said in done.output) == (2, True), done.output


def test_a_system_over_a_channel_is_drawn_with_its_reachable_states(tmp_path: Path) -> None:
    drawn = tmp_path / "states.svg"
    done = pxp("draw", COMMIT, "--channel", "sync", "--no-title", "-o", str(drawn))
    assert done.exit_code == 0, done.output
    said = drawn.read_text("utf-8")
    assert said.count('class="node"') == 35 + 1  # and the point before the first
    assert said.count("deadlock<") == 7
    diagram = product_diagram(System.load(COMMIT))
    assert {node.group for node in diagram.nodes} >= {"START", "DONE", "CRASHED"}
    assert len(diagram.edges) == 46
