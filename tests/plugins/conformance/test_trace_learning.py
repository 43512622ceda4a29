"""Tables learned from traces: equivalent with enough of them, and never sure of a wrong row."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from opentelemetry import trace

import pxp_fsm as pxp
from backends.databases import SqlBlackboard
from pxp_fsm.automata.automaton import Automaton, Transition
from pxp_fsm.automata.serialization import KEYS
from pxp_fsm.errors import DataError, UsageError
from pxp_fsm.plugins.conformance.mealy import Mealy, difference
from pxp_fsm.plugins.conformance.trace_files import read_traces
from pxp_fsm.plugins.conformance.trace_learning import RecordedTrace, learn_traces
from tests.analysis.recorded import record_sessions
from tests.command_line import pxp as command
from tests.plugins.integrations.test_span_recordings import Spans

LETTERS = ("+A", "-B", "!C", "+D")
WORDS = {kind.value: key for kind, key in KEYS.items()}


def random_table(rng: random.Random) -> Automaton:
    """A table in which every state is reached, and leads to an end."""
    while True:
        count, letters = rng.randint(2, 4), LETTERS[: rng.randint(2, 4)]
        rows = [
            {"from": f"S{s}", "to": f"S{rng.randrange(count)}", WORDS[one[0]]: one[1:]}
            for s in range(count)
            for one in letters
            if rng.random() < 0.5
        ]
        final = [f"S{s}" for s in range(count) if rng.random() < 0.35] or [f"S{count - 1}"]
        if not any(row["from"] == "S0" for row in rows):
            continue
        states = {f"S{s}": "" for s in range(count)}
        table = pxp.build_automaton("t", rows, initial="S0", final=final, states=states)
        if not {fault.kind for fault in table.findings} & {"trap", "unreachable-state"}:
            return table


def walks(table: Automaton, rng: random.Random, count: int) -> Iterator[RecordedTrace]:
    """Random runs of a table, cut off after 40 actions."""
    for _ in range(count):
        state, actions = table.initial, list[str]()
        while len(actions) < 40:
            ways: list[Transition | None] = [*table.leaving(state)]
            row = rng.choice(ways + [None] * (state in table.final))
            if row is None:
                yield RecordedTrace(tuple(actions))
                break
            actions.append(row.action)
            state = row.target
        else:
            yield RecordedTrace(tuple(actions), ended=False)


def behaviour(table: Automaton, letters: list[str]) -> Mealy[str, str | None]:
    names = [state.name for state in table.states]
    rows = [{row.action: row.target for row in table.leaving(name)} for name in names]
    return Mealy(
        (*letters, "$"),
        tuple(
            (*(names.index(after.get(letter, name)) for letter in letters), names.index(name))
            for name, after in zip(names, rows, strict=True)
        ),
        tuple(
            (
                *(letter if letter in after else None for letter in letters),
                "$" if name in table.final else None,
            )
            for name, after in zip(names, rows, strict=True)
        ),
        names.index(table.initial),
    )


def equivalent(one: Automaton, other: Automaton) -> bool:
    letters = sorted({row.action for table in (one, other) for row in table.transitions})
    return difference(behaviour(one, letters), behaviour(other, letters)) is None


def outcomes(seeds: range) -> Counter[str]:
    """How learning went: with few traces, and with more until no row is a guess."""
    counted = Counter[str]()
    for seed in seeds:
        rng = random.Random(seed)
        table, traces = random_table(rng), list[RecordedTrace]()
        few = learn_traces(walks(table, rng, 5))
        counted["few: sure"] += not few.guesses
        counted["few: sure and wrong"] += not few.guesses and not equivalent(table, few.table)
        for enough in (250, 1_000, 4_000, 16_000):
            traces += walks(table, rng, enough - len(traces))
            learned = learn_traces(traces)
            if not learned.guesses:
                break
        is_right = equivalent(table, learned.table)
        counted["equivalent" if is_right else "guesses" if learned.guesses else "wrong"] += 1
    return counted


def test_enough_traces_give_the_table_and_few_say_what_is_a_guess() -> None:
    assert outcomes(range(1000, 1004)) == Counter({"equivalent": 4, "few: sure": 0} | NONE)


NONE = {"few: sure and wrong": 0}


@pytest.mark.parametrize("seed", [23, 2149])
def test_what_each_way_into_a_state_shows_is_added_up(seed: int) -> None:
    """No way alone shows that states were taken for one; together they do."""
    rng = random.Random(seed)
    table = random_table(rng)
    _few = [*walks(table, rng, 5)]
    learned = learn_traces(walks(table, rng, 250))
    assert learned.guesses or equivalent(table, learned.table)


@pytest.mark.deep
def test_two_hundred_tables_are_learned() -> None:
    counted = outcomes(range(200))
    assert counted["equivalent"] == 200
    assert counted["few: sure and wrong"] == 0


def asking(count: int) -> list[RecordedTrace]:
    table = pxp.build_automaton(
        "asking",
        [
            {"from": "IDLE", "to": "ASKED", "send": "ASK"},
            {"from": "ASKED", "to": "IDLE", "receive": "NO"},
            {"from": "ASKED", "to": "DONE", "receive": "YES"},
        ],
        final=["DONE"],
    )
    return [*walks(table, random.Random(1), count)]


def test_each_row_says_how_often_it_was_seen() -> None:
    traces = [*asking(100), RecordedTrace(("+ASK", "-NO", "!STOP"))]
    learned = learn_traces(traces, "asking")
    assert learned.table.name == "asking"
    often = sum(one.actions.count("+ASK") for one in traces)
    assert str(learned.support[0]).startswith(f"START +ASK → AFTER_ASK: {often} times")
    [stop] = [one for one in learned.support if one.row.label == "STOP"]
    assert (stop.taken, stop.confirmed) == (1, False)
    assert "once, a guess" in str(stop)
    for one in traces[::30]:
        pxp.conformance.assert_allowed(one.actions, learned.table, ended=True)


def test_a_trace_that_was_cut_off_is_no_end() -> None:
    learned = learn_traces([RecordedTrace(("!A",), ended=False), RecordedTrace(("!A", "!B"))] * 30)
    assert learned.table.final == {"AFTER_B"}


LINES = """\
["+ASK", "-YES"]
{"trace": ["+ASK"], "ended": false}
{"session": "x", "action": "+ASK"}
{"session": "y", "action": "+ASK to server"}

