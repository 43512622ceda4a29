"""The network as an object for users: run, edit, undo, save, and inspect the last run."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from pxp_fsm.artifacts import locked
from pxp_fsm.diagrams import Edge, EdgeRow, Node, StateDiagram
from pxp_fsm.errors import DataError, UsageError
from pxp_fsm.plugins.easylan.model import files
from pxp_fsm.plugins.easylan.model.history import Author, Change, History, begun_as
from pxp_fsm.plugins.easylan.model.network import Network, initial
from pxp_fsm.plugins.easylan.model.operations import WORDS, Operation, applied
from pxp_fsm.plugins.easylan.running.events import Event, Finished, Listener, RunBegun, RunReason
from pxp_fsm.plugins.easylan.running.execution import NetworkRun, NetworkRunner, NoneActive
from pxp_fsm.plugins.easylan.running.requests import Requester, bundled
from pxp_fsm.prompting.model import LanguageModel
from pxp_fsm.prompting.prompts import Prompt
from pxp_fsm.sessions.functions import waited_for


class Lan:
    """A network of LLM agents with its log; `model` is what all its agents ask, by its `prompts`.

    It begins as a network, or goes on from a history. Each of its changes is one entry of the log;
    `last` is its last run; `on_change` is called after each change.

    >>> import pxp_fsm as pxp
    >>> lan = pxp.networks.Lan.new("translate French into English")
    >>> lan.network.order, lan.version
    (('Solver',), 1)
    """

    def __init__(
        self,
        history: History | Network,
        model: LanguageModel | None = None,
        prompts: Mapping[str, Prompt] | None = None,
    ) -> None:
        self._history = history if isinstance(history, History) else begun_as(history)
        self.last: NetworkRun | None = None
        self.on_change: Callable[[], None] = lambda: None
        self._texts: dict[Path, str] = {}
        self._writer = files.Writer()
        self._model = model
        self._prompts = prompts or bundled()
        self._watchers: list[Callable[[], None]] = []

    @classmethod
    def new(cls, task: str, model: LanguageModel | None = None, *, name: str = "Solver") -> Lan:
        """The network that a task begins with: the single agent `name`. Raises `Unsound`."""
        return cls(begun_as(initial(task, name=name)), model)

    @classmethod
    def load(
        cls,
        path: str | Path,
        model: LanguageModel | None = None,
        prompts: Mapping[str, Prompt] | None = None,
    ) -> Lan:
        """The network in a file. Raises `FileError`."""
        text = files.text_in(Path(path))
        loaded = cls(files.parse(text, str(path)), model, prompts)
        loaded._texts[Path(path).resolve()] = text
        return loaded

    @classmethod
    @contextmanager
    def editing(cls, path: str | Path) -> Iterator[Lan]:
        """The network in a file, which is saved when the block is done; others wait meanwhile.

        Raises `FileError`, and what `save` raises.
        """
        with locked(Path(path)):
            loaded = cls.load(path)
            yield loaded
            loaded._write(Path(path))

    def save(self, path: str | Path) -> None:
        """Write it into a file, whole or not at all.

        Raises `DataError` where the file holds something else than what was read from it or written
        to it before: somebody has changed it since, and nothing is written over that.
        """
        with locked(Path(path)):
            self._write(Path(path))

    def prepare_save(self) -> None:
        """Let the next `save` write only what is new; a large network takes seconds before it."""
        self._writer.text(self.history)

    def _write(self, path: Path) -> None:
        known = self._texts.get(path.resolve())
        if known is not None and path.is_file() and files.text_in(path) != known:
            raise DataError(
                f"{path} was changed since it was read, so nothing was written over it: load it "
                f"again, and make the change in what is there now"
            )
        self._texts[path.resolve()] = files.save(self.history, path, self._writer)

    def reload(self, path: str | Path) -> None:
        """Take the log that a file holds now, in place of this one. Raises `FileError`."""
        loaded = Lan.load(path)
        self._texts |= loaded._texts
        self._history = loaded.history
        for told in tuple(self._watchers):
            told()

    @property
    def history(self) -> History:
        """Its log, and the network that it leads to."""
        return self._history

    @history.setter
    def history(self, history: History) -> None:
        self._history = history
        self.on_change()
        for told in tuple(self._watchers):
            told()

    @contextmanager
    def watched(self, on_change: Callable[[], None]) -> Iterator[None]:
        """A block in which `on_change` too is called after each change."""
        self._watchers.append(on_change)
        try:
            yield
        finally:
            self._watchers.remove(on_change)

    @property
    def network(self) -> Network:
        return self.history.network

    @property
    def version(self) -> int:
        """How many changes were made: what was made for an earlier version may be stale."""
        return self.history.version

    def diagram(self) -> StateDiagram:
        """The network's diagram; the agents that were active in the last run are marked."""
        turns = self.last.turns if self.last else {}
        return diagram(self.network, [name for name, turn in turns.items() if turn.active])

    async def run(
        self, external: str, on_event: Listener = lambda _event: None, *, stream: bool = False
    ) -> NetworkRun:
        """Run it on an input.

        With `stream` models are asked to reply piece by piece, where they can. Raises what
        `NetworkRunner.run` does, and `UsageError` without a model.
        """
        if self._model is None:
            raise UsageError("this network has no model; name one")
        runner = NetworkRunner(
            Requester(self._model, self._prompts, on_event=on_event, stream=stream)
        )
        on_event(RunBegun(external, self.version, RunReason.INPUT))
        try:
            self.last = await runner.run(self.network, external, on_event)
        except NoneActive as error:
            self.last = error.run
            raise
        return self.last

    def run_sync(self, external: str) -> NetworkRun:
        """`run`, for a caller that is not async; in a notebook, beside its running loop."""
        return waited_for(self.run(external))

    async def stream(self, external: str) -> AsyncIterator[Event]:
        """Run it on an input; whatever happens as it happens, the models' texts included."""
        queue: asyncio.Queue[Event | None] = asyncio.Queue()
        task = asyncio.create_task(self.run(external, queue.put_nowait, stream=True))
        task.add_done_callback(lambda _task: queue.put_nowait(None))
        try:
            while (event := await queue.get()) is not None:
                if isinstance(event, Finished):
                    await task
                yield event
            await task
        finally:
            task.cancel()

    def edit(
        self,
        *operations: Operation,
        about: str = "",
        by: Author = Author.DEVELOPER,
        if_version: int | None = None,
        ued: int | None = None,
    ) -> Network:
        """Apply operations at once, or refuse them all. Raises what `applied` does.

        With `if_version` only the network of that version is edited: `Conflict` where somebody has
        changed it since. `ued` is what the edit took in interactions, where that was counted.
        """
        self.history.check_version(if_version)
        description = about or ", ".join(WORDS[type(operation)] for operation in operations)
        self.history = self.history.after(Change(by, description, operations, ued=ued))
        return self.network

    def would_be(self, *operations: Operation) -> Network:
        """What `edit` would make of it; nothing is changed. Raises the same."""
        return applied(self.network, operations)

    def undo(self, *, if_version: int | None = None, ued: int | None = None) -> Network:
        """Undo the latest change that was not yet undone. Raises `UsageError` or `Conflict`.

        An update goes with its example, and with what was learned from it.
        """
        self.history.check_version(if_version)
        self.history = self.history.undone(ued=ued)
        return self.network

    def redo(self, *, if_version: int | None = None, ued: int | None = None) -> Network:
        """Do again what was undone last. Raises `UsageError` or `Conflict`."""
        self.history.check_version(if_version)
        self.history = self.history.redone(ued=ued)
        return self.network

    def restore(
        self, version: int, *, if_version: int | None = None, ued: int | None = None
    ) -> Network:
        """Make it again what it was in `version`. Raises `UsageError` or `Conflict`."""
        self.history.check_version(if_version)
        self.history = self.history.restored(version, ued=ued)
        return self.network


def diagram(network: Network, active: Iterable[str] = ()) -> StateDiagram:
    """The network in the diagrams' own model; `active` agents are marked."""
    marked = frozenset(active)
    nodes = (
        Node(agent.name, about=agent.task, marked=agent.name in marked)
        for agent in map(network.agent, network.order)
    )
    edges = (Edge(source, other, (EdgeRow(""),)) for source, other in sorted(network.edges))
    handled = len(network.handled)
    note = f"{handled} example{'' if handled == 1 else 's'} handled"
    return StateDiagram(network.task, note, tuple(nodes), tuple(edges))
