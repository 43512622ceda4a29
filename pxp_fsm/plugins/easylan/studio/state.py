"""A network in a file, and everybody who looks at it: edits, runs, and what is kept beside it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from pxp_fsm.errors import PXPError, UsageError
from pxp_fsm.plugins.easylan.distance.costs import text_cost
from pxp_fsm.plugins.easylan.distance.measures import Stopwatch, actions_of
from pxp_fsm.plugins.easylan.experiments import setup
from pxp_fsm.plugins.easylan.lan import Lan
from pxp_fsm.plugins.easylan.model.network import Network, Unsound
from pxp_fsm.plugins.easylan.model.operations import Operation
from pxp_fsm.plugins.easylan.studio import notes as noting
from pxp_fsm.plugins.easylan.studio.notes import Notes, StudioEffortSpent, StudioSample
from pxp_fsm.plugins.easylan.studio.views import NetworkView, view_of, warm
from pxp_fsm.plugins.easylan.training.progress import Example

Message = Mapping[str, Any]
"""What a page is sent: `type` says which part of it is new."""

_NETWORK: TypeAdapter[NetworkView] = TypeAdapter(NetworkView)

MOST_WAITING = 10_000
"""The messages that a page may be behind; one that reads no more is left."""


Stamp = tuple[int, int, int]
"""By what a file that another process has written is told from the one before."""


def stamp_of(path: Path) -> Stamp | None:
    """The stamp of a file; None where there is none."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino


class Listeners:
    """The pages that are open, each with the messages that it has not been sent yet."""

    def __init__(self) -> None:
        self._queues = set[asyncio.Queue[Message | None]]()

    @contextmanager
    def joined(self) -> Iterator[asyncio.Queue[Message | None]]:
        """A queue of messages from now on; None ends it."""
        queue: asyncio.Queue[Message | None] = asyncio.Queue(MOST_WAITING + 1)
        self._queues.add(queue)
        try:
            yield queue
        finally:
            self._queues.discard(queue)

    def tell(self, message: Message) -> None:
        """Send `message` to every page."""
        for queue in tuple(self._queues):
            if queue.qsize() < MOST_WAITING:
                queue.put_nowait(message)
            else:
                self._queues.discard(queue)
                queue.put_nowait(None)


class StudioEffort:
    """The developer's effort: UED as done and the least, seconds in all and waiting for models.

    Seconds count while `watch` runs, which begins with the server.
    """

    def __init__(self, before: StudioEffortSpent) -> None:
        self._before = before
        self._ued = self._least = 0
        self.watch = Stopwatch()

    def add(self, distance: int, least: int) -> StudioEffortSpent:
        """Count an act; what it comes to."""
        self._ued += distance
        self._least += least
        return self.counted()

    def counted(self) -> StudioEffortSpent:
        """What it comes to, with what was spent before the server was started."""
        before = self._before
        return StudioEffortSpent(
            ued=before.ued + self._ued,
            least=before.least + self._least,
            total=round(before.total + self.watch.total, 1),
            waiting=round(before.waiting + self.watch.models, 1),
        )


class Studio:
    """The network in the file `path`, which need not be there yet, and its notes.

    `on_edit` is called after each change that was made by hand, here or by another process.
    Raises `FileError` for a file that cannot be read.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.listeners = Listeners()
        self.notes = noting.load(noting.path_of(path))
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
            self.listeners.tell({"type": "notice", "text": str(error)})

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
        found = [self.effort_message(), self.notes_message(), self.network_message()]
        return found + [message for part in self._parts for message in part()]

    def notes_message(self) -> Message:
        """The examples that are noted, and whether earlier results are compared by themselves."""
        examples = [one.model_dump() for one in self.notes.examples]
        return {"type": "notes", "examples": examples, "compares": self.notes.compares}

    def effort_message(self) -> Message:
        """What the developer has done, and how long it took."""
        return {"type": "effort", **self.effort.counted().model_dump()}

    def count(self, distance: int, least: int) -> None:
        """Add what an act took: its UED as it was done, and the least with which it can be."""
        self.note(effort=self.effort.add(distance, least))
        self.listeners.tell(self.effort_message())

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

    def tell_network(self) -> None:
        """Send the network to every page."""
        self.listeners.tell(self.network_message())

    def edit(
        self, operations: Sequence[Operation], version: int, about: str, distance: int = 0
    ) -> None:
        """Do operations to the network of `version`, or none; `distance` is their UED as done.

        Raises as `Lan.edit` does.
        """
        self.change(
            lambda lan: lan.edit(*operations, about=about, if_version=version, ued=distance),
            distance,
        )

    def change(self, done: Callable[[Lan], Network], distance: int) -> None:
        """Change the network; `distance` is the UED as done. Raises as `done` does."""
        self.refresh()
        before = self.lan.network
        done(self.lan)
        least = sum(one.ued for one in actions_of(before, self.lan.history.changes[-1]))
        self.count(distance, least)
        self.on_edit()

    def note_examples(self, some: Iterable[Example]) -> None:
        """Note examples that are not handled yet; one of the same input takes the older's place."""
        new = {one.external: StudioSample(input=one.external, output=one.truth) for one in some}
        network = self.network
        handled = set() if network is None else {one.external for one in network.handled}
        kept = [one for one in self.notes.examples if one.input not in {*new, *handled}]
        self.note(examples=(*kept, *new.values()))
        self.listeners.tell(self.notes_message())

    def set_compares(self, compares: bool) -> None:
        """Compare earlier results after each change, or only when it is asked for."""
        self.note(compares=compares)
        self.listeners.tell(self.notes_message())

    def drop_example(self, external: str) -> None:
        """Note an example no longer."""
        self.note(examples=tuple(one for one in self.notes.examples if one.input != external))
        self.listeners.tell(self.notes_message())

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
        noting.save(notes, noting.path_of(self.path))
        self.notes = notes

    def move(self, name: str, place: tuple[float, float]) -> None:
        """Let an agent stand at a place."""
        self.lan.network.agent(name)
        names = self.lan.network.names
        kept = {one: at for one, at in self.notes.positions.items() if one in names}
        self.note(positions=kept | {name: place})
        self.tell_network()

    def tidy(self) -> None:
        """Let all agents stand where Graphviz puts them."""
        self.note(positions={})
        self.tell_network()

    def draft(self, field: str, text: str) -> None:
        """Keep a text that is under way in a field; an empty one is kept no longer."""
        others = {one: kept for one, kept in self.notes.drafts.items() if one != field}
        self.note(drafts=others | ({field: text} if text else {}))