{"session": "x", "action": "-YES"}
"""


def test_lines_of_json_are_traces(tmp_path: Path) -> None:
    path = tmp_path / "recorded.jsonl"
    path.write_text(LINES, "utf-8")
    read = [(one.actions, one.ended) for one in read_traces([path])]
    assert read == [
        (("+ASK", "-YES"), True),
        (("+ASK",), False),
        (("+ASK", "-YES"), True),
        (("+ASK to server",), True),
    ]


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("{", "line 1: it is not JSON"),
        ("3", "line 1: a line is a list of actions"),
        ('["ASK"]', r"line 1: an action is \+TAG, -TAG or !EVENT"),
        ('{"trace": [], "ended": 1}', "ended is true or false, not 1"),
        ("[]", "no trace with an action"),
    ],
)
def test_faults_of_lines_are_told(tmp_path: Path, line: str, problem: str) -> None:
    path = tmp_path / "recorded.jsonl"
    path.write_text(line, "utf-8")
    with pytest.raises(DataError, match=problem):
        learn_traces(read_traces([path]))


def test_a_learned_table_is_checked_drawn_and_enforced(tmp_path: Path) -> None:
    traces = asking(80)
    text = "\n".join(json.dumps(one.actions) for one in traces)
    (tmp_path / "recorded.jsonl").write_text(text, "utf-8")
    done = command("import", "--traces", "recorded.jsonl", "-o", "asking.toml", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    no = sum(one.actions.count("-NO") for one in traces)
    assert "3 states, 3 transitions, learned from 80 traces" in done.stdout
    assert f"AFTER_ASK -NO → START: {no} times" in done.stdout
    assert "what no trace shows is not in the table" in done.stdout
    table = pxp.load_automaton(tmp_path / "asking.toml")
    machine = pxp.Machine(table)
    assert [row.action for row in machine.enabled()] == ["+ASK"]
    assert command("draw", "asking.toml", "-o", "asking.mmd", cwd=tmp_path).returncode == 0
    checked = command("check", "asking.toml", "--json", cwd=tmp_path)
    assert json.loads(checked.stdout)[0]["property"] == "no-deadlock"
    (tmp_path / "few.jsonl").write_text("\n".join(text.splitlines()[:3]), "utf-8")
    done = command("import", "--traces", "few.jsonl", "-o", "few.toml", cwd=tmp_path)
    assert "Guessed: START +ASK, " in done.stdout
    checked = command("check", "few.toml", cwd=tmp_path)  # a later one, without the traces
    assert f"Note: learned: {done.stdout.splitlines()[-1]}" in checked.stdout.splitlines()
    again = command("import", "--traces", "recorded.jsonl", "-o", "asking.toml", cwd=tmp_path)
    assert again.returncode == 2
    assert "already exists" in again.stderr


def test_our_own_runs_and_their_spans_are_recordings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spans = Spans(tmp_path / "spans.jsonl")
    monkeypatch.setattr(trace, "get_tracer", spans.provider.get_tracer)
    database = tmp_path / "runs.sqlite"
    with SqlBlackboard(str(database)) as board:
        record_sessions(board, 3, traced=True)
        events = [board.events(record.session) for record in board.sessions()]
    spans.provider.shutdown()
    traces = [*read_traces([database], "m")]
    assert all(one.actions[0] == "+INIT" and one.ended for one in traces)
    assert [len(one.actions) for one in traces] == [len(some) for some in events]
    read = [*read_traces([spans.path], "m")]
    assert [one.actions for one in read] == [one.actions for one in traces]
    for one in read:
        pxp.conformance.assert_allowed(one.actions, "interact")
    with pytest.raises(UsageError, match="requires --agent; its sessions have: h, m"):
        [*read_traces([database])]
    with pytest.raises(UsageError, match="has no agent 'x'"):
        [*read_traces([database], "x")]
