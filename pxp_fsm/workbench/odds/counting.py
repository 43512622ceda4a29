"""What is counted of a run for the odds: categories, revisions, tags, and what they answered.

Only sessions of INTERACT that the protocol itself ended are counted. A category is known where both
relations were asked and said something; where somebody, or something else, named the tag, the tag
alone is.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from backends.databases import SqlBlackboard
from backends.databases.recordings import protocols_of
from backends.databases.records import CONCLUDED
from pxp_fsm.decisions import Category
from pxp_fsm.errors import NotThere, UsageError
from pxp_fsm.messages import Tag, quoted
from pxp_fsm.workbench.reports.observed import Observed, observed

SENT: tuple[str, ...] = (Tag.RATIFY, Tag.REFUTE, Tag.REVISE, Tag.REJECT)
"""The tags of the messages after the first, in the order in which they are shown."""


class Context(NamedTuple):
    """Who sends (0 is the machine, 1 the human), what it answers, and whether REJECT is allowed."""

    agent: int
    received: str
    late: bool


@dataclass
class Counts:
    """The counts of a run.

    `tags` go by context and tag, `categories` by context and category; `named[agent]` messages have
    a tag of which no category is known. `sequences` are whole sessions' tags.
    """

    run: str
    n: int
    k: int
    tags: Counter[tuple[Context, str]] = field(default_factory=Counter)
    categories: Counter[tuple[Context, Category]] = field(default_factory=Counter)
    named: Counter[int] = field(default_factory=Counter)
    sequences: Counter[tuple[str, ...]] = field(default_factory=Counter)
    left_out: int = 0

    @property
    def sessions(self) -> int:
        """How many sessions are counted."""
        return self.sequences.total()

    def add(self, session: Observed) -> None:
        """Count a session; one that the protocol did not end is left out."""
        if session.ending not in CONCLUDED:
            self.left_out += 1
            return
        received = ""
        for number, step in enumerate(session.steps, start=1):
            if number > 1:
                context = Context(0 if step.machine else 1, received, number > self.k)
                self.tags[context, step.tag] += 1
                if step.reason is None:
                    self.named[context.agent] += 1
                else:
                    self.categories[context, step.reason.category] += 1
            received = step.tag
        self.sequences[tuple(step.tag for step in session.steps)] += 1

    def sent(
        self, agent: int, tags: Iterable[str], *, received: str = "", late: bool | None = None
    ) -> int:
        """How many messages of an agent have one of `tags`, of those that answer `received`.

        Any tag is answered where `received` is ""; `late` counts those after k alone.
        """
        wanted = set(tags)
        return sum(
            count
            for (context, tag), count in self.tags.items()
            if _is(context, agent, received) and tag in wanted and late in (None, context.late)
        )

    def found(self, agent: int, category: Category, *, received: str = "") -> int:
        """How often an agent found a category, in what answers `received` ("" is any tag)."""
        return sum(
            count
            for (context, each), count in self.categories.items()
            if _is(context, agent, received) and each is category
        )


def _is(context: Context, agent: int, received: str) -> bool:
    return context.agent == agent and received in ("", context.received)


def counts_of(board: SqlBlackboard, run: str) -> Counts:
    """The counts of `run`; `NotThere` or `UsageError` where nothing can be counted."""
    plans = protocols_of(board, run)
    if not plans:
        known = ", ".join(record.run for record in board.runs()) or "none"
        raise NotThere(f"{board.shown} has no sessions of run {quoted(run)}; runs: {known}")
    plan = plans[0]
    if len(plans) > 1 or plan.protocol != "interact" or plan.n is None or plan.k is None:
        said = ", ".join(sorted({plan.protocol for plan in plans}))
        raise UsageError(
            f"run {quoted(run)} followed {said}; the odds are those of one INTERACT(n, k)"
        )
    counts = Counts(run, plan.n, plan.k)
    for session in observed(board, run):
        counts.add(session)
    if not counts.sessions:
        raise UsageError(f"no session of run {quoted(run)} is over, so there is nothing to count")
    return counts
