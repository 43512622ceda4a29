"""A machine that predicts what similar cases have, without key or network. It learns cases.

How instances are seen, texts, pictures or radiographs, is a `Sight`; everything else is the same.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Generic, Protocol, TypeVar

from pxp_fsm.artifacts import package_fingerprint
from pxp_fsm.errors import NoAnswer
from pxp_fsm.lazy_dataclasses import dataclass
from pxp_fsm.protocol.messages import Answer, Instance, Message, Question, Tag
from pxp_fsm.tasks.task import DataRow

F = TypeVar("F")

NEARNESS = 4
"""The power of the distance by which cases count less; chosen on RAD's phantoms alone."""

_NAMED = 3
"""Nearest cases that are told."""

_SAME = 1e-18
"""A squared distance below which two cases are the same one."""

Squares = Callable[[F], Sequence[float]]
"""The squared distances of what is seen from each of the cases."""


@dataclass(frozen=True)
class LabelledCase(Generic[F]):
    """A case whose answer somebody gave: its instance's key, what is seen of it, the answer."""

    key: str
    seen: F
    answer: Answer


class Sight(Protocol[F]):
    """How instances are seen, and how far apart two of them are."""

    @property
    def name(self) -> str:
        """What it is, as a session records it; with a fingerprint of what it depends on."""

    def see(self, instance: Instance) -> F:
        """What is seen of `instance`; raises `NoAnswer` where nothing is."""

    def squares(self, known: Sequence[F], cases: Sequence[F], /) -> Squares[F]:
        """Squared distances from each of `cases`, in units that `known` give (not empty)."""

    def explained(self, prediction: str, seen: F, nearest: LabelledCase[F] | None, /) -> str:
        """Why it is `prediction`; `nearest` is the nearest case that has it."""


class Votes(Generic[F]):
    """What labelled cases say of others, the more the more alike they are.

    A case votes for its own prediction, with the weight 1 / d ** `NEARNESS`, where d is its
    distance (Shepard, 1968: interpolation by inverse distances). So a case that is met again is
    answered as it was told, and every lesson changes what is said of cases like it. One more vote
    is spread over all `possible` predictions: none is impossible.
    """

    def __init__(
        self,
        sight: Sight[F],
        known: Sequence[LabelledCase[F]],
        told: Sequence[LabelledCase[F]] = (),
        possible: int | None = None,
    ) -> None:
        self.cases = (*known, *told)
        self._predictions = sorted({case.answer.prediction for case in self.cases})
        self._possible = len(self._predictions) + 1 if possible is None else possible
        self._squares: Squares[F] = lambda _seen: ()
        if self.cases:
            first, every = ([case.seen for case in cases] for cases in (known or told, self.cases))
            self._squares = sight.squares(first, every)

    def squares(self, seen: F) -> list[float]:
        """The squared distance of `seen` from each case; the same case has none to speak of."""
        return [max(square, _SAME) for square in self._squares(seen)]

    def shares(self, squares: Sequence[float]) -> dict[str, float]:
        """The share of the votes that each prediction has, of a case with these `squares`.

        Predictions that no case has are left out; there are none without cases.
        """
        if not self.cases:
            return {}
        # A nearest case has the weight 1: powers of tiny distances would overflow.
        least = min(squares)
        votes = dict.fromkeys(self._predictions, 0.0)
        weights = [(least / square) ** (NEARNESS / 2) for square in squares]
        for case, weight in zip(self.cases, weights, strict=True):
            votes[case.answer.prediction] += weight
        every = math.fsum(weights)
        return {prediction: vote / every for prediction, vote in votes.items()}

    def probability(self, shares: Mapping[str, float], predictions: Iterable[str]) -> float:
        """How probable it is that one of `predictions` is right, by those shares of the votes."""
        wanted = set(predictions)
        cases = len(self.cases)
        voted = cases * math.fsum(shares.get(label, 0.0) for label in wanted)
        return (voted + len(wanted) / self._possible) / (cases + 1)


