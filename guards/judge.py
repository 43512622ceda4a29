"""AGREE by a second model, which decides whether two explanations are consistent.

Source: arXiv 2410.20600, section 4.1: "Are these two reports consistent with each other?". A model
may say something else each time, so what may be assumed of it follows from how its verdicts are
remembered, its `Scope`, and from nothing else.
"""

from __future__ import annotations

import asyncio
import copy
import json
from collections import Counter
from collections.abc import Iterable, Sequence
from enum import StrEnum
from math import comb
from zlib import crc32

from pxp_fsm.errors import DataError, NoAnswer, UsageError, quoted
from pxp_fsm.lazy_dataclasses import dataclass
from pxp_fsm.prompting.attempts import ATTEMPTS, MOST_ATTEMPTS, ask_until_usable, check_attempts
from pxp_fsm.prompting.framing import encoded, framed
from pxp_fsm.prompting.model import (
    Capability,
    ChatRole,
    ChatTurn,
    LanguageModel,
    ModelRequest,
    Reply,
    fingerprint,
)
from pxp_fsm.prompting.prompts import Prompts
from pxp_fsm.prompting.replies import strict_object, whole_text
from pxp_fsm.protocol.relations import NOISY, Assumption, Judgement, Outcome, RelationReply, digest

MOST_VOTES = 99
STRUCTURED = 16
"""Replies of fewer tokens have no room for JSON: there the answer is one plain word."""
KEPT = 500
"""Characters of a reply that are stored with its verdict."""

SCHEMA = {
    "type": "object",
    "properties": {"consistent": {"type": "string", "enum": ["yes", "no"]}},
    "required": ["consistent"],
    "additionalProperties": False,
}
PLAIN = "one word, yes or no"

_VERDICTS = (Outcome.YES, Outcome.NO, Outcome.UNSURE)
_PLACES, _APART = 2**20, 2**10
"""How epochs are numbered: places a thousand apart, room for all attempts of the most votes."""


class Scope(StrEnum):
    """How far a verdict is remembered, and so what is true of the judge's answers.

    `CALL`: not at all; a text is even compared with itself (noisy). `SESSION`: texts that are equal
    are not judged (reflexive); with the memo of `Relations` the judge is deterministic too, for one
    agent within one session. `RUN`: one memory for both agents and all sessions (deterministic,
    reflexive, and shared where both agents have this judge). `PAIR`: that, whichever of the two
    texts comes first (symmetric too).
    """

    CALL = "call"
    SESSION = "session"
    RUN = "run"
    PAIR = "pair"


_REMEMBERED = frozenset({Assumption.DETERMINISTIC, Assumption.REFLEXIVE})
GIVES = {
    Scope.CALL: NOISY,
    Scope.SESSION: frozenset({Assumption.REFLEXIVE}),
    Scope.RUN: _REMEMBERED,
    Scope.PAIR: _REMEMBERED | {Assumption.SYMMETRIC},
}
"""What each scope makes true of whatever model is asked."""


@dataclass(frozen=True, slots=True)
class Sample:
    """What a judge said once: its verdict, its words, and the digest of what it was asked."""

    outcome: Outcome
    reply: str
    request: str


