"""A model that replays a script from a file, for examples and tests without a server.

What is said depends on what is asked, not on when: a network asks many questions at once, and
some of them again. A line of a script is `reply`, what is said (JSON, or a text as it is), to a
request of that `purpose`; of its framed data each text of `when` stands in the value of that key,
and the values of `where` are the whole of theirs; `times` is how often, without it any number of
times. The first line that fits, and is not used up, answers.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from pathlib import Path

from pxp_fsm import registry
from pxp_fsm.documents import text_of
from pxp_fsm.errors import Fault, FileError, NoAnswer, UsageError, quoted
from pxp_fsm.lazy_dataclasses import dataclass
from pxp_fsm.options import option
from pxp_fsm.prompting.framing import unframed
from pxp_fsm.prompting.model import Capability, ModelRequest, Reply
from pxp_fsm.schemas import FileKind, read_value

PREFIX = "script:"
"""What the name of such a model begins with; the path of its file follows."""

PURPOSES = ("answer", "judge", "member", "summary", "test", "validation")
"""What the toolkit itself asks models for; plug-ins and programs have purposes of their own."""

_NEAR = 0.8
"""A purpose that is no known one, and so like one, is a slip."""


def _purpose(text: str) -> str:
    """A purpose; `UsageError` for a slip."""
    known = {*PURPOSES, *(name for plugin in registry.plugins() for name in plugin.purposes)}
    near = get_close_matches(text, known, n=1, cutoff=_NEAR)
    if near and text not in known:
        raise UsageError(
            f"nothing is asked for the purpose {quoted(text)}; did you mean {near[0]}?"
        )
    return text


@dataclass(frozen=True, slots=True)
class ScriptLine:
    """What is said to which requests, and how often (None: always)."""

    purpose: str = option(
        "What is asked: answer, judge, ...; of a network control, execution or a step.",
        parse=_purpose,
    )
    reply: str = option("What is said: a text, or an object.", written=object)
    when: Mapping[str, str] = option(
        "By key of what is asked: a text that stands in its value.", {}
    )
    where: Mapping[str, object] = option("By key of what is asked: the whole of its value.", {})
    times: int | None = option(
        "How often it is said.", None, default="any number of times", least=1
    )

    def __post_init__(self) -> None:
        reply: object = self.reply
        if not isinstance(reply, str):
            object.__setattr__(self, "reply", json.dumps(reply, ensure_ascii=False))

    def fits(self, purpose: str, told: Mapping[str, object]) -> bool:
        """Whether it answers a request of that purpose which holds these data."""
        return (
            self.purpose == purpose
            and all(_holds(told.get(key), text) for key, text in self.when.items())
            and all(key in told and told[key] == value for key, value in self.where.items())
        )


@dataclass(frozen=True, slots=True)
class ScriptFile:
    """A script in TOML or JSON."""

    line: tuple[ScriptLine, ...] = option("The first one that fits answers.", least=1)
    title: str = option("What people call it.", "", least=0)


SCRIPT = FileKind(ScriptFile, "a script", "A script for a model")


class Script:
    """Replies by the `lines` of a script; raises `NoAnswer` where none fits.

    `requests` keeps what it was asked.
    """

    capabilities = frozenset(Capability)

    def __init__(self, lines: Iterable[ScriptLine], name: str = "script") -> None:
        self._lines = tuple(lines)
        self._name = name
        self._used = [0] * len(self._lines)
        self.requests: list[ModelRequest] = []

    @property
    def name(self) -> str:
        return self._name

    async def reply(self, request: ModelRequest) -> Reply:
        self.requests.append(request)
        told: dict[str, object] = {}
        for turn in request.turns:
            for frame in unframed(turn.text):
                told |= frame
        for place, line in enumerate(self._lines):
            left = line.times is None or self._used[place] < line.times
            if left and line.fits(request.purpose, told):
                self._used[place] += 1
                return Reply(line.reply)
        about = {key: told[key] for key in ("name", "input", "strategy") if key in told}
        raise NoAnswer(
            f"{self._name} has no reply left for a request of purpose {quoted(request.purpose)} "
            f"about {quoted(json.dumps(about, ensure_ascii=False), 200)}"
        )


def read_script(path: str | Path) -> Script:
    """The script in the file `path`: TOML or JSON by its name, else a JSON object a line.

    Raises `FileError`, with every fault and its line.
    """
    path = Path(path)
    name = f"{PREFIX}{path.name}"
    if path.suffix in (".toml", ".json"):
        return Script(SCRIPT.load(path).value.line, name)
    written = enumerate(text_of(path, SCRIPT.what).splitlines(), start=1)
    return Script((_line(path, at, line) for at, line in written if line.strip()), name)


def _line(path: Path, number: int, text: str) -> ScriptLine:
    try:
        raw: object = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise _at(path, number, f"this is not JSON: {error}") from error
    line: ScriptLine
    line, faults = read_value(ScriptLine, raw)
    if faults:
        raise _at(path, number, "; ".join(fault.message for fault in faults))
    return line


def _holds(value: object, text: str) -> bool:
    """Whether a text is in a value: of a text, a stretch; of a list or an object, in some of it."""
    if isinstance(value, str):
        return text in value
    if isinstance(value, Mapping):
        return any(_holds(element, text) for element in value.values())
    return isinstance(value, list) and any(_holds(element, text) for element in value)


def _at(path: Path, line: int, message: str) -> FileError:
    return FileError((Fault((), message, file=str(path), line=line),))


EVERYTHING = frozenset(Capability)


class ScriptedModel:
    """Gives `replies`, one a request, in their order; raises `NoAnswer` when they are used up.

    `requests` keeps what it was asked.
    """

    def __init__(
        self,
        replies: Iterable[str | Reply],
        *,
        name: str = "script",
        capabilities: frozenset[Capability] = EVERYTHING,
    ) -> None:
        self._replies = iter(tuple(replies))
        self._name = name
        self._capabilities = capabilities
        self.requests: list[ModelRequest] = []

    @property
    def name(self) -> str:
        return self._name

    @property
    def capabilities(self) -> frozenset[Capability]:
        return self._capabilities

    async def reply(self, request: ModelRequest) -> Reply:
        self.requests.append(request)
        reply = next(self._replies, None)
        if reply is None:
            raise NoAnswer("the script has no reply left")
        return reply if isinstance(reply, Reply) else Reply(reply)
