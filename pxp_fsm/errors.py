"""The project's exceptions: one small tree, each written for the person who will read it."""

from __future__ import annotations

from pathlib import Path


class PXPError(Exception):
    """Anything this package refuses or cannot do; its text says what, where and what to do.

    >>> import pxp_fsm as pxp
    >>> try:
    ...     pxp.Interact(n=0)
    ... except pxp.PXPError as error:
    ...     print(type(error).__name__)
    UsageError
    """


class TableError(PXPError):
    """An automaton table that cannot be used.

    `problems` holds every fault found, one sentence each, with file, line and a remedy.
    """

    def __init__(self, problems: tuple[str, ...]) -> None:
        self.problems = problems
        super().__init__("\n".join(problems))


class ExperimentError(PXPError):
    """An experiment's file that cannot be used.

    `problems` holds every fault found, one sentence each, with file, line and a remedy.
    """

    def __init__(self, problems: tuple[str, ...]) -> None:
        self.problems = problems
        super().__init__("\n".join(problems))


class LanError(PXPError):
    """A file of a network of agents that cannot be used.

    `problems` holds every fault found, one sentence each, with file, line and a remedy.
    """

    def __init__(self, problems: tuple[str, ...]) -> None:
        self.problems = problems
        super().__init__("\n".join(problems))


class NotEnabled(PXPError):
    """The automaton has no row for this event in its present state."""


class GuardError(PXPError):
    """Not exactly one guard is true, or a guard's value is no strict boolean."""


class Refused(PXPError):
    """A channel refused a message; nothing was moved and nothing was stored."""


class DataError(PXPError):
    """Input data that cannot be used: which file, which row, what is wrong with it."""

    @classmethod
    def at(cls, path: Path, line: int, problem: str) -> DataError:
        """A `DataError` that names `path` and `line` (counted from 1) before `problem`."""
        return cls(f"{path}, line {line}: {problem}")


class BlackboardError(PXPError):
    """The database cannot be opened, read or written; nothing half-written is left in it."""


class NotThere(BlackboardError):
    """A database, run or session of that name does not exist."""


class UsageError(PXPError):
    """A parameter outside its range, or an option that does not go with another."""


class WrongType(TypeError):
    """What a session's respondent, relation or guards returned is not of the type they declare.

    A mistake in a program, as `TypeError` is, and so no `PXPError`.
    """


class SessionFailed(PXPError):
    """A member cannot go on; it ends its session only.

    `fault` is what the member's own code raised, where that is the reason.
    """

    def __init__(self, cause: str, fault: Exception | None = None) -> None:
        self.fault = fault
        super().__init__(cause)


class NoAnswer(SessionFailed):
    """A respondent (model, person, database) gave no usable answer; its session ends so.

    >>> import pxp_fsm as pxp
    >>> def silent(question: pxp.Question) -> pxp.Answer:
    ...     raise pxp.NoAnswer("the database has no such instance")
    >>> agent = pxp.Agent(silent, match=pxp.exact, agree=pxp.exact)
    >>> session = pxp.Session(pxp.Interact(), {"m": agent, "h": agent}, instance="a whale")
    >>> session.run_sync().ending.value, session.cause
    ('no answer', 'silent: the database has no such instance')
    """


class Halted(PXPError):
    """The run cannot go on now, and loses nothing by stopping: a cap is reached, a key was refused.

    No session ends by it; the run is resumed at its next message.
    """
