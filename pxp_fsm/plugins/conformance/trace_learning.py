"""Tables learned from recorded traces alone, by AALpy's passive learning, and what supports them.

A recording says what happened, never what could not. So states are merged by how often what follows
them was seen (Alergia: Carrasco and Oncina, 1994): in the limit the table is the one that was
recorded, from few traces it is a guess. How far each row can be trusted is said beside it.

AALpy (extra `conformance`) is loaded when something is learned.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from pxp_fsm.automata.automaton import Automaton, Transition
from pxp_fsm.automata.serialization import KEYS
from pxp_fsm.automata.tables import build_automaton
from pxp_fsm.errors import DataError, require_extra
from pxp_fsm.lazy_dataclasses import dataclass
from pxp_fsm.plugins.conformance.mealy import Mealy, minimal

END = "$"
"""What follows the last action of a trace that came to its end."""

DEPTH = 3
"""How many actions beyond a row are to be seen after it, for it to be confirmed."""

SELDOM = 5
"""A row that was taken fewer times is a guess, whatever followed it."""

FEW = 20
"""A row is a guess where its target was visited fewer times, or there are fewer traces: more may be
possible there, or at the beginning."""

LONGEST = 30
"""So many actions of a trace are looked at for what never came after them: few traces are alike."""

ERROR = 0.05
"""How probable it may be that a row of a right table is a guess because of what never came: of all
states and actions of the table together."""

PARTS = tuple(2.0**-power for power in (1, 3, 5, 7, 9))
"""Which part of the ways into a state may lead elsewhere: from a half to one of 512."""


@dataclass(frozen=True, slots=True)
class RecordedTrace:
    """What an agent did, in order: `+ASK` sent, `-REPLY` received, `!CLOSE` an event.

    `ended` is whether it came to its end there, and was not cut off. `where` names it in errors.
    """

    actions: tuple[str, ...]
    ended: bool = True
    where: str = ""


@dataclass(frozen=True, slots=True)
class RowSupport:
    """How far traces support a row: how often they took it, and what they never showed after it.

    `visited` is how often they were in the state to which it leads, or the number of traces where
    those are fewer.
    `missing` is ways on, of up to three actions, that the table allows after the row and that no
    trace has taken right after it: that the row leads to this very state is then a guess.
    """

    row: Transition
    taken: int
    visited: int
    missing: tuple[str, ...]

    @property
    def confirmed(self) -> bool:
        """Whether all that may follow the row has followed it, and it was taken often enough."""
        return not self.missing and self.taken >= SELDOM and self.visited >= FEW

    def __str__(self) -> str:
        row = self.row
        often = "once" if self.taken == 1 else f"{self.taken:,} times"
        told = f"{row.source} {row.action} → {row.target}: {often}"
        if not self.missing and not self.confirmed:
            told += ", a guess: seen too seldom"
        if self.missing:
            told += f", a guess: never followed by {', '.join(self.missing[:_SHOWN])}"
            left = len(self.missing) - _SHOWN
            told += f" and {left} more" if left > 0 else ""
        return told


_SHOWN = 3


@dataclass(frozen=True)
class LearnedTable:
    """A table that was learned from traces, and how far they support each of its rows."""

    table: Automaton
    traces: int
    actions: int
    support: tuple[RowSupport, ...]

    @property
    def guesses(self) -> tuple[RowSupport, ...]:
        """The rows that the traces do not confirm."""
        return tuple(row for row in self.support if not row.confirmed)


def learn_traces(
    traces: Iterable[RecordedTrace], name: str = "learned", *, title: str = ""
) -> LearnedTable:
    """The table that Alergia finds in traces; each trace is one of its runs.

    Of the tables that it finds with several bounds on its error, the one with the fewest guesses is
    taken: two states too few, or too many, leave ways on that no trace has shown. Raises
    `DataError` where there is no trace, and `UsageError` without AALpy.
    """
    recorded = tuple(traces)
    if not any(trace.actions for trace in recorded):
        raise DataError("there is no trace with an action; nothing can be learned")
    require_extra("conformance", "learning from traces", {"aalpy": "AALpy"})
    count = sum(len(trace.actions) for trace in recorded)
    tables = list[LearnedTable]()
    for epsilon in _EPSILONS:
        machine, letters = _merged(recorded, epsilon)
        table = _table(machine, letters, name, title or name)
        support = tuple(_supports(table, recorded))
        tables.append(LearnedTable(table, len(recorded), count, support))
        if not tables[-1].guesses:
            break
    return min(tables, key=lambda learned: len(learned.guesses))


_EPSILONS = (0.05, 0.005, 0.3, 0.0005)
"""Bounds on the error with which Alergia tells two states apart, in the order of trial."""


def _merged(
    traces: Sequence[RecordedTrace], epsilon: float
) -> tuple[Mealy[str, str | None], list[str]]:
    """The minimal automaton of what Alergia learns: an output for each letter, None is refused."""
    from aalpy import run_Alergia

    data = [[("", action) for action in _words(trace.actions, trace.ended)] for trace in traces]
    learned: Any = run_Alergia(
        [word for word in data if word], automaton_type="smm", eps=epsilon, print_info=False
    )
    letters = list(dict.fromkeys(action for trace in traces for action in trace.actions))
    places = {state: place for place, state in enumerate(learned.states)}
    successors, outputs = [], []
    for state in learned.states:
        after = {output: target for target, output, _ in state.transitions.get("", [])}
        every = (*letters, END)
        outputs.append(tuple(letter if letter in after else None for letter in every))
        successors.append(
            tuple(
                places[after[letter]] if letter in after and letter != END else places[state]
                for letter in every
            )
        )
    whole = Mealy((*letters, END), tuple(successors), tuple(outputs), places[learned.initial_state])
    return minimal(whole), letters


def _table(
    machine: Mealy[str, str | None], letters: Sequence[str], name: str, title: str
) -> Automaton:
    entering: dict[int, set[str]] = defaultdict(set)
    for state in range(machine.size):
        for place, letter in enumerate(letters):
            if machine.outputs[state][place] is not None:
                entering[machine.successors[state][place]].add(letter)
    names = dict(_names(machine, entering))
    keys = {kind.value: key for kind, key in KEYS.items()}
    rows = []
    for state in range(machine.size):
        for place, letter in enumerate(letters):
            if machine.outputs[state][place] is not None:
                label, _, partner = letter[1:].replace(" to ", " from ").partition(" from ")
                rows.append(
                    {
                        "from": names[state],
                        "to": names[machine.successors[state][place]],
                        keys[letter[0]]: label,
                        **({"partner": partner} if partner else {}),
                    }
                )
    final = [names[s] for s in range(machine.size) if machine.outputs[s][len(letters)] is not None]
    return build_automaton(
        name,
        rows,
        initial=names[machine.initial],
        final=final,
        states=dict.fromkeys(names.values(), ""),
        title=title,
    )


def _names(
    machine: Mealy[str, str | None], entering: dict[int, set[str]]
) -> Iterator[tuple[int, str]]:
    """Names of the states: after the one action that leads there, else a number."""
    taken = Counter[str]()
    for state in range(machine.size):
        name = f"STATE_{state + 1}"
        if state == machine.initial:
            name = "START"
        elif len(entering[state]) == 1:
            (letter,) = entering[state]
            name = f"AFTER_{letter[1:].partition(' ')[0]}"[:60]
        taken[name] += 1
        yield state, name if taken[name] == 1 else f"{name}_{taken[name]}"


def _supports(table: Automaton, traces: Sequence[RecordedTrace]) -> Iterator[RowSupport]:
    """What traces show of each row: they are run through the table, which allows all of them."""
    steps = _Steps(table)
    taken, visited = Counter[int](), Counter[str]()
    seen = defaultdict[int, set[tuple[str, ...]]](set)
    for trace, times in Counter(
        (recorded_trace.actions, recorded_trace.ended) for recorded_trace in traces
    ).items():
        words, state = _words(*trace), table.initial
        for place, action in enumerate(trace[0], start=1):
            number, state = steps[state, action]
            taken[number] += times
            visited[state] += times
            seen[number].add(words[place : place + DEPTH])
    absent = _absent(table, steps, traces)
    ways = {state.name: [*_ways(table, state.name, DEPTH)] for state in table.states}
    for number, row in enumerate(table.transitions):
        shown = {way[:length] for way in seen[number] for length in range(1, len(way) + 1)}
        missing = [w for w in ways[row.target] if w not in shown or w[0] in absent[number]]
        first = {way[0] for way in missing if len(way) == 1}
        told = [
            " ".join("an end" if word == END else word for word in way)
            for way in missing
            if len(way) == 1 or way[0] not in first
        ]
        often = min(visited[row.target], len(traces))
        yield RowSupport(row, taken[number], often, tuple(told))


class _Steps(dict[tuple[str, str], tuple[int, str]]):
    """By state and action: the number of the row that is taken, and its target."""

    def __init__(self, table: Automaton) -> None:
        rows = enumerate(table.transitions)
        super().__init__({(row.source, row.action): (n, row.target) for n, row in rows})


def _words(actions: tuple[str, ...], ended: bool) -> tuple[str, ...]:
    return (*actions, END) if ended else actions


def _absent(
    table: Automaton, steps: _Steps, traces: Sequence[RecordedTrace]
) -> dict[int, set[str]]:
    """By row, what some of the ways that end with it never showed, too often to be chance.

    A way is what a trace did before. All ways into a state should be followed alike: if an action
    has the share p there, it is absent after n visits by one way with probability (1 - p)^n. Beside
    this stands that a part of the ways, chosen by lot, leads where it cannot come. The ratio of the
    two likelihoods is multiplied over all ways into the state, and averaged over several parts. Way
    by way its expectation is 1 if the state is one, so by Markov's inequality it exceeds 1 / x with
    probability x at most. There is one such test for each state and action.
    """
    after = defaultdict[tuple[str, ...], Counter[str]](Counter)
    for trace, times in Counter(
        (recorded_trace.actions, recorded_trace.ended) for recorded_trace in traces
    ).items():
        words = _words(*trace)
        for place, word in enumerate(words[:LONGEST]):
            after[words[:place]][word] += times
    total = defaultdict[str, Counter[str]](Counter)
    ends: dict[tuple[str, ...], tuple[int, str]] = {(): (-1, table.initial)}
    for way in sorted(after, key=len):  # the way before each is there already
        if way:
            ends[way] = steps[ends[way[:-1]][1], way[-1]]
        total[ends[way][1]].update(after[way])
    # By what may be impossible, and by row: how many ways had so many visits, and whether it came.
    ways = defaultdict[_Absence, dict[int, Counter[tuple[int, bool]]]](lambda: defaultdict(Counter))
    for way, came in after.items():
        row, state = ends[way]
        visits, letters = came.total(), total[state]
        for word in letters:
            ways[state, word, True][row][visits, word in came] += 1
            if len(letters) > 2:  # of two, the others are the other one
                ways[state, word, False][row][visits, came[word] < visits] += 1
    absent = defaultdict[int, set[str]](set)
    bound = math.log(len(ways) / ERROR) if ways else 0.0
    for (state, word, itself), rows in ways.items():
        share = total[state][word] / total[state].total()
        if share == 1:
            continue
        share = share if itself else 1 - share
        by_row = {row: _log_ratios(seen, share) for row, seen in rows.items()}
        if _log_mean([*map(sum, zip(*by_row.values(), strict=True))]) < bound:
            continue
        blamed = [row for row, ratios in by_row.items() if row >= 0 and max(ratios) > 0]
        for row in blamed or by_row:
            absent[row] |= {word} if itself else total[state].keys() - {word}
    return absent


_Absence = tuple[str, str, bool]
"""A state, and an action that may be impossible after some ways into it; or, where this is False,
all actions but this one."""


def _log_ratios(ways: Counter[tuple[int, bool]], share: float) -> list[float]:
    """By part of the ways that leads elsewhere: how much likelier it makes what came after them."""
    ratios = []
    for part in PARTS:
        ratio = 0.0
        for (visits, came), count in ways.items():
            log_part = math.log(part) - (0 if came else visits * math.log1p(-share))
            rest = math.log1p(-part)
            ratio += count * (rest if came else _log_sum((rest, log_part)))
        ratios.append(ratio)
    return ratios


def _log_sum(logs: Sequence[float]) -> float:
    """The logarithm of a sum, of the logarithms of what is added: the sum itself may overflow."""
    most = max(logs)
    return most + math.log(math.fsum(math.exp(log - most) for log in logs))


def _log_mean(logs: Sequence[float]) -> float:
    return _log_sum(logs) - math.log(len(logs))


def _ways(table: Automaton, state: str, depth: int) -> Iterator[tuple[str, ...]]:
    """All ways on from a state, of at most so many actions; an end is the last of a way."""
    if state in table.final:
        yield (END,)
    for row in table.leaving(state) if depth else ():
        yield (row.action,)
        if depth > 1:
            yield from ((row.action, *way) for way in _ways(table, row.target, depth - 1))
