"""k-multiparty compatibility from its definitions alone: a second implementation, and a slow one.

It shares no code with the first. Configurations are tuples; every question is a search of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from pxp_fsm.automata.automaton import Kind, Transition
from pxp_fsm.automata.system import System

Channels = tuple[tuple[tuple[int, int], tuple[str, ...]], ...]

Marks = tuple[tuple[tuple[int, int], tuple[bool, ...]], ...]
"""Of each message that is on its way on a link, whether it depends on something."""


class Local(NamedTuple):
    """Where everybody is, and what is on its way, by sender and receiver."""

    at: tuple[str, ...]
    queues: Channels


class Act(NamedTuple):
    """Who does what with whom, and where that leads."""

    who: int
    kind: Kind
    other: int
    tag: str
    target: Local


class Bounded:
    """What can be reached with queues of at most k messages; None where it is too much."""

    def __init__(self, system: System, k: int, most: int = 2_000) -> None:
        self.system, self.k = system, k
        names = [member.name for member in system.members]
        self.number = {name: i for i, name in enumerate(names)}
        start = Local(tuple(member.automaton.initial for member in system.members), ())
        self.acts: dict[Local, list[Act]] = {}
        left = [start]
        while left and len(self.acts) <= most:
            local = left.pop()
            if local not in self.acts:
                self.acts[local] = [*self._acts(local)]
                left += [act.target for act in self.acts[local]]
        self.complete = not left

    def rows(self, local: Local, i: int) -> list[Transition]:
        table = self.system.members[i].automaton
        return [row for row in table.transitions if row.source == local.at[i]]

    def _acts(self, local: Local) -> Iterator[Act]:
        queues = dict(local.queues)
        for i in range(len(local.at)):
            for row in self.rows(local, i):
                other = self.number[row.partner]
                link = (i, other) if row.kind is Kind.SEND else (other, i)
                queue = queues.get(link, ())
                if row.kind is Kind.SEND and len(queue) < self.k:
                    after = (*queue, row.label)
                elif row.kind is Kind.RECEIVE and queue[:1] == (row.label,):
                    after = queue[1:]
                else:
                    continue
                moved = (*local.at[:i], row.target, *local.at[i + 1 :])
                now = {**queues, link: after}
                left = tuple(sorted((one, some) for one, some in now.items() if some))
                yield Act(i, row.kind, other, row.label, Local(moved, left))

    def leads(
        self,
        local: Local,
        wanted: Callable[[Act], bool],
        allowed: Callable[[Act], bool] = lambda _: True,
    ) -> bool:
        """Whether after some actions that are allowed one is possible that is wanted."""
        seen, left = {local}, [local]
        while left:
            for act in self.acts[left.pop()]:
                if wanted(act):
                    return True
                if allowed(act) and act.target not in seen:
                    seen.add(act.target)
                    left.append(act.target)
        return False

    def exhaustive(self) -> bool:
        """Definition 9: whatever a member is about to send, it can send, without acting before."""
        return all(
            self.leads(
                local,
                lambda act, i=i, row=row: (
                    (act.who, act.kind, act.tag, act.other)  # type: ignore[misc]
                    == (i, Kind.SEND, row.label, self.number[row.partner])
                ),
                lambda act, i=i: act.who != i,  # type: ignore[misc]
            )
            for local in self.acts
            for i in range(len(local.at))
            for row in self.rows(local, i)
            if row.kind is Kind.SEND
        )

    def eventual_reception(self) -> bool:
        """Definition 4: each first message of a queue can be received."""
        return all(
            self.leads(
                local,
                lambda act, link=link: (
                    act.kind is Kind.RECEIVE  # type: ignore[misc]
                    and (act.other, act.who) == link
                ),
            )
            for local in self.acts
            for link, _ in local.queues
        )

    def progress(self) -> bool:
        """Definition 4: each member that waits can receive."""
        return all(
            self.leads(local, lambda act, i=i: (act.who, act.kind) == (i, Kind.RECEIVE))  # type: ignore[misc]
            for local in self.acts
            for i, where in enumerate(local.at)
            if where not in self.system.members[i].automaton.final
            and (rows := self.rows(local, i))
            and all(row.kind is Kind.RECEIVE for row in rows)
        )

    def outputs(self) -> bool:
        """Definition 6 (k-OBI): who can send one message can send each."""
        for local, acts in self.acts.items():
            for i in range(len(local.at)):
                sent = {act[2:4] for act in acts if act.who == i and act.kind is Kind.SEND}
                rows = [row for row in self.rows(local, i) if row.kind is Kind.SEND]
                if 0 < len(sent) < len(rows):
                    return False
        return True

    def strong_inputs(self) -> bool:
        """Definition 11 (k-SIBI): where one message is received, none of another sender follows."""
        return not any(
            row.kind is Kind.RECEIVE
            and row.partner != self.system.members[act.other].name
            and (
                dict(local.queues).get((self.number[row.partner], act.who), ())[:1] == (row.label,)
                or self.leads(
                    local,
                    lambda sent, row=row, act=act: (
                        (sent.kind, sent.who, sent.other, sent.tag)  # type: ignore[misc]
                        == (Kind.SEND, self.number[row.partner], act.who, row.label)
                    ),
                )
            )
            for local, acts in self.acts.items()
            for act in acts
            if act.kind is Kind.RECEIVE
            for row in self.rows(local, act.who)
        )

    def chained_inputs(self) -> bool:
        """Definition 10 (k-CIBI): what a member could receive from others instead is not there, and
        is sent, if at all, because of what it receives.
        """
        return not any(
            self._is_sent_anyhow(act, row)
            for local, acts in self.acts.items()
            for act in acts
            if act.kind is Kind.RECEIVE
            for row in self.rows(local, act.who)
            if self.number[row.partner] != act.other
        )

    def _is_sent_anyhow(self, first: Act, row: Transition) -> bool:
        """Whether `row` could be taken instead, or what it takes is sent independently of `first`.

        A message that somebody sends who depends on `first` makes its receiver depend on it, where
        nothing was on its link at first. Which messages on the way are so is written beside them.
        """
        wanted = self.number[row.partner], first.who
        queues = dict(first.target.queues)
        if queues.get(wanted, ())[:1] == (row.label,):
            return True
        start: tuple[Local, frozenset[int], Marks] = (first.target, frozenset((first.who,)), ())
        seen, left = {start}, [start]
        while left:
            local, because, marks = left.pop()
            for act in self.acts[local]:
                link = (act.who, act.other) if act.kind is Kind.SEND else (act.other, act.who)
                depends, marked = act.who in because, dict(marks)
                if act.kind is Kind.SEND:
                    if not depends and (link, act.tag) == (wanted, row.label):
                        return True
                    marked[link] = (*marked.get(link, ()), depends)
                elif link not in queues:
                    depends |= marked[link][0]
                    marked[link] = marked[link][1:]
                now = because | {act.who} if depends else because
                own = ((each, some) for each, some in marked.items() if some and each not in queues)
                after = act.target, now, tuple(sorted(own))
                if after not in seen:
                    seen.add(after)
                    left.append(after)
        return False
