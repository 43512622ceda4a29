"""Parsing of a model's reply: complete text, a JSON object with the required keys."""

from __future__ import annotations

import json
import re

from pxp_fsm.documents import unique_keys
from pxp_fsm.errors import DataError, NoAnswer, quoted
from pxp_fsm.prompting.model import Reply, Stop


class ContextExceeded(NoAnswer):
    """What was asked, with the reply, does not fit into the model's context window."""


def whole_text(reply: Reply) -> str:
    """The text of a reply that is whole; raises `DataError` where it is refused, cut or empty.

    Raises `ContextExceeded` where the context window was full: asking again with the reason would
    be longer still.
    """
    if reply.stop is Stop.CONTEXT:
        raise ContextExceeded("the conversation does not fit into the model's context window")
    if reply.stop is Stop.REFUSAL:
        raise DataError("it was refused")
    if reply.stop is not Stop.END:
        raise DataError("it was cut off; it must be shorter")
    text = reply.text.strip()
    if not text:
        raise DataError("it is empty")
    return text


_FENCED = re.compile(r"```(?:json)?[ \t]*\n(.*)\n```", re.DOTALL)


def unfenced(text: str) -> str:
    """`text` without a code block around the whole of it."""
    fence = _FENCED.fullmatch(text)
    return fence[1] if fence else text


def strict_object(text: str, keys: set[str]) -> dict[str, object]:
    """The JSON object that `text` is, with exactly `keys`, each once; raises `DataError`."""
    try:
        value = json.loads(text, object_pairs_hook=unique_keys, parse_constant=_no_number)
    except (ValueError, RecursionError) as error:
        raise DataError(f"it is not a JSON object: {quoted(str(error))}") from error
    if not isinstance(value, dict):
        raise DataError(f"it is not a JSON object, but {quoted(value)}")
    if set(value) != keys:
        raise DataError(
            f"its keys are {quoted(', '.join(sorted(value)))}; they must be "
            f"{', '.join(sorted(keys))}"
        )
    return value


def headed_parts(text: str, headings: tuple[str, ...]) -> tuple[str, str]:
    """The two parts of a plain reply: `Prediction: ... Explanation: ...`, by its headings.

    The first heading is the very beginning; the second begins a line, or else stands in one. Raises
    `DataError`.
    """
    first, second = headings
    form = f"it must be '{first}: ... {second}: ...' and nothing before"
    begun = re.match(rf"{re.escape(first)}\s*:", text, re.IGNORECASE)
    if begun is None:
        raise DataError(form)
    rest = text[begun.end() :]
    parted = re.search(rf"^[ \t]*{re.escape(second)}\s*:", rest, re.IGNORECASE | re.MULTILINE)
    parted = parted or re.search(rf"\b{re.escape(second)}\s*:", rest, re.IGNORECASE)
    if parted is None:
        raise DataError(form)
    return rest[: parted.start()].strip(), rest[parted.end() :].strip()


def _no_number(constant: str) -> object:
    raise ValueError(f"{constant} is not JSON")