class Neighbours(Generic[F]):
    """Predicts what similar cases have, and says which is the nearest.

    Fills `Respondent` and `Learner` of `pxp_fsm.protocol.interfaces`. `known` are rows that it has
    seen before it learns anything. It learns cases: what it sees of an instance, with the answer
    that the other agent gave. Of an instance that it was told about it predicts what it was told.
    `usable` says of a text whether it is a prediction, and `possible` how many there are (None: one
    more than are known); `otherwise` is predicted where no case is known (None: no answer).
    """

    def __init__(
        self,
        sight: Sight[F],
        known: Sequence[DataRow] = (),
        *,
        usable: Callable[[str], bool] = bool,
        possible: int | None = None,
        otherwise: str | None = None,
        told: Mapping[str, LabelledCase[F]] | None = None,
    ) -> None:
        self.sight = sight
        self._known = tuple(known)
        self._usable = usable
        self._possible = possible
        self._otherwise = otherwise
        self._told = dict(told or {})
        self._cases: tuple[LabelledCase[F], ...] | None = None
        self._votes: Votes[F] | None = None

    @property
    def name(self) -> str:
        """With a fingerprint of what the answers depend on: code, sight and known rows."""
        digest = hashlib.sha256()
        for row in self._known:
            for part in (row.instance.key, row.instance.x, *_parts(row.answer)):
                digest.update(b"%d %s" % (len(part.encode()), part.encode()))
        also = f"{self.sight.name} {digest.hexdigest()}"
        kind = self.sight.name.partition(" (")[0]
        return f"{kind} {package_fingerprint(__package__, _FILES, also)}"

    @property
    def told(self) -> Mapping[str, LabelledCase[F]]:
        """The cases that were learned, by the instance's key."""
        return dict(self._told)

    def untouched(self) -> Neighbours[F]:
        """The same as it was before it learned anything."""
        return self._with({})

    def copy(self) -> Neighbours[F]:
        """The same with what it has learned, to learn on from apart."""
        same = self._with(self._told)
        same._votes = self._votes
        return same

    def _with(self, told: Mapping[str, LabelledCase[F]]) -> Neighbours[F]:
        same = Neighbours(
            self.sight,
            self._known,
            usable=self._usable,
            possible=self._possible,
            otherwise=self._otherwise,
            told=told,
        )
        same._cases = self._cases
        return same

    async def answer(self, question: Question) -> Answer:
        """What similar cases have, with the reason; raises `NoAnswer`."""
        seen = self.sight.see(question.instance)
        votes = self._fitted()
        squares = votes.squares(seen)
        prediction = self._predicted(question.instance, seen, squares)
        alike = [
            (square, number)
            for number, (square, case) in enumerate(zip(squares, votes.cases, strict=True))
            if case.answer.prediction == prediction
        ]
        nearest = votes.cases[min(alike)[1]] if alike else None
        return Answer(prediction, self.sight.explained(prediction, seen, nearest))

    def prediction(self, instance: Instance) -> str:
        """What it predicts for `instance`; raises `NoAnswer`."""
        seen = self.sight.see(instance)
        return self._predicted(instance, seen, self._fitted().squares(seen))

    async def log_likelihood(self, question: Question, prediction: str) -> float:
        """The natural logarithm of the probability that `prediction` has to it."""
        return self.log_probability(question.instance, [prediction])

    def log_probability(self, instance: Instance, predictions: Iterable[str]) -> float:
        """The natural logarithm of the probability that one of `predictions` is right.

        Of what cannot be seen, and for a text that is no prediction, it is that of any one
        prediction without cases.
        """
        votes = self._fitted()
        shares: Mapping[str, float] = {}
        with suppress(NoAnswer):
            shares = self.shares(instance)
        return math.log(votes.probability(shares, predictions))

    def why_not(self, instance: Instance, prediction: str) -> str:
        """Which cases are nearest to `instance`, and which with `prediction`; raises `NoAnswer`."""
        votes = self._fitted()
        squares = votes.squares(self.sight.see(instance))
        near = [
            votes.cases[place] for place in sorted(range(len(squares)), key=squares.__getitem__)
        ]
        listed = ", ".join(f"{case.key} ({case.answer.prediction})" for case in near[:_NAMED])
        same = next((case.key for case in near if case.answer.prediction == prediction), None)
        other = f"the nearest with {prediction} is {same}" if same else f"none has {prediction}"
        return f"The nearest rows that it knows are {listed}; {other}."

    def shares(self, instance: Instance) -> Mapping[str, float]:
        """The share of votes that each prediction has to it; raises `NoAnswer`."""
        votes = self._fitted()
        return votes.shares(votes.squares(self.sight.see(instance)))

    def learn(self, instance: Instance, message: Message) -> None:
        """Remember the answer of `message` for the instance, in place of any told before.

        REJECT and TERM teach nothing; texts that are no predictions, and instances of which nothing
        is seen, are passed over.
        """
        answer = message.answer
        if message.tag in (Tag.REJECT, Tag.TERM) or not self._usable(answer.prediction):
            return
        try:
            case = LabelledCase(instance.key, self.sight.see(instance), answer)
        except NoAnswer:
            return
        if self._told.get(instance.key) != case:
            self._told[instance.key] = case
            self._votes = None

    def _predicted(self, instance: Instance, seen: F, squares: Sequence[float]) -> str:
        told = self._told.get(instance.key)
        if told is not None and told.seen == seen:
            return told.answer.prediction
        shares = self._fitted().shares(squares)
        prediction = max(shares, key=shares.__getitem__, default=self._otherwise)
        if prediction is None:
            raise NoAnswer("no case is known yet; give the data a set examples")
        return prediction

    def _fitted(self) -> Votes[F]:
        if self._votes is None:
            if self._cases is None:
                self._cases = tuple(self._seen())
            told = [case for _, case in sorted(self._told.items())]
            self._votes = Votes(self.sight, self._cases, told, self._possible)
        return self._votes

    def _seen(self) -> Iterable[LabelledCase[F]]:
        for row in self._known:
            with suppress(NoAnswer):
                yield LabelledCase(row.instance.key, self.sight.see(row.instance), row.answer)


