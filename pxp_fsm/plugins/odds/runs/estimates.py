"""Estimates of the simple model from a run's counts, with intervals and consequences.

Each agent has a chance of each category and one chance of revision; by the tag that it answers, if
that is asked for. Where every category is known
the estimates are shares. Where an agent's tags were named they are those of greatest likelihood:
up to message k a D cannot be told from B and C, and B never from C, so that B stands for both.
Estimates have Wilson's intervals. What follows from them has the middle 95 % of 2,000 draws of all
the parameters from their posterior under Jeffreys' prior (Dirichlet and beta), message by message
independent, as the model says; nothing allows for instances or repetitions that are alike.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import field
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from backends.databases import SqlBlackboard
from backends.databases.recordings import protocols_of
from backends.databases.records import CONCLUDED
from pxp_fsm.errors import NotThere, UsageError, quoted, require_extra
from pxp_fsm.experiments.reports.tallies import ObservedSession, observed
from pxp_fsm.experiments.statistics import Interval, wilson
from pxp_fsm.lazy_dataclasses import dataclass
from pxp_fsm.plugins.odds import Behaviour, Player
from pxp_fsm.plugins.odds.behaviour import ANSWERED, REVISING
from pxp_fsm.plugins.odds.chain import Players
from pxp_fsm.plugins.odds.floats import many
from pxp_fsm.plugins.odds.results import OUTCOMES
from pxp_fsm.plugins.odds.runs.parameters import ROLES
from pxp_fsm.protocol.decisions import Category
from pxp_fsm.protocol.messages import Tag

if TYPE_CHECKING:
    import numpy as np

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

    def add(self, session: ObservedSession) -> None:
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
            for (context, judged), count in self.categories.items()
            if _is(context, agent, received) and judged is category
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
        protocols = ", ".join(sorted({plan.protocol for plan in plans}))
        raise UsageError(
            f"run {quoted(run)} followed {protocols}; probabilities require one INTERACT(n, k)"
        )
    counts = Counts(run, plan.n, plan.k)
    for session in observed(board, run):
        counts.add(session)
    if not counts.sessions:
        raise UsageError(f"no session of run {quoted(run)} has ended, so there is nothing to count")
    return counts


DRAWS = 2_000
_LEVELS = (0.025, 0.975)


@dataclass(frozen=True)
class Share:
    """A parameter's estimate: `of` so many in `total`; no interval where nothing was counted."""

    of: int
    total: int

    @property
    def value(self) -> Fraction:
        return Fraction(self.of, self.total) if self.total else Fraction(0)

    @property
    def interval(self) -> Interval | None:
        return wilson(self.of, self.total) if self.total else None


@dataclass(frozen=True)
class Estimated:
    """What is estimated of one agent, in answer to any tag or to one.

    With `known` categories the shares are A, B, C, D and revise; else A (of all messages), D (of
    those after k that are not A) and revise.
    """

    known: bool
    shares: Mapping[str, Share]

    @cached_property
    def behaviour(self) -> Behaviour:
        """The estimates as parameters."""
        value = {name: share.value for name, share in self.shares.items()}
        if not self.known:
            rest = 1 - value["A"]
            value |= {"B": rest * (1 - value["D"]), "C": Fraction(0), "D": rest * value["D"]}
        categories = {category: value[category.value] for category in Category}
        return Behaviour(categories, dict.fromkeys(REVISING, value["revise"]))

    def drawn(self, generator: np.random.Generator, draws: int) -> dict[str, Any]:
        """Arrays of A, B, C, D and revise, each of `draws` draws from the posterior."""

        def beta(share: Share) -> Any:
            return generator.beta(share.of + 0.5, share.total - share.of + 0.5, draws)

        drawn = {"revise": beta(self.shares["revise"])}
        if self.known:
            counts = [self.shares[category.value].of + 0.5 for category in Category]
            shares = generator.dirichlet(counts, draws).T
            return drawn | {c.value: row for c, row in zip(Category, shares, strict=True)}
        ratified, late = beta(self.shares["A"]), beta(self.shares["D"])
        rest = 1 - ratified
        return drawn | {"A": ratified, "B": rest * (1 - late), "C": 0 * rest, "D": rest * late}


def estimated(counts: Counts, agent: int, received: str = "") -> Estimated:
    """The estimates for agent 0 (machine) or 1 (human), in answer to `received` ("" is any tag)."""

    def sent(*tags: str, late: bool | None = None) -> int:
        return counts.sent(agent, tags, received=received, late=late)

    revise = Share(sent(Tag.REVISE), sent(Tag.REFUTE, Tag.REVISE))
    if not counts.named[agent]:
        categories = {c: counts.found(agent, c, received=received) for c in Category}
        shares = {c.value: Share(categories[c], sum(categories.values())) for c in Category}
        return Estimated(True, shares | {"revise": revise})
    late = Share(sent(Tag.REJECT, late=True), sent(Tag.REFUTE, Tag.REVISE, Tag.REJECT, late=True))
    shares = {"A": Share(sent(Tag.RATIFY), sent(*SENT)), "D": late}
    return Estimated(False, shares | {"revise": revise})


@dataclass(frozen=True)
class Estimates:
    """What a run says of machine and human, and what follows, with intervals.

    `agents` have an estimate for "", any tag, and one for each tag that they go by.
    """

    counts: Counts
    agents: tuple[Mapping[str, Estimated], Mapping[str, Estimated]]
    intervals: Mapping[str, Interval]
    length: Interval

    @property
    def players(self) -> Players:
        """The agents with the estimates as their parameters."""
        machine, human = (
            Player(
                agent[""].behaviour,
                {tag: tag_estimates.behaviour for tag, tag_estimates in agent.items() if tag},
            )
            for agent in self.agents
        )
        return machine, human

    @property
    def by_tag(self) -> bool:
        """Whether the agents go by the tag that they answer."""
        return any(len(agent) > 1 for agent in self.agents)


def estimates(
    counts: Counts, seed: int = 0, *, by_tag: bool = False, draws: int = DRAWS
) -> Estimates:
    """The estimates from a run's counts; what is drawn depends on `seed` alone.

    With `by_tag` there are estimates of their own for each tag that an agent has answered. Raises
    `UsageError` where an agent has answered nothing, or NumPy (extra odds) is not installed.
    """
    require_extra("odds", "estimating the odds of a run", {"numpy": "NumPy"})
    import numpy as np

    for agent, role in enumerate(ROLES):
        if not counts.sent(agent, SENT):
            raise UsageError(
                f"in {counts.run} the {role} never answered anything, so that nothing can be "
                f"estimated of it; take a run of sessions with three messages or more"
            )
    machine, human = (
        {tag: estimated(counts, agent, tag) for tag in ("", *_answered(counts, agent, by_tag))}
        for agent in (0, 1)
    )
    generator = np.random.default_rng(seed)
    drawn = [
        {tag: tag_estimates.drawn(generator, draws) for tag, tag_estimates in agent.items()}
        for agent in (machine, human)
    ]
    odds = many((drawn[0], drawn[1]), counts.n, counts.k)

    def middle(values: Any) -> Interval:
        low, high = np.quantile(values, _LEVELS)
        return Interval(float(low), float(high))

    return Estimates(
        counts,
        (machine, human),
        {outcome: middle(odds.of(outcome)) for outcome in OUTCOMES},
        middle(odds.length),
    )


def _answered(counts: Counts, agent: int, by_tag: bool) -> tuple[str, ...]:
    if not by_tag:
        return ()
    return tuple(tag for tag in ANSWERED if counts.sent(agent, SENT, received=tag))
