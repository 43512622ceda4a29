"""Safety formulas beside the tables of a policy: each becomes a table, its monitor.

A formula is read over the events that it names, in the order in which they happen; its first state
is the one before any event. The monitor has a row for an event where, after it, the formula can
still become true of some sequence, however it goes on or ends. For a safety formula that is all
there is to enforce: whatever breaks it has broken it after finitely many events.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from proofs.core.explore import Step, TooLarge, explore
from proofs.core.results import Status, Verdict
from proofs.logic import FormulaChecker, graph_of, parse
from proofs.logic.checking import of_all_runs
from proofs.logic.formulas import (
    FALSE,
    And,
    Atom,
    Exists,
    Formula,
    Next,
    Not,
    Or,
    Past,
    Release,
    Since,
    Triggered,
    Truth,
    Until,
    WeakNext,
    WeakYesterday,
    Yesterday,
    atoms,
    parts,
)
from proofs.logic.monitor import Deterministic, MonitorVerdict, over
from proofs.logic.past import history_of
from pxp_fsm.automata.actions import External
from pxp_fsm.errors import UsageError
from pxp_fsm.lazy_dataclasses import dataclass

PREFIX = "event."
"""What the propositions of a policy's formulas begin with."""

MOST_PLACES = 1_000
"""Places of a monitor."""

MOST_CHARACTERS = 2_000
"""Characters of an expression."""


@dataclass(frozen=True)
class _Sequences:
    """All sequences of events: each may be the last, or they go on for ever.

    A state is the latest event, at first "", and whether another one follows.
    """

    events: tuple[str, ...]
    name: str = "the events of the formula"

    def initial(self) -> Iterable[tuple[str, bool]]:
        return (("", False), ("", True))

    def successors(self, state: tuple[str, bool]) -> Iterator[Step[tuple[str, bool]]]:
        for event in self.events if state[1] else ():
            for follows in (False, True):
                yield Step(External(event), (event, follows))

    def propositions(self, state: tuple[str, bool]) -> frozenset[str]:
        return frozenset({PREFIX + state[0]} if state[0] else ())


@dataclass(frozen=True)
class _Allowed:
    """The sequences that a monitor allows: a state is its place, and a state of `_Sequences`."""

    moves: Sequence[dict[str, int]]
    name: str = "what the monitor allows"

    def initial(self) -> Iterable[tuple[int, str, bool]]:
        return ((0, "", False), (0, "", True))

    def successors(self, state: tuple[int, str, bool]) -> Iterator[Step[tuple[int, str, bool]]]:
        place, _, goes_on = state
        for event, target in self.moves[place].items() if goes_on else ():
            for follows in (False, True):
                yield Step(External(event), (target, event, follows))

    def propositions(self, state: tuple[int, str, bool]) -> frozenset[str]:
        return frozenset({PREFIX + state[1]} if state[1] else ())


def events_of(formula: Formula) -> tuple[str, ...]:
    """The events that a formula names; raises `UsageError` where it has something else, or none."""
    names = sorted(set(atoms(formula)))
    others = [name for name in names if not name.startswith(PREFIX) or not name[len(PREFIX) :]]
    if others or not names:
        others_named = f"it has {', '.join(others)}" if others else "it has none"
        raise UsageError(
            f"a formula beside the tables speaks of events ({PREFIX}NAME); {others_named}"
        )
    return tuple(name.removeprefix(PREFIX) for name in names)


def rows_of(text: str) -> list[dict[str, Any]]:
    """The rows of the table that enforces a safety formula, from state to state with an event.

    Raises `UsageError` where it cannot be read, speaks of something else than events or of more
    than one run, is false of every sequence, is no safety property, or is too large.
    """
    formula = parse(text)
    events = events_of(formula)
    try:
        moves = _moves(over(formula, _Sequences(events)), events)
        model = _Allowed(moves)
        vocabulary = frozenset(atoms(formula))
        graph = graph_of(model, explore(model), vocabulary=vocabulary)
        verdict = FormulaChecker(graph).check(formula)
    except TooLarge as error:
        raise UsageError(f"the formula is too large to be enforced: {error}") from error
    if verdict.status is not Status.HOLDS:
        raise UsageError(
            f"it is no safety property: no single event breaks it, and {_broken(verdict)} does; "
            f"say what may not happen (N in place of X, W in place of U), or what must have been"
        )
    never = set(events).difference(*moves)
    if never:
        raise UsageError(
            f'it never allows {min(never)}; write then = "refuse" in the line of that event'
        )
    places = _merged(moves)
    return [
        {"from": f"M{place}", "to": f"M{target}", "event": event}
        for place, leaving in enumerate(places)
        for event, target in leaving.items()
    ]


