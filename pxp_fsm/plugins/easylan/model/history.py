"""The append-only log of changes to a network: versions, and undo.

A network is what its log leads to. Undoing, and going to an earlier version, are entries too:
nothing in a log ever goes.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property

from pxp_fsm.errors import DataError, UsageError
from pxp_fsm.plugins.easylan.model.network import LanAgent, Network
from pxp_fsm.plugins.easylan.model.operations import (
    Begin,
    Connect,
    Create,
    Handle,
    Operation,
    applied,
)


class Author(StrEnum):
    """Who made a change."""

    SYSTEM = "system"
    DEVELOPER = "developer"


class Conflict(DataError):
    """An edit was meant for a version that is not the network's any more; nothing was changed."""


@dataclass(frozen=True, slots=True)
class Change:
    """Operations that were made at once, by whom and why; or the undoing of the change `undoes`.

    With `restores` the network is again what it was in that version. `ued` is what the change took
    the developer in interactions, where that was counted. Changes are counted from 1; a network's
    version is the number of its latest change.
    """

    by: Author
    about: str
    operations: tuple[Operation, ...] = ()
    undoes: int | None = None
    restores: int | None = None
    ued: int | None = None


@dataclass(frozen=True)
class History:
    """A log and the network that it leads to."""

    changes: tuple[Change, ...]
    network: Network
    _earlier: tuple[tuple[int, Network], ...] = ()
    _versions: tuple[Network, ...] = ()

    @property
    def version(self) -> int:
        """How many changes there are: the version of the network."""
        return len(self.changes)

    def after(self, change: Change) -> History:
        """The history with one more change. Raises what `applied` does, or `UsageError`."""
        changes = (*self.changes, change)
        if change.undoes is not None:
            number, network = self._undoable
            if number != change.undoes:
                raise UsageError(
                    f"what can be undone now is change {number}, not change {change.undoes}"
                )
            earlier = self._earlier[:-1]
        else:
            if change.restores is not None:
                network = self.at(change.restores)
            else:
                network = applied(self.network, change.operations)
            earlier = (*self._earlier, (len(changes), self.network))
        return History(changes, network, earlier, (*self._versions, network))

    def at(self, version: int) -> Network:
        """The network in an earlier version, from 1. Raises `UsageError`."""
        if not 1 <= version <= self.version:
            raise UsageError(f"the versions are 1 to {self.version}; {version} is none of them")
        return self._versions[version - 1]

    def check_version(self, expected: int | None) -> None:
        """Raise `Conflict` where the network has moved on from the `expected` version.

        None expects nothing.
        """
        if expected is None or expected == self.version:
            return
        since = "; ".join(f"{one.about}, by the {one.by}" for one in self.changes[expected:][:3])
        raise Conflict(
            f"the network is in version {self.version}, not {expected}: it changed since you "
            f"looked at it ({since or 'it has fewer changes'}); look at it again, then edit it"
        )

    def restored(self, version: int, by: Author = Author.DEVELOPER) -> History:
        """The history in which the network is again as in `version`. Raises `UsageError`."""
        self.at(version)
        return self.after(Change(by, f"go to version {version}", restores=version))

    def redone(self, by: Author = Author.DEVELOPER) -> History:
        """The history in which the change that was undone last is done again.

        Raises `UsageError` where nothing was undone since the latest change.
        """
        if not self._undone:
            raise UsageError("nothing is left to redo: nothing was undone since the last change")
        number = self._undone[-1]
        about = f"redo change {number}: {self.changes[number - 1].about}"
        return self.after(Change(by, about, restores=number))

    @cached_property
    def _undone(self) -> tuple[int, ...]:
        """The changes that were undone and not yet redone since another change was made."""
        found: list[int] = []
        for change in self.changes:
            if change.undoes is not None:
                found.append(change.undoes)
            elif found and change.restores == found[-1]:
                found.pop()
            else:
                found.clear()
        return tuple(found)

    def undone(self, by: Author = Author.DEVELOPER) -> History:
        """The history in which the latest change that was not yet undone is undone."""
        number, _network = self._undoable
        about = f"undo change {number}: {self.changes[number - 1].about}"
        return self.after(Change(by, about, undoes=number))

    @property
    def can_undo(self) -> bool:
        """Whether a change is left to undo."""
        return len(self._earlier) > 1

    @property
    def can_redo(self) -> bool:
        """Whether a change was undone since the latest other one."""
        return bool(self._undone)

    @cached_property
    def _undoable(self) -> tuple[int, Network]:
        if len(self._earlier) < 2:
            raise UsageError("nothing is left to undo: the first change created the network")
        return self._earlier[-1]


def begun(
    task: str,
    agents: Iterable[LanAgent],
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
