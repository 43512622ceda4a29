"""Tables with rules, explored with given parameters: their registers are in the states."""

from __future__ import annotations

from itertools import product
from operator import eq, ge, gt, le, lt, ne
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import pxp_fsm as pxp
from proofs.core.results import Status
from proofs.systems import intervals
from proofs.systems.product import Composition
from proofs.systems.reachability import reach
from pxp_fsm.automata.automaton import Automaton
from pxp_fsm.automata.expressions import Value
from pxp_fsm.automata.serialization import to_toml
from pxp_fsm.automata.system import System
from pxp_fsm.automata.tables import parse_automaton
from pxp_fsm.automata.unfolding import unfolded
from pxp_fsm.cli.main import commands
from pxp_fsm.errors import TableError, UsageError
from tests.oracles.registers import Agent, reachable
from tests.sampling import sampled

CLIENT = """
format = 1
name = "client"
title = "A client that asks again at most three times"
peer = "server"
initial = "START"
final = ["DONE", "GAVE_UP"]
states = [{ name = "START" }, { name = "WAITING" }, { name = "DONE" }, { name = "GAVE_UP" }]
rows = [
  { from = "START", to = "WAITING", send = "REQUEST" },
  { from = "WAITING", to = "DONE", receive = "REPLY" },
  { from = "WAITING", to = "START", event = "AGAIN", when = "tries < most", by = "self" },
  { from = "WAITING", to = "GAVE_UP", event = "GIVE_UP", when = "tries >= most", by = "self" },
]
[parameters]
most = { min = 0 }
[registers]
tries = { init = 0, min = 0 }
"""
RETRY = CLIENT.replace('< most", by', '< most", do = { tries = "tries + 1" }, by')
SERVER = """
format = 1
name = "server"
title = "A server"
peer = "client"
initial = "IDLE"
final = ["IDLE"]
states = [{ name = "IDLE" }, { name = "BUSY" }]
rows = [
  { from = ["IDLE", "BUSY"], to = "BUSY", receive = "REQUEST" },
  { from = "BUSY", to = "IDLE", send = "REPLY" },
]
"""


def retries(most: int, channel: str = "sync") -> System:
    tables = parse_automaton(RETRY), parse_automaton(SERVER)
    return System.load(*tables, channel=channel).with_parameters({"most": most})


def interacts() -> tuple[Automaton, Automaton]:
    table = pxp.load_automaton("interact")
    return table, table


@pytest.mark.parametrize(
    ("tables", "given"),
    [
        *((interacts(), {"n": n, "k": k}) for n, k in ((1, 1), (2, 1), (4, 2), (6, 3), (5, 9))),
        *(((parse_automaton(RETRY), parse_automaton(SERVER)), {"most": most}) for most in (0, 3)),
    ],
)
def test_what_is_reached_is_what_a_naive_search_reaches(
    tables: tuple[Automaton, Automaton], given: dict[str, int]
) -> None:
    system = System.load(*tables).with_parameters(given)
    held = [
        {state.name: (state.base, dict(state.values)) for state in member.automaton.states}
        for member in system.members
    ]
    composition = Composition(system)
    found = set[tuple[Agent, ...]]()
    for state in reach(composition).states:
        at = composition.encoding.configuration(state).at
        found.add(tuple(_agent(names[name]) for name, names in zip(at, held, strict=True)))
    assert found == {tuple(map(_sorted, pair)) for pair in reachable(tables, given)}


def _agent(place: tuple[str, dict[str, Value]]) -> Agent:
    base, values = place
    registers = {name: value for name, value in values.items() if name not in PARAMETERS}
    return _sorted((base, tuple(registers.items())))


def _sorted(agent: Agent) -> Agent:
    return agent[0], tuple(sorted(agent[1]))


PARAMETERS = ("n", "k", "most")


def test_formulas_name_registers_and_parameters() -> None:
    expected = {
        "G client.tries<=most": Status.HOLDS,
        "G client.tries<=2": Status.FAILS,
        "EF (client@GAVE_UP & client.tries=3)": Status.HOLDS,
        "G (1.tries<3 -> !client@GAVE_UP)": Status.HOLDS,
        "AF (client@DONE | client@GAVE_UP)": Status.HOLDS,
    }
    for channel in ("sync", "fifo:1", "lossy:1"):
        system = retries(3, channel)
        assert {text: pxp.check(system, text)[0].status for text in expected} == expected


