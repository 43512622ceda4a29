"""A network in a file, and everybody who looks at it: edits, and what is kept beside it.

Places of agents, examples, texts under way are in the file `my.lan.json.studio`, written after each
change, so that a page that is loaded again, a server that is started again and another device go on
with what was there.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from pxp_fsm.artifacts import write_atomically
from pxp_fsm.documents import text_of
from pxp_fsm.errors import FileError, PXPError, UsageError
from pxp_fsm.plugins.easylan.distance.lmd import text_cost
from pxp_fsm.plugins.easylan.distance.measures import Stopwatch, actions_of
from pxp_fsm.plugins.easylan.experiments import setup
from pxp_fsm.plugins.easylan.lan import Lan
from pxp_fsm.plugins.easylan.model.network import Network, Unsound
from pxp_fsm.plugins.easylan.model.operations import Operation
from pxp_fsm.plugins.easylan.studio.views import NetworkView, view_of, warm
from pxp_fsm.plugins.easylan.training.progress import Example
from pxp_fsm.web.news import News

MOST_BYTES = 50_000_000
MOST_EXAMPLES = 10_000
MOST_DRAFTS = 1_000

Coordinate = Annotated[float, Field(ge=-100_000, le=100_000)]
Text = Annotated[str, Field(max_length=1_000_000)]


class StudioSample(BaseModel):
    """An input, and the output that is asked for; empty where it is not known yet."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    input: Text
    output: Text = ""


