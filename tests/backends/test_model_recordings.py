"""The call cache, replays and the record of calls."""

from __future__ import annotations

import asyncio
import itertools
import json
from contextlib import suppress
from pathlib import Path

import httpx2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from backends.models.middleware.cache import CallCache, as_line, cached, from_line
from backends.models.registry import Serving
from backends.models.settings import Settings
from pxp_fsm.errors import DataError, Halted, NoAnswer
from pxp_fsm.prompting.model import (
    ChatRole,
    ChatTurn,
    ModelRequest,
    Reply,
    Served,
    Stop,
    Usage,
    fingerprint,
    layered,
)
from tests.backends.model_servers import (
    ANTHROPIC,
    BOTH,
    KEY,
    Handler,
    Log,
    Scripted,
    Server,
    ask,
    reply_to,
    run,
    said,
    served,
)

pytestmark = pytest.mark.usefixtures("model_keys")


@pytest.mark.parametrize("name", BOTH)
def test_a_recorded_conversation_repeats_without_a_network(name: str, tmp_path: Path) -> None:
    path = tmp_path / "calls.jsonl"
    server = Server(*(lambda r, t=text: reply_to(r, name, t) for text in ("one", "zwei ü", "")))

    async def talk(settings: Settings, handler: Handler) -> list[Reply]:
        transport = httpx2.MockTransport(handler)
        async with Serving(settings, transport=transport) as serving:
            model = serving.model(name)
            return [await model.reply(ask(str(n), session="s")) for n in range(3)]

    recorded = run(talk(Settings(cache=path), server))
    before = path.read_bytes()

    def never(_request: httpx2.Request) -> httpx2.Response:
        raise AssertionError("nothing is sent")

    replayed = run(talk(Settings(replay=path), never))
    assert [(r.text, r.stop, r.usage) for r in replayed] == [
        (r.text, r.stop, r.usage) for r in recorded
    ]
    assert all(reply.served.cached for reply in replayed)
    assert path.read_bytes() == before
    resumed = run(talk(Settings(cache=path), never))
    assert [r.text for r in resumed] == [r.text for r in recorded]
    assert KEY.encode() not in before


def test_a_replay_that_asks_something_else_stops(tmp_path: Path) -> None:
    path = tmp_path / "calls.jsonl"
    server = Server(lambda request: reply_to(request, ANTHROPIC))
    served(ANTHROPIC, server, ask("a"), Settings(cache=path))
    with pytest.raises(Halted, match="it is of another run, or its prompts have changed"):
        served(ANTHROPIC, server, ask("b"), Settings(replay=path))
    with pytest.raises(DataError, match="there is no recording"):
        Serving(Settings(replay=tmp_path / "none.jsonl"))


def test_a_replay_needs_no_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "calls.jsonl"
    CallCache(path).close()
    monkeypatch.delenv("ANTHROPIC_API_KEY")
    with pytest.raises(Halted, match="recording"):
        served(ANTHROPIC, Server(), ask(), Settings(replay=path))


def test_epochs_are_asked_apart_and_sessions_are_not() -> None:
    numbers = itertools.count()
    model = layered(Scripted(lambda _: Reply(str(next(numbers)))), cached("scripted", CallCache()))

    async def texts() -> list[str]:
        asked = [ask(session="a"), ask(session="b", purpose="judge"), ask(epoch=1), ask()]
        return [(await model.reply(request)).text for request in asked]

    assert run(texts()) == ["0", "0", "1", "0"]


def test_two_who_ask_the_same_at_once_share_the_reply() -> None:
    inner = Scripted(lambda _: Reply("x"))
    model = layered(inner, cached("scripted", CallCache()))

    async def both() -> list[Reply]:
        return list(await asyncio.gather(model.reply(ask()), model.reply(ask())))

    first, second = run(both())
    assert len(inner.asked) == 1
    assert (first.served.cached, second.served.cached) == (False, True)


def test_a_failure_is_not_kept() -> None:
    failing = iter([True, False])

    def answer(_request: ModelRequest) -> Reply:
        if next(failing):
            raise NoAnswer("no")
        return Reply("x")

    model = layered(Scripted(answer), cached("scripted", CallCache()))

    async def both() -> tuple[Reply | BaseException, Reply | BaseException]:
        return await asyncio.gather(model.reply(ask()), model.reply(ask()), return_exceptions=True)

    failed, answered = run(both())
    assert isinstance(failed, NoAnswer)
    assert isinstance(answered, Reply)


def test_a_line_that_was_cut_is_asked_for_again(tmp_path: Path) -> None:
    path = tmp_path / "calls.jsonl"
    cache = CallCache(path)
    for number in range(2):
        cache.keep((ANTHROPIC, str(number), 0), Reply("x" * 50))
    cache.close()
    whole = path.read_bytes()
    lines = whole.splitlines(keepends=True)
    for size in range(0, len(whole), 5):
        path.write_bytes(whole[:size])
        again = CallCache(path)
        kept = sum(len(b"".join(lines[: n + 1])) <= size for n in (1, 2))
        assert len(again) == kept
        again.keep((ANTHROPIC, "new", 0), Reply("y"))
        again.close()
        assert len(CallCache(path, writes=False)) == kept + 1


