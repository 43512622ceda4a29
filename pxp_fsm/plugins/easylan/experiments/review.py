"""Review of a JSON result by a person at the terminal: confirm, edit, hint, hand back.

What they type is never lost: a text that is no JSON is given back to them as they left it, and
whoever leaves finds their version and hint when they come back. Keys are counted as pressed.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType

from backends.people.input import (
    Drafts,
    Keys,
    UnsentAnswer,
    UserLeft,
    ask_line,
    ask_lines,
    one_of,
    say,
)
from pxp_fsm.errors import PXPError

_HEADING, _NAME = "bold", "ansicyan"
HELP = {
    "confirm": "agree to it, as it stands in your version",
    "edit": "change it as JSON; what you write as <??> is filled in for you",
    "hint": "say in words what is to be different",
    "hole": "make one of its fields <??>",
    "type": "set a field that has a closed list of values",
    "retry": "send your version and your hint, for another result",
    "reset": "put the result back as it was, without a hint",
    "reject": "take over: the step ends without a result",
    "back": "go back to an earlier step, and begin with what you agreed on there",
}

Also = Mapping[str, Callable[[], Awaitable[None]]]
"""What else can be done while a result is reviewed, by the word for it."""


@dataclass(frozen=True, slots=True)
class Reviewed:
    """A result to be reviewed, with what is told beside it.

    `told` are lines about it; `quick` gives the values that a field may have, where they are a
    closed list. `refused` says why an earlier act was not allowed, `version` is what was written
    then. `back` names the earlier results to which one can go back. `key` tells it apart from
    others, for what was typed and not sent.
    """

    title: str
    value: object
    rationale: str
    key: str
    told: Sequence[str] = ()
    quick: Mapping[str, Sequence[str]] = field(default_factory=dict)
    may_reject: bool = True
    refused: str = ""
    version: object = None
    back: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class ReviewAct:
    """What a person does: `choice` is confirm, retry, reject or back; their version, hint, keys.

    `to` is the earlier result to which they go back.
    """

    choice: str
    value: object
    hint: str
    keys: int
    to: str = ""


class TerminalReviewer:
    """Reviews results at the terminal; what is not sent is kept in the folder `drafts`."""

    def __init__(self, drafts: Path, hole: str = "<??>") -> None:
        self._drafts = Drafts(drafts)
        self._hole = hole
        self.keys = Keys()
        self._told: Sequence[str] = ()

    async def review(self, shown: Reviewed, also: Also = MappingProxyType({})) -> ReviewAct:
        """The action on `shown` or `also`; raises `UserLeft`, a `KeyboardInterrupt`."""
        version, hint = _written(shown.value if shown.version is None else shown.version), ""
        draft = self._drafts.read(shown.key, 1)
        self._show(shown)
        if draft is not None:
            version, hint = draft.prediction, draft.explanation
            say("What you had typed when you left is here again.")
            _show_json(version, "your version")
            if hint:
                say("   your hint: ", hint)
        while True:
            word = await self._choice(shown, also, version, hint)
            if word in also:
                await self._aside(also[word], shown, version, hint)
            elif word == "back":
                return await self._back(shown, version, hint)
            elif word in ("confirm", "retry", "reject"):
                value, problem = _read(version)
                if problem and word != "reject":
                    say("   ", problem)
                    continue
                if word == "confirm" and hint and not await self._drops(hint):
                    continue
                return self._sent(shown, word, value, hint if word == "retry" else "")
            else:
                version, hint = await self._changed(word, shown, version, hint)

    async def ask(self, question: str, words: Sequence[str]) -> str:
        """One of `words`, typed as a whole or so far that it could be no other."""
        return await self._line(question, words)

    async def text(
        self, question: str, accept: Callable[[str], object], default: str = "", lines: bool = False
    ) -> str:
        """A text that `accept` takes, of one line or of many; what it raises is shown.

        A text that is refused comes back: several lines as they were, a single one with Up.
        """
        if not lines:
            return await ask_line(question, accept, default=default, keys=self.keys)
        while True:
            default = await ask_lines(question, default=default, keys=self.keys)
            try:
                accept(default)
            except PXPError as error:
                say("   ", str(error))
            else:
                return default

    async def _aside(
        self, done: Callable[[], Awaitable[None]], shown: Reviewed, version: str, hint: str
    ) -> None:
        """Do something else, and keep what was typed here if they leave from there."""
        try:
            await done()
        except UserLeft:
            self._keep(shown, version, hint)
            raise
        self._show(shown)

    async def _back(self, shown: Reviewed, version: str, hint: str) -> ReviewAct:
        """Go back; what was typed here is kept, should the same result come again."""
        earlier = list(shown.back)
        said = f"Back to which? {', '.join(earlier)} "
        to = earlier[0] if len(earlier) == 1 else await self._line(said, earlier)
        self._keep(shown, version, hint)
        return ReviewAct("back", shown.value, "", self.keys.taken(), to)

    async def _choice(self, shown: Reviewed, also: Also, version: str, hint: str) -> str:
        words = [word for word in HELP if shown.may_reject or word != "reject"] + list(also)
        if not shown.quick:
            words.remove("type")
        if not shown.back:
            words.remove("back")
        try:
            return await self._line(f"{', '.join(words)}? ", words)
        except UserLeft:
            self._keep(shown, version, hint)
            raise

    async def _drops(self, hint: str) -> bool:
        """Whether to confirm without the hint that they have written and not sent."""
        say("   your hint: ", hint)
        say("   Confirming sends no hint; retry sends it, for another result.")
        return await self._line("Confirm without the hint? yes, no ", ("yes", "no")) == "yes"

    async def _changed(
        self, word: str, shown: Reviewed, version: str, hint: str
    ) -> tuple[str, str]:
        """Their version and hint after one more thing was done to them."""
        if word == "reset":
            self._drafts.drop(shown.key, 1)
            return _written(shown.value), ""
        part, typed = (hint, "hint") if word == "hint" else (version, "version")
        try:
            if word == "hint":
                said = "Your hint (an empty line ends it):\n"
                hint = await ask_lines(said, default=hint, keys=self.keys)
            elif word == "edit":
                said = "Your version (an empty line at its end ends it):\n"
                version = await ask_lines(said, default=version, keys=self.keys)
                problem = _read(version)[1]
                if problem:
                    say("   ", problem, "; it is kept as you left it, edit it again")
            else:
                version = await self._set(word, shown, version)
        except UserLeft as left:
            part = left.typed if word in ("hint", "edit") else part
            self._keep(
                shown,
                part if typed == "version" else version,
                part if typed == "hint" else hint,
            )
            raise
        if word != "hint":
            _show_json(version, "your version")
        return version, hint

    async def _set(self, word: str, shown: Reviewed, version: str) -> str:
        """Their version with one field set, by name, to a hole or to one of its values."""
        value, problem = _read(version)
        if problem or not isinstance(value, dict):
            say("   ", problem or "it has no fields; edit it")
            return version
        fields = list(value) if word == "hole" else [one for one in shown.quick if one in value]
        name = fields[0] if len(fields) == 1 else await self._line("Which field? ", fields)
        if word == "hole":
            return _written({**value, name: self._hole})
        options = shown.quick[name]
        return _written({**value, name: await self._line(f"{', '.join(options)}? ", options)})

    async def _line(self, question: str, words: Sequence[str]) -> str:
        return await one_of(question, tuple(words), keys=self.keys)

    def _sent(self, shown: Reviewed, choice: str, value: object, hint: str) -> ReviewAct:
        self._drafts.drop(shown.key, 1)
        return ReviewAct(choice, value, hint.strip(), self.keys.taken())

    def _keep(self, shown: Reviewed, version: str, hint: str) -> None:
        if version in (_written(shown.value), _written(shown.version)) and not hint:
            return
        path = self._drafts.keep(shown.key, 1, UnsentAnswer(version, hint))
        say(f"What you typed and did not send is kept in {path}.")

    def _show(self, shown: Reviewed) -> None:
        say("")
        if tuple(shown.told) != tuple(self._told):
            for line in shown.told:
                say(line)
            self._told = shown.told
        say((_HEADING, shown.title))
        _show_json(_written(shown.value))
        if shown.rationale:
            say("   because: ", shown.rationale)
        if shown.refused:
            say("   refused: ", (_HEADING, shown.refused))
        if shown.version is not None:
            _show_json(_written(shown.version), "your version, to be mended; reset drops it")


def _written(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2)


def _read(text: str) -> tuple[object, str]:
    """The value of a text, and why it has none."""
    try:
        return json.loads(text), ""
    except (ValueError, RecursionError) as error:
        return None, f"this is not JSON: {error}"


def _show_json(text: str, whose: str = "") -> None:
    if whose:
        say("   ", (_NAME, whose))
    for line in text.split("\n"):
        say(f"   {line}")