class StudioEffortSpent(BaseModel):
    """A developer's effort: UED as it was done and the least, steps confirmed, seconds of use.

    `total` are the seconds in which a page was open and in use, `waiting` those of them in which a
    model was being asked.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    ued: int = 0
    least: int = 0
    confirmed: int = 0
    total: float = 0.0
    waiting: float = 0.0


class Notes(BaseModel):
    """What is kept beside the network; `drafts` are texts under way, by the field they are in.

    `compares` says whether earlier results are compared after each change, `streams` whether models
    are asked for their replies piece by piece, which are shown.
    """

    model_config = ConfigDict(extra="forbid")

    format: Literal["pxp-fsm studio"] = "pxp-fsm studio"
    version: Literal[1] = 1
    positions: dict[str, tuple[Coordinate, Coordinate]] = {}
    examples: Annotated[tuple[StudioSample, ...], Field(max_length=MOST_EXAMPLES)] = ()
    effort: StudioEffortSpent = StudioEffortSpent()
    drafts: Annotated[dict[str, Text], Field(max_length=MOST_DRAFTS)] = {}
    compares: bool = True
    streams: bool = True


def notes_path(network: Path) -> Path:
    """The file of the notes on the network in a file."""
    return network.with_name(f"{network.name}.studio")


def load_notes(path: Path) -> Notes:
    """The notes in a file; none where there is no file. Raises `FileError`."""
    if not path.exists():
        return Notes()
    text = text_of(path, "the notes of a studio", most=MOST_BYTES)
    try:
        return Notes.model_validate_json(text)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"])) or "the file"
        message = f"{path}: {place}: {first['msg']}; mend it, or remove the file to begin anew"
        raise FileError((message,)) from error


def save_notes(notes: Notes, path: Path) -> None:
    """Write the notes, whole or not at all. Raises as `write_atomically` does."""
    write_atomically(path, notes.model_dump_json() + "\n")


Message = Mapping[str, Any]
"""What a page is sent: `type` says which part of it is new."""

_NETWORK: TypeAdapter[NetworkView] = TypeAdapter(NetworkView)

Stamp = tuple[int, int, int]
"""By what a file that another process has written is told from the one before."""


def stamp_of(path: Path) -> Stamp | None:
    """The stamp of a file; None where there is none."""
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size, status.st_ino


class StudioEffort:
    """The developer's effort: UED as done and the least, steps confirmed, seconds of use.

    Seconds count while a page is open and in use, as pages report it (`use`); `watch` tells in
    which of them models were asked.
    """

    def __init__(
        self, before: StudioEffortSpent, clock: Callable[[], float] = time.perf_counter
    ) -> None:
        self.spent = before
        self.watch = Stopwatch(clock)
        self._until = self.watch.began

    def add(self, distance: int, least: int, confirmed: bool = False) -> StudioEffortSpent:
        """Count an act; what it comes to."""
        self.spent = self.spent.model_copy(
            update={
                "ued": self.spent.ued + distance,
                "least": self.spent.least + least,
                "confirmed": self.spent.confirmed + confirmed,
            }
        )
        return self.spent

    def use(self, seconds: float) -> StudioEffortSpent:
        """Count the last `seconds` as time of use; what it comes to.

        Two pages that are in use at once are one developer: no moment counts twice.
        """
        now = self.watch.clock()
        began = max(self._until, now - seconds)
        waiting = self.watch.models_since(began)
        self._until = now
        self.spent = self.spent.model_copy(
            update={
                "total": round(self.spent.total + now - began, 1),
                "waiting": round(self.spent.waiting + waiting, 1),
            }
        )
        return self.spent


class Studio:
    """The network in the file `path`, which need not be there yet, and its notes.

    `on_edit` is called after each change that was made by hand, here or by another process.
    Raises `FileError` for a file that cannot be read.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.news = News()
        self.notes = load_notes(notes_path(path))
        self._lan: Lan | None = None
        self._stamp: Stamp | None = None
        self._ready: asyncio.Task[None] | None = None
        self._parts: list[Callable[[], list[Message]]] = []
        self.on_edit: Callable[[], None] = lambda: None
        self.effort = StudioEffort(self.notes.effort)
        if path.exists():
            self._open(Lan.load(path))

    @property
    def lan(self) -> Lan:
        """The network; raises `UsageError` while there is none."""
        if self._lan is None:
            raise UsageError(f"there is no network in {self.path} yet; say what it is to do")
        return self._lan

    def _open(self, lan: Lan) -> None:
        self._lan, self._stamp = lan, stamp_of(self.path)
        lan.on_change = self._save

    def create(self, task: str) -> None:
        """Begin the network for `task`. Raises `Unsound`, and `UsageError` where there is one."""
        setup.new(task, self.path, "Solver")
        self._open(Lan.load(self.path))
        self.tell_network()

    def _save(self) -> None:
        self.lan.save(self.path)
        self._stamp = stamp_of(self.path)
        self.tell_network()

    def refresh(self) -> bool:
        """Take what the file holds now, if another process has changed it; whether it has."""
        now = stamp_of(self.path)
        if now is None or now == self._stamp:
            return False
        if self._lan is None:
            self._open(Lan.load(self.path))
        else:
            self._stamp = now
            self._lan.reload(self.path)
        self.tell_network()
        self.on_edit()
        return True

    def look(self) -> None:
        """Refresh, and say on the page what is wrong with a file that cannot be read."""
        try:
            self.refresh()
        except PXPError as error:
            self.tell({"type": "notice", "text": str(error)})

    async def ready(self) -> None:
        """Prepare in another thread what takes long the first time: places, costs, the file."""
        if self._ready is None:
            self._ready = asyncio.create_task(asyncio.to_thread(self._prepare))
        await asyncio.shield(self._ready)

    def _prepare(self) -> None:
        warm(self.network)
        text_cost("a", "b")
        if self._lan is not None:
            self._lan.prepare_save()

    @property
    def exists(self) -> bool:
        """Whether there is a network."""
        return self._lan is not None

    @property
    def network(self) -> Network | None:
        """The network; None while there is none."""
        return None if self._lan is None else self._lan.network

    def follow(self, messages: Callable[[], list[Message]]) -> None:
        """Let a page that is opened be told `messages` too."""
        self._parts.append(messages)

    def messages(self) -> list[Message]:
        """What a page that is opened is told: everything."""
        messages = [self.effort_message(), self.notes_message(), self.network_message()]
        return messages + [message for part in self._parts for message in part()]

    def notes_message(self) -> Message:
        """The examples that are noted, and what the developer wants of the page."""
        examples = [example.model_dump() for example in self.notes.examples]
        wanted = {"compares": self.notes.compares, "streams": self.notes.streams}
        return {"type": "notes", "examples": examples, **wanted}

    def effort_message(self) -> Message:
        """What the developer has done, and how long it took."""
        return {"type": "effort", **self.effort.spent.model_dump()}

    def count(self, distance: int, least: int, confirmed: bool = False) -> None:
        """Add what an act took: its UED as it was done, and the least with which it can be."""
        self.note(effort=self.effort.add(distance, least, confirmed))
        self.tell(self.effort_message())

    def use(self, seconds: float) -> None:
        """Note that a page was in use for the last `seconds`."""
        self.note(effort=self.effort.use(seconds))
        self.tell(self.effort_message())

    def network_message(self) -> Message:
        """The network as a page draws it; none where there is none."""
        if self._lan is None:
            return {"type": "network", "network": None, "file": self.path.name}
        view = view_of(self._lan.history, self.notes.positions)
        return {
            "type": "network",
            "network": _NETWORK.dump_python(view, mode="json"),
            "file": self.path.name,
            "undoable": self._lan.history.can_undo,
            "redoable": self._lan.history.can_redo,
        }

    def tell(self, message: Message) -> None:
        """Send `message` to every page."""
        self.news.tell("", message)

    def tell_network(self) -> None:
        """Send the network to every page."""
        self.tell(self.network_message())

    def edit(
        self, operations: Sequence[Operation], version: int, about: str, distance: int = 0
    ) -> None:
        """Do operations to the network of `version`, or none; `distance` is their UED as done.

        Raises as `Lan.edit` does.
        """
        self.change(
            lambda lan, ued: lan.edit(*operations, about=about, if_version=version, ued=ued),
            distance,
        )

    def change(self, done: Callable[[Lan, int], Network], distance: int) -> None:
        """Change the network; `distance` is the UED as done. Raises as `done` does."""
        self.refresh()
        before = self.lan.network
        done(self.lan, distance)
        least = sum(action.ued for action in actions_of(before, self.lan.history.changes[-1]))
        self.count(distance, least)
        self.on_edit()

    def note_examples(self, some: Iterable[Example]) -> None:
        """Note examples that are not handled yet; one of the same input takes the older's place."""
        new = {
            example.external: StudioSample(input=example.external, output=example.truth)
            for example in some
        }
        network = self.network
        handled = set() if network is None else {example.external for example in network.handled}
        kept = [example for example in self.notes.examples if example.input not in {*new, *handled}]
        self.note(examples=(*kept, *new.values()))
        self.tell(self.notes_message())

    def set_wanted(self, **wanted: bool) -> None:
        """Change `compares` or `streams` of the notes."""
        self.note(**wanted)
        self.tell(self.notes_message())

    def drop_example(self, external: str) -> None:
        """Note an example no longer."""
        self.note(
            examples=tuple(example for example in self.notes.examples if example.input != external)
        )
        self.tell(self.notes_message())

    def faults(self, operations: Sequence[Operation]) -> list[str]:
        """Why operations would be refused; nothing where they would be done."""
        try:
            self.lan.would_be(*operations)
        except Unsound as error:
            return [fault.message for fault in error.faults]
        except PXPError as error:
            return [str(error)]
        return []

    def note(self, **changed: Any) -> None:
        """Change what is kept beside the network."""
        notes = Notes.model_validate(self.notes.model_copy(update=changed).model_dump())
        save_notes(notes, notes_path(self.path))
        self.notes = notes

    def move(self, name: str, place: tuple[float, float]) -> None:
        """Let an agent stand at a place."""
        self.lan.network.agent(name)
        names = self.lan.network.names
        kept = {agent: at for agent, at in self.notes.positions.items() if agent in names}
        self.note(positions=kept | {name: place})
        self.tell_network()

    def tidy(self) -> None:
        """Let all agents stand where Graphviz puts them."""
        self.note(positions={})
        self.tell_network()

    def draft(self, field: str, text: str) -> None:
        """Keep a text that is under way in a field; an empty one is kept no longer."""
        others = {
            field_name: kept
            for field_name, kept in self.notes.drafts.items()
            if field_name != field
        }
        self.note(drafts=others | ({field: text} if text else {}))
