"""What a check answers: one of five statuses, its bound, its trace; never more than is established.

All of it is data; `str()` words it for people.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field
from enum import StrEnum
from pathlib import Path
from typing import Any, Literal

from proofs.core.explore import Trace
from pxp_fsm.automata.actions import Unreceived, WaitingMember
from pxp_fsm.diagrams import SequenceChart, StateDiagram, sequence_chart
from pxp_fsm.errors import Fault, PXPError, UsageError
from pxp_fsm.lazy_dataclasses import dataclass
from pxp_fsm.protocol.messages import Message

Limit = int | Literal["all"] | None
"""The largest value of a parameter that was checked; None where there is no such parameter."""


class Status(StrEnum):
    """The verdicts. Bounded is never shown as proved."""

    HOLDS = "HOLDS"
    HOLDS_UP_TO = "HOLDS UP TO"
    FAILS = "FAILS"
    VACUOUS = "VACUOUS"
    UNKNOWN = "UNKNOWN"


@dataclass(frozen=True, slots=True)
class Bound:
    """How far a verdict reaches: the largest value of each parameter, or "all".

    n, k: of sessions; `capacity`: of channels; `iterations`, `retries`, `tries`: of networks.
    `values`: how many values an answer has. `steps`: the length of a longest run.
    `capacities_from`: it holds for every capacity from this one, and without a bound.
    """

    n: Limit = None
    k: Limit = None
    capacity: Limit = None
    iterations: Limit = None
    retries: Limit = None
    tries: Limit = None
    values: int | None = None
    steps: int | None = None
    capacities_from: int | None = None

    @property
    def parameters(self) -> dict[str, int | Literal["all"]]:
        """The parameters that are bounded, or were checked for all values."""
        names = ("n", "k", "capacity", "iterations", "retries", "tries")
        bounds = ((name, getattr(self, name)) for name in names)
        return {name: value for name, value in bounds if value is not None}

    @property
    def is_all(self) -> bool:
        """Whether it is no bound: all values of all parameters."""
        return bool(self.parameters) and set(self.parameters.values()) == {"all"}

    def __str__(self) -> str:
        if self.is_all:
            sizes = [name for name in self.parameters if name in ("n", "k")]
            parts = [f"for all {' and '.join(sizes) or 'bounds'}"]
        else:
            listed = [f"{name} = {value}" for name, value in self.parameters.items()]
            listed += [] if self.values is None else [f"{self.values} values"]
            parts = [", ".join(listed)]
        if self.steps is not None:
            parts.append(f"the longest run has {self.steps} steps")
        if (k := self.capacities_from) is not None:
            parts.append(f"{k}-multiparty compatible: any capacity from {k}, and unbounded")
        return "; ".join(filter(None, parts))


@dataclass(frozen=True)
class Verdict:
    """A status with what belongs to it.

    `reason` says why it is UNKNOWN or VACUOUS, or what was found; `trace` is the counterexample of
    FAILS, or a witness; `cycle` counts its last steps that repeat for ever. `unreceived` is the
    messages that are not received where the trace ends, `waiting` each member that waits in vain.
    `impossible`: something has to stay possible, and is not any more from where the trace ends.
    `error` is what a decision function raised, with its traceback, where that is why it is UNKNOWN.
    `fault` is what was found in a file, with its place. `remedy` says what may decide what is
    UNKNOWN, where something else than a higher limit does.
    """

    status: Status
    reason: str = ""
    trace: Trace[Any] | None = None
    cycle: int = 0
    bound: Bound | None = None
    unreceived: tuple[Unreceived, ...] = ()
    waiting: tuple[WaitingMember, ...] = ()
    impossible: bool = False
    error: Exception | None = field(default=None, repr=False, compare=False)
    fault: Fault | None = field(default=None, repr=False, compare=False)
    remedy: str = field(default="", repr=False, compare=False)

    @property
    def holds(self) -> bool:
        """Whether it holds, for all or up to the bound."""
        return self.status in (Status.HOLDS, Status.HOLDS_UP_TO)

    @property
    def detail(self) -> str:
        """The bound, the reason, what is not received, and who waits in vain, in words."""
        bound = "" if self.bound is None else str(self.bound)
        if self.status is Status.UNKNOWN and bound:
            return f"{self.reason}; holds up to {bound}"
        return "; ".join(
            filter(None, (bound, self.reason, *map(str, (*self.unreceived, *self.waiting))))
        )

    @property
    def explanation(self) -> str:
        """All of it but the status, in one line: the bound, the reason, the trace."""
        parts = [self.detail]
        if self.trace is not None:
            trace = str(self.trace)
            parts.append(f"{trace} (the last {self.cycle} for ever)" if self.cycle else trace)
        return ": ".join(filter(None, parts))

    def __str__(self) -> str:
        return " ".join(filter(None, (self.status.value, self.explanation)))


class NotReplayed(PXPError):
    """The real machines do not do what a trace says: the model or the machines are wrong."""

    def __init__(self, reason: str, trace: Trace[Any]) -> None:
        super().__init__(reason)
        self.trace = trace


def stopped(error: Exception) -> Verdict:
    """UNKNOWN, since the machines refused a trace, or a decision function raised something.

    What is said of a request (any other `PXPError`) is raised again.
    """
    if isinstance(error, NotReplayed):
        reason = f"the real machines refuse the trace: {error}"
        return Verdict(Status.UNKNOWN, reason, error.trace)
    if isinstance(error, PXPError):
        raise error
    *_, last = traceback.extract_tb(error.__traceback__)
    where = f"{Path(last.filename).name}, line {last.lineno}"
    reason = f"the check was stopped by {type(error).__name__}: {error} ({last.name} in {where})"
    return Verdict(Status.UNKNOWN, reason, error=error)


@dataclass(frozen=True, repr=False)
class Result:
    """What a check of one property answers, whatever was checked.

    >>> import pxp_fsm as pxp
    >>> [result] = pxp.check("interact", "AG !ended")
    >>> result.status.value, str(result.trace), result.as_expected
    ('FAILS', 'interact1>interact2 INIT, ! CLOSE', False)

    `subject` is what was checked, `name` and `title` the property, `assumptions` those under which,
    `model` what was explored, `seconds` the time. `expected` is None where nothing was expected;
    `messages` are those of the real session that the trace was replayed in; `chart` draws it, and
    `ways` draws it on the automaton of each member.
    """

    subject: str
    name: str
    title: str
    assumptions: str
    verdict: Verdict
    expected: Status | None = None
    seconds: float = 0.0
    model: str = ""
    messages: tuple[Message, ...] = field(default=(), repr=False)
    chart: Callable[[Result], SequenceChart] | None = field(default=None, compare=False)
    ways: Callable[[Result], Mapping[str, StateDiagram]] | None = field(default=None, compare=False)

    @property
    def status(self) -> Status:
        """The status of the verdict."""
        return self.verdict.status

    @property
    def bound(self) -> Bound | None:
        """How far the verdict reaches; None where nothing bounds it."""
        return self.verdict.bound

    @property
    def reason(self) -> str:
        """Why the verdict is what it is, where there is more to say than its bound and trace."""
        return self.verdict.reason

    @property
    def trace(self) -> Trace[Any] | None:
        """The counterexample, or a witness."""
        return self.verdict.trace

    @property
    def cycle(self) -> int:
        """How many steps at the end of the trace go on for ever; 0 where it ends."""
        return self.verdict.cycle

    @property
    def as_expected(self) -> bool:
        """Whether the status is the expected one: HOLDS UP TO does not contradict HOLDS."""
        reached = Status.HOLDS if self.verdict.holds else self.status
        return self.expected in (None, reached)

    @property
    def headline(self) -> str:
        """The property and its verdict, as the title of a picture."""
        return f"{self.name} {'fails' if self.status is Status.FAILS else self.status.value}"

    def diagram(self) -> SequenceChart:
        """The trace as a sequence chart; raises `UsageError` where there is none to draw."""
        if self.trace is not None and self.chart is not None:
            return self.chart(self)
        if not self.messages:
            raise UsageError(f"{self.name} has no trace to draw: {self.verdict}")
        loop = f"; the last {self.cycle} messages for ever" if self.cycle else ""
        note = f"{self.subject}, {self.assumptions}{loop}"
        return sequence_chart(self.messages, title=self.headline, note=note, texts=False)

    def member_diagrams(self) -> Mapping[str, StateDiagram]:
        """The trace on the automaton of each member; `UsageError` where there is none to draw."""
        if self.trace is None or self.ways is None:
            raise UsageError(f"{self.name} has no trace of members to draw: {self.verdict}")
        return self.ways(self)

    def _repr_markdown_(self) -> str:
        line = f"**{self.status.value}** `{self.name}`: {self.title} ({self.subject})"
        trace = "" if self.trace is None else self.trace._repr_markdown_()
        loop = f"The last {self.cycle} steps go on for ever." if self.cycle else ""
        return "\n\n".join(filter(None, (line, self.verdict.detail, trace, loop)))

    def __repr__(self) -> str:
        return f"<Result {self}>"

    def __str__(self) -> str:
        joint = ": " if self.name == self.title else "."  # a formula is its own title
        return f"{self.subject}{joint}{self.name} ({self.assumptions}): {self.verdict}"


_COLUMNS = ("subject", "property", "assumptions", "verdict")

_WIDEST = 128
"""How wide the aligned columns may be together; with the seconds a row then has 140 columns."""

_NAME = 40
"""Characters of a property that are aligned all the same: a check's name, not a long formula."""


