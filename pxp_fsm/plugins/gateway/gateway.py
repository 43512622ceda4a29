"""The gateway: what passes between a client and a server, decided by a policy, one frame at a time.

It is given the frames of both sides and says what goes to whom; how they come and go is none of its
concern (`stdio`). A frame that is allowed passes as it came, byte by byte. Its event is stored
before it passes, in the sessions of the tables that it is an event of, and every call of a tool in
a session of its own table besides: what was under way when the gateway was killed is in doubt.
"""

from __future__ import annotations

import json
import secrets
import time
from collections import deque
from collections.abc import Callable, Collection, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import field, replace
from typing import Any

from backends.databases import SqlBlackboard
from pxp_fsm.automata.system import Member, System
from pxp_fsm.automata.tables import builtin
from pxp_fsm.errors import BlackboardError, NotThere, UsageError
from pxp_fsm.lazy_dataclasses import dataclass
from pxp_fsm.plugins.gateway import frames
from pxp_fsm.plugins.gateway.frames import INVALID_REQUEST, Malformed
from pxp_fsm.plugins.gateway.policy import (
    DOUBT,
    EventTable,
    GatewayPolicy,
    ReadLine,
    Unfit,
    canonical,
)
from pxp_fsm.plugins.gateway.protocols import is_without_session, meta, shown_card
from pxp_fsm.plugins.gateway.state import PolicyState, nobody_decides
from pxp_fsm.protocol.messages import Instance, storable
from pxp_fsm.protocol.relations import Judgement, Outcome, digest
from pxp_fsm.sessions.events import Event
from pxp_fsm.sessions.session import Session

CALLS = "calls"
"""The session of a run that has all calls, of the table `gateway_calls`."""

GATEWAY = "GATEWAY"
"""Under this name an event has what it was about, among the judgements."""

OWN = "pxp-gateway/"
"""What the ids of the gateway's own requests begin with."""

UNDER_WAY = ("submitted", "working")
"""The states of a task of A2A that somebody works on: more is to come."""

_APPROVAL = "pxp-approval"
"""The key of the gateway's question among those that a client without a session is asked."""

_LISTED = 40
"""So many tools a refusal names."""


@dataclass
class Traffic:
    """What goes on: frames for each side, and notes for whoever runs the gateway.

    `answers` are the numbers of the calls that are answered by it: whoever has passed it to the
    client says so (`Gateway.delivered`).
    """

    to_client: list[bytes] = field(default_factory=list)
    to_server: list[bytes] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    answers: list[int] = field(default_factory=list)


@dataclass(frozen=True)
class ToolCall:
    """A call of a tool, or another request that is decided and stored as one.

    It has its number in the run, and the digest of its name with its arguments.
    """

    number: int
    tool: str
    arguments: Any
    digest: str


@dataclass(frozen=True)
class Waiting:
    """A request of the client that waits: for the server, or (held) for a person.

    One that `streams` has several answers; `outcome` is what the last one said, "" before one.
    """

    method: str
    call: ToolCall | None = None
    held: bool = False
    streams: bool = False
    outcome: str = ""


@dataclass(frozen=True)
class Held:
    """A call that waits for a person, as it came."""

    identity: Any
    message: Any
    frame: bytes
    call: ToolCall
    line: ReadLine


@dataclass
class Wanted:
    """A call that was refused for want of approvals, which people may give on their pages."""

    call: ToolCall
    line: ReadLine


@dataclass(frozen=True)
class InDoubt:
    """A call that is not sent again, and what is known of it: how the server has answered.

    `answer` is ANSWER, FAILURE, or "" where none came.
    """

    call: ToolCall
    answer: str = ""

    def __str__(self) -> str:
        if not self.answer:
            return "nobody knows whether it was carried out"
        came = "a failure" if self.answer == "FAILURE" else "a success"
        return f"the server answered with {came}; nobody knows whether the client has the answer"


@dataclass(frozen=True)
class _Verdict:
    """Why a message is refused ("" where it passes), and the event that it is, with its copies.

    `refused` is the line whose event no copy takes now.
    """

    problem: str
    event: str = ""
    copies: list[tuple[EventTable, str]] = field(default_factory=list)
    refused: ReadLine | None = None