@pytest.mark.deep
def test_a_register_is_compared_with_any_number() -> None:
    """Also with those that it never has: what is asked then is true or false, and no slip."""
    system, met = retries(3), set(range(4))
    compared = {"<=": le, ">=": ge, "<": lt, ">": gt, "=": eq, "!=": ne}
    asked = {
        f"{operator} client.tries{sign}{number}": (all if operator == "G" else any)(
            holds(tries, number) for tries in met
        )
        for operator in ("G", "EF")
        for sign, holds in compared.items()
        for number in (*range(6), 40, 10**8)
    }
    told = {text: pxp.check(system, text)[0].status for text in asked}
    assert told == {text: Status.HOLDS if true else Status.FAILS for text, true in asked.items()}
    for wrong in ("G client.tries<=040", "G client.missing<=40", "G client@IDLE<=40"):
        with pytest.raises(UsageError):
            len(pxp.check(system, wrong))


def test_an_urgent_event_is_all_that_its_agent_does() -> None:
    """INTERACT closes by its own rule, over any channel, and counts alike on both sides."""
    system = System.load("m=interact", "h=interact").with_parameters({"n": 4, "k": 2})
    for text in ("AF ended", "G m.j<=n", "G (m.REJECT -> m.j>k)", "G (m@END -> m.stop | m.j=n)"):
        (result,) = pxp.check(system, text)
        assert result.status is Status.HOLDS, text
    (failing,) = pxp.check(system, "G m.j<=3")
    assert failing.status is Status.FAILS
    dead = pxp.check(system, "no-dead-row")[0]
    assert dead.status is Status.HOLDS


def test_without_parameters_whoever_decides() -> None:
    """Then the rules are not looked at, and more can happen than what they allow."""
    free = System.load(parse_automaton(RETRY), parse_automaton(SERVER))
    assert pxp.check(free, "AF (client@DONE | client@GAVE_UP)")[0].status is Status.FAILS


def test_a_table_without_its_rules_has_the_same_rows() -> None:
    table = parse_automaton(RETRY)
    free = table.without_rules()
    rows = [[(r.source, r.action, r.target) for r in one.transitions] for one in (table, free)]
    assert rows[0] == rows[1]
    assert table.counts
    assert not free.counts
    assert free.fingerprint != table.fingerprint
    assert free.without_rules() is free


@pytest.mark.parametrize(
    ("given", "fault"),
    [
        ("least = 1", "line 6: no table of the system has a parameter least; there are: most"),
        ("most = -1", "line 6: most "),
        ("most = true", "line 6: most "),
    ],
)
def test_parameters_of_a_system_file_are_those_of_its_tables(
    given: str, fault: str, tmp_path: Path
) -> None:
    (tmp_path / "client.toml").write_text(RETRY, "utf-8")
    (tmp_path / "server.toml").write_text(SERVER, "utf-8")
    members = 'members = [{ name = "c", table = "client.toml" }, '
    members += '{ name = "s", table = "server.toml" }]'
    text = f'format = 1\nname = "pair"\ntitle = "A pair"\n{members}\n[parameters]\n{given}\n'
    (tmp_path / "pair.toml").write_text(text, "utf-8")
    with pytest.raises(TableError, match=fault):
        System.load(tmp_path / "pair.toml")


def test_the_command_takes_parameters(tmp_path: Path) -> None:
    client, server = tmp_path / "client.toml", tmp_path / "server.toml"
    client.write_text(RETRY)
    server.write_text(SERVER)
    files = [str(client), str(server), "--formula", "G client.tries<=most"]
    done = CliRunner().invoke(commands, ["check", *files, "--with", "most=3"])
    assert (done.exit_code, "HOLDS" in done.output, "client(most=3)" in done.output) == (
        0,
        True,
        True,
    )
    for given, problem in (
        ("most", "'most' is no parameter; write NAME=VALUE, as in n=4,k=2"),
        ("more=3", "no table of client; server has a parameter more; there are: most"),
        ("most=-1", "most is at least 0, not -1"),
        ("most=yes", "most is a whole number (an int), not 'yes'"),
    ):
        refused = CliRunner().invoke(commands, ["check", *files, "--with", given])
        assert refused.exit_code == 2
        assert problem in " ".join(refused.output.split())


