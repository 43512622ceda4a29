"""Tables with rules, explored with given parameters: their registers are in the states."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

import pxp_fsm as pxp
from proofs.core.results import Status
from proofs.systems.product import Composition
from proofs.systems.reachability import reach
from pxp_fsm.automata.automaton import Automaton
from pxp_fsm.automata.expressions import Value
from pxp_fsm.automata.system import System
from pxp_fsm.automata.tables import parse_automaton
from pxp_fsm.automata.unfolding import unfolded
from pxp_fsm.cli.main import commands
from pxp_fsm.errors import TableError, UsageError
from tests.oracles.registers import Agent, reachable

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


def test_what_an_oracle_says_is_not_unfolded_into_states() -> None:
    gate = pxp.build_automaton(
        "gate",
        [
            {"from": "READY", "to": "WEIGH", "event": "LESSON"},
            {
                "from": "WEIGH",
                "to": "READY",
                "guard": "KEEP",
                "event": "KEPT",
                "do": {"best": "new"},
            },
            {"from": "WEIGH", "to": "READY", "guard": "DROP", "event": "DROPPED"},
        ],
        final=["READY"],
        guards={"KEEP": {"when": "new > best"}, "DROP": {"when": "else"}},
        registers={"best": {"init": 0, "min": 0}},
        oracles={"new": {"type": "int", "min": 0}},
    )
    with pytest.raises(UsageError, match="best becomes what the oracle new says"):
        unfolded(gate, {})


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
