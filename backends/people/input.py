"""Input on a terminal: lines that are validated as they are entered, and multi-line texts.

Ctrl-C and Ctrl-D leave: both are `KeyboardInterrupt` to whoever asked. Between two lines, Ctrl-C
cancels what runs, so that the next line is cancelled: `LEFT` is either, with what was typed.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from pxp_fsm.documents import text_of
from pxp_fsm.errors import FileError, PXPError, UsageError, require_extra
from pxp_fsm.lazy_dataclasses import dataclass
from pxp_fsm.protocol.messages import printable

if TYPE_CHECKING:
    from prompt_toolkit.history import History
    from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent


class UserLeft(KeyboardInterrupt):
    """The person left; `typed` is what stood in the line that they left."""

    def __init__(self, typed: str) -> None:
        super().__init__()
        self.typed = typed


class LineCancelled(asyncio.CancelledError):
    """A line was cancelled from outside; `typed` is what stood in it."""

    def __init__(self, typed: str) -> None:
        super().__init__()
        self.typed = typed


LEFT = (UserLeft, LineCancelled)


@dataclass
class Keys:
    """Counts the keys that are pressed in answer to questions."""

    pressed: int = 0

    def taken(self) -> int:
        """How many were pressed since this was last asked."""
        pressed, self.pressed = self.pressed, 0
        return pressed


def has_terminal() -> bool:
    """Whether somebody can be asked: input and output are a terminal.

    Raises `UsageError` without the extra `terminal`.
    """
    _require_terminal()
    return sys.stdin.isatty() and sys.stdout.isatty()


def _require_terminal() -> None:
    require_extra("terminal", "a person at the terminal", {"prompt_toolkit": "prompt_toolkit"})


def say(*parts: tuple[str, str] | str) -> None:
    """Print a line of texts, each with its style or plain; nothing in them steers the terminal."""
    _require_terminal()
    from prompt_toolkit import print_formatted_text
    from prompt_toolkit.formatted_text import FormattedText

    styled = [("", part) if isinstance(part, str) else part for part in parts]
    print_formatted_text(FormattedText([(style, printable(text)) for style, text in styled]))


async def ask_line(
    question: str,
    accept: Callable[[str], object],
    *,
    default: str = "",
    words: Sequence[str] = (),
    earlier: Sequence[str] = (),
    keys: Keys | None = None,
) -> str:
    """A line that `accept` takes.

    What it raises (`PXPError`) is shown, and the line is asked for anew, empty: Up brings back what
    was refused, and before it the lines of `earlier`. Who leaves an empty line leaves the last one
    that was refused.
    """
    from prompt_toolkit.completion import WordCompleter
    from prompt_toolkit.history import InMemoryHistory

    completer = WordCompleter(list(words), ignore_case=True, sentence=True) if words else None
    known = InMemoryHistory(earlier)
    refused = ""
    while True:
        try:
            text = await _ask(
                question,
                keys,
                history=known,
                default=default,
                completer=completer,
                complete_while_typing=False,
                key_bindings=_leaving(),
            )
        except LEFT as left:
            raise type(left)(left.typed or refused) from None
        try:
            accept(text)
        except PXPError as error:
            say("   ", str(error), " (Up brings back what you typed.)" if text.strip() else "")
            default, refused = "", text
            continue
        return text


async def one_of(question: str, words: tuple[str, ...], *, keys: Keys | None = None) -> str:
    """One of `words`, however it was typed: as a whole, or so far that it could be no other."""

    def meant(text: str) -> str:
        typed = text.strip().lower()
        matching = [word for word in words if word.lower() == typed] or [
            word for word in words if typed and word.lower().startswith(typed)
        ]
        if len(matching) != 1:
            raise UsageError(f"the answer must be one of: {', '.join(words)}")
        return matching[0]

    return meant(await ask_line(question, meant, words=words, keys=keys))


async def ask_lines(question: str, *, default: str = "", keys: Keys | None = None) -> str:
    """A text of any number of lines; Enter on an empty line, or Alt-Enter, ends it."""
    text = await _ask(question, keys, default=default, multiline=True, key_bindings=_many_lines())
    return text.strip()


def _leaving() -> KeyBindings:
    """Ctrl-D leaves wherever the cursor stands, as Ctrl-C does."""
    from prompt_toolkit.key_binding import KeyBindings

    bindings = KeyBindings()

    @bindings.add("c-d")
    def _leave(event: KeyPressEvent) -> None:
        event.app.exit(exception=EOFError)

    return bindings


def _many_lines() -> KeyBindings:
    """Enter goes on to the next line; on an empty last line it ends the text."""
    bindings = _leaving()

    @bindings.add("enter")
    def _enter(event: KeyPressEvent) -> None:
        buffer = event.current_buffer
        document = buffer.document
        at_the_end = not document.text_after_cursor.strip()
        if at_the_end and not document.current_line.strip():
            buffer.validate_and_handle()
        else:
            buffer.newline()

    return bindings


async def _ask(
    question: str, keys: Keys | None, history: History | None = None, **options: object
) -> str:
    _require_terminal()
    from prompt_toolkit import PromptSession

    session: PromptSession[str] = PromptSession(history=history)

    def press(_processor: object) -> None:
        if keys is not None:
            keys.pressed += 1

    session.app.key_processor.after_key_press += press
    try:
        return await session.prompt_async(question, **options)  # type: ignore[arg-type] # passed on
    except (KeyboardInterrupt, EOFError):
        raise UserLeft(session.default_buffer.text) from None
    except asyncio.CancelledError:
        raise LineCancelled(session.default_buffer.text) from None


@dataclass(frozen=True, slots=True)
class UnsentAnswer:
    """An answer that was not sent: the prediction as typed, and the explanation."""

    prediction: str = ""
    explanation: str = ""


class Drafts:
    """The drafts in `folder`, a file each; the name is a digest, so that no text becomes a path."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def read(self, session: str, number: int) -> UnsentAnswer | None:
        """The draft of that message, or None; a file that is none counts as none."""
        try:
            raw = json.loads(text_of(self._path(session, number), "a draft"))
            draft = UnsentAnswer(**raw)
        except (FileError, ValueError, TypeError, RecursionError):
            return None
        whole = isinstance(draft.prediction, str) and isinstance(draft.explanation, str)
        return draft if whole else None

    def keep(self, session: str, number: int, draft: UnsentAnswer) -> Path:
        """Write `draft` down and return its file; `UsageError` where the disk refuses it."""
        path = self._path(session, number)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps(asdict(draft)), "utf-8")
        except OSError as error:
            raise UsageError(f"the draft cannot be kept in {path}: {error.strerror}") from error
        return path

    def drop(self, session: str, number: int) -> None:
        """Forget the draft of a message that has been sent."""
        self._path(session, number).unlink(missing_ok=True)

    def _path(self, session: str, number: int) -> Path:
        name = hashlib.sha256(f"{session}\x00{number}".encode()).hexdigest()[:24]
        return self._folder / f"{name}.json"