def test_what_counts_without_end_is_not_unfolded() -> None:
    endless = parse_automaton(
        CLIENT.replace('when = "tries < most", ', 'do = { tries = "tries + 1" }, ')
    )
    with pytest.raises(UsageError, match="its registers take more than 10,000 states"):
        unfolded(endless, {"most": 1})


def gate(**more: Any) -> Automaton:
    rows: list[dict[str, Any]] = [
        {"from": "READY", "to": "WEIGH", "event": "LESSON"},
        {"from": "WEIGH", "to": "READY", "guard": "KEEP", "event": "KEPT", "do": {"best": "new"}},
        {"from": "WEIGH", "to": "READY", "guard": "DROP", "event": "DROPPED"},
    ]
    return pxp.build_automaton(
        "gate",
        rows,
        final=["READY"],
        guards={"KEEP": {"when": "new > best"}, "DROP": {"when": "else"}},
        registers={"best": {"init": 0, "min": 0}},
        oracles={"new": {"type": "int", "min": 0}, **more},
    )


def test_a_number_that_is_stored_takes_an_interval() -> None:
    with pytest.raises(UsageError, match="best becomes what the oracle new says, which is any num"):
        unfolded(gate(), {})
    table = unfolded(gate(), {"new": range(3)})
    assert [(t.source, t.guard, t.target) for t in table.transitions if t.guard] == [
        ("WEIGH[best=0]", "KEEP[best=1]", "READY[best=1]"),
        ("WEIGH[best=0]", "KEEP[best=2]", "READY[best=2]"),
        ("WEIGH[best=0]", "DROP", "READY[best=0]"),
        ("WEIGH[best=1]", "KEEP[best=2]", "READY[best=2]"),
        ("WEIGH[best=1]", "DROP", "READY[best=1]"),
        ("WEIGH[best=2]", "DROP", "READY[best=2]"),
    ]
    for wrong, why in (
        (range(-1, 3), "says at least 0, not -1"),
        (range(3, 3), "give the interval"),
        (range(0, 9, 2), "give the interval"),
        (3, "give the interval"),
    ):
        with pytest.raises(UsageError, match=why):
            unfolded(gate(), {"new": wrong})
    with pytest.raises(UsageError, match="more than 10,000 answers at once"):
        unfolded(gate(), {"new": range(10_001)})


def test_an_interval_is_given_on_the_command_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("gate.toml").write_text(to_toml(gate()), "utf-8")
    arguments = ["check", "a=gate.toml", "b=gate.toml", "--with", "new=0..3"]
    for formula, code in (
        ("G a.best<=3", 0),
        ("G a.best<=2", 1),
        ("G (event.KEPT -> !(a.best=0 & b.best=0))", 0),
    ):
        done = CliRunner().invoke(commands, [*arguments, "--formula", formula])
        assert done.exit_code == code, done.output
        assert "by rules, sync" in done.output
    done = CliRunner().invoke(commands, ["check", "gate.toml", "--property", "no-deadlock"])
    assert "Note: rules left out: gate: best becomes what the oracle new says" in done.output
    refused = CliRunner().invoke(commands, [*arguments[:-1], "new=3"])
    assert refused.exit_code == 2
    assert "give the interval of what it says, as in new=0..9, not 3" in refused.output


