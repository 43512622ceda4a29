"""The append-only log of changes to a network: versions, and undo.

A network is what its log leads to. Undoing is an entry too: nothing in a log ever goes.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property

from pxp_fsm.errors import UsageError
from pxp_fsm.networks.model.edits import applied
from pxp_fsm.networks.model.network import Agent, Network
from pxp_fsm.networks.model.operations import Begin, Connect, Create, Handle, Operation


class Author(StrEnum):
    """Who made a change."""

    SYSTEM = "system"
    DEVELOPER = "developer"


@dataclass(frozen=True, slots=True)
class Change:
    """Operations that were made at once, by whom and why; or the undoing of the change `undoes`.

    Changes are counted from 1; a network's version is the number of its latest change.
    """

    by: Author
    about: str
    operations: tuple[Operation, ...] = ()
    undoes: int | None = None


@dataclass(frozen=True)
class History:
    """A log and the network that it leads to."""

    changes: tuple[Change, ...]
    network: Network
    _earlier: tuple[tuple[int, Network], ...] = ()

    @property
    def version(self) -> int:
        """How many changes there are: the version of the network."""
        return len(self.changes)

    def after(self, change: Change) -> History:
        """The history with one more change. Raises what `edits.applied` does, or `UsageError`."""
        changes = (*self.changes, change)
        if change.undoes is not None:
            number, network = self._undoable
            if number != change.undoes:
                raise UsageError(
                    f"what can be undone now is change {number}, not change {change.undoes}"
                )
            return History(changes, network, self._earlier[:-1])
        network = applied(self.network, change.operations)
        return History(changes, network, (*self._earlier, (len(changes), self.network)))

    def undone(self, by: Author = Author.DEVELOPER) -> History:
        """The history in which the latest change that was not yet undone is undone."""
        number, _network = self._undoable
        about = f"undo change {number}: {self.changes[number - 1].about}"
        return self.after(Change(by, about, undoes=number))

    @cached_property
    def _undoable(self) -> tuple[int, Network]:
        if len(self._earlier) < 2:
            raise UsageError("nothing is left to undo: the first change created the network")
        return self._earlier[-1]


def begun(
    task: str,
    agents: Iterable[Agent],
    edges: Iterable[tuple[str, str]] = (),
    handled: Iterable[Operation] = (),
    by: Author = Author.DEVELOPER,
) -> History:
    """The history of a network that begins as it is. Raises `Unsound`."""
    operations: list[Operation] = [Begin(task), *map(Create, agents)]
    operations += [Connect(*edge) for edge in sorted(edges)]
    operations += handled
    change = Change(by, f"begin: {task}", tuple(operations))
    return History((), Network("")).after(change)


def begun_as(network: Network) -> History:
    """The history of a network that begins as `network` is. Raises `Unsound`."""
    return begun(network.task, network.agents, network.edges, map(Handle, network.handled))


def replayed(changes: Iterable[Change]) -> History:
    """The history of a log. Raises what `History.after` does."""
    history = History((), Network(""))
    for change in changes:
        history = history.after(change)
    return history
