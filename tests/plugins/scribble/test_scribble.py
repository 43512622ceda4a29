"""Global protocols: what is read, what is refused and where, and what the projection does."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from bench_scribble import judged
from click.testing import CliRunner

import pxp_fsm as pxp
from pxp_fsm.cli.main import commands
from pxp_fsm.errors import TableError
from pxp_fsm.plugins.scribble.protocols import check_fair, check_unfair, load, read, write

ROOT = Path(__file__).parents[3]
REVIEW = ROOT / "examples" / "review" / "review.scr"
DATA = Path(os.environ.get("PXP_TEST_DATA") or ROOT.parent / "shared" / "data")
PUBLISHED = DATA / "scribble"
"""Scribble's own test protocols: beside the repository, or where `PXP_TEST_DATA` says."""


def protocol(body: str, roles: str = "A B C") -> str:
    declared = ", ".join(f"role {role}" for role in roles.split())
    return f"global protocol P({declared}) {{ {body} }}"


def actions(system: pxp.System, member: str) -> list[str]:
    table = system.members[system.places[member]].automaton
    return [f"{row.source} {row.action} {row.target}" for row in table.transitions]


def test_a_role_has_its_part_of_the_protocol() -> None:
    body = """
        1(Text) from A to B;
        rec X { choice at B { more() from B to C; continue X; } or { () from B to C; } }
    """
    system = read(protocol(body), "p.scr")
    assert actions(system, "A") == ["S1 +M1 to B S2"]
    assert actions(system, "B") == [
        "S1 -M1 from A S2",
        "S2 +EMPTY to C S3",
        "S2 +more to C S2",
    ]
    assert actions(system, "C") == ["S1 -EMPTY from B S2", "S1 -more from B S1"]
    assert "M1 is 1()" in system.members[0].automaton.title


def test_calls_have_roles_and_arguments_and_may_go_round() -> None:
    text = """
        module m;
        global protocol P(role A, role B) { do m.Q<hello()>(B, A); }
        aux global protocol Q<sig S>(role C, role D) {
            choice at C { S from C to D; do Q<S>(C, D); } or { bye() from C to D; }
        }
    """
    system = read(text, "m.scr")
    assert actions(system, "B") == ["S1 +bye to A S2", "S1 +hello to A S1"]


def test_types_are_the_payloads() -> None:
    text = """
        type <java> "java.lang.String" from "rt.jar" as Text;
        type <java> "my.Thing" from "my.jar" as Thing;
        global protocol P(role A, role B) { a(Text) from A to B; b(Thing) from A to B; }
    """
    payloads = read(text, "p.scr").members[0].automaton.payloads
    assert payloads["a"]["type"] == "string"
    assert "b" not in payloads


@pytest.mark.parametrize(
    ("body", "fault"),
    [
        ("1() from A to D;", "there is no role D; the roles are A, B, C"),
        ("1() from A to A;", "A cannot send a message to itself"),
        ("continue X;", "continue X stands in no rec X"),
        ("do Q(A, B);", "there is no protocol Q in this file; there are: P"),
        ("do P(A, B);", "P has 3 roles, not 2"),
        ("par { 1() from A to B; } and { 2() from B to A; }", "par is not supported"),
        ("1() from A;", "';' cannot stand here"),
        ("rec X { 1() from A to B; continue X; } 2() from A to B;", "never ends"),
        ("rec X { 1() from A to B; continue X; 2() from A to B; }", "goes back to the beginning"),
        ("choice at A { 1() from A to B; } or { }", "a branch of the choice at A is empty"),
        (
            "choice at A { 1() from A to B; } or { 2() from B to A; }",
            "B sends before it can know which branch was chosen",
        ),
        (
            "choice at A { choice at B { 1() from B to A; } }",
            "B decides before it can know which branch was chosen",
        ),
        (
            "choice at A { 1() from A to B; 1() from A to C; } "
            "or { 2() from A to B; 2() from B to C; }",
            "C learns of one choice from A or B",
        ),
        (
            "choice at A { 1() from A to B; 2() from B to A; } "
            "or { 1() from A to B; 3() from B to A; }",
            r"B cannot tell two branches apart that both begin with 1\(\) from A",
        ),
        (
            "choice at A { 1() from A to B; 1() from B to C; } or { 2() from A to B; }",
            "C cannot know whether it is over",
        ),
    ],
)
def test_what_is_no_protocol_is_refused_with_its_place(body: str, fault: str) -> None:
    with pytest.raises(TableError, match=rf"p\.scr, line 1, column \d+: .*{fault}"):
        read(protocol(body), "p.scr")


