"""The append-only log of changes to a network: versions, and undo.

A network is what its log leads to. Undoing, and going to an earlier version, are entries too:
nothing in a log ever goes.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum

from pxp_fsm.errors import DataError, UsageError
from pxp_fsm.lazy_dataclasses import dataclass
from pxp_fsm.options import option
from pxp_fsm.plugins.easylan.model.network import LanAgent, Network
from pxp_fsm.plugins.easylan.model.operations import (
    Begin,
    Connect,
    Create,
    Handle,
    Learn,
    LoggedOperation,
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
    the developer in interactions, where that was counted. Where an example is recorded that an
    update has made right, `completes` is the number of that update: both are undone at once.
    Changes are counted from 1; a network's version is the number of its latest change.
    """

    by: Author
    about: str
    operations: tuple[LoggedOperation, ...] = ()
    undoes: int | None = option("The change that this one undoes.", None, least=2)
    restores: int | None = option("The version in which the network is again.", None, least=1)
    ued: int | None = option(
        "What it took the developer, in interactions, where that was counted.", None, least=0
    )
    completes: int | None = option(
        "The update that made the recorded example right; both are undone at once.", None, least=2
    )

    @property
    def is_update(self) -> bool:
        """Whether the system has updated the network by it: it did more than record an example."""
        recording = all(isinstance(operation, Learn | Handle) for operation in self.operations)
        return self.by is Author.SYSTEM and not recording


@dataclass(frozen=True)
class History:
    """A log and the network that it leads to."""

    changes: tuple[Change, ...]
    network: Network
    undone_changes: frozenset[int] = frozenset()
    _earlier: tuple[tuple[int, Network], ...] = ()
    _versions: tuple[Network, ...] = ()
    _redoable: tuple[int, ...] = ()

    @property
    def version(self) -> int:
        """How many changes there are: the version of the network."""
        return len(self.changes)

    def after(self, change: Change) -> History:
        """The history with one more change. Raises what `applied` does, or `UsageError`."""
        changes, undone = (*self.changes, change), self.undone_changes
        redoable = self._redoable
        if change.undoes is not None:
            kept = self._kept_by_undoing
            if change.undoes != self._earlier[kept][0]:
                raise UsageError(
                    f"what can be undone now is change {self._earlier[kept][0]}, not change "
                    f"{change.undoes}"
                )
            network, earlier = self._earlier[kept][1], self._earlier[:kept]
            undone |= {number for number, _before in self._earlier[kept:]}
            redoable = (*redoable, self._earlier[-1][0])
        else:
            if change.restores is not None:
                network = self.at(change.restores)
            else:
                network = applied(self.network, change.operations)
            earlier = (*self._earlier, (len(changes), self.network))
            redoes = redoable and change.restores == redoable[-1]
            redoable = redoable[:-1] if redoes else ()
        versions = (*self._versions, network)
        return History(changes, network, undone, earlier, versions, redoable)

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
        since = "; ".join(
            f"{change.about}, by the {change.by}" for change in self.changes[expected:][:3]
        )
        raise Conflict(
            f"the network is in version {self.version}, not {expected}: it changed since you "
            f"looked at it ({since or 'it has fewer changes'}); look at it again, then edit it"
        )

    def restored(
        self, version: int, by: Author = Author.DEVELOPER, ued: int | None = None
    ) -> History:
        """The history in which the network is again as in `version`. Raises `UsageError`."""
        self.at(version)
        return self.after(Change(by, f"go to version {version}", restores=version, ued=ued))

    def redone(self, by: Author = Author.DEVELOPER, ued: int | None = None) -> History:
        """The history in which the change that was undone last is done again.

        Raises `UsageError` where nothing was undone since the latest change.
        """
        if not self._redoable:
            raise UsageError("nothing is left to redo: nothing was undone since the last change")
        number = self._redoable[-1]
        about = f"redo change {number}: {self.changes[number - 1].about}"
        return self.after(Change(by, about, restores=number, ued=ued))

    def undone(self, by: Author = Author.DEVELOPER, ued: int | None = None) -> History:
        """The history in which the latest change that was not yet undone is undone.

        An update goes with the example that it has made right, and what was learned from that.
        """
        number = self._earlier[self._kept_by_undoing][0]
        about = f"undo change {number}: {self.changes[number - 1].about}"
        return self.after(Change(by, about, undoes=number, ued=ued))

    @property
    def can_undo(self) -> bool:
        """Whether a change is left to undo."""
        return len(self._earlier) > 1

    @property
    def can_redo(self) -> bool:
        """Whether a change was undone since the latest other one."""
        return bool(self._redoable)

    @property
    def _kept_by_undoing(self) -> int:
        """How many of the changes that can be undone stay: all but the last, and its update."""
        if not self.can_undo:
            raise UsageError("nothing is left to undo: the first change created the network")
        (before, _), (number, _) = self._earlier[-2:]
        completes = self.changes[number - 1].completes
        return len(self._earlier) - (2 if completes == before else 1)


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
