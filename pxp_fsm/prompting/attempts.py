"""Attempts at a usable reply: a model is asked again, with the reason, until it gives one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

from pxp_fsm.errors import DataError, NoAnswer, UsageError
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


async def ask_until_usable(
    ask: Ask,
    request: ModelRequest,
    read: Callable[[Reply], T],
    prompt: Prompt,
    *,
    wanted: str = "reply",
    attempts: int = ATTEMPTS,
    on_unusable: Callable[[int], None] = lambda _left: None,
) -> Usable[T]:
    """Ask `request`, and again with the reason, until `read` makes a value of the reply.

    `ask` is how the model is asked (its `reply`): whatever records and charges a request does so
    there, once for each attempt. `read` raises `DataError`, saying why a reply is of no use; the
    text `again` of `prompt` puts that reason into words, and may quote the reply. Each attempt has
    an epoch of its own, counted from that of `request`, so that no cache gives the same reply
    twice. `on_unusable` is told, after an unusable reply, how many attempts are left.

    Raises `NoAnswer` after the last attempt, naming what was `wanted` and the last reason. What
    `ask` raises is not caught: a model that gives no reply at all is not asked again here.

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
    asked, reason = request, ""
    for attempt in range(attempts):
        reply = await ask(replace(asked, epoch=request.epoch + attempt))
        try:
            return Usable(read(reply), reply, asked)
        except DataError as error:
            reason = str(error)
        on_unusable(attempts - attempt - 1)
        # A retry adds to the first request, not to the last: reasons do not pile up, and what an
        # unusable reply held has no place in the conversation unless the prompt quotes it.
        asked = with_reason(request, prompt, reason, reply)
    raise NoAnswer(f"no usable {wanted} in {attempts} attempts; the last: {reason}")


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