@dataclass
class _Past:
    """The calls of a run that have no answer, and those whose answer was perhaps not passed on.

    `told` are those that were found to be in doubt before, `under_way` those whose stream
    of answers has not come to an end.
    """

    number: int = 0
    waiting: dict[int, ToolCall] = field(default_factory=dict)
    unheard: dict[int, ToolCall] = field(default_factory=dict)
    answers: dict[int, str] = field(default_factory=dict)
    told: set[int] = field(default_factory=set)
    under_way: dict[int, ToolCall] = field(default_factory=dict)
    sums: dict[str, int] = field(default_factory=dict)

    @staticmethod
    def _call(record: Mapping[str, Any]) -> ToolCall:
        return ToolCall(record["call"], record["tool"], record["arguments"], record["digest"])

    def hear(self, event: Event) -> None:
        """The next event of the session of calls."""
        if event.label == "STOP":  # by then the client had what there was
            for number in self.unheard.keys() - self.told:
                del self.unheard[number]
        for judgement in event.judgements:
            record = json.loads(judgement.detail)
            number = record.get("call", 0)
            self.number = max(self.number, number)
            for heard in record.get("delivered", ()):
                self.unheard.pop(heard, None)
            self.sums |= record.get("sums", {})
            self.under_way.pop(number, None)
            if record.get("outcome") in UNDER_WAY:
                self.under_way[number] = self._call(record)
            if event.label == "CALL":
                self.waiting[number] = self._call(record)
            elif event.label in ("ANSWER", "FAILURE") and number in self.waiting:
                self.unheard[number] = self.waiting.pop(number)
                self.answers[number] = event.label
            elif event.label == "RELEASE":
                for calls in (self.waiting, self.unheard):
                    for other in [key for key in calls if calls[key].digest == record["digest"]]:
                        del calls[other]
            elif event.label == "IN_DOUBT":
                self.told.add(number)