def files() -> Automaton:
    return pxp.build_automaton(
        "files",
        [
            {"from": "IDLE", "to": "IDLE", "guard": "SAME", "event": "KEPT"},
            {"from": "IDLE", "to": "IDLE", "guard": "BACK", "event": "UNDONE",
             "do": {"now": "old", "old": "other"}},
            {"from": "IDLE", "to": "IDLE", "guard": "MOVED", "event": "SAVED",
             "do": {"old": "now", "now": "file"}},
        ],
        final=["IDLE"],
        registers={"old": {"type": "id"}, "now": {"type": "id"}},
        oracles={"file": {"type": "id"}, "other": {"type": "id"}},
        guards={
            "SAME": {"when": "file == now"},
            "BACK": {"when": "file != now and file == old and old != now"},
            "MOVED": {"when": "else"},
        },
    )  # fmt: skip


def test_ids_are_told_apart_by_equality_alone() -> None:
    """As many texts as registers and answers are all that can be told apart."""
    table = unfolded(files(), {})
    found = {(t.source, t.guard, t.label, t.target) for t in table.transitions}
    rules, rows = files().rules, {row.guard: row for row in files().transitions}
    start: tuple[Value, ...] = ("", "")
    expected, left = set[tuple[str, ...]](), [start]
    for old, now in left:
        for file, other in product(("", "a", "b", "c", "d"), repeat=2):
            guard = rules.decide("IDLE", (old, now, file, other))
            after = rules.step(rows[guard], (old, now, file, other))
            source, target = _told((old, now)), _told(after)
            stored = f"[{target}]" if guard != "SAME" else ""
            step = f"IDLE[{source}]", f"{guard}{stored}", rows[guard].label, f"IDLE[{target}]"
            if step not in expected:
                expected.add(step)
            if after not in left:
                left.append(after)
    assert found == expected
    assert len(table.states) == 5  # none, either or both stored, alike or not
    keys = [(t.source, t.guard) for t in table.transitions]
    assert len({*keys}) == len(keys)  # a machine knows where each leads


def _told(ids: tuple[Value, ...]) -> str:
    called = {"": ""}
    for one in ids:
        called.setdefault(str(one), f"#{len(called)}")
    return f"old={called[str(ids[0])]}, now={called[str(ids[1])]}"


def test_formulas_compare_ids() -> None:
    system = System.load(files(), files()).with_parameters({})
    asked = "G (event.UNDONE -> 1.old!=now)", "EF (1.old!=now & 2.old=now)", "G 1.old=now"
    found = pxp.check(system, *asked)
    assert [str(one.status) for one in found] == ["FAILS", "HOLDS", "FAILS"]
    with pytest.raises(UsageError, match=r"1\.old<now"):
        len(pxp.check(system, "G 1.old<now"))


def test_what_stores_answers_is_explored_and_not_run() -> None:
    for system in (
        System.load(gate(), gate()),
        System.load(gate(), gate()).with_parameters({"new": range(3)}),
    ):
        with pytest.raises(UsageError, match="are explored, and no session runs them"):
            system.by_rules()


SEEN = (
    SERVER.replace('receive = "REQUEST" }', 'receive = "REQUEST", do = { seen = "seen + 1" } }')
    + "[registers]\nseen = { init = 0, min = 0 }\n"
)


def fixed(table: str) -> Automaton:
    """The client with a number in place of its parameter."""
    table = table.replace("[parameters]\nmost = { min = 0 }\n", "")
    return parse_automaton(table.replace('most"', '2"'))


@pytest.mark.deep
@pytest.mark.parametrize("channel", sampled(["sync", "fifo:1", "lossy:2"], 3))
def test_what_only_the_peer_bounds_is_found_by_exploring(channel: str) -> None:
    client, server = fixed(RETRY), parse_automaton(SEEN)
    with pytest.raises(UsageError, match="more than 10,000 states"):
        unfolded(server, {})
    found = pxp.check(
        System.load(client, server, channel=channel),
        *("no-dead-row", "G server.seen<=3", "G server.seen<=2"),
    )
    assert [str(one.status) for one in found] == ["HOLDS", "HOLDS", "FAILS"]
    assert found[0].assumptions == f"by rules, {channel}"
    assert found.notes == ()
    unbounded = intervals.by_rules(System.load(client, server), {}, bounded=False)
    assert len(unbounded.left_out) == 1 and "more than 10,000 states" in unbounded.left_out[0]
    assert intervals.by_rules(System.load(client, server), {}).left_out == ()