def test_a_role_that_cannot_know_is_told_where_its_messages_are() -> None:
    body = "choice at A {\n 1() from A to B;\n 1() from B to C;\n} or {\n 2() from A to B;\n}"
    with pytest.raises(TableError, match=r"p\.scr, line 3, column 2: C cannot know whether it is"):
        read(protocol(body), "p.scr")


def test_who_may_starve_is_said_beside_the_verdict() -> None:
    body = """
        rec X { choice at A { 1() from A to B; 1() from A to C; }
                or { 2() from A to B; continue X; } }
    """
    system = read(protocol(body), "p.scr")
    assert check_fair(system).as_expected
    unfair = check_unfair(system)
    assert unfair.status.value == "FAILS"
    assert unfair.as_expected
    assert '"C@S1"' in unfair.reason
    assert unfair.verdict.cycle > 0


def test_a_role_that_nobody_can_reach_makes_no_progress() -> None:
    body = """
        choice at A { rec X { 1() from A to B; continue X; } } or { 2() from A to B; }
        3() from B to C;
    """
    system = read(protocol(body), "p.scr")
    failing = [one.name for one in check_fair(system) if not one.verdict.holds]
    assert failing == ["progress"]


def test_the_projection_is_written_as_a_system_file(tmp_path: Path) -> None:
    system = load(REVIEW)
    paths = list(write(system, REVIEW, tmp_path / "review"))
    again = pxp.System.load(paths[-1])
    assert again.fingerprint == system.fingerprint
    with pytest.raises(pxp.PXPError, match="is there already"):
        list(write(system, REVIEW, tmp_path / "review"))


def test_the_commands_take_a_protocol(tmp_path: Path) -> None:
    done = CliRunner().invoke(commands, ["check", str(REVIEW), "--json"])
    assert done.exit_code == 0
    assert '"progress-without-fairness"' in done.output
    broken = tmp_path / "broken.scr"
    broken.write_text(protocol("1() from A to"), "utf-8")
    done = CliRunner().invoke(commands, ["check", str(broken)])
    assert done.exit_code == 2
    assert "broken.scr, line 1, column" in done.stderr


@pytest.mark.parametrize(
    "text",
    ["", "{" * 5_000, "global protocol P(role A, role B) {" + "1() from A to B;" * 5_001 + "}"],
)
def test_a_hostile_text_is_an_error(text: str) -> None:
    with pytest.raises(TableError):
        read(text, "hostile.scr")


@pytest.mark.deep
@pytest.mark.skipif(not PUBLISHED.is_dir(), reason="Scribble's test protocols are not here")
def test_verdicts_are_those_of_scribble() -> None:
    found = list(judged(PUBLISHED))
    unlike = {Path(one.path).name for one in found if not one.agrees}
    assert len(found) == 175
    assert unlike == {"Choice08.scr", "Choice09.scr", "Test03.scr"}
    unfair = [one for one in found if one.fair and not one.accepted and not one.expected]
    assert len(unfair) == sum("/unfair/" in one.path for one in found) == 10


def test_a_protocol_is_loaded_as_the_system_that_it_is() -> None:
    system = pxp.System.load(REVIEW)
    assert system.channel.name == "fifo:1"
    assert system.fingerprint == load(REVIEW).fingerprint
    assert pxp.System.load(REVIEW, channel="fifo:2").channel.name == "fifo:2"
