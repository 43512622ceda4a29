"""An agent's own MATCH and AGREE, as a session queries them: timed, logged, cached.

What an oracle says is one of five outcomes, never a bare truth value: unsure counts as "does not
hold", late and broken end the session with their cause.
"""

from __future__ import annotations

import hashlib
import inspect
import time
from collections.abc import Awaitable, Callable, Iterable
from contextlib import AbstractContextManager, nullcontext
from enum import StrEnum
from typing import NamedTuple, Protocol, TypeVar, overload, runtime_checkable

from pxp_fsm.errors import NOT_THEIRS, PXPError, SessionFailed, WrongType, quoted
from pxp_fsm.lazy import asyncio
from pxp_fsm.lazy_dataclasses import dataclass
from pxp_fsm.protocol.messages import storable

_T = TypeVar("_T")


class Outcome(StrEnum):
    """What came of asking whether a relation holds."""

    YES = "yes"
    NO = "no"
    UNSURE = "unsure"
    LATE = "late"
    BROKEN = "broken"


class Assumption(StrEnum):
    """What may be assumed of MATCH and AGREE; claims about sessions name those that they need."""

    DETERMINISTIC = "deterministic"
    REFLEXIVE = "reflexive"
    SYMMETRIC = "symmetric"
    SHARED = "shared"
    TRANSITIVE = "transitive"


NOISY: frozenset[Assumption] = frozenset()
TOLERANCE = frozenset(set(Assumption) - {Assumption.TRANSITIVE})
EQUIVALENCE = frozenset(Assumption)
COMPARISONS = ("MATCH", "AGREE")
"""The names of the relations from which tags follow."""
LEARN = "LEARN"
"""The name under which LEARN is logged, beside the judgements of MATCH and AGREE."""
MEMO_GIVES = frozenset({Assumption.DETERMINISTIC, Assumption.REFLEXIVE})
"""What memoising makes true of any relation, within one agent and session."""


@dataclass(frozen=True, slots=True)
class Judgement:
    """One question put to a relation and what came of it.

    `left` and `right` are SHA-256 digests (hex) of the two texts. `asked` is false where the
    answer was known (the texts are equal, or the pair was judged before).
    """

    relation: str
    left: str
    right: str
    outcome: Outcome
    asked: bool
    seconds: float
    detail: str = ""


class JudgedAnswer(NamedTuple):
    """An answer of MATCH or AGREE about an ordered pair of texts; unsure counts as no.

    `left` and `right` are digests, empty where they were not asked for; `held` is None where there
    was no answer: the judge was late or broken. A tuple, for there may be a million.
    """

    relation: str
    left: str
    right: str
    held: bool | None


def held(outcome: Outcome) -> bool | None:
    """Whether a relation held, by its recorded outcome."""
    if outcome is Outcome.YES:
        return True
    return False if outcome in (Outcome.NO, Outcome.UNSURE) else None


@dataclass(frozen=True, slots=True)
class RelationReply:
    """An outcome with what is to be stored beside it: who judged, how it was asked, what it said.

    `asked` is false where the judge knew the answer and asked nobody.
    """

    outcome: Outcome
    detail: str = ""
    asked: bool = True


@runtime_checkable
class Relation(Protocol):
    """MATCH or AGREE of one agent: whether two texts count as the same for it."""

    @property
    def name(self) -> str:
        """What it compares by, as a session records it (`chemistry`, `exact`)."""

    @property
    def assumptions(self) -> frozenset[Assumption]:
        """What is true of every answer it gives; empty for a judge that may say anything."""

    async def holds(self, left: str, right: str) -> Outcome | RelationReply:
        """Whether the relation holds of the ordered pair; raises where it cannot be decided.

        A `RelationReply` says besides what is to be stored with the outcome.
        """


@runtime_checkable
class SessionAware(Protocol):
    """A relation that depends on the session in which it is asked: a judge, which records it."""

    def for_session(self, session: str) -> Relation:
        """The same relation, asked in the session of that name; both share one memory."""


