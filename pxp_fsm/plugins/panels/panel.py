"""What a panel is: a protocol of two, a schedule, when to stop, and the rules that are added."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import StrEnum
from itertools import combinations
from typing import NamedTuple

from pxp_fsm.errors import UsageError, quoted
from pxp_fsm.lazy_dataclasses import dataclass
from pxp_fsm.protocol.rules import Interact, Pxp, Rules


class Scheduling(StrEnum):
    """Who of those that owe a message speaks next.

    FREE: any of them. FIFO: the one in the channel that has waited longest. ROUND_ROBIN: the next
    agent that owes one, in the channel of its that has waited longest.
    """

    FREE = "free"
    FIFO = "fifo"
    ROUND_ROBIN = "round-robin"


class PanelVerdict(StrEnum):
    """What can be said of a panel from its blackboard.

    CONSENSUS: each two have ratified each other last, neither has changed since, and all current
    pairs match and agree. AGREEMENT: all current pairs match and agree. SPLIT: all channels are
    closed without agreement. IMPASSE: no consensus, every channel was opened, and the last answers
    of each open one changed no pair and no tag. OSCILLATION: the whole state was there before, with
    a change in between.
    """

    CONSENSUS = "consensus"
    AGREEMENT = "agreement"
    SPLIT = "split"
    IMPASSE = "impasse"
    OSCILLATION = "oscillation"


WINDOW = 4
"""The answers of each open channel in which nothing changes at an impasse, by default."""


class PanelStop(NamedTuple):
    """A verdict that ends a session; of an impasse, after how many answers."""

    verdict: PanelVerdict
    window: int = WINDOW

    def __str__(self) -> str:
        own = self.verdict is PanelVerdict.IMPASSE
        return f"{self.verdict}:{self.window}" if own else self.verdict.value


@dataclass(frozen=True, slots=True)
class Panel:
    """INTERACT or PXP among several agents: each two of them talk in a channel of their own.

    What the agents share is one current pair each. `rules` is the protocol of each channel;
    `schedule` says who speaks next (`free`, `fifo`, `round-robin`), where `free` draws from `seed`.
    `stop` names verdicts that end the session, separated by commas (`consensus,impasse:6`); without
    it, it ends when all channels are closed. `channels` are who talk to each other, who begins
    first; by default each two, in the order in which the agents are given.

    Rules that can be added: with `call` an agent has at most one open channel at a time; with
    `alone` it LEARNs only while no other channel of its is open; with `commit` not while a RATIFY
    of its stands in another channel; with `reopen` a change opens its closed channels again;
    `limit` is how often each agent may change. Two are for asking what would have come otherwise,
    where a stored session is forked: `without` closes the channels of agents, each after a message
    of that number, and `skips` passes the turn after those messages to who would be next. Raises
    `UsageError` for what is none of these.

    >>> import pxp_fsm as pxp
    >>> def says(prediction):
    ...     def answer(question: pxp.Question) -> pxp.Answer:
    ...         return pxp.Answer(prediction, "I looked it up.")
    ...     return pxp.Agent(answer, match=pxp.exact, agree=pxp.exact)
    >>> panel = pxp.Panel(pxp.Interact(n=10, k=3), schedule="fifo", stop="consensus")
    >>> members = {"a": says("mammal"), "b": says("mammal"), "c": says("mammal")}
    >>> session = pxp.Session(panel, members, instance="a whale").run_sync()
    >>> session.cause, session.length
    ('consensus', 9)
    """

    rules: Rules
    schedule: str = Scheduling.FIFO
    stop: str = ""
    channels: Sequence[tuple[str, str]] | None = None
    call: bool = False
    alone: bool = False
    commit: bool = False
    reopen: bool = False
    limit: int | None = None
    seed: int = 0
    without: Sequence[tuple[str, int]] = ()
    skips: Sequence[int] = ()

    def __post_init__(self) -> None:
        if not isinstance(self.rules, Interact | Pxp):
            raise UsageError(
                f"a panel follows Interact or Pxp in each channel, not {quoted(self.rules)}"
            )
        if isinstance(self.rules, Pxp) and self.rules.hang_up is not None:
            raise UsageError("the agents of a panel do not hang up: leave out hang_up")
        if self.schedule not in [member.value for member in Scheduling]:
            there = ", ".join(Scheduling)
            raise UsageError(f"a panel's schedule is one of {there}, not {quoted(self.schedule)}")
        for name in ("call", "alone", "commit", "reopen"):
            if not isinstance(getattr(self, name), bool):
                raise UsageError(f"{name} is True or False, not {quoted(getattr(self, name))}")
        if self.limit is not None and (type(self.limit) is not int or self.limit < 0):
            raise UsageError(
                f"limit is how often an agent may change, 0 or more; it was {quoted(self.limit)}"
            )
        if type(self.seed) is not int:
            raise UsageError(f"a seed is a whole number, not {quoted(self.seed)}")
        tuple(self.stops)
        numbers = [*self.skips, *(number for _, number in self.without)]
        if any(type(number) is not int or number < 0 for number in numbers):
            raise UsageError(
                "without names agents, each with the number of the message after which its "
                "channels are closed; skips the numbers of messages after which a turn is passed"
            )

    @property
    def stops(self) -> tuple[PanelStop, ...]:
        """The verdicts that end a session; raises `UsageError` for others."""
        if not isinstance(self.stop, str):
            raise UsageError(f"stop names verdicts, such as consensus, not {quoted(self.stop)}")
        return tuple(map(stop_of, filter(None, map(str.strip, self.stop.split(",")))))

    def links(self, names: Sequence[str]) -> tuple[tuple[str, str], ...]:
        """Who talks to whom among agents of these names, who begins first."""
        if self.channels is None:
            return tuple(combinations(names, 2))
        return checked_links(self.channels, names)

    def describe(self, names: Sequence[str]) -> str:
        """What distinguishes a session of these agents from one of two; "" where nothing does."""
        options = [*map(str, self.stops)] and ["stop " + ",".join(map(str, self.stops))]
        options += [
            option for option in ("call", "alone", "commit", "reopen") if getattr(self, option)
        ]
        options += [] if self.limit is None else [f"limit {self.limit}"]
        options += [f"without {name} after {number}" for name, number in self.without]
        options += [f"a turn passed after {number}" for number in self.skips]
        if len(names) == 2 and not options:
            return ""
        free = [f"seed {self.seed}"] if self.schedule == Scheduling.FREE else []
        own = [f"channels {' '.join('-'.join(link) for link in self.links(names))}"]
        return ", ".join(
            [f"panel {self.schedule}", *free, *options, *(own if self.channels is not None else [])]
        )


def stop_of(text: str) -> PanelStop:
    """The verdict that `consensus` or `impasse:6` names; `UsageError` for another text."""
    name, _, window = text.partition(":")
    if name not in [member.value for member in PanelVerdict]:
        raise UsageError(f"stop names verdicts ({', '.join(PanelVerdict)}), not {quoted(text)}")
    verdict = PanelVerdict(name)
    if not window:
        return PanelStop(verdict)
    if verdict is not PanelVerdict.IMPASSE or not window.isascii() or not window.isdigit():
        raise UsageError(f"{quoted(text)} is no verdict; an impasse of 6 answers is impasse:6")
    if not 0 < int(window) < 10**6:
        raise UsageError(f"the window of an impasse is at least one answer: {quoted(text)}")
    return PanelStop(verdict, int(window))


def checked_links(
    channels: Iterable[tuple[str, str]], names: Sequence[str]
) -> tuple[tuple[str, str], ...]:
    """`channels` between agents of these names; `UsageError` where they are none."""
    by_ends: dict[frozenset[str], tuple[str, str]] = {}
    for link in channels:
        ends = frozenset(link)
        if len(link) != 2 or len(ends) != 2 or not ends <= set(names):
            raise UsageError(
                f"a channel joins two of the agents {', '.join(names)}, not {quoted(link)}"
            )
        if ends in by_ends:
            raise UsageError(f"{' and '.join(link)} have one channel, which is named twice")
        by_ends[ends] = (link[0], link[1])
    alone = [name for name in names if not any(name in ends for ends in by_ends)]
    if alone:
        raise UsageError(f"{alone[0]} talks to nobody; name a channel of it")
    return tuple(by_ends.values())
