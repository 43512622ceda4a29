"""Attempts at a usable reply: a model is asked again, with the reason, until it gives one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Generic, TypeVar

from pxp_fsm.errors import DataError, NoAnswer, UsageError
from pxp_fsm.lazy_dataclasses import dataclass
from pxp_fsm.prompting.framing import framed
from pxp_fsm.prompting.model import Ask, ModelRequest, Reply
from pxp_fsm.prompting.prompts import Prompt

T = TypeVar("T")

ATTEMPTS = 3
MOST_ATTEMPTS = 8
"""More are not allowed: the epochs of two questions would meet, and a cache would mix them up."""


@dataclass(frozen=True, slots=True)
class Usable(Generic[T]):
    """A usable reply: its `value`, and the `request` that it answers (of a retry, with the reason).

    The request is as it was built: its epoch does not count the attempts.
    """

    value: T
    reply: Reply
    request: ModelRequest


class Attempts(Generic[T]):
    """The attempts at one question, each made when it is asked for (`once`).

    `ask` is how the model is asked (its `reply`): whatever records and charges a request does so
    there, once for each attempt. `read` raises `DataError`, saying why a reply is of no use; the
    text `again` of `prompt` puts that reason into words, and may quote the reply. Each attempt has
    an epoch of its own, counted from that of `request`, so that no cache gives the same reply
    twice. `left` is how many attempts are left.
    """

    def __init__(
        self,
        ask: Ask,
        request: ModelRequest,
        read: Callable[[Reply], T],
        prompt: Prompt,
        *,
        wanted: str = "reply",
        attempts: int = ATTEMPTS,
    ) -> None:
        self.left = attempts
        self._ask = ask
        self._request = request
        self._read = read
        self._prompt = prompt
        self._wanted = wanted
        self._attempts = attempts
        self._next, self._reason = request, ""

    async def once(self) -> Usable[T] | None:
        """The reply to one more attempt; None where it is of no use.

        What `ask` raises is not caught: a model that gives no reply at all is not asked again here.
        """
        made, self.left = self._attempts - self.left, self.left - 1
        asked = self._next
        reply = await self._ask(replace(asked, epoch=self._request.epoch + made))
        try:
            return Usable(self._read(reply), reply, asked)
        except DataError as error:
            self._reason = str(error)
        # A retry adds to the first request, not to the last: reasons do not pile up, and what an
        # unusable reply held has no place in the conversation unless the prompt quotes it.
        self._next = with_reason(self._request, self._prompt, self._reason, reply)
        return None

    @property
    def failure(self) -> NoAnswer:
        """That no attempt was of use, naming what was `wanted` and the last reason."""
        many = f"{self._attempts} attempts"
        return NoAnswer(f"no usable {self._wanted} in {many}; the last: {self._reason}")


async def ask_until_usable(
    ask: Ask,
    request: ModelRequest,
    read: Callable[[Reply], T],
    prompt: Prompt,
    *,
    wanted: str = "reply",
    attempts: int = ATTEMPTS,
) -> Usable[T]:
    """Ask `request`, and again with the reason, until `read` makes a value of the reply.

    `ask`, `read` and `prompt` are as in `Attempts`. Raises `NoAnswer` after the last attempt,
    naming what was `wanted` and the last reason, and what `ask` raises.

    >>> import asyncio, json
    >>> from backends.models.scripts import ScriptedModel
    >>> from pxp_fsm.prompting.model import ChatTurn, Role
    >>> def number(reply):
    ...     if not reply.text.isdigit():
    ...         raise DataError("it is not a number")
    ...     return int(reply.text)
    >>> model = ScriptedModel(["seven", "7"])
    >>> request = ModelRequest("Count.", (ChatTurn(Role.USER, "How many?"),))
    >>> prompt = Prompt({"again": "No: $reason Again."}, max_tokens=10)
    >>> asyncio.run(ask_until_usable(model.reply, request, number, prompt)).value
    7
    >>> print(model.requests[1].turns[0].text)
    How many?
    <BLANKLINE>
    No: <data>{"reason": "it is not a number"}</data> Again.
    """
    tried = Attempts(ask, request, read, prompt, wanted=wanted, attempts=attempts)
    while tried.left:
        usable = await tried.once()
        if usable is not None:
            return usable
    raise tried.failure


def with_reason(request: ModelRequest, prompt: Prompt, reason: str, reply: Reply) -> ModelRequest:
    """`request` once more, saying at its end why `reply` was of no use."""
    again = prompt.fill(
        "again", reason=framed({"reason": reason}), reply=framed({"reply": reply.text})
    )
    *before, last = request.turns  # the last turn of a request is that of who asks
    turn = replace(last, text=f"{last.text}\n\n{again}")
    return replace(request, turns=(*before, turn))


def check_attempts(attempts: int) -> None:
    """Raise `UsageError` for a number of attempts that is out of range."""
    if not 1 <= attempts <= MOST_ATTEMPTS:
        raise UsageError(f"attempts must be 1 to {MOST_ATTEMPTS}, not {attempts}")


def first_epoch(repetition: int) -> int:
    """The epoch of the first attempt in a repetition, from 1: two repetitions share none."""
    return (repetition - 1) * MOST_ATTEMPTS