_FILES = ("neighbours.py",)


def _parts(answer: Answer) -> tuple[str, str]:
    return answer.prediction, answer.explanation


class Predictor(Protocol):
    """A machine that learns and predicts at once: `Neighbours`, or one that asks them."""

    def prediction(self, instance: Instance) -> str:
        """What it predicts for `instance`; raises `NoAnswer`."""

    def learn(self, instance: Instance, message: Message) -> None:
        """Learn from `message`, which is about `instance`."""


P = TypeVar("P", bound="CopyablePredictor")


class CopyablePredictor(Predictor, Protocol):
    """A predictor that can be taught apart."""

    def copy(self: P) -> P:
        """The same with what it has learned."""


def predictions(machine: Predictor, rows: Sequence[DataRow]) -> list[str | None]:
    """What `machine` predicts for each of `rows`, None where it has no answer."""
    predicted = list[str | None]()
    for row in rows:
        try:
            predicted.append(machine.prediction(row.instance))
        except NoAnswer:
            predicted.append(None)
    return predicted


def right(machine: Predictor, rows: Sequence[DataRow]) -> int:
    """For how many of `rows` the machine predicts exactly what counts as right."""
    pairs = zip(predictions(machine, rows), rows, strict=True)
    return sum(prediction == row.answer.prediction for prediction, row in pairs)


def taught(machine: P, rows: Sequence[DataRow]) -> P:
    """A copy of `machine` that has been told the answers of `rows`, once each."""
    told = machine.copy()
    for row in rows:
        told.learn(row.instance, Message("taught", 2, "h", Tag.REFUTE, row.answer, "m"))
    return told