class Judge:
    """AGREE by `model`; fills `Relation`. Raises `UsageError` for a number of votes out of range.

    Each question is put `votes` times and the majority counts; a tie is unsure. A verdict that
    cannot be read is asked for again, `attempts` times in all; then there is `NoAnswer`, never a
    no. `owner` is the agent that it judges for, where its scope is the session's or the call's.
    It may be asked outside of any session; `for_session` is the same judge within one.
    """

    def __init__(
        self,
        model: LanguageModel,
        prompts: Prompts,
        scope: Scope = Scope.SESSION,
        *,
        votes: int = 1,
        attempts: int = ATTEMPTS,
        owner: str = "",
    ) -> None:
        if not 1 <= votes <= MOST_VOTES:
            raise UsageError(f"votes must be 1 to {MOST_VOTES}, not {votes}")
        check_attempts(attempts)
        self.scope = scope
        self.assumptions: frozenset[Assumption] = GIVES[scope]
        self._model = model
        self._prompts = prompts
        self._votes = votes
        self._attempts = attempts
        self._owner = owner
        self._session = ""
        self._known: dict[tuple[str, str], Outcome] = {}
        self._under_way: dict[tuple[str, str], asyncio.Lock] = {}
        self._questions: Counter[tuple[str, str, str]] = Counter()

    @property
    def name(self) -> str:
        votes = f" votes={self._votes}" if self._votes > 1 else ""
        asked = f"{self._model.name} prompts={self._prompts.fingerprint[:12]}"
        return f"judge {asked} scope={self.scope}{votes}"

    @property
    def structured(self) -> bool:
        """Whether it answers by a schema; else in one plain word."""
        room = self._prompts.judge.max_tokens >= STRUCTURED
        return room and Capability.SCHEMA in self._model.capabilities

    def for_session(self, session: str) -> Judge:
        """This judge as it is asked in `session`, with whose name its calls are recorded."""
        bound = copy.copy(self)  # what it remembers is shared
        bound._session = session
        return bound

    def remember(self, judgements: Iterable[Judgement], session: str = "") -> None:
        """Know again what it was asked in `session` before an interruption.

        Where its scope is the run's, it knows the verdicts; else how often it was asked what, so
        that it is asked anew and no cache answers for it.
        """
        for judgement in judgements:
            if judgement.relation != "AGREE" or judgement.outcome not in _VERDICTS:
                continue
            pair = judgement.left, judgement.right
            if self.scope in (Scope.RUN, Scope.PAIR):
                self._known.setdefault(self._key(*pair), judgement.outcome)
            elif judgement.asked:
                self._questions[(session, *pair)] += 1

    async def holds(self, left: str, right: str) -> RelationReply:
        if left == right and self.scope is not Scope.CALL:
            return RelationReply(Outcome.YES, "same text", asked=False)
        if self.scope in (Scope.CALL, Scope.SESSION):
            return await self._vote(left, right, self._place(left, right))
        if self.scope is Scope.PAIR:  # asked in one order, whoever asks first
            left, right = sorted((left, right))
        key = self._key(digest(left), digest(right))
        async with self._under_way.setdefault(key, asyncio.Lock()):
            if key in self._known:
                return RelationReply(self._known[key], "judged before in this run", asked=False)
            verdict = await self._vote(left, right, 0)
            self._known[key] = verdict.outcome
        return verdict

    async def sample(self, left: str, right: str, epoch: int = 0) -> Sample:
        """What it says once; the same `epoch` may be answered from a call cache."""
        usable = await ask_until_usable(
            self._model.reply,
            self._request(left, right, epoch),
            self._read,
            self._prompts.judge,
            wanted="verdict",
            attempts=self._attempts,
        )
        return Sample(usable.value, usable.reply.text[:KEPT], fingerprint(usable.request))

    async def samples(self, left: str, right: str, number: int, place: int) -> tuple[Sample, ...]:
        """What it says to the same question, `number` times anew, one after the other."""
        start = place * _APART
        return tuple(
            [await self.sample(left, right, start + vote * MOST_ATTEMPTS) for vote in range(number)]
        )

    async def _vote(self, left: str, right: str, place: int) -> RelationReply:
        samples = await self.samples(left, right, self._votes, place)
        kept = {
            "judge": self._model.name,
            "prompts": self._prompts.fingerprint,
            "request": samples[0].request,
            "replies": [sample.reply for sample in samples],
        }
        return RelationReply(majority(samples), json.dumps(kept, ensure_ascii=False))

    def _request(self, left: str, right: str, epoch: int) -> ModelRequest:
        prompt = self._prompts.judge
        form = encoded(SCHEMA) if self.structured else PLAIN
        text = prompt.fill(
            "question", first=framed({"explanation": left}), second=framed({"explanation": right})
        )
        return ModelRequest(
            system=prompt.fill("system", form=form),
            turns=(ChatTurn(ChatRole.USER, text),),
            schema=SCHEMA if self.structured else None,
            max_tokens=prompt.max_tokens,
            temperature=prompt.temperature,
            effort=prompt.effort,
            purpose="judge",
            session=self._session,
            epoch=epoch,
        )

    def _read(self, reply: Reply) -> Outcome:
        word: object = whole_text(reply)
        if self.structured:
            word = strict_object(str(word), {"consistent"})["consistent"]
        verdict = word.rstrip(".").casefold() if isinstance(word, str) else word
        if verdict not in ("yes", "no"):
            raise DataError(f"the verdict must be yes or no, not {quoted(word)}")
        return Outcome.YES if verdict == "yes" else Outcome.NO

    def _key(self, left: str, right: str) -> tuple[str, str]:
        """A pair by its digests, in their order where both orders are the same question."""
        first, second = sorted((left, right)) if self.scope is Scope.PAIR else (left, right)
        return first, second

    def _place(self, left: str, right: str) -> int:
        """A number for this question in this session, by which no cache takes it for another's.

        The name of the run is no part of it, so that a recording can be replayed as another run.
        """
        question = (self._session, digest(left), digest(right))
        self._questions[question] += 1
        place = self._session.partition("/")[2] or self._session
        return 1 + crc32(f"{self._owner}/{place}/{self._questions[question]}".encode()) % _PLACES