class Gateway:
    """A policy that is enforced, with all that has happened in the run `run` on `board`.

    A run that is stored goes on. Without a board nothing is stored. `elicits` is whether the client
    asks its person where the gateway asks for an approval: it says so when it begins. `address` is
    where the client finds the gateway, where the protocol says that to it.

    Raises `UsageError` where the run is that of another policy.
    """

    def __init__(
        self,
        policy: GatewayPolicy,
        board: SqlBlackboard | None = None,
        run: str = "",
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.policy = policy
        self.protocol = policy.protocol
        self.address = ""
        self.run = run or policy.file.name
        self.elicits = False
        self.doubt: dict[str, InDoubt] = {}
        self.wanted: dict[str, Wanted] = {}
        self._board = board
        self._clock = clock
        self.state = PolicyState(policy, board, self.run)
        self._open: dict[Any, Waiting] = {}
        self._asked: dict[Any, str] = {}
        self._held: dict[str, Held] = {}
        self._going_on: dict[tuple[str, str], ToolCall] = {}
        self._recent: deque[float] = deque()
        self._listed: tuple[str, ...] = policy.tools
        self._number = 0
        self._own = 0
        self._delivered: list[int] = []
        self._initialized = False
        self._is_broken = False
        self._late: list[bytes] = []
        self._calls = self._begin()
        self._visible = self.state.all_visible()

    # What is stored ------------------------------------------------------------------------------

    def _begin(self) -> Session:
        """Begin the run, or bring everything to where it is stored to be."""
        system = System((Member("gateway", builtin("gateway_calls")),), free_names=True)
        about: Mapping[str, Any] = {
            "policy": self.policy.fingerprint,
            "salt": secrets.token_hex(16),
        }
        name, board = f"{self.run}/{CALLS}", self._board
        stored = None
        if board is not None:
            board.lock(self.run)
            try:
                stored = board.session(name)
            except NotThere:
                stored = None
        if board is not None and stored is not None:
            erased = board.erasures(self.run)
            if erased:
                raise UsageError(
                    f"{erased[0].session} was erased, so that the run {self.run} cannot go on; "
                    f"begin another run (--run NAME)",
                    "run",
                )
            about = _about(stored.record.instance.x)
            if about.get("policy") != self.policy.fingerprint:
                raise UsageError(
                    f"the run {self.run} is that of another policy, or of this one before it was "
                    f"changed; begin another run (--run NAME)",
                    "run",
                )
        self.state.salt = str(about.get("salt", ""))
        instance = Instance(self.policy.file.name, canonical(about))
        session = Session(
            system, {"gateway": nobody_decides}, name=name, instance=instance, blackboard=board
        )
        if board is not None and stored is not None:
            board.resume(session)
            self._resume(session, board)
        session.raise_event("START")
        return session

    def _resume(self, calls: Session, board: SqlBlackboard) -> None:
        """The copies of tables, and the calls of which nobody knows whether they were made."""
        known = {table.name: table for table in self.policy.tables}
        for record in board.sessions(self.run):
            table = known.get(record.session.removeprefix(f"{self.run}/").partition("/")[0])
            if table is None or record.session == calls.name:
                continue
            session = self.state.session(table, record.session, record.instance)
            board.resume(session)
            key = str(_about(record.instance.x)["digest"])
            self.state.follow(table, key, session)
        past = _Past()
        for event in calls.events:
            past.hear(event)
        self._number, waiting, unheard = past.number, past.waiting, past.unheard
        self.state.sums = past.sums
        for number in self._delivered:  # it is stored with the next event
            unheard.pop(number, None)
        if calls.states["gateway"] == "RUNNING":
            calls.raise_event("KILLED")
        for number, call in {**unheard, **waiting}.items():
            if not self._may_repeat(call):
                self.doubt[call.digest] = InDoubt(call, past.answers.get(number, ""))
            if number not in past.told:
                if number in waiting:
                    self._reported("result_of", call.tool, None, DOUBT, call, Traffic())
                calls.raise_event("IN_DOUBT", [self._noted(call, {"answered": number in unheard})])
        for number, call in past.under_way.items():
            if number not in unheard:  # the client has what there was
                self._reported("result_of", call.tool, None, DOUBT, call, Traffic())
                calls.raise_event("IN_DOUBT", [self._noted(call, {"answered": True})])

    def _stored(self, decide: Callable[[Traffic], None], identity: Any = None) -> Traffic:
        """What is decided, once all of it is stored; `identity` is that of the request it is about.

        Where the store fails nothing passes: requests that wait get an error, and what this process
        knows is read from the store again before the next message, as after a kill.
        """
        traffic, delivered = Traffic(), list(self._delivered)
        try:
            if self._is_broken:
                self._restore()
            decide(traffic)
        except BlackboardError as error:
            self._is_broken, self._delivered = True, delivered
            traffic = Traffic(notes=[f"nothing passes that cannot be stored: {error}"])
            unsent = f"it was not carried out, since it cannot be stored: {error}"
            sent = f"nobody knows whether it was carried out, since the store has failed: {error}"
            told = {other: unsent if self._open[other].held else sent for other in self._open}
            if identity is not None:
                told.setdefault(identity, unsent)
            self._open.clear()
            self._held.clear()
            self._going_on.clear()
            code = self.protocol.not_answered
            traffic.to_client += [frames.error(other, code, why) for other, why in told.items()]
        traffic.to_client[:0], self._late = self._late, []
        return traffic

    def _restore(self) -> None:
        """Bring everything to where it is stored to be."""
        self.state.clear()
        self.doubt.clear()
        self._calls = self._begin()
        self._is_broken = False

    def _may_repeat(self, call: ToolCall) -> bool:
        """Whether a call may be sent again when nobody knows whether it was carried out."""
        return call.tool in self.protocol.harmless or call.tool in self.policy.idempotent

    def delivered(self, traffic: Traffic) -> None:
        """Take note that the client was passed what is for it; it is stored with the next event."""
        self._delivered += traffic.answers

    def release(self, number: int) -> None:
        """Let the call `number`, which is in doubt, be made again, as far as the tables allow it.

        Raises `UsageError` where it is not in doubt.
        """
        calls = {doubt.call.number: doubt.call for doubt in self.doubt.values()}
        if number not in calls:
            there = ", ".join(map(str, calls)) or "none"
            raise UsageError(f"the call {number} is not in doubt; in doubt: {there}", "release")
        self._record("RELEASE", calls[number])
        del self.doubt[calls[number].digest]

    def stop(self) -> None:
        """Store that the client is gone."""
        if self._calls.states["gateway"] == "RUNNING" and not self._is_broken:
            self._calls.raise_event("STOP")

    def wanted_by(self, person: str) -> Mapping[str, Wanted]:
        """What a person may approve now, by the digest of the action."""
        return {
            action: wanted
            for action, wanted in self.wanted.items()
            if (event := wanted.line.line.approvals.get(person)) is not None
            and not self.state.refusing(
                event, self.state.copies_in(event, wanted.call.tool, wanted.call.arguments)
            )
        }

    def _noted(self, call: ToolCall | None, more: Mapping[str, Any]) -> Judgement:
        """What an event is about, as it is stored beside it."""
        record: dict[str, Any] = {}
        if call is not None:
            # The board's digests of what is judged are salted anew: this one is found again.
            record = {"call": call.number, "tool": call.tool, "digest": call.digest}
            record["arguments"] = self.state.without_secrets(call.arguments)
        text = storable(canonical({**record, **more}))
        about = digest("" if call is None else call.digest)
        return Judgement(GATEWAY, about, about, Outcome.YES, False, 0.0, text)

    def _stored_together(self) -> AbstractContextManager[None]:
        """A block whose events are stored all or none; what they are of passes after it."""
        return nullcontext() if self._board is None else self._board.together()

    def _record(self, label: str, call: ToolCall | None = None, **more: Any) -> None:
        if self._delivered:
            more["delivered"], self._delivered = self._delivered, []
        self._calls.raise_event(label, [self._noted(call, more)])

    def _changed(self, traffic: Traffic) -> None:
        """Tell the client where the list of tools has become another."""
        now = self.state.all_visible()
        if now != self._visible:
            self._visible = now
            if self._initialized:
                traffic.to_client.append(frames.notification("notifications/tools/list_changed"))

    # The client's frames -------------------------------------------------------------------------

    def from_client(self, frame: bytes | None) -> Traffic:
        """What becomes of a frame of the client; None is one that was too long to be kept."""
        try:
            message = frames.read_frame(frame, self.policy.file.limits.frame)
        except Malformed as problem:
            reason, code = str(problem), problem.code

            def refuse(traffic: Traffic) -> None:
                self._record("REFUSAL", why=reason)
                traffic.to_client.append(frames.error(None, code, reason))

            return self._stored(refuse)
        assert frame is not None  # noqa: S101 - it was read

        def decide(traffic: Traffic) -> None:
            if "method" not in message:
                self._answered(message, frame, traffic)
            elif "id" not in message:
                self._notified(message, frame, traffic)
            else:
                self._requested(message, frame, traffic)
            self._changed(traffic)

        return self._stored(decide, message.get("id") if "method" in message else None)

    def _requested(self, message: Any, frame: bytes, traffic: Traffic) -> None:
        identity, method = message["id"], message["method"]
        problem = None
        if identity in self._open:
            problem = f"the id {identity!r} is that of a request that waits for its answer"
        elif len(self._open) >= self.policy.file.limits.open:
            problem = f"{len(self._open)} requests wait for an answer; wait for one of them"
        if problem is not None:
            self._record("REFUSAL", why=problem)
            traffic.to_client.append(frames.error(identity, INVALID_REQUEST, problem))
        elif self.protocol.is_call(method):
            self._called(message, frame, traffic)
        elif self._passes(message, traffic, identity):
            self._open[identity] = Waiting(method)
            if method == "initialize":
                params = message.get("params")
                able = params.get("capabilities") if isinstance(params, dict) else None
                self.elicits = isinstance(able, dict) and "elicitation" in able
            traffic.to_server.append(frame)

    def _notified(self, message: Any, frame: bytes, traffic: Traffic) -> None:
        if self.protocol.is_call(message["method"]):  # nobody would hear what becomes of it
            problem = "a call without an id"
            self._record("REFUSAL", why=problem)
            traffic.to_client.append(frames.error(None, INVALID_REQUEST, problem))
            return
        if message["method"] == "notifications/cancelled":
            params = message.get("params")
            gone = params.get("requestId") if isinstance(params, dict) else None
            asks = [ask for ask, held in self._held.items() if held.identity == gone]
            for ask in asks:  # the server has never heard of it
                self._open.pop(self._held.pop(ask).identity, None)
                return
        if self._passes(message, traffic, None):
            if message["method"] == "notifications/initialized":
                self._initialized = True
            traffic.to_server.append(frame)

    def _passes(self, message: Any, traffic: Traffic, identity: Any) -> bool:
        """Whether a message that is no call passes; its event has happened then."""
        method, params = message["method"], message.get("params", {})
        is_base = method in self.protocol.base and not self.policy.about("method", method)
        passes = is_base or self.policy.file.otherwise.methods == "pass"
        verdict = self._verdict("method", method, params, passes=passes)
        if verdict.problem:
            self._record("REFUSAL", why=verdict.problem, method=method)
            if identity is not None:
                code = self.protocol.not_allowed
                traffic.to_client.append(frames.error(identity, code, verdict.problem))
            return False
        if verdict.event:
            with self._stored_together():
                happened = self.state.happen(verdict.event, verdict.copies, method, params)
                added = self.state.add(verdict.event, params)
                self._record("MESSAGE", method=method, event=verdict.event, at=happened, **added)
        return True

    def _verdict(self, key: str, name: str, message: object, *, passes: bool) -> _Verdict:
        """What the policy says of a message; it `passes` where no line is about it."""
        file = self.policy.file
        try:
            read = self.policy.line(key, name, message)
            if read is None:
                reason = f"the policy {file.name} has no line for {name}."
                return _Verdict("" if passes else reason)
            if read.line.event is None:
                reason = read.line.about or f"the policy {file.name} never allows {name} like this."
                return _Verdict("" if read.line.then == "pass" else reason)
            copies = self.state.copies_in(read.line.event, name, message)
            exceeded = self.state.exceeded(read.line.event, name, message)
        except Unfit as unfit:
            return _Verdict(f"{name} was not carried out: {unfit}.")
        if exceeded:
            return _Verdict(f"{exceeded} {read.line.about}".rstrip())
        refusing = self.state.refusing(read.line.event, copies)
        problem = self.state.why(name, read, refusing) if refusing else self.state.too_many(copies)
        return _Verdict(problem, read.line.event, copies, read if refusing else None)

    def _called(self, message: Any, frame: bytes, traffic: Traffic) -> None:
        identity, params = message["id"], message.get("params", {})
        try:
            tool, arguments = self.protocol.call(message)
        except Malformed as problem:
            self._record("REFUSAL", why=str(problem))
            traffic.to_client.append(frames.error(identity, problem.code, str(problem)))
            return
        made, state = self.state.digest([tool, arguments]), str(params.get("requestState", ""))
        held = self._held.pop(state, None) if state.startswith(OWN) else None
        if held is not None and held.call.digest == made:
            self._retried(held, message, traffic)
            return
        earlier = self._going_on.get((made, state)) if "inputResponses" in params else None
        if earlier is not None:  # it was allowed, and is not over
            del self._going_on[made, state]
            self._record("CALL", earlier, event="", again=True)
            self._open[identity] = Waiting(message["method"], earlier)
            traffic.to_server.append(frame)
            return
        self._number += 1
        self._decide(message, frame, ToolCall(self._number, tool, arguments, made), traffic)

    def _decide(self, message: Any, frame: bytes, call: ToolCall, traffic: Traffic) -> None:
        """Let a call pass, hold it for a person, or refuse it."""
        identity, tool, arguments = message["id"], call.tool, call.arguments
        problem = self._limited(call) or self._lacking(call)
        if problem:
            self._refuse(message, call, problem, traffic)
            return
        passes = self.policy.otherwise == "pass"
        verdict = self._verdict(self.protocol.calls, tool, arguments, passes=passes)
        event, copies, problem = verdict.event, verdict.copies, verdict.problem
        refused = verdict.refused
        if refused is not None:
            if self._ask(message, frame, call, refused, traffic):
                return
            if "" in refused.line.approvals and not self._elicits(message):
                problem += (
                    " This client cannot ask its person for it (it has no elicitation), so that "
                    "nobody can approve the call here; the policy can name people who approve on "
                    "pages of their own."
                )
            if any(refused.line.approvals):
                self.wanted.pop(call.digest, None)
                self.wanted[call.digest] = Wanted(call, refused)
                if len(self.wanted) > self.policy.file.limits.open:  # the oldest is forgotten
                    del self.wanted[next(iter(self.wanted))]
        if problem:
            self._refuse(message, call, problem, traffic)
            return
        with self._stored_together():
            happened = self.state.happen(event, copies, tool, arguments) if event else {}
            self._record("CALL", call, event=event, at=happened, **self.state.add(event, arguments))
        self.wanted.pop(call.digest, None)
        self._recent.append(self._clock())
        method = message["method"]
        self._open[identity] = Waiting(method, call, streams=self.protocol.streams(method))
        traffic.to_server.append(frame)

    def _refuse(self, message: Any, call: ToolCall, problem: str, traffic: Traffic) -> None:
        self._record("REFUSAL", call, why=problem)
        there = [tool for tool in self._listed if self.state.is_visible(tool)]
        free = [tool for tool in there if self.state.is_visible(tool, approved=False)]
        reason = f"{problem} {self.protocol.now}: {_listing(free)}."
        if len(free) < len(there):
            asking = _listing([tool for tool in there if tool not in free])
            reason += f" {self.protocol.asking}: {asking}."
        result, identity = self.protocol.refusal(message, reason), message["id"]
        if result is None:
            traffic.to_client.append(frames.error(identity, self.protocol.not_allowed, reason))
        else:
            traffic.to_client.append(frames.answer(identity, result))

    def _lacking(self, call: ToolCall) -> str:
        """Why a call is refused for what it asks for besides; "" where that is nothing."""
        others = [
            name for name in self.protocol.needs(call.arguments) if not self.state.is_visible(name)
        ]
        return f"{call.tool} asks for {others[0]} too, which is not allowed now." if others else ""

    def _limited(self, call: ToolCall) -> str:
        """Why a call is not even looked at; "" where it is."""
        doubt = self.doubt.get(call.digest)
        if doubt is not None:
            return (
                f"{call.tool} was called with these very arguments before (call "
                f"{doubt.call.number} of the run {self.run}): {doubt}. It is not sent again. "
                f"Read what it would have changed, or ask whoever runs the gateway to "
                f"release the call (--release {doubt.call.number})."
            )
        now, most = self._clock(), self.policy.file.limits.a_minute
        while self._recent and self._recent[0] <= now - 60:
            self._recent.popleft()
        if len(self._recent) >= most:
            return f"{most} calls in a minute are the most that the policy allows; wait."
        return ""

    # Approvals -----------------------------------------------------------------------------------

    def _ask(
        self, message: Any, frame: bytes, call: ToolCall, read: ReadLine, traffic: Traffic
    ) -> bool:
        """Ask the client's own person for an approval, where that is what is missing."""
        event, alone = read.line.approvals.get(""), is_without_session(message)
        if event is None or not self._elicits(message):
            return False
        if self.state.refusing(event, self.state.copies_in(event, call.tool, call.arguments)):
            return False
        self._own += 1
        ask, identity = f"{OWN}{secrets.token_hex(8)}/{self._own}", message["id"]
        most = self.policy.file.limits.open
        if len(self._held) >= most and not self._forget_held():
            return False
        self._held[ask] = Held(identity, message, frame, call, read)
        shown = json.dumps(call.arguments, ensure_ascii=False, indent=1)
        form = {
            "type": "object",
            "properties": {"approve": {"type": "boolean", "title": "Approve this call, once"}},
            "required": ["approve"],
        }
        params = {"message": f"Approve {call.tool}, once?\n{shown}", "requestedSchema": form}
        question = {"method": "elicitation/create", "params": params}
        if alone:
            result = {
                "resultType": "input_required",
                "inputRequests": {_APPROVAL: question},
                "requestState": ask,
            }
            traffic.to_client.append(frames.answer(identity, result))
        else:
            self._open[identity] = Waiting(message["method"], call, held=True)
            traffic.to_client.append(frames.written({"jsonrpc": "2.0", "id": ask, **question}))
        return True

    def _elicits(self, message: Any) -> bool:
        """Whether the client asks its person where it is asked to."""
        if not is_without_session(message):
            return self.elicits
        able = meta(message, "clientCapabilities")
        return isinstance(able, dict) and "elicitation" in able

    def _forget_held(self) -> bool:
        """Forget the oldest call whose client was asked by a result, and has not called again."""
        alone = (ask for ask, held in self._held.items() if is_without_session(held.message))
        oldest = next(alone, None)
        if oldest is not None:
            del self._held[oldest]
        return oldest is not None

    def _retried(self, held: Held, message: Any, traffic: Traffic) -> None:
        """A client without a session makes its call again, with what its person has answered."""
        params = message["params"]
        replies = params.get("inputResponses")
        reply = replies.get(_APPROVAL) if isinstance(replies, dict) else None
        # The server has asked nothing, and is given no answer.
        own = {key: params[key] for key in params if key not in ("inputResponses", "requestState")}
        plain = {**message, "params": own}
        again = Held(message["id"], plain, frames.written(plain), held.call, held.line)
        self._judged(again, reply, traffic)

    def _answered(self, message: Any, frame: bytes, traffic: Traffic) -> None:
        """What the client answers: to the gateway, which asked for an approval, or the server."""
        identity = message.get("id")
        if ("result" in message) is ("error" in message) or identity is None:
            self._record("REFUSAL", why="neither a request nor an answer")
            traffic.notes.append("a message of the client was neither a request nor an answer")
            return
        held = self._held.get(identity) if isinstance(identity, str) else None
        if held is not None and not is_without_session(held.message):
            del self._held[identity], self._open[held.identity]
            self._judged(held, message.get("result"), traffic)
            return
        method = self._asked.pop(identity, None)
        if method is None:
            self._record("REFUSAL", why="an answer to nothing that was asked")
            traffic.notes.append(f"the client answered {identity!r}, which nobody has asked")
            return
        result = message.get("result")
        outcome = str(result.get("action", "")) if isinstance(result, dict) else "error"
        self._reported("answer_to", method, result, outcome, None, traffic)
        traffic.to_server.append(frame)

    def _judged(self, held: Held, reply: object, traffic: Traffic) -> None:
        """A person has answered: the call is decided again."""
        content = reply.get("content") if isinstance(reply, dict) else None
        accepts = (
            isinstance(reply, dict)
            and reply.get("action") == "accept"
            and isinstance(content, dict)
            and content.get("approve") is True
        )
        self._settle(held.call, held.line, "", accepts)
        if accepts:
            self._decide(held.message, held.frame, held.call, traffic)
        else:
            reason = f"{held.call.tool} was not carried out: the person did not approve it."
            self._refuse(held.message, held.call, reason, traffic)

    def approve(self, person: str, action: str, accepts: bool = True) -> Traffic:
        """A person approves, or refuses, the wanted call with the digest `action`.

        The approval counts for one call with these very arguments, which the model makes again.
        Raises `UsageError` where nothing waits for that person, or the tables take no approval now.
        """
        wanted = self.wanted.get(action)
        if wanted is None or person not in wanted.line.line.approvals:
            raise UsageError("nothing like this waits for an approval of yours")

        def decide(traffic: Traffic) -> None:
            if not self._settle(wanted.call, wanted.line, person, accepts):
                raise UsageError("this cannot be approved now; perhaps you have approved it before")
            if not accepts:
                del self.wanted[action]
            self._changed(traffic)

        traffic = self._stored(decide)
        if self._is_broken:
            self._late = traffic.to_client  # the client is told with what it is told next
            raise UsageError(f"this cannot be stored; try again: {traffic.notes[0]}")
        return traffic

    def _settle(self, call: ToolCall, read: ReadLine, person: str, accepts: bool) -> bool:
        """Let the event of an approval or a denial happen, where the tables take it."""
        event = read.line.approvals[person] if accepts else read.line.denial
        label = "APPROVAL" if accepts else "DENIAL"
        taken, happened = False, dict[str, int]()
        with self._stored_together():
            if event is not None:
                copies = self.state.copies_in(event, call.tool, call.arguments)
                taken = not self.state.refusing(event, copies) and not self.state.too_many(copies)
                if taken:
                    happened |= self.state.happen(event, copies, call.tool, call.arguments)
            self._record(label, call, person=person, at=happened)
        return taken or not accepts

    # The server's frames -------------------------------------------------------------------------

    def from_server(self, frame: bytes | None) -> Traffic:
        """What becomes of a frame of the server; None is one that was too long to be kept."""
        try:
            message = frames.read_frame(frame, self.policy.file.limits.frame)
        except Malformed as problem:
            return Traffic(notes=[f"the server sent what is no message: {problem}"])
        assert frame is not None  # noqa: S101 - it was read

        def decide(traffic: Traffic) -> None:
            if "method" in message:
                self._asks(message, frame, traffic)
            else:
                self._returned(message, frame, traffic)
            self._changed(traffic)

        return self._stored(decide)

    @property
    def waiting(self) -> Collection[Any]:
        """The ids of the client's requests for whose answer it waits."""
        return self._open.keys()

    def lost(self, identity: Any, why: str) -> Traffic:
        """Nothing more will come of a request: a call is in doubt, unless it was answered.

        One that was held for a person was not sent, and is not in doubt.
        """
        return self._stored(lambda traffic: self._gone(identity, why, traffic), None)

    def _gone(self, identity: Any, why: str, traffic: Traffic) -> None:
        waiting = self._open.get(identity)
        if waiting is None:
            return
        call = waiting.call
        if waiting.held:
            self._record("REFUSAL", call, why=why)
            self._held = {
                ask: held for ask, held in self._held.items() if held.identity != identity
            }
        elif waiting.outcome:
            if call is not None and waiting.outcome in UNDER_WAY:
                self._unknown(call, traffic, why=why)
        elif call is not None:
            if not self._may_repeat(call):
                self.doubt[call.digest] = InDoubt(call)
            self._unknown(call, traffic, why=why)
        del self._open[identity]
        if not waiting.outcome:
            traffic.to_client.append(frames.error(identity, self.protocol.not_answered, why))
        self._changed(traffic)

    def _unknown(self, call: ToolCall, traffic: Traffic, **more: Any) -> None:
        """Nobody knows what comes of a call, which is an event where a line says so."""
        with self._stored_together():
            happened = self._reported("result_of", call.tool, None, DOUBT, call, traffic)
            self._record("IN_DOUBT", call, at=happened, **more)

    def _asks(self, message: Any, frame: bytes, traffic: Traffic) -> None:
        """A request or a notification of the server passes; what it asks for is noted."""
        identity = message.get("id")
        if self.protocol.calls == "method":
            traffic.notes.append(f"the server sent a request, which {self.protocol.title} has not")
            return
        if isinstance(identity, str) and identity.startswith(OWN):
            reason = f"ids that begin with {OWN} are the gateway's"
            traffic.to_server.append(frames.error(identity, INVALID_REQUEST, reason))
            return
        if identity is not None:
            if identity in self._asked or len(self._asked) >= self.policy.file.limits.open:
                reason = "too many requests wait, or this id is that of one of them"
                traffic.to_server.append(frames.error(identity, INVALID_REQUEST, reason))
                return
            self._asked[identity] = message["method"]
        traffic.to_client.append(frame)

    def _returned(self, message: Any, frame: bytes, traffic: Traffic) -> None:
        identity = message.get("id")
        waiting = self._open.get(identity)
        if waiting is None or waiting.held or ("result" in message) is ("error" in message):
            traffic.notes.append(f"the server answered {identity!r}, which it was not asked")
            return
        result = message.get("result")
        del self._open[identity]
        if waiting.call is not None:
            frame = self._answers(waiting, message, frame, traffic)
            if waiting.streams and "error" not in message:  # more comes
                outcome = self.protocol.outcome(message)[0] or "success"
                self._open[identity] = replace(waiting, outcome=outcome)
        elif isinstance(result, dict):
            frame = self._filtered(waiting.method, message, result, frame)
        traffic.to_client.append(frame)

    def _answers(self, waiting: Waiting, message: Any, frame: bytes, traffic: Traffic) -> bytes:
        """What a call is answered is stored, and is an event where a line says so."""
        call, result = waiting.call, message.get("result")
        assert call is not None  # noqa: S101 - whoever asks has looked
        outcome, content = self.protocol.outcome(message)
        if outcome is not None:
            with self._stored_together():
                happened = self._reported("result_of", call.tool, content, outcome, call, traffic)
                more = {"outcome": outcome} if waiting.streams else {}
                if not waiting.outcome:
                    is_error = outcome in ("error", "failed", "rejected", "canceled")
                    self._record("FAILURE" if is_error else "ANSWER", call, at=happened, **more)
                    traffic.answers.append(call.number)
                elif happened or outcome != waiting.outcome:
                    self._record("MESSAGE", call, at=happened, **more)
        else:
            state = str(result.get("requestState", ""))
            self._going_on[call.digest, state] = call
            if len(self._going_on) > self.policy.file.limits.open:  # the oldest is forgotten
                del self._going_on[next(iter(self._going_on))]
            self._record("MESSAGE", call, method="input_required")
        is_object = isinstance(result, dict)
        return self._filtered(waiting.method, message, result, frame) if is_object else frame

    def _reported(
        self,
        key: str,
        name: str,
        content: object,
        outcome: str,
        call: ToolCall | None,
        traffic: Traffic,
    ) -> Mapping[str, int]:
        """What has happened is an event where a line says so and the tables take it.

        Its numbers as `PolicyState.happen` has them.
        """
        about = content if call is None else call.arguments
        try:
            read = self.policy.line(key, name, content, outcome)
            if read is None or read.line.event is None:
                return {}
            copies = self.state.copies_in(read.line.event, name, about)
        except Unfit as unfit:
            traffic.notes.append(f"{key} {name}: {unfit}")
            return {}
        event = read.line.event
        if self.state.refusing(event, copies) or self.state.too_many(copies):
            traffic.notes.append(f"{event} of {name} changes nothing: no row takes it now")
            return {}
        return self.state.happen(event, copies, name, about)

    def _filtered(self, method: str, message: Any, result: Any, frame: bytes) -> bytes:
        """A result with what is allowed now, where it says what there is."""
        names = list[str]()

        def allows(name: str) -> bool:
            names.append(name)
            return self.state.is_visible(name)

        shown = self.protocol.shown(method, result, allows, self.address)
        if names:
            self._listed = tuple(dict.fromkeys((*names, *self._listed)))
        return frame if shown is result else frames.written({**message, "result": shown})

    def described(self, card: Any) -> Any:
        """The card of an agent of A2A as the client is shown it: what is allowed now."""
        return shown_card(card, self.state.is_visible, self.address)


def _listing(tools: Collection[str]) -> str:
    """Names of tools, of many the first."""
    more = f" and {len(tools) - _LISTED} more" if len(tools) > _LISTED else ""
    return ", ".join([*tools][:_LISTED]) + more or "none"


def _about(text: str) -> Mapping[str, Any]:
    content = json.loads(text)
    return content if isinstance(content, dict) else {}
