"""A panel whose oracles answer freely, as a model that is explored.

A state is the board that a session has, with numbers in place of texts: what a session asks of its
board (`PanelLayout`), and by which functions it decides (`derive`, the protocol's stop rule and its
TERM), is asked here too. Left free are which pair an agent has first, and which it has when it has
learned; and, with noisy relations, each answer of MATCH and AGREE.

Reductions, each of which keeps what comes next and what is said of a state:

- Equality does not tell values apart, so they are numbered in the order in which they stand in the
  state. Agents are not exchanged: the order in which they are listed decides who begins and who is
  first in a queue.
- What nothing depends on any more is forgotten: counters and pairs of closed channels, tags that
  their sender's next message replaces, changes since messages that are no RATIFY or REJECT.

A model that is `reduced` keeps less, and is asked less: whether sessions end, within how many
messages, and what answers what. Its schedule is free, and either end of a channel may begin, so
that it stands for every choice of who does.

- Closed channels are forgotten but for being closed: without `reopen` no message depends on more.
- Agents are exchanged too. Of the boards that differ in who is who, the least stands for all. A
  cycle of these is an endless run of the panel, since the panel has finitely many boards.
- Of messages in different channels one order stands for all where neither changes what the other
  is, or may be (`_first`). Each whole session is then another with its messages in another order,
  as long, and with the same answers in each channel.

Where an end of an open channel changes its pair nowhere else, `packed` searches the reduced model.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import field, replace
from enum import StrEnum
from functools import lru_cache, partial
from itertools import groupby, permutations, product
from string import ascii_lowercase

from proofs.core.explore import Step
from pxp_fsm.automata.actions import Exchange
from pxp_fsm.automata.automaton import DECIDE, one_hot
from pxp_fsm.errors import UsageError
from pxp_fsm.lazy_dataclasses import dataclass
from pxp_fsm.plugins.panels.board import LOOPS, ChannelStatus, Owed, PanelBoard, PanelLayout, Talk
from pxp_fsm.plugins.panels.panel import Panel, PanelVerdict, Scheduling
from pxp_fsm.protocol.messages import Answer, Message, Tag
from pxp_fsm.protocol.rules import MATCH, Comparison, Interact, Role, Rules, derive

Values = tuple[int, int]
"""A prediction and an explanation, as numbers."""

REPLIES = {
    Tag.RATIFY.value: Tag.RATIFY.value,
    Tag.REVISE.value: Tag.RATIFY.value,
    Tag.REJECT.value: Tag.REJECT.value,
}
"""What alone answers these tags between two agents with an equivalence, TERM aside."""


class AssumedRelations(StrEnum):
    """What is assumed of MATCH and AGREE.

    EQUIVALENCE: both are equality. TOLERANCE: neighbouring numbers are similar too, so that
    similarity is not transitive. NOISY: each answer is free.
    """

    EQUIVALENCE = "equivalence"
    TOLERANCE = "tolerance"
    NOISY = "noisy"


@dataclass
class _Known:
    """What the exploration of a model has found before."""

    boards: dict[PanelBoard, PanelBoard] = field(default_factory=dict)
    talks: dict[Talk, Talk] = field(default_factory=dict)
    channels: dict[tuple[int, int, Talk], Talk] = field(default_factory=dict)
    names: dict[tuple[Hashable, ...], tuple[Hashable, ...]] = field(default_factory=dict)
    replies: dict[Hashable, tuple[tuple[str, Values], ...]] = field(default_factory=dict)


@dataclass(frozen=True)
class PanelModel:
    """A panel of `agents` agents under assumptions on MATCH and AGREE.

    Predictions and explanations are out of `values` each. With `free_term` an agent of PXP may
    hang up at any message of a channel in which neither end has changed; else as the default policy
    says. With `reduced` only so much is kept as ends, lengths and replies depend on (above), which
    is for the free schedule without `commit` and `reopen`. Fills `proofs.core.explore.Model`.

    >>> from proofs.core.explore import explore
    >>> import pxp_fsm as pxp
    >>> model = PanelModel(pxp.Panel(pxp.Pxp(k=1)), agents=2)
    >>> space = explore(model)
    >>> space.states > 20
    True
    """

    panel: Panel
    agents: int = 3
    relations: AssumedRelations = AssumedRelations.EQUIVALENCE
    values: tuple[int, int] = (2, 2)
    free_term: bool = False
    reduced: bool = False
    layout: PanelLayout = field(init=False)
    _known: _Known = field(init=False, default_factory=_Known, compare=False, repr=False)

    def __post_init__(self) -> None:
        if not 2 <= self.agents <= len(ascii_lowercase):
            raise UsageError(f"a panel that is explored has 2 to 26 agents, not {self.agents}")
        panel, equal = self.panel, self.relations is AssumedRelations.EQUIVALENCE
        free = panel.schedule == Scheduling.FREE and panel.channels is None and equal
        if self.reduced and (not free or panel.commit or panel.reopen):
            raise UsageError(
                "reduced is the free schedule between all agents with an equivalence, without "
                "commit and reopen"
            )
        object.__setattr__(self, "layout", PanelLayout(self.panel, ascii_lowercase[: self.agents]))

    @property
    def name(self) -> str:
        rules = self.panel.describe(self.layout.names) or "two"
        return f"{self.panel.rules.automaton.title} among {self.agents}, {rules}, {self.relations}"

    @property
    def pairs(self) -> tuple[Values, ...]:
        """Every prediction with every explanation."""
        return tuple(product(range(self.values[0]), range(self.values[1])))

    def initial(self) -> Iterable[PanelBoard]:
        return (self.kept(self.layout.start()),)

    def successors(self, state: PanelBoard) -> Iterable[Step[PanelBoard]]:
        by_effect: dict[Hashable, Step[PanelBoard]] = {}
        for owed in self._first(state) if self.reduced else self.layout.due(state):
            names = self.layout.names
            for tag, pair in self.replies(state, owed):
                after = self.after(state, owed, tag, pair)
                changed = state.current[owed.member] not in (None, pair)
                action = Exchange(names[owed.member], names[owed.partner], tag)
                step = Step(action, self.kept(after), (changed,))
                by_effect.setdefault((step, changed), step)
        return by_effect.values()

    def _first(self, state: PanelBoard) -> Iterable[Owed]:
        """Those who speak first in sessions that stand for all: where it can be, in one channel.

        That channel's message has to stay as it is whatever others do first, and has to leave what
        they may do as it was. With `call` that is so of an open channel: its ends have no other,
        and so neither LEARN nor begin elsewhere before it is closed. With `limit=0` it is so of any
        channel: an agent's one choice, its first pair, is the same wherever it says it first. With
        `alone` the ends of an open channel change their pairs nowhere else; a message there depends
        on others where its sender would LEARN if it were alone, and others depend on it where it
        closes the channel of an end that has another. INITs are all kept: they open a channel.
        """
        due, panel = self.layout.owed(state), self.panel
        if panel.limit == 0:
            due = due[:1]
        for owed in due if panel.call or panel.alone else ():
            if state.talks[owed.channel].status is ChannelStatus.OPEN and (
                panel.call or self._stands_alone(state, owed)
            ):
                return (owed,)
        begin = [duty for duty in due if state.talks[duty.channel].status is ChannelStatus.WAITS]
        return (*due, *(Owed(duty.partner, duty.member, duty.channel) for duty in begin))

    def _stands_alone(self, state: PanelBoard, owed: Owed) -> bool:
        """Whether what is owed in an open channel is independent of other channels (`alone`)."""
        mine, theirs = (
            any(
                state.talks[number].status is not ChannelStatus.CLOSED
                for number in self.layout.own[place]
                if number != owed.channel
            )
            for place in (owed.member, owed.partner)
        )
        tags = {tag for tag, _ in self.replies(state, owed)}
        learns = bool(tags - {Tag.RATIFY, Tag.REJECT, Tag.TERM})
        return not (mine and learns) and not (Tag.TERM in tags and (mine or theirs))

    def propositions(self, state: PanelBoard) -> frozenset[str]:
        return frozenset(map(str, self.verdicts(state)))

    def verdicts(self, state: PanelBoard) -> frozenset[PanelVerdict]:
        """What can be said of a state by itself: consensus, agreement and split."""
        verdicts = self.layout.verdicts(state, self.alike, 1)
        return verdicts - {PanelVerdict.IMPASSE}

    def alike(self, left: Hashable, right: Hashable) -> bool:
        """Whether two pairs match and agree; free answers are taken to be those of equality."""
        if self.relations is AssumedRelations.TOLERANCE:
            return all(abs(a - b) <= 1 for a, b in zip(left, right, strict=True))  # type: ignore[call-overload]
        return left == right

    def after(self, state: PanelBoard, owed: Owed, tag: str, pair: Values) -> PanelBoard:
        """The board after the message that is owed has been sent with this tag and this pair."""
        talk = state.talks[owed.channel]
        closes = tag == Tag.TERM
        if self.panel.rules.n is not None:
            sent = 1 if tag == Tag.INIT else talk.sent + 1
            received = "" if tag == Tag.INIT else self._received(talk, owed)
            closes = _closes(self.panel.rules, sent, received, tag)
        return self.layout.after(state, owed.member, owed.partner, tag, pair, closes=closes)

    def _received(self, talk: Talk, owed: Owed) -> str:
        return talk.said[self.layout.links[owed.channel].index(owed.partner)]

    def replies(self, state: PanelBoard, owed: Owed) -> Iterator[tuple[str, Values]]:
        """What the agent may say: its tag with the pair that it carries."""
        layout, rules = self.layout, self.panel.rules
        talk, current = state.talks[owed.channel], state.current[owed.member]
        learns = layout.learns(state, owed.member, owed.channel)
        counts = isinstance(rules, Interact)
        free = self.pairs if current is None or (counts and learns) else (current,)
        if talk.status is ChannelStatus.WAITS:
            yield from ((Tag.INIT.value, pair) for pair in free)  # type: ignore[misc]
            return
        mine = layout.links[owed.channel].index(owed.member)
        theirs = talk.pairs[1 - mine]
        last, own = talk.said[1 - mine], talk.said[mine]
        if not counts and layout.settled(state, owed.channel):
            if self.free_term or _hangs_up(rules, last, own):
                yield from ((Tag.TERM.value, pair) for pair in free)  # type: ignore[misc]
            if not self.free_term and _hangs_up(rules, last, own):
                return
        number = talk.sent + 1 if counts else (3 if own else 2)
        for has in free:
            compared = has if not counts or not own else talk.pairs[mine]
            new = (has,) if counts else (self.pairs if learns else ())
            asked = number, theirs, compared, new
            told = self._known.replies.get(asked)
            if told is None:
                told = self._known.replies[asked] = tuple(
                    (rules.automaton.step("DECIDE", DECIDE, _only(rules, guard)).label, pair)
                    for guard, pair in self._decided(*asked)
                )
            for tag, pair in told:
                full = not counts and _exhausted(rules, talk.loops, last, tag)
                yield Tag.TERM.value if full else tag, pair

    def _decided(
        self, number: int, received: Hashable, own: Hashable, new: Sequence[Hashable]
    ) -> Iterator[tuple[str, Values]]:
        """The guards that can hold, each with the pair that its message carries."""
        left: list[tuple[tuple[bool, ...], Hashable | None]] = [((), None)]
        rules = self.panel.rules
        while left:
            answers, fresh = left.pop()
            asked = derive(rules, number, answers, revises=bool(new))
            if not isinstance(asked, Comparison):
                carries = rules.carries(asked)
                pairs = [own] if carries is Role.OWN or not new else [fresh]
                if pairs == [None]:  # nothing was compared with the new pair, so it is any
                    pairs = list(new)
                yield from ((str(asked), pair) for pair in pairs)  # type: ignore[misc]
                continue
            chosen: Sequence[Hashable | None] = (fresh,)
            if Role.NEW in (asked.left, asked.right) and fresh is None:
                chosen = new
            for pair in chosen:
                roles = {Role.RECEIVED: received, Role.OWN: own, Role.NEW: pair}
                held = self._holds(asked, roles[asked.left], roles[asked.right])
                left += [((*answers, answer), pair) for answer in held]

    def _holds(self, asked: Comparison, left: Hashable, right: Hashable) -> tuple[bool, ...]:
        if self.relations is AssumedRelations.NOISY:
            return (True, False)
        place = 0 if asked.relation == MATCH else 1
        own, other = left[place], right[place]  # type: ignore[index]
        if self.relations is AssumedRelations.TOLERANCE:
            return (abs(own - other) <= 1,)
        return (own == other,)

    def kept(self, board: PanelBoard) -> PanelBoard:
        """The state as far as anything depends on it (the reductions of this module)."""
        if not self.reduced:
            return self._named(board)
        closed = Talk(-1, ChannelStatus.CLOSED)
        talks = (closed if t.status is ChannelStatus.CLOSED else t for t in board.talks)
        kept = self._named(board._replace(talks=tuple(talks)))
        canonical = self._known.boards.get(kept)
        if canonical is None:
            canonical = min(map(partial(self._exchanged, kept), self._orders(kept)), key=_ordered)
            self._known.boards[kept] = canonical
        return canonical

    def _orders(self, board: PanelBoard) -> Iterator[Sequence[int]]:
        """Orders of the agents, one of which is the same for all boards that differ in who is who.

        Agents are put in order by what can be said of each without names; of those of whom the same
        can be said, each order is tried.
        """
        told = {place: self._told(board, place) for place in range(self.agents)}
        alike = groupby(sorted(told, key=told.__getitem__), told.__getitem__)
        for parts in product(*(permutations(tuple(places)) for _, places in alike)):
            yield [place for part in parts for place in part]

    def _told(self, board: PanelBoard, place: int) -> tuple[object, ...]:
        """What is said of an agent without the names of agents and of values."""
        own = board.current[place]
        channels = []
        for number in self.layout.own[place]:
            talk, end = board.talks[number], self.layout.links[number].index(place)
            both_ends = talk if end == 0 else turned(talk)
            none = tuple(pair is None for pair in both_ends.pairs)
            channels.append(
                (
                    talk.status,
                    talk.speaker == place,
                    both_ends.said,
                    both_ends.moved,
                    none,
                    both_ends.loops,
                )
            )
        alike = 0
        if own is not None:
            shared = (
                [a == b for a, b in zip(own, other, strict=True)]  # type: ignore[call-overload]
                for other in board.current
                if other is not None
            )
            alike = sum(64 * all(pair) + 8 * pair[0] + pair[1] for pair in shared)
        return own is not None, board.changes[place], alike, tuple(sorted(channels))

    def _exchanged(self, board: PanelBoard, order: Sequence[int]) -> PanelBoard:
        """The board with agents in this order, and values named as they then stand."""
        layout, new = self.layout, {place: number for number, place in enumerate(order)}
        talks = []
        for first, second in layout.links:
            number = layout.channels[order[first], order[second]]
            talk = board.talks[number]
            if layout.links[number] != (order[first], order[second]):
                talk = turned(talk)
            talks.append(
                talk._replace(
                    opener=first if talk.status is ChannelStatus.WAITS else -1,
                    speaker=new.get(talk.speaker, -1),
                )
            )
        changes = tuple(board.changes[place] for place in order)
        current = tuple(board.current[place] for place in order)
        return self._numbered(board._replace(current=current, changes=changes), talks)

    def _named(self, board: PanelBoard) -> PanelBoard:
        """The state without what nothing depends on, its values numbered."""
        queue = self.layout.queue(board)
        talks = []
        for number, talk in enumerate(board.talks):
            place = number, queue[number], talk
            kept = self._known.channels.get(place)
            if kept is None:
                kept = self.layout.channel_key(talk, number, queue[number])
                kept = self._known.channels[place] = self.forgotten(kept, number)
            talks.append(kept)
        key = self.layout.board_key(board, talks)
        return self._numbered(key, talks)

    def _numbered(self, key: PanelBoard, talks: Sequence[Talk]) -> PanelBoard:
        """A state with these channels, and its values numbered as they stand there."""
        if self.relations is not AssumedRelations.EQUIVALENCE:
            return key
        pairs = (*key.current, *(pair for talk in talks for pair in talk.pairs))
        names = self._known.names.get(pairs)
        if names is None:
            names = self._known.names[pairs] = renamed(pairs)
        if names == pairs:
            return key._replace(talks=tuple(talks))
        many = self.agents
        numbered = []
        for number, talk in enumerate(talks):
            pair = names[many + 2 * number], names[many + 2 * number + 1]
            other = talk._replace(pairs=pair)
            numbered.append(self._known.talks.setdefault(other, other))
        return key._replace(current=names[:many], talks=tuple(numbered))

    def forgotten(self, talk: Talk, number: int) -> Talk:
        """Channel `number` without the tags and changes on which nothing depends."""
        counts = isinstance(self.panel.rules, Interact)
        spoke = self._speaking(talk, number)
        tags, moved = list(talk.said), list(talk.moved)
        for end in (0, 1):
            kind = tags[end]
            replaced = talk.status is not ChannelStatus.OPEN or (end != spoke and not counts)
            if replaced and kind and kind not in (Tag.RATIFY, Tag.REJECT):
                tags[end] = "" if talk.status is not ChannelStatus.OPEN else _SPOKEN
            if tags[end] == Tag.RATIFY:
                if talk.status is not ChannelStatus.OPEN and any(moved[end]):
                    moved[end] = (True, True)
            elif (
                not counts
                and talk.status is ChannelStatus.OPEN
                and (tags[end] == Tag.REJECT or (self.free_term and tags[end]))
            ):
                moved[end] = (end == 0 and moved[end][0], end == 1 and moved[end][1])
            else:
                moved[end] = (False, False)
        speaker = talk.speaker if talk.status is ChannelStatus.OPEN else -1
        return talk._replace(said=(tags[0], tags[1]), moved=(moved[0], moved[1]), speaker=speaker)

    def _speaking(self, talk: Talk, number: int) -> int:
        """Which end of a channel spoke last."""
        return self.layout.links[number].index(talk.speaker) if talk.speaker >= 0 else 0


@dataclass(frozen=True)
class ChannelModel:
    """One channel of a panel of any number of agents, under any schedule: all others are free.

    Before each of its messages either end may have changed its pair elsewhere, if the panel's rules
    let it; and where it depends on other channels whether an end may LEARN, it may and it may not.
    So each run of a channel of a panel, of whatever size, is one of this model: what holds of all
    runs here holds for all panels. The converse is not claimed. Fills `proofs.core.explore.Model`.

    >>> from proofs.core.properties import longest_run
    >>> from proofs.core.explore import explore
    >>> import pxp_fsm as pxp
    >>> len(longest_run(explore(ChannelModel(pxp.Panel(pxp.Pxp(k=1), call=True)))).steps)
    7
    """

    panel: Panel
    relations: AssumedRelations = AssumedRelations.EQUIVALENCE
    values: tuple[int, int] = (2, 2)
    two: PanelModel = field(init=False)
    unlearning: PanelModel = field(init=False)

    def __post_init__(self) -> None:
        own = replace(self.panel, schedule=Scheduling.FREE, channels=None, stop="")
        made = partial(PanelModel, agents=2, relations=self.relations, values=self.values)
        object.__setattr__(self, "two", made(own, free_term=True))
        object.__setattr__(self, "unlearning", made(replace(own, limit=0), free_term=True))

    @property
    def name(self) -> str:
        return f"a channel among any number: {self.two.name}"

    def initial(self) -> Iterable[PanelBoard]:
        return self.two.initial()

    def successors(self, state: PanelBoard) -> Iterable[Step[PanelBoard]]:
        by_effect: dict[Hashable, Step[PanelBoard]] = {}
        panel = self.panel
        for board in self._elsewhere(state):
            steps = [*self.two.successors(board)]
            if panel.alone or panel.commit:
                steps += self.unlearning.successors(board)
            for step in steps:
                by_effect.setdefault((step, step.facts), step)
        return by_effect.values()

    def propositions(self, state: PanelBoard) -> frozenset[str]:
        return self.two.propositions(state)

    def _elsewhere(self, state: PanelBoard) -> Iterator[PanelBoard]:
        """The boards that changes in other channels make of one: of no end, one, or both."""
        boards = [state]
        for member in range(2):
            boards += [
                self.two.layout.changed_elsewhere(board, member, pair)
                for board in boards
                if self._may_change(board, member)
                for pair in self.two.pairs
                if pair != board.current[member]
            ]
        yield from boards

    def _may_change(self, board: PanelBoard, member: int) -> bool:
        """Whether an end may change its pair in another channel now."""
        panel, talk = self.panel, board.talks[0]
        if board.current[member] is None:
            return False  # what it has first is free anyway
        if panel.limit is not None and board.changes[member] >= panel.limit:
            return False
        if (panel.call or panel.alone) and talk.status is ChannelStatus.OPEN:
            return False
        return not (panel.commit and talk.ratified(self.two.layout.links[0].index(member)))


_SPOKEN = "-"
"""A tag that nothing depends on, but that something was said."""

_NO = Answer("", "")


def renamed(pairs: Sequence[Hashable]) -> tuple[Hashable, ...]:
    """The pairs with their values numbered in the order in which they stand there."""
    names: tuple[dict[int, int], dict[int, int]] = ({}, {})
    return tuple(
        pair
        if pair is None
        else tuple(
            known.setdefault(value, len(known))
            for known, value in zip(names, pair, strict=True)  # type: ignore[call-overload]
        )
        for pair in pairs
    )


def turned(talk: Talk) -> Talk:
    """A channel with its two ends in the other order."""
    first, other = talk.moved
    return talk._replace(
        said=talk.said[::-1], pairs=talk.pairs[::-1], moved=(other[::-1], first[::-1])
    )


def _ordered(board: PanelBoard) -> tuple[object, ...]:
    """What orders boards: their parts, with a pair that is none before all others."""
    pairs = (*board.current, *(pair for talk in board.talks for pair in talk.pairs))
    talks = tuple((t.status, t.speaker, t.said, t.moved, t.loops) for t in board.talks)
    return tuple((-1, -1) if pair is None else pair for pair in pairs), board.changes, talks


def _only(rules: Rules, guard: str) -> dict[str, bool]:
    return one_hot(guard, rules.automaton.guards_of("DECIDE"))


def _messages(tags: Sequence[str]) -> list[Message]:
    return [Message("", number, "", tag, _NO, "") for number, tag in enumerate(tags, 1)]


@lru_cache(maxsize=4096)
def _closes(rules: Rules, sent: int, previous: str, tag: str) -> bool:
    """Whether INTERACT's channel is over after so many messages, the last two with these tags."""
    tags = [Tag.REFUTE.value] * (sent - 2) + [previous, tag]
    return rules.ending(_messages(tags[-sent:])) is not None


@lru_cache(maxsize=4096)
def _hangs_up(rules: Rules, received: str, own: str) -> bool:
    """Whether PXP's policy answers a tag with TERM, the agent's own latest tag being `own`."""
    tags = [own, received] if own and own != _SPOKEN else [Tag.INIT.value, received]
    return rules.says_term(_messages(tags))


@lru_cache(maxsize=65536)
def _exhausted(rules: Rules, loops: Sequence[int], received: str, tag: str) -> bool:
    """Whether PXP(k) sends TERM in place of `tag`: a conversation with so many loops says so."""
    if received != tag or tag not in LOOPS:
        return False
    tags: list[str] = []
    for looped, count in zip(LOOPS, loops, strict=True):
        if looped != tag:
            tags += [looped.value] * (count + 1 if count else 0)
    tags += [tag] * (loops[LOOPS.index(Tag(tag))] + 1)
    return rules.says_term(_messages(tags), tag)
