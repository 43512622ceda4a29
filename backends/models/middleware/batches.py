"""Batches: the requests of all open sessions, collected and sent together.

A batch goes out when every session that takes part is waiting for its reply, or when nothing new
has come in for a while: a session may be waiting for a person, or for another model.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager

from backends.models.failures import CallFailed
from pxp_fsm.errors import Halted, NoAnswer
from pxp_fsm.prompting.model import ModelRequest, Reply

QUIET = 2.0
"""Seconds without a new request, after which those that are there are sent."""


SendBatch = Callable[[Sequence[ModelRequest]], Awaitable[Sequence[Reply | CallFailed]]]
"""Sends many requests as one batch: a reply or a failure for each, in their order."""


class BatchMembers:
    """Who takes part in batches: the sessions that are open. Shared by the models of a run."""

    def __init__(self) -> None:
        self.open = 0
        self.waiting = 0
        self._queues: list[BatchQueue] = []

    @contextmanager
    def session(self) -> Iterator[None]:
        """While a session is open, batches wait for it."""
        self.open += 1
        try:
            yield
        finally:
            self.open -= 1
            self.look()

    def join(self, queue: BatchQueue) -> None:
        """Another model whose batches wait for the same sessions."""
        self._queues.append(queue)

    def look(self) -> None:
        """Send what has been gathered, if every open session is waiting."""
        if self.waiting >= self.open:
            self.send()

    def send(self) -> None:
        """Send what has been gathered."""
        for queue in self._queues:
            queue.send()


class BatchQueue:
    """The requests that wait at the same time, which `send_batch` sends in one batch."""

    def __init__(
        self, send_batch: SendBatch, gathering: BatchMembers | None = None, *, quiet: float = QUIET
    ) -> None:
        self._send_batch = send_batch
        self._gathering = gathering or BatchMembers()
        self._gathering.join(self)
        self._quiet = quiet
        self._timer: asyncio.TimerHandle | None = None
        self._gathered: list[tuple[ModelRequest, asyncio.Future[Reply]]] = []
        self._under_way: set[asyncio.Task[None]] = set()

    async def reply(self, request: ModelRequest) -> Reply:
        """The reply to `request`, which waits for its batch."""
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[Reply] = loop.create_future()
        self._gathered.append((request, answer))
        if self._timer is not None:
            self._timer.cancel()
        self._timer = loop.call_later(self._quiet, self.send)
        gathering = self._gathering
        gathering.waiting += 1
        if gathering.open and gathering.waiting >= gathering.open:
            loop.call_soon(gathering.look)
        try:
            return await answer
        finally:
            gathering.waiting -= 1

    def send(self) -> None:
        """Send what has been gathered as one batch."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        gathered = [(request, answer) for request, answer in self._gathered if not answer.done()]
        self._gathered = []
        if gathered:
            task = asyncio.get_running_loop().create_task(self._send(gathered))
            self._under_way.add(task)
            task.add_done_callback(self._under_way.discard)

    async def _send(self, gathered: list[tuple[ModelRequest, asyncio.Future[Reply]]]) -> None:
        try:
            answers = await self._send_batch([request for request, _ in gathered])
        except BaseException as error:
            for _, answer in gathered:
                if not answer.done():
                    answer.set_exception(_each(error))
            if not isinstance(error, Exception):
                raise
            return
        for (_, answer), outcome in zip(gathered, answers, strict=True):
            if answer.done():
                continue
            if isinstance(outcome, Reply):
                answer.set_result(outcome)
            else:
                answer.set_exception(outcome)

    async def aclose(self) -> None:
        """Leave what is under way."""
        for task in tuple(self._under_way):
            task.cancel()
        await asyncio.gather(*self._under_way, return_exceptions=True)


def _each(error: BaseException) -> BaseException:
    """The failure of a whole batch as that of one of its requests: each raises one of its own."""
    if isinstance(error, CallFailed):
        return CallFailed(
            str(error),
            again=error.again,
            billed=error.billed,
            wait=error.wait,
            request_id=error.request_id,
            sent=error.sent,
        )
    if isinstance(error, Halted | NoAnswer):
        return type(error)(str(error))
    if isinstance(error, Exception):
        return NoAnswer(f"the batch failed: {type(error).__name__}: {error}")
    return Halted("the batch was cancelled")