def majority(samples: Iterable[Sample]) -> Outcome:
    """What most of `samples` say; unsure where as many say yes as no."""
    counted = Counter(sample.outcome for sample in samples)
    if counted[Outcome.YES] == counted[Outcome.NO]:
        return Outcome.UNSURE
    return Outcome.YES if counted[Outcome.YES] > counted[Outcome.NO] else Outcome.NO


Pair = tuple[str, str]


@dataclass(frozen=True, slots=True)
class JudgedPair:
    """A pair with what a judge said of it, in its order and turned round; empty where nothing."""

    pair: Pair
    samples: tuple[Sample, ...]
    turned: tuple[Sample, ...]


@dataclass(frozen=True, slots=True)
class Consistency:
    """How far a judge agrees with itself; `number` samples of each question.

    `unanimous` counts pairs of whose samples all say the same, `agreement` is the chance that two
    samples of a pair do, on average over pairs (None for one sample), `symmetric` counts pairs
    whose majority is the same when they are turned round. `silent` are the questions without a
    verdict, and in no count.
    """

    number: int
    asked: tuple[JudgedPair, ...]
    silent: int

    @property
    def pairs(self) -> int:
        """Pairs of which there are samples."""
        return len(self._answered())

    @property
    def unanimous(self) -> int:
        return sum(len(_outcomes(asked.samples)) == 1 for asked in self._answered())

    @property
    def agreement(self) -> float | None:
        answered = self._answered()
        if self.number < 2 or not answered:
            return None
        return sum(_agreement(asked.samples) for asked in answered) / len(answered)

    @property
    def turned(self) -> int:
        """Pairs of which there are samples in both orders."""
        return sum(bool(asked.samples and asked.turned) for asked in self.asked)

    @property
    def symmetric(self) -> int:
        return sum(
            bool(asked.samples and asked.turned)
            and majority(asked.samples) is majority(asked.turned)
            for asked in self.asked
        )

    def _answered(self) -> list[JudgedPair]:
        return [asked for asked in self.asked if asked.samples]


async def consistency(judge: Judge, pairs: Sequence[Pair], number: int) -> Consistency:
    """Put every pair to `judge`, `number` times in each order; raises `UsageError` for none.

    Questions go out together; the model's own limits bound how many at a time.
    """
    if not pairs:
        raise UsageError("there are no pairs of explanations to judge")
    questions = [*pairs, *((right, left) for left, right in pairs)]
    samples_by_question = await asyncio.gather(
        *(_samples(judge, pair, number) for pair in questions)
    )
    here, there = samples_by_question[: len(pairs)], samples_by_question[len(pairs) :]
    asked = tuple(map(JudgedPair, pairs, here, there))
    return Consistency(number, asked, sum(not samples for samples in samples_by_question))


async def _samples(judge: Judge, pair: Pair, number: int) -> tuple[Sample, ...]:
    try:
        return await judge.samples(*pair, number, 0)
    except NoAnswer:
        return ()


def _outcomes(samples: Sequence[Sample]) -> set[Outcome]:
    return {sample.outcome for sample in samples}


def _agreement(samples: Sequence[Sample]) -> float:
    """The chance that two different samples say the same (as in Fleiss 1971)."""
    yes = sum(sample.outcome is Outcome.YES for sample in samples)
    same = comb(yes, 2) + comb(len(samples) - yes, 2)
    return same / comb(len(samples), 2)
