"""Models behind a network: time by requests in flight, tokens by prompt caching, cost of a call.

Everything goes over HTTP to `model_server.py`, a process of its own on this machine, which speaks
Anthropic's protocol and counts tokens by its published rules; no vendor's server is asked, so that
tokens are as that server counts them, and no bill.
"""

from __future__ import annotations

import asyncio
import socket
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import anthropic
from model_server import REPLY

from backends.models.catalogue import catalogue, parse_model_name
from backends.models.registry import Serving
from backends.models.settings import Settings
from pxp_fsm.prompting.model import ChatRole, ChatTurn, ModelRequest, Usage

SERVER = Path(__file__).with_name("model_server.py")
OWN = Path(__file__).with_name("bench_models.toml")
CALLS = 100
ROUNDS = 7
PLAIN_CALLS = 100
PRICED = "anthropic:claude-sonnet-4-5"
INSTRUCTIONS = "You answer as a radiologist does, in the form that is asked for, and briefly. " * 75
QUESTION = "What do you see in this X-ray image, out of the five ailments, and why? " * 4


@contextmanager
def server(seconds: float, *reply: str) -> Iterator[str]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, str(SERVER), str(port), str(seconds), *reply]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        with process.stdout or sys.stdin as output:
            output.readline()  # it is ready
            yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait()


def request(number: int) -> ModelRequest:
    return ModelRequest(
        "Be brief.", (ChatTurn(ChatRole.USER, f"question {number}"),), purpose="judge"
    )


async def at_once(url: str, in_flight: int) -> float:
    async with Serving(Settings(in_flight=in_flight, catalogue=OWN)) as serving:
        model = serving.model(f"anthropic:counted@{url}")
        await model.reply(request(-1))  # the library's import, the first connection
        started = time.perf_counter()
        await asyncio.gather(*(model.reply(request(number)) for number in range(CALLS)))
        return time.perf_counter() - started


async def session(url: str, purpose: str) -> Usage:
    """The five answers of a machine in a session of ten messages, each with all before it."""
    async with Serving(Settings(catalogue=OWN)) as serving:
        model = serving.model(f"anthropic:counted@{url}")
        turns: tuple[ChatTurn, ...] = ()
        usages = []
        for number in range(5):
            turns = (*turns, ChatTurn(ChatRole.USER, f"{number}: {QUESTION}"))
            reply = await model.reply(ModelRequest(INSTRUCTIONS, turns, purpose=purpose))
            usages.append(reply.usage)
            turns = (*turns, ChatTurn(ChatRole.ASSISTANT, REPLY))
        return Usage(
            sum(usage.sent for usage in usages),
            sum(usage.received for usage in usages),
            sum(usage.cache_read for usage in usages),
            sum(usage.cache_written for usage in usages),
        )


async def alone(url: str) -> float:
    """Seconds a call of the vendor's library by itself."""
    async with anthropic.AsyncAnthropic(
        api_key="none", base_url=url, open_telemetry=False
    ) as client:
        started = 0.0
        for number in range(-5, PLAIN_CALLS):
            if number == 0:
                started = time.perf_counter()
            await client.messages.create(
                model="counted",
                max_tokens=1024,
                system="Be brief.",
                messages=[
                    {
                        "role": "user",
                        "content": [{"type": "text", "text": f"question {number}"}],
                    }
                ],
            )
        return (time.perf_counter() - started) / PLAIN_CALLS


async def whole(url: str) -> float:
    """Seconds a call through everything that a run puts around a model."""
    async with Serving(
        Settings(requests=10**6, tokens=10**9, dollars=1e6, catalogue=OWN)
    ) as serving:
        model = serving.model(f"anthropic:counted@{url}")
        started = 0.0
        for number in range(-5, PLAIN_CALLS):
            if number == 0:
                started = time.perf_counter()
            await model.reply(request(number))
        return (time.perf_counter() - started) / PLAIN_CALLS


def main() -> None:
    print(f"| in flight | seconds for {CALLS} calls of 50 ms | calls a second | of the ideal |")
    print("|--:|--:|--:|--:|")
    with server(0.05) as url:
        for in_flight in (1, 4, 20):
            seconds = asyncio.run(at_once(url, in_flight))
            ideal = 0.05 * CALLS / in_flight
            print(
                f"| {in_flight} | {seconds:.2f} | {CALLS / seconds:.0f} | {ideal / seconds:.0%} |"
            )
    price = catalogue().price(parse_model_name(PRICED))
    if price is None:
        raise SystemExit(f"{PRICED} has no price any more; choose another")
    print(f"\n| a session of 10 messages | sent | written | read | received | as {PRICED} |")
    print("|---|--:|--:|--:|--:|--:|")
    with server(0.0) as url:
        for named, purpose in (("without prompt caching", "judge"), ("with", "answer")):
            used = asyncio.run(session(url, purpose))
            print(
                f"| {named} | {used.sent} | {used.cache_written} | {used.cache_read} "
                f"| {used.received} | ${price.of(used):.4f} |"
            )
        rounds = [(asyncio.run(alone(url)), asyncio.run(whole(url))) for _ in range(ROUNDS)]
    bare, ours = (statistics.median(times) for times in zip(*rounds, strict=True))
    print(f"\n| a call that takes no time, median of {ROUNDS} rounds | ms | times the first |")
    print("|---|--:|--:|")
    print(f"| the vendor's library alone | {1000 * bare:.2f} | 1.0 |")
    print(f"| with limits, budget, retries, cache, spans | {1000 * ours:.2f} | {ours / bare:.2f} |")


if __name__ == "__main__":
    main()