def in_session(relation: Relation, session: str) -> Relation:
    """`relation` as it is asked in `session`: itself, unless it depends on the session."""
    return relation.for_session(session) if isinstance(relation, SessionAware) else relation


class OracleFailed(SessionFailed):
    """An oracle was late or broken; the session ends with this cause."""

    def __init__(self, outcome: Outcome, cause: str, fault: Exception | None = None) -> None:
        self.outcome = outcome
        super().__init__(cause, fault)


def digest(text: str) -> str:
    """The SHA-256 of `text`, hex; lone surrogates count as themselves."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


class Relations:
    """MATCH and AGREE of one agent in one session.

    With `memo` (the default) a text is never compared with itself and an ordered pair is judged
    once, so that any judge is deterministic and reflexive within the session. `timeout` is in
    seconds, for one question; None waits for ever. Each question is asked within `around()`.
    `session` is the session's name.
    """

    def __init__(
        self,
        match: Relation,
        agree: Relation,
        *,
        memo: bool = True,
        timeout: float | None = None,
        around: Callable[[], AbstractContextManager[None]] = nullcontext,
        session: str = "",
    ) -> None:
        self._relations = {"MATCH": match, "AGREE": agree}
        self._asked = {
            name: in_session(relation, session) for name, relation in self._relations.items()
        }
        self.memo = memo
        self._timeout = timeout
        self._around = around
        self._known: dict[tuple[str, str, str], Judgement] = {}
        self._log: list[Judgement] = []

    async def match(self, left: str, right: str) -> bool:
        """MATCH of the ordered pair of predictions."""
        return await self._holds("MATCH", left, right)

    async def agree(self, left: str, right: str) -> bool:
        """AGREE of the ordered pair of explanations."""
        return await self._holds("AGREE", left, right)

    def note_learning(self, prediction: str, explanation: str) -> None:
        """Log that the agent LEARNed from a received pair, so that a resumed session does too."""
        pair = digest(prediction), digest(explanation)
        self.note(Judgement(LEARN, *pair, Outcome.YES, asked=True, seconds=0.0))

    def note(self, judgement: Judgement) -> None:
        """Log what was decided elsewhere, such as whether a lesson is kept."""
        self._log.append(judgement)

    def take_log(self) -> tuple[Judgement, ...]:
        """What was judged since the last call, in order."""
        log, self._log = tuple(self._log), []
        return log

    def withdrawing(self) -> Callable[[], tuple[Judgement, ...]]:
        """A function that forgets whatever was judged since now, and returns it.

        It is for a move that is made again.
        """
        log, known = list(self._log), dict(self._known)

        def withdraw() -> tuple[Judgement, ...]:
            forgotten = tuple(self._log[len(log) :])
            self._log, self._known = list(log), dict(known)
            return forgotten

        return withdraw

    def remember(self, judgements: Iterable[Judgement]) -> None:
        """Know again what a stored session has judged, so that resuming asks nothing twice."""
        for judgement in judgements:
            known = judgement.outcome in (Outcome.YES, Outcome.NO, Outcome.UNSURE)
            if self.memo and known and judgement.relation != LEARN:
                key = (judgement.relation, judgement.left, judgement.right)
                self._known[key] = judgement

    def assumptions(self) -> frozenset[Assumption]:
        """What may be assumed of both relations in this session, apart from being shared."""
        shared = self._relations["MATCH"].assumptions & self._relations["AGREE"].assumptions
        return (shared | MEMO_GIVES if self.memo else shared) - {Assumption.SHARED}

    def shared_with(self, other: Relations) -> bool:
        """Whether MATCH and AGREE are the same function for both agents.

        Equal objects are one function only where they answer alike by themselves: what memoising
        fixes, it fixes for each agent apart.
        """
        return all(
            relation == other._relations[name] and Assumption.DETERMINISTIC in relation.assumptions
            for name, relation in self._relations.items()
        )

    async def _holds(self, name: str, left: str, right: str) -> bool:
        key = (name, digest(left), digest(right))
        known = self._known_outcome(key, left == right)
        if known is not None:
            outcome, detail = known
            self._log.append(Judgement(*key, outcome, asked=False, seconds=0.0, detail=detail))
            return outcome is Outcome.YES
        started = time.perf_counter()
        reply, fault = await self._ask(self._asked[name], left, right)
        seconds = time.perf_counter() - started
        judgement = Judgement(*key, reply.outcome, reply.asked, seconds, storable(reply.detail))
        self.remember([judgement])
        self._log.append(judgement)
        if judgement.outcome in (Outcome.LATE, Outcome.BROKEN):
            cause = f"{name} ({self._relations[name].name}): {judgement.detail}"
            raise OracleFailed(judgement.outcome, cause, fault)
        return judgement.outcome is Outcome.YES

    def _known_outcome(self, key: tuple[str, str, str], same: bool) -> tuple[Outcome, str] | None:
        """What needs no asking, and why: of the same text, or of a pair that was judged before."""
        if self.memo and same:
            return Outcome.YES, "same text"
        if key in self._known:
            return self._known[key].outcome, "judged before"
        return None

    async def _ask(
        self, relation: Relation, left: str, right: str
    ) -> tuple[RelationReply, Exception | None]:
        """What the oracle answers, and what its own code raised, if anything."""
        started = time.perf_counter()
        try:
            with self._around():
                async with asyncio.timeout(self._timeout):
                    answer = reply_of(await awaited(relation.holds(left, right)), relation)
        except asyncio.CancelledError:
            if is_cancelled():
                raise
            return RelationReply(Outcome.BROKEN, "it cancelled itself"), None
        except TimeoutError as error:
            late = str(error) or f"no answer within {self._timeout} s"
            return RelationReply(Outcome.LATE, late), None
        except NOT_THEIRS:
            raise
        except PXPError as error:
            return RelationReply(Outcome.BROKEN, str(error)), None
        except Exception as error:  # noqa: BLE001 - the session raises it once its ending is stored
            return RelationReply(Outcome.BROKEN, f"{type(error).__name__}: {error}"), error
        if overdue(started, self._timeout):
            return RelationReply(Outcome.LATE, f"it took longer than {self._timeout} s"), None
        return answer, None


def reply_of(answer: object, relation: Relation) -> RelationReply:
    """What an oracle answered, with the detail that belongs to it."""
    if isinstance(answer, Outcome):
        own = answer in (Outcome.LATE, Outcome.BROKEN)
        return RelationReply(answer, f"it answered {answer.value!r} itself" if own else "")
    if isinstance(answer, RelationReply) and isinstance(answer.outcome, Outcome):
        return answer
    raise WrongType(f"relation {relation.name} answered {quoted(answer)}, which is not an Outcome")


@overload
async def awaited(value: Awaitable[_T]) -> _T: ...
@overload
async def awaited(value: Awaitable[_T] | _T) -> _T: ...
async def awaited(value: object) -> object:
    """What a function returned, whether it is an async one or not."""
    return await value if inspect.isawaitable(value) else value


def overdue(started: float, timeout: float | None) -> bool:
    """Whether more than `timeout` seconds have passed: an oracle that blocks is late too."""
    return timeout is not None and time.perf_counter() - started > timeout


def is_cancelled() -> bool:
    """Whether a cancellation is meant for the whole session, and not an oracle's own doing."""
    task = asyncio.current_task()
    return task is None or task.cancelling() > 0


def session_assumptions(left: Relations, right: Relations) -> frozenset[Assumption]:
    """The assumptions under which a session between two agents runs."""
    both = left.assumptions() & right.assumptions()
    return both | {Assumption.SHARED} if left.shared_with(right) else both
