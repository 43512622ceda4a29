"""A model as judge: yes or no, how far it is remembered, votes, and what may be assumed of it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from itertools import cycle
from typing import Any

import pytest

from guards.judge import GIVES, Judge, Scope
from pxp_fsm.errors import NoAnswer, UsageError
from pxp_fsm.prompting.framing import unframed
from pxp_fsm.prompting.model import Capability, ModelRequest, Reply, Stop
from pxp_fsm.prompting.prompts import Prompts, read_prompts
from pxp_fsm.protocol.relations import (
    Assumption,
    Judgement,
    Outcome,
    RelationReply,
    Relations,
    digest,
    session_assumptions,
)
from tests.tasks import animals

PROMPTS: Prompts = read_prompts(animals.PROMPTS, "animals")
PLAIN = replace(PROMPTS, judge=replace(PROMPTS.judge, max_tokens=10))
YES, NO = '{"consistent": "yes"}', '{"consistent": "no"}'


@dataclass
class Saying:
    """A model by a function of the request."""

    say: Callable[[ModelRequest], str | Reply]
    name: str = "anthropic:test"
    capabilities: frozenset[Capability] = frozenset({Capability.SCHEMA})
    requests: list[ModelRequest] = field(default_factory=list)

    async def reply(self, request: ModelRequest) -> Reply:
        self.requests.append(request)
        await asyncio.sleep(0)
        said = self.say(request)
        return said if isinstance(said, Reply) else Reply(said)


def always(*replies: str) -> Saying:
    rest = cycle(replies)
    return Saying(lambda _request: next(rest))


def judged(judge: Judge, *pairs: tuple[str, str]) -> list[RelationReply]:
    async def ask() -> list[RelationReply]:
        return [await judge.holds(*pair) for pair in pairs]

    return asyncio.run(ask())


def test_it_asks_by_schema_whether_the_two_are_consistent() -> None:
    model = always(YES, NO)
    first, second = judged(Judge(model, PROMPTS), ("a", "b"), ("a", "c"))
    assert (first.outcome, second.outcome) == (Outcome.YES, Outcome.NO)
    request = model.requests[0]
    assert unframed(request.turns[0].text) == ({"explanation": "a"}, {"explanation": "b"})
    assert "Are these two reasons consistent with each other?" in request.turns[0].text
    assert request.schema is not None
    assert request.purpose == "judge"


def test_a_verdict_is_stored_with_model_prompts_request_and_words() -> None:
    (verdict,) = judged(Judge(always(YES), PROMPTS), ("a", "b"))
    detail = json.loads(verdict.detail)
    assert detail["judge"] == "anthropic:test"
    assert detail["prompts"] == PROMPTS.fingerprint
    assert detail["replies"] == [YES]
    assert len(detail["request"]) == 64


@pytest.mark.parametrize("word", ["yes", "Yes", "YES.", " yes\n"])
def test_with_ten_tokens_it_asks_for_one_plain_word(word: str) -> None:
    model = always(word)
    (verdict,) = judged(Judge(model, PLAIN), ("a", "b"))
    assert verdict.outcome is Outcome.YES
    assert model.requests[0].schema is None
    assert model.requests[0].max_tokens == 10
    assert "one word, yes or no" in model.requests[0].system


def test_a_server_without_schemas_is_asked_for_one_plain_word() -> None:
    model = always("no")
    model.capabilities = frozenset()
    assert judged(Judge(model, PROMPTS), ("a", "b"))[0].outcome is Outcome.NO
    assert model.requests[0].schema is None


@pytest.mark.parametrize(
    "reply",
    ["", "maybe", '{"consistent": true}', '{"consistent": "yes", "tag": "RATIFY"}', "yes",
     Reply(YES, Stop.REFUSAL), Reply(YES, Stop.LENGTH)],
)  # fmt: skip
def test_what_is_no_verdict_is_asked_for_again_and_is_never_a_no(reply: str | Reply) -> None:
    replies = iter([reply, reply, YES])
    model = Saying(lambda _request: next(replies))
    assert judged(Judge(model, PROMPTS), ("a", "b"))[0].outcome is Outcome.YES
    assert [request.epoch % 8 for request in model.requests] == [
        model.requests[0].epoch % 8 + tried for tried in range(3)
    ]
    assert "reason" in unframed(model.requests[1].turns[0].text)[-1]
    with pytest.raises(NoAnswer, match="no usable verdict in 2 attempts"):
        judged(Judge(Saying(lambda _r: reply), PROMPTS, attempts=2), ("a", "b"))


@pytest.mark.parametrize(
    ("scope", "calls"), [(Scope.CALL, 6), (Scope.SESSION, 5), (Scope.RUN, 3), (Scope.PAIR, 2)]
)
def test_how_often_it_is_asked_follows_from_its_scope(scope: Scope, calls: int) -> None:
    """A text with itself, a pair three times, the pair the other way round, another pair."""
    model = always(YES)
    pairs = [("a", "a"), ("a", "b"), ("a", "b"), ("a", "b"), ("b", "a"), ("a", "c")]
    judged(Judge(model, PROMPTS, scope), *pairs)
    assert len(model.requests) == calls


@pytest.mark.parametrize("scope", Scope)
def test_it_is_what_its_scope_says_whatever_the_model_answers(scope: Scope) -> None:
    """Against a model that never answers twice alike."""
    gives = GIVES[scope]
    pairs = [("a", "b"), ("a", "b"), ("b", "a"), ("a", "a"), ("b", "b"), ("a", "b"), ("b", "a")]
    found = [one.outcome for one in judged(Judge(always(YES, NO), PROMPTS, scope), *pairs)]
    same = {pair: {o for p, o in zip(pairs, found, strict=True) if p == pair} for pair in pairs}
    if Assumption.DETERMINISTIC in gives:
        assert all(len(outcomes) == 1 for outcomes in same.values())
    else:
        assert len(same["a", "b"]) == 2
    if Assumption.REFLEXIVE in gives:
        assert same["a", "a"] == same["b", "b"] == {Outcome.YES}
    if Assumption.SYMMETRIC in gives:
        assert same["a", "b"] == same["b", "a"]
    assert Assumption.TRANSITIVE not in gives


@pytest.mark.parametrize(
    ("scope", "memo", "assumed"),
    [
        (Scope.CALL, False, set()),
        (Scope.SESSION, True, {"deterministic", "reflexive"}),
        (Scope.RUN, True, {"deterministic", "reflexive", "shared"}),
        (Scope.PAIR, True, {"deterministic", "reflexive", "shared", "symmetric"}),
    ],
)
def test_the_assumptions_of_a_session_are_honest(
    scope: Scope, memo: bool, assumed: set[str]
) -> None:
    shared = Judge(always(YES), PROMPTS, scope)
    own = scope in (Scope.CALL, Scope.SESSION)
    left, right = (
        Relations(match, Judge(always(YES), PROMPTS, scope) if own else shared, memo=memo)
        for match in (EXACT, EXACT)
    )
    assert set(map(str, session_assumptions(left, right))) == assumed


class _Exact:
    name = "exact"
    assumptions = frozenset(Assumption)

    async def holds(self, left: str, right: str) -> Outcome:
        return Outcome.YES if left == right else Outcome.NO


EXACT = _Exact()


def test_two_sessions_that_ask_the_same_at_once_share_one_call_of_a_runs_judge() -> None:
    model = always(YES, NO)
    judge = Judge(model, PROMPTS, Scope.RUN)

    async def both() -> list[RelationReply]:
        return list(await asyncio.gather(*(judge.holds("a", "b") for _ in range(5))))

    found = asyncio.run(both())
    assert {verdict.outcome for verdict in found} == {Outcome.YES}
    assert sum(verdict.asked for verdict in found) == len(model.requests) == 1


@pytest.mark.parametrize("scope", [Scope.RUN, Scope.PAIR])
def test_a_resumed_run_remembers_what_its_judge_has_said(scope: Scope) -> None:
    model = always(YES)
    judge = Judge(model, PROMPTS, scope)
    key = digest("a"), digest("b")
    judge.remember([Judgement("AGREE", *key, Outcome.NO, True, 0.0)])
    judge.remember([Judgement("MATCH", *key, Outcome.YES, True, 0.0)])
    assert judged(judge, ("a", "b"))[0] == RelationReply(
        Outcome.NO, "judged before in this run", False
    )
    judged(judge, ("b", "a"))
    assert len(model.requests) == (1 if scope is Scope.RUN else 0)


@pytest.mark.parametrize(
    ("said", "outcome"),
    [("yyy", Outcome.YES), ("yyn", Outcome.YES), ("ynn", Outcome.NO), ("yn", Outcome.UNSURE)],
)
def test_the_majority_of_votes_counts_and_a_tie_is_unsure(said: str, outcome: Outcome) -> None:
    model = always(*(YES if one == "y" else NO for one in said))
    (verdict,) = judged(Judge(model, PROMPTS, votes=len(said)), ("a", "b"))
    assert verdict.outcome is outcome
    assert len(json.loads(verdict.detail)["replies"]) == len(said)
    assert len({request.epoch for request in model.requests}) == len(said)


def epochs(session: str, owner: str = "m", scope: Scope = Scope.SESSION) -> set[int]:
    model = always(YES)
    judge = Judge(model, PROMPTS, scope, owner=owner, votes=3)
    judged(judge.for_session(session), ("a", "b"))
    assert {request.session for request in model.requests} == {session}
    return {request.epoch for request in model.requests}


def test_a_cache_takes_no_sessions_verdict_for_anothers_but_that_of_a_replay() -> None:
    first = epochs("animals-1/1/1")
    assert not first & epochs("animals-1/1/2")
    assert not first & epochs("animals-1/2/1")
    assert not first & epochs("animals-1/1/1", owner="h")
    assert first == epochs("animals-7/1/1")
    assert epochs("animals-1/1/1", scope=Scope.RUN) == epochs("animals-1/1/2", "h", Scope.RUN)
    assert max(first) < 2**31


def test_numbers_out_of_range_are_refused() -> None:
    numbers: list[dict[str, Any]] = [{"votes": 0}, {"votes": 100}, {"attempts": 0}, {"attempts": 9}]
    for wrong in numbers:
        with pytest.raises(UsageError):
            Judge(always(YES), PROMPTS, **wrong)