def table(results: Sequence[Result]) -> Iterator[str]:
    """The results as lines of text, below a header, and a last line that sums up.

    A verdict that is not as expected is marked in front; one that may fail says so.
    """
    rows = [
        (result.subject, result.name, result.assumptions, _status(result)) for result in results
    ]
    widths = _widths([_COLUMNS, *rows])
    widths[1] = min(widths[1], max(_NAME, widths[1] + _WIDEST - sum(widths)))
    if results:
        yield f"  {_aligned(_COLUMNS, widths)}  seconds"
    for result, row in zip(results, rows, strict=True):
        mark = " " if result.as_expected else "!"
        remarks = f"{result.seconds:7.2f}  {result.verdict.explanation}"
        yield f"{mark} {_aligned(row, widths)}  {remarks}".rstrip()
    wrong = [line for line in results if not line.as_expected]
    several = "" if len(results) == 1 else "s"
    yield (
        f"{len(results)} verdict{several}{_counted(results)}, {len(wrong)} not as expected"
        + (": " + ", ".join(f"{line.name} ({line.assumptions})" for line in wrong) if wrong else "")
    )


def _counted(results: Sequence[Result]) -> str:
    """How many hold and how many fail, where some fail and may."""
    failing = [result for result in results if result.status is Status.FAILS and result.as_expected]
    if not failing:
        return ""
    expected = sum(result.expected is not None for result in failing)
    counts = {
        ("holds", "hold"): sum(
            result.status in (Status.HOLDS, Status.HOLDS_UP_TO) for result in results
        ),
        ("fails as expected", "fail as expected"): expected,
        ("fails as allowed", "fail as allowed"): len(failing) - expected,
    }
    counted = [f"{many} {words[many > 1]}" for words, many in counts.items() if many]
    return f" ({', '.join(counted)})"


def _widths(rows: Sequence[Sequence[str]]) -> list[int]:
    return [max(map(len, column)) for column in zip(*rows, strict=True)]


def _aligned(cells: Sequence[str], widths: Sequence[int]) -> str:
    return "  ".join(cell.ljust(width) for cell, width in zip(cells, widths, strict=True))


def _status(result: Result) -> str:
    if result.status is not Status.FAILS or not result.as_expected:
        return result.status.value
    return f"{result.status} ({'not required' if result.expected is None else 'expected'})"