def ghost_claim(formula: Formula, name: str) -> Mapping[str, Any] | None:
    """A formula G p over events, p of the past and the present, as a claim of a certificate.

    A ghost has the bit of each past operator; that of Y p is true while p is, and is never false.
    None where the formula is another one, or its ghosts are longer than expressions may be.
    """
    path = of_all_runs(formula)
    if not isinstance(path, Release) or path.left != FALSE:
        return None
    if any(isinstance(part, _FUTURE) for part in parts(path.right)):
        return None
    events = [atom.removeprefix(PREFIX) for atom in atoms(path) if atom.startswith(PREFIX)]
    if not all(map(str.isidentifier, events)) or len(events) < len([*atoms(path)]):
        return None
    monitor = history_of(Yesterday(path.right))
    assert monitor is not None  # noqa: S101 - there is a Y
    _, after = monitor.step(monitor.start, [False] * len(monitor.atoms))
    numbers = {part: number for number, part in enumerate(monitor.operators)}
    ghosts = {}
    for part, number in numbers.items():
        now = part.of if isinstance(part, Yesterday | WeakYesterday) else part
        step = _expression(now, numbers)
        if len(step) > MOST_CHARACTERS:
            return None
        ghosts[f"g{number}"] = {"type": "bool", "init": bool(after >> number & 1), "step": step}
    never = f"not g{numbers[Yesterday(path.right)]}"
    claims = [{"name": name, "check": "never", "never": never}]
    whole: dict[str, Any] = {"relations": None, "starts": "", "assume": [], "while": ""}
    return {**whole, "ghosts": ghosts, "claims": claims}


_FUTURE = (Next, WeakNext, Until, Release, Exists)


def _expression(  # noqa: PLR0911 - a case for each kind of formula
    formula: Formula, numbers: Mapping[Past, int]
) -> str:
    """What a formula of the past says after an event, from the ghosts before it."""
    match formula:
        case Truth(value):
            return "true" if value else "false"
        case Atom(name):
            return f"(tag == {name.removeprefix(PREFIX)})"
        case Not(of):
            return f"(not {_expression(of, numbers)})"
        case And(left, right):
            return f"({_expression(left, numbers)} and {_expression(right, numbers)})"
        case Or(left, right):
            return f"({_expression(left, numbers)} or {_expression(right, numbers)})"
        case Yesterday() | WeakYesterday():
            return f"g{numbers[formula]}"
        case Since(left, right):
            since = f"({_expression(left, numbers)} and g{numbers[formula]})"
            return f"({_expression(right, numbers)} or {since})"
        case Triggered(left, right):
            left_or = f"({_expression(left, numbers)} or g{numbers[formula]})"
            return f"({_expression(right, numbers)} and {left_or})"
    raise AssertionError(f"not of the past: {formula}")


def _broken(verdict: Verdict) -> str:
    """What breaks the formula without an event that does."""
    labels = () if verdict.trace is None else verdict.trace.labels
    if verdict.cycle:
        return f"{', '.join(labels)} (the last {verdict.cycle} for ever)"
    return f"{', '.join(labels)} and then nothing more" if labels else "that nothing happens"


def _moves(monitor: Deterministic[Any, str], events: Sequence[str]) -> list[dict[str, int]]:
    """From each place where the formula can still become true, the events that lead to another."""
    if monitor.outlooks[monitor.start] is MonitorVerdict.FALSE:
        raise UsageError("no sequence of events satisfies it")
    numbers, left = {monitor.start: 0}, [monitor.start]
    moves: list[dict[str, int]] = []
    for place in left:  # grows while it is read
        moves.append({})
        for event in events:
            target = monitor.after(place, str(External(event)))
            if monitor.outlooks[target] is MonitorVerdict.FALSE:
                continue
            if target not in numbers:
                if len(numbers) >= MOST_PLACES:
                    raise TooLarge(f"its monitor has more than {MOST_PLACES:,} places")
                numbers[target] = len(numbers)
                left.append(target)
            moves[-1][event] = numbers[target]
    return moves


def _merged(moves: Sequence[dict[str, int]]) -> list[dict[str, int]]:
    """The places with those merged that allow the same from there on (Moore, 1956)."""
    blocks = [0] * len(moves)
    while True:
        signs: dict[Any, int] = {}
        finer = [
            signs.setdefault(
                (blocks[place], *((e, blocks[t]) for e, t in leaving.items())), len(signs)
            )
            for place, leaving in enumerate(moves)
        ]
        if len(signs) == len(set(blocks)):
            break
        blocks = finer
    firsts = [finer.index(number) for number in range(len(signs))]
    return [{e: finer[t] for e, t in moves[place].items()} for place in firsts]
