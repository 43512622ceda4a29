"""What MATCH and AGREE may say at a message, and what the decision functions make of it.

`Judgements` remembers both: at later messages, and in other states with the same data, the same
answers are possible.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import groupby, product
from typing import NamedTuple

from proofs.sessions.relational import Structure, Theory
from pxp_fsm.protocol.decisions import Guard
from pxp_fsm.protocol.rules import CATEGORY, MATCH, Role, Rules, derive

Data = tuple[Structure, Structure]
"""How the latest predictions are related, and how the latest explanations are."""

Said = tuple[bool, bool]
"""`same` and `revision` of a `Judged`."""


class Judged(NamedTuple):
    """What one relation said at a message, and how the latest two values are related after it.

    `same` compares the received value with one's own; `revision` is the answer on which REVISE
    depends (INTERACT: the new value with one's own; PXP: the new value with the received one).
    `kept` and `taken` are the structures if the agent keeps its value, or takes the new one.
    """

    same: bool
    revision: bool
    kept: Structure
    taken: Structure


class Decision(NamedTuple):
    """A guard that may hold, the data that follow, and the answers of MATCH and AGREE to it.

    `answers` are in the order in which an agent with derived guards asks.
    """

    guard: Guard
    data: Data
    answers: tuple[bool, ...]


class Derived(NamedTuple):
    """A guard that follows from answers, those that were asked for, and if a new pair is sent."""

    guard: Guard
    answers: tuple[bool, ...]
    takes: bool


@dataclass(frozen=True)
class Judgements:
    """The judgements of two agents under `rules` whose relations are as `theory` says.

    With `keeps_unchanged` an answer that counts as unchanged is not sent, one's previous one is.
    """

    rules: Rules
    theory: Theory
    keeps_unchanged: bool = False

    def judge(self, base: Structure, speaker: int, number: int) -> tuple[Judged, ...]:
        """Everything that the speaker's relation may say at message `number`, 2 or later."""
        key = (base, speaker, number == 2)
        if key not in self._judged:
            # agreement first, not in a set's order: traces are always the same
            found = dict.fromkeys(self._judge(*key))
            self._judged[key] = tuple(sorted(found, key=_said, reverse=True))
        return self._judged[key]

    def outcomes(self, data: Data, speaker: int, number: int) -> tuple[Decision, ...]:
        """Every guard that may hold at message `number`, with every data that may follow."""
        key = (data, speaker, number)
        if key not in self._at_number:
            y, e = (self.judge(part, speaker, number) for part in data)
            said = product(dict.fromkeys(map(_said, y)), dict.fromkeys(map(_said, e)))
            derived = {pair: self.derived(number, *pair) for pair in said}
            # other numbers with the same guards have the same outcomes
            alike = (data, speaker, number == 2, tuple(derived.values()))
            if alike not in self._outcomes:
                self._outcomes[alike] = _outcomes(y, e, derived)
            self._at_number[key] = self._outcomes[alike]
        return self._at_number[key]

    def outcome(self, y: Judged, e: Judged, number: int) -> Decision:
        """What the protocol's decision functions make of the two relations' answers."""
        guard, answers, takes = self.derived(number, _said(y), _said(e))
        return Decision(guard, (y.taken, e.taken) if takes else (y.kept, e.kept), answers)

    @cached_property
    def derived(self) -> Callable[[int, Said, Said], Derived]:
        """The guard at a message by `same` and `revision` of each relation, remembered."""
        return cache(self._derive)

    @cached_property
    def _judged(self) -> dict[tuple[Structure, int, bool], tuple[Judged, ...]]:
        return {}

    @cached_property
    def _at_number(self) -> dict[tuple[Data, int, int], tuple[Decision, ...]]:
        return {}

    @cached_property
    def _outcomes(self) -> dict[tuple[Data, int, bool, tuple[Derived, ...]], tuple[Decision, ...]]:
        return {}

    def _derive(self, number: int, y: Said, e: Said) -> Derived:
        answers = list[bool]()
        while not isinstance(found := derive(self.rules, number, answers), Guard):
            same, revision = y if found.relation == MATCH else e
            answers.append(same if (found.left, found.right) == CATEGORY else revision)
        takes = self.rules.carries(found) is Role.NEW
        if self.keeps_unchanged and y[1] and e[1]:
            takes = False
        return Derived(found, tuple(answers), takes)

    def _judge(self, base: Structure, speaker: int, second: bool) -> Iterator[Judged]:
        """The same for message 2, or for a later one: nothing else of the number matters."""
        theory, changes = self.theory, self.rules.asks_each_time
        for mine in theory.extensions(base) if second else (base,):
            own, other = (1, 0) if second else (speaker, 1 - speaker)
            at_once = second and changes
            fresh = own if at_once else mine.points
            for one in (mine,) if at_once else theory.extensions(mine):
                taken = one.keep(0, fresh) if speaker else one.keep(fresh, 1)
                points = {Role.RECEIVED: other, Role.OWN: own, Role.NEW: fresh}
                pairs = ([points[role] for role in of] for of in (CATEGORY, self.rules.revision))
                first, then = (theory.answers(one, speaker, *pair) for pair in pairs)
                for same, revision in product(first, then):
                    yield Judged(same, revision, mine, taken)


def _outcomes(
    ys: tuple[Judged, ...],
    es: tuple[Judged, ...],
    derived: Mapping[tuple[Said, Said], Derived],
) -> tuple[Decision, ...]:
    """Each guard with each data once, in the order of the judgements."""
    found: dict[tuple[Guard, Data], Decision] = {}
    alike = [(said, list(some)) for said, some in groupby(es, key=_said)]
    groups = [
        (said, dict.fromkeys(e.kept for e in some), dict.fromkeys(e.taken for e in some))
        for said, some in alike
    ]
    for y in ys:
        for said, kept, taken in groups:
            guard, answers, takes = derived[_said(y), said]
            first, others = (y.taken, taken) if takes else (y.kept, kept)
            for other in others:
                data = (first, other)
                if (guard, data) not in found:
                    found[guard, data] = Decision(guard, data, answers)
    return tuple(found.values())


def _said(judged: Judged) -> Said:
    return judged.same, judged.revision
