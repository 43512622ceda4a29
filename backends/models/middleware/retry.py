"""Retries with growing pauses, never earlier than a server asked for."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import astuple, replace

from backends.models.failures import CallFailed
from backends.models.settings import ATTEMPTS
from pxp_fsm.errors import Halted
from pxp_fsm.lazy_dataclasses import dataclass
from pxp_fsm.prompting.model import Ask, Layer, ModelRequest, Reply, Stop, Usage

UNREACHED = 3
"""How often a server is tried that cannot be reached, or never gave a reply that is one: a wrong
address does not become right. Nor is one that goes silent in its streams tried more often."""
LONGER = 4
"""By how much the bound of a reply grows that was cut by it; it grows twice at most."""
TOLD = 5.0
"""Seconds from which on a pause is told: shorter ones are over before anybody wonders."""


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How often a call is tried, and the pauses between, in seconds.

    The pause before attempt n + 1 is drawn between half of `first` * 2^(n - 1) and all of it, and
    is `most` at most; where the server names a time, it is that at least. Asked to wait longer
    than `longest`, the run stops.
    """

    attempts: int = ATTEMPTS
    first: float = 1.0
    most: float = 60.0
    longest: float = 3600.0

    def pause(self, failed: int, wait: float | None, draw: float) -> float:
        """The pause after `failed` attempts; `draw` is between 0 and 1."""
        drawn = min(self.first * 2.0 ** min(failed - 1, 60), self.most) * (0.5 + draw / 2)
        return max(drawn, wait or 0.0)


def retried(
    patience: RetryPolicy = RetryPolicy(),
    *,
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    draw: Callable[[], float] = random.random,
    on_wait: Callable[[str], None] = lambda _why: None,
) -> Layer:
    """Asks a model again where that may help. `sleep` and `draw` are the clock and the dice.

    A reply that was cut by its bound is asked for again with four times that bound, twice at most,
    as long as the context window has room; its usage is that of all of them. A request that is
    longer than the context window has an empty reply that says so: whoever asks can leave some of
    it out. A request that a server refuses before it has replied to any is the run's fault, and
    stops it. `on_wait` is told of each pause that somebody might wonder at: how long and why.
    """
    answers = False

    async def reply(ask: Ask, request: ModelRequest) -> Reply:
        nonlocal answers
        failed, spent = 0, 0.0
        cut: list[Reply] = []
        while True:
            try:
                reply = await ask(request)
            except CallFailed as error:
                failed += 1
                spent += error.cost
                if error.too_long:
                    full = cut.pop() if cut else Reply("", Stop.CONTEXT)
                    return _with(cut, full, failed, spent)
                if error.refused and not answers:
                    raise Halted(f"{error}: mend that, then resume the run") from error
                no_reply = error.malformed or error.silent
                no_reply = no_reply and not answers and patience.attempts >= UNREACHED
                elsewhere = not error.sent or no_reply
                few = elsewhere or error.silent
                most = min(UNREACHED, patience.attempts) if few else patience.attempts
                if not error.again or failed >= most:
                    raise _given_up(error, failed, spent, elsewhere) from error
                if (error.wait or 0.0) > patience.longest:
                    raise Halted(
                        f"{error}; it asks to wait {error.wait:.0f} s: resume the run then"
                    ) from error
                pause = patience.pause(failed, error.wait, draw())
                if pause >= TOLD or not error.sent:
                    after = f"attempt {failed} of {most}"
                    on_wait(f"waiting {pause:.0f} s: {error} ({after})")
                await sleep(pause)
                continue
            answers = True
            if reply.stop is Stop.LENGTH and len(cut) < 2:
                cut.append(reply)
                request = replace(request, max_tokens=request.max_tokens * LONGER)
                continue
            return _with(cut, reply, failed, spent)

    return reply


def _with(cut: Sequence[Reply], reply: Reply, failed: int, spent: float) -> Reply:
    """`reply` with what was used and spent for it, replies that were cut and failures included."""
    used = [attempt.usage for attempt in (*cut, reply)]
    usage = Usage(*(sum(kind) for kind in zip(*map(astuple, used), strict=True)))
    cost = spent + sum(attempt.served.cost for attempt in (*cut, reply))
    retries = failed + len(cut)
    return replace(reply, usage=usage, served=replace(reply.served, retries=retries, cost=cost))


def _given_up(error: CallFailed, failed: int, lost: float, elsewhere: bool) -> Exception:
    """A server that cannot be reached is no session's fault; a reply that cannot be had is.

    `elsewhere`: it may be no server of models at all.
    """
    times = f"; tried {failed} times" if failed > 1 else ""
    if elsewhere and error.again:
        return Halted(f"{error}{times}: check the server and the network, then resume the run")
    return CallFailed(
        f"{error}{times}",
        again=False,
        billed=error.billed,
        wait=error.wait,
        request_id=error.request_id,
        cost=lost,
    )