def test_what_a_channel_lets_come_twice_is_bounded_by_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(intervals, "WIDEST", 20)
    system = System.load(fixed(RETRY), parse_automaton(SEEN), channel="duplicating:1")
    found = pxp.check(system, "no-dead-row")
    assert found[0].assumptions == "by rules, free guards, duplicating:1"
    assert "server: seen goes beyond 20" in found.notes[-1]


def test_what_nothing_bounds_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(intervals, "WIDEST", 20)
    client, server = parse_automaton(CLIENT), parse_automaton(SEEN)
    found = pxp.check(System.load(client, server), "no-dead-row")
    assert found[0].assumptions == "free guards, sync"
    assert found.notes == (
        "rules left out: client: most has no value",
        "rules left out: server: seen goes beyond 20, and nothing bounds it; let a when or an "
        "urgent event bound what it counts",
    )


def test_partners_are_called_anew_in_the_table_as_written_too() -> None:
    own = pxp.load_automaton("examples/with_rules/commit_coordinator.toml")
    made = unfolded(own, {"most": 1}).with_partners({"left": "west"})
    assert made.unfolding is not None
    assert made.partners == made.unfolding.table.partners
    assert "west" in made.partners
    assert "left" not in made.partners


def test_two_tables_declare_a_parameter_alike() -> None:
    other = SERVER + "[parameters]\nmost = { min = 1 }\n"
    with pytest.raises(
        TableError, match="client and server declare the parameter most in two ways"
    ):
        System.load(parse_automaton(RETRY), parse_automaton(other))


def test_what_is_refused_is_refused_again_after_what_is_equal_to_it() -> None:
    """True equals 1, and is no number: what was unfolded before is not found by it."""
    table = pxp.load_automaton("interact")
    assert unfolded(table, {"n": 1, "k": 1}) is unfolded(table, {"k": 1, "n": 1})
    for wrong in (True, 1.0):
        with pytest.raises(UsageError, match="is a whole number"):
            unfolded(table, {"n": wrong, "k": 1})


def test_a_table_is_drawn_with_its_registers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name, text in (("client", RETRY), ("server", SERVER)):
        Path(f"{name}.toml").write_text(text, "utf-8")
    draw = ["draw", "client.toml", "-o", "drawn.mmd", "--with"]
    done = CliRunner().invoke(commands, [*draw, "most=1"])
    assert done.exit_code == 0, done.output
    shown = "WAITING#91;tries#61;1#93;"
    assert shown in Path("drawn.mmd").read_text("utf-8")
    failing = ["draw", "client.toml", "server.toml", "--counterexample", "no-deadlock"]
    done = CliRunner().invoke(commands, [*failing, "--with", "most=1", "-o", "failing.mmd"])
    assert done.exit_code == 0, done.output
    assert shown in Path("failing-client.mmd").read_text("utf-8")
    for arguments, problem in (
        ([*draw, "most=40"], "a drawing at most 100"),
        ([*draw, "least=1"], "there is no parameter least"),
        (["draw", "--counterexample", "refuted-never", "--with", "n=1"], "this requires tables"),
    ):
        refused = CliRunner().invoke(commands, arguments)
        assert refused.exit_code == 2
        assert problem in refused.output


def test_who_never_comes_to_take_a_message_is_sent_it_as_the_table_is_written() -> None:
    """A row that names no partner sends to whoever has a row for its tag, reachable or not."""
    late = pxp.build_automaton(
        "late",
        [
            {"from": "S", "to": "READY", "event": "GO", "when": "count > 0"},
            {"from": "READY", "to": "READY", "receive": "TASK"},
        ],
        final=["S"],
        registers={"count": {"init": 0}},
    )
    hub = pxp.build_automaton("hub", [{"from": "S", "to": "S", "send": "TASK"}], final=["S"])
    system = System(hub=hub, a=late, b=late, channel="fifo:1")
    (lands,) = pxp.check(system, "EF (hub:a@has.TASK & hub:b@has.TASK)")
    assert lands.status is Status.HOLDS
    assert system.by_rules().links == system.links == ((0, 1), (0, 2))