HEAD = '{"format": "pxp-fsm calls", "version": 1}'
LINE = json.dumps(as_line(("m", "f", 0), Reply("x")))
OTHER = json.dumps(as_line(("m", "f", 0), Reply("y")))


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[]\n", "line 1: this is not a recording"),
        ("nonsense\n", "line 1: this is not JSON"),
        (f"{HEAD}\n{{}}\n", "line 2: this is not a call"),
        (f"{HEAD}\n[]\n", "line 2: this is not a call"),
        (f"{HEAD}\n{LINE.replace('0', '-1')}\n", "line 2: this is not a call"),
        (f"{HEAD}\n{LINE.replace('end', 'later')}\n", "line 2: this is not a call"),
        (
            f"{HEAD}\n{LINE}\n{OTHER}\n",
            "line 3: the same call has another reply",
        ),
        (HEAD.replace("1", "2") + "\n", "line 1"),
        ("[" * 100_000 + "\n", "line 1"),
    ],
)
def test_a_file_that_is_no_recording_is_refused_with_its_line(
    text: str, says: str, tmp_path: Path
) -> None:
    path = tmp_path / "calls.jsonl"
    path.write_text(text)
    with pytest.raises(DataError, match=says):
        CallCache(path)
    assert path.read_text() == text


@given(
    st.text(),
    st.sampled_from(Stop),
    st.tuples(*[st.integers(0, 10**9)] * 4),
    st.integers(0, 9),
)
def test_a_call_is_the_same_after_its_line(
    text: str, stop: Stop, usage: tuple[int, int, int, int], epoch: int
) -> None:
    asked = ("m", "f", epoch)
    reply = Reply(text, stop, Usage(*usage), Served("r"))
    assert from_line(json.loads(json.dumps(as_line(asked, reply)))) == (asked, reply)


def test_a_fingerprint_is_of_all_that_reaches_the_model_and_of_nothing_else() -> None:
    request = ask()
    others = [
        ask("other"),
        ask(max_tokens=9),
        ask(temperature=0.0),
        ask(seed=0),
        ask(schema={}),
        ModelRequest("", request.turns, max_tokens=100),
        ModelRequest(request.system, (ChatTurn(ChatRole.ASSISTANT, "hello"),), max_tokens=100),
    ]
    assert len({fingerprint(one) for one in (request, *others)}) == 8
    assert fingerprint(request) == fingerprint(ask(purpose="judge", session="s", epoch=3))


def test_every_call_is_recorded_with_what_it_cost() -> None:
    log = Log()
    server = Server(
        lambda _request: httpx2.Response(529),
        lambda request: reply_to(request, ANTHROPIC),
    )

    async def twice() -> None:
        transport = httpx2.MockTransport(server)
        async with Serving(Settings(), log, transport=transport, sleep=_instantly) as serving:
            model = serving.model(ANTHROPIC)
            await model.reply(ask(session="s", purpose="judge"))
            await model.reply(ask(session="t"))

    run(twice())
    first, second = log.calls
    assert first.reply is not None and second.reply is not None
    assert (first.model, first.request.session, first.request.purpose) == (ANTHROPIC, "s", "judge")
    assert first.dollars == pytest.approx((20 * 1.0 + 5 * 5.0) / 1e6)
    assert (first.reply.served.retries, first.reply.served.request_id) == (1, "req_1")
    assert (second.dollars, second.reply.served.cached) == (0.0, True)


async def _instantly(_seconds: float) -> None:
    await asyncio.sleep(0)


def test_what_was_cut_counts_as_billed_in_the_record_too() -> None:
    """So that a resumed run goes on with what may have been spent, and not with less."""
    cut = httpx2.Response(200, content=b"{", headers={"content-type": "application/json"})
    log = Log()

    async def costs(settings: Settings, *handlers: Handler) -> tuple[float, float]:
        transport = httpx2.MockTransport(Server(*handlers))
        async with Serving(settings, log, transport=transport, sleep=_instantly) as serving:
            with suppress(NoAnswer):
                await serving.model(ANTHROPIC).reply(ask())
            return log.calls[-1].dollars or 0.0, serving.budget.spent

    recorded, spent = run(costs(Settings(), lambda _: cut, lambda r: reply_to(r, ANTHROPIC)))
    assert recorded == pytest.approx(spent, abs=1e-9)
    assert recorded > (20 * 1.0 + 5 * 5.0) / 1e6
    recorded, spent = run(costs(Settings(attempts=2), lambda _: cut))
    assert recorded == pytest.approx(spent, abs=1e-9)
    assert recorded > 0.0


def test_a_cap_on_calls_stops_before_it_is_passed() -> None:
    server = Server(lambda _request: httpx2.Response(200, json=said(ANTHROPIC)))

    async def three() -> int:
        transport = httpx2.MockTransport(server)
        async with Serving(Settings(calls=2), transport=transport) as serving:
            model = serving.model(ANTHROPIC)
            for number in itertools.count():
                try:
                    await model.reply(ask(str(number)))
                except Halted:
                    return number
        raise AssertionError

    assert run(three()) == 2
    assert len(server.seen) == 2
