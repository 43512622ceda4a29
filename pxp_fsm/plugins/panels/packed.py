"""The reduced model of a panel as integers, and its search as compiled kernels.

Where an end of an open channel changes its pair nowhere else (`call`, `alone`, `limit=0`), the
pair that a message carries is its sender's current one. So a state is a pair for each agent and,
for each channel, what two agents that have it to themselves can be at, without their pairs. Which
moves there are is looked up in tables, which are filled by asking the model of two: with LEARN,
and without it where the panel's rules forbid it. The reductions are those of `exploration`: of all
boards that differ in names of agents and of values the least number stands for all, and of
messages that do not depend on each other one order.

A state has, from its lowest bits on, one number for each channel, and above them one for the pairs
of all agents, in which the agents are digits.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import replace
from itertools import permutations, product

from proofs.core.kernels import Compiled, Runner
from proofs.core.table_search import WIDEST, place_of, shift_for
from proofs.core.webassembly import I32, I64
from pxp_fsm.lazy_dataclasses import dataclass
from pxp_fsm.plugins.panels.board import ChannelStatus, Owed, PanelBoard, Talk
from pxp_fsm.plugins.panels.exploration import REPLIES, PanelModel, renamed, turned
from pxp_fsm.protocol.messages import Tag

WAITS, CLOSED = 0, 1
"""The numbers of channels that wait for their INIT, and of those that are over."""

LEARNS, CLOSES = 1, 2
"""Of what may be replied: something depends on LEARN, something closes the channel."""

_CHUNK = 1 << 16
"""After how many states the kernel returns, so that interrupts are seen."""

_STEPS = 16
"""For how many steps of each state there is room."""


@dataclass(frozen=True)
class PackedPanel:
    """A panel's moves as lists of integers.

    A channel has `bits` bits of a state; its ends are two entries of `ends`. An agent has one of
    `codes` pairs, of which the first is none: `digits` has for each number of pairs that of each
    agent, `power` says for each agent what one more counts there.

    An entry is what an end may send: by the channel's number, the end, the pairs of the two ends,
    and whether it may LEARN. From `starts` of it to that of the next are its moves, each with three
    numbers in `rest`: those of the channel afterwards, of the sender's pair, and one for what is
    sent. `kinds` has of each entry LEARNS and CLOSES, `owes` of each channel's number the end that
    owes a message.

    The image of a state under an order of the agents has the pairs `named[order, pairs]`, and at
    each channel, the last first, that of `sources`: twice its number, plus one where its ends are
    exchanged, for which `turned` has the numbers.
    """

    codes: int
    bits: int
    call: bool
    alone: bool
    still: bool
    ends: Sequence[int]
    digits: Sequence[int]
    starts: Sequence[int]
    rest: Sequence[int]
    kinds: Sequence[int]
    owes: Sequence[int]
    power: Sequence[int]
    named: Sequence[int]
    sources: Sequence[int]
    turned: Sequence[int]


@dataclass(frozen=True)
class PackedSpace:
    """What a search has found; `longest` is the most messages, None where it was cut."""

    states: int
    transitions: int
    is_whole: bool
    longest: int | None


def packed(model: PanelModel) -> PackedPanel | None:
    """The tables of a reduced model; None where it has none.

    It has none under other rules, with too many agents or values for a state of `WIDEST` bits, and
    where two agents that may or may not LEARN give a reply that two agents never give: what follows
    it is asked of the model itself.
    """
    panel = model.panel
    still = panel.limit == 0
    if not model.reduced or not (still or (panel.limit is None and (panel.call or panel.alone))):
        return None
    return _Tables(model).packed()


class _Tables:
    """Fills the tables: channels are numbered as they are met."""

    def __init__(self, model: PanelModel) -> None:
        plain = replace(model.panel, call=False, alone=False, limit=None)
        self.model = model
        self.learning = replace(model, panel=plain, agents=2, reduced=False)
        still = replace(plain, limit=0)
        self.unlearning = replace(self.learning, panel=still)
        self.pairs: tuple[Hashable, ...] = (None, *model.pairs)
        self.numbers: dict[Talk | None, int] = {Talk(-1): WAITS, None: CLOSED}
        self.moves: dict[tuple[int, int, int, int, int], dict[tuple[int, int, int], str]] = {}

    def packed(self) -> PackedPanel | None:
        model, layout, many = self.model, self.model.layout, len(self.pairs)
        if not self._fill():
            return None
        bits = (len(self.numbers) - 1).bit_length()
        all_pairs = list(product(range(many), repeat=model.agents))
        if bits * len(layout.links) + (len(all_pairs) - 1).bit_length() > WIDEST:
            return None
        starts, rest, kinds = [0], list[int](), list[int]()
        for entry in product(range(len(self.numbers)), (0, 1), range(many), range(many), (0, 1)):
            moves = self.moves.get(entry, {})
            rest += [number for move in moves for number in move]
            starts.append(len(rest) // 3)
            learns = any(tag not in (Tag.RATIFY, Tag.REJECT, Tag.TERM) for tag in moves.values())
            kinds.append(LEARNS * learns + CLOSES * (Tag.TERM in moves.values()))
        owes, turns = [0, 0], [WAITS, WAITS, CLOSED, CLOSED]
        for talk, number in self.numbers.items():
            if talk is not None and number != WAITS:
                owes.append(1 - talk.speaker)
                other = turned(talk)._replace(speaker=1 - talk.speaker)
                turns += [number, self.numbers.get(other, number)]
        named, sources = list[int](), list[int]()
        for order in permutations(range(model.agents)):
            named += [self._number([pairs[place] for place in order]) for pairs in all_pairs]
            for first, second in reversed(layout.links):
                ends = order[first], order[second]
                number = layout.channels[ends]
                sources.append(2 * number + (layout.links[number] != ends))
        panel = model.panel
        return PackedPanel(
            codes=many,
            bits=bits,
            call=panel.call,
            alone=panel.alone,
            still=panel.limit == 0,
            ends=[end for link in layout.links for end in link],
            digits=[digit for pairs in all_pairs for digit in pairs],
            power=[many ** (model.agents - 1 - place) for place in range(model.agents)],
            starts=starts,
            rest=rest,
            kinds=kinds,
            owes=owes,
            named=named,
            sources=sources,
            turned=turns,
        )

    def _number(self, digits: Sequence[int]) -> int:
        """The number of the agents' pairs, their values named in the order in which they stand."""
        number = 0
        for pair in renamed([self.pairs[digit] for digit in digits]):
            number = number * len(self.pairs) + self.pairs.index(pair)
        return number

    def _fill(self) -> bool:
        """Ask the models of two what may be replied, wherever it can come to; whether all fits."""
        todo: list[tuple[Talk | None, Hashable, Hashable]] = [
            (Talk(-1), left, right) for left in self.pairs for right in self.pairs
        ]
        known = set(todo)
        for place in todo:  # grows while it is read
            for side in (0, 1):
                for learns in (0, 1):
                    for after in self._replies(place, side, learns):
                        if after is None:
                            return False
                        if after not in known and after[0] is not None:
                            known.add(after)
                            todo.append(after)
        return True

    def _replies(
        self, place: tuple[Talk | None, Hashable, Hashable], side: int, learns: int
    ) -> list[tuple[Talk | None, Hashable, Hashable] | None]:
        """Where the messages of an end lead; None for a reply that two agents never give."""
        talk, *current = place
        assert talk is not None  # noqa: S101 - what is over is not asked
        number = self.numbers[talk]
        waits = number == WAITS
        if not waits and talk.speaker == side:
            return []
        pairs = (current[0], None) if talk.speaker == 0 else (None, current[1])
        talk = Talk(side) if waits else talk._replace(pairs=pairs)
        board = PanelBoard(tuple(current), (0, 0), (talk,))
        model, owed = self.learning if learns else self.unlearning, Owed(side, 1 - side, 0)
        entry = number, side, *map(self.pairs.index, current), learns
        moves = self.moves.setdefault(entry, {})  # type: ignore[arg-type]
        replies: list[tuple[Talk | None, Hashable, Hashable] | None] = []
        for tag, pair in model.replies(board, owed):
            received = "" if waits else talk.said[1 - side]
            if received in REPLIES and tag not in (Tag.TERM, REPLIES[received]):
                replies.append(None)
            after = model.after(board, owed, tag, pair)
            key = self._kept(after.talks[0])
            changed = current[side] not in (None, pair)
            label = 2 * list(Tag).index(Tag(tag)) + changed
            to = self.numbers.setdefault(key, len(self.numbers))
            moves[to, self.pairs.index(pair), label] = tag
            replies.append((key, *after.current))  # type: ignore[arg-type]
        return replies

    def _kept(self, talk: Talk) -> Talk | None:
        """What is kept of a channel; None of one that is over."""
        if talk.status is ChannelStatus.CLOSED:
            return None
        model = self.learning
        kept = model.forgotten(model.layout.channel_key(talk, 0, 0), 0)
        return kept._replace(pairs=(None, None))


def search_packed(panel: PackedPanel, most: int, runner: Runner | None = None) -> PackedSpace:
    """Every state that can be reached, breadth first, or as many as `most`.

    >>> import pxp_fsm as pxp
    >>> tables = packed(PanelModel(pxp.Panel(pxp.Pxp(k=1), "free", alone=True), reduced=True))
    >>> assert tables is not None
    >>> found = search_packed(tables, 10_000)
    >>> found.is_whole, found.longest
    (True, 21)
    """
    runner = runner or Compiled()
    widest = len(panel.rest) // 3 + 1
    lists = (
        *(panel.ends, panel.digits, panel.starts, panel.rest, panel.kinds, panel.owes),
        *(panel.power, panel.named, panel.sources, panel.turned),
    )
    rules = int(panel.call), int(panel.alone), int(panel.still)
    about = (panel.codes, panel.bits, *rules, *(runner.put("q", entries) for entries in lists))
    states, offsets = runner.new("q", most + widest), runner.new("i", most + widest + 1)
    targets = runner.new("i", _STEPS * most + widest)
    slots = runner.new("i", 1 << (2 * len(states)).bit_length())
    values, sent = runner.new("q", widest), runner.new("q", widest)
    live, progress = runner.new("q", 2 * len(panel.power)), runner.new("q", 2)
    slots[place_of(0, shift_for(len(slots)), len(slots) - 1)] = 1  # the first state is 0
    progress[0], until = 1, 0
    while progress[1] == until < progress[0]:
        until = min(progress[0], until + _CHUNK)
        runner.run(
            _search, states, slots, offsets, targets, progress, until, most, values, sent, live,
            *about,
        )  # fmt: skip
    count, done = progress
    longest = None
    if done == count:
        waiting, ready, length = (runner.new("i", count) for _ in range(3))
        ordered = runner.run(lengths, offsets, targets, waiting, ready, length)
        longest = max(length) if ordered == count else None
    return PackedSpace(count, offsets[done], done == count, longest)


def _search(
    states: I64,
    slots: I32,
    offsets: I32,
    targets: I32,
    progress: I64,
    until: int,
    most: int,
    values: I64,
    sent: I64,
    live: I64,
    codes: int,
    bits: int,
    call: int,
    alone: int,
    still: int,
    ends: I64,
    digits: I64,
    starts: I64,
    rest: I64,
    kinds: I64,
    owes: I64,
    power: I64,
    named: I64,
    sources: I64,
    turned: I64,
) -> int:
    """Expand states up to number `until`, as long as there is room and at most `most` are met.

    A slot holds the number of a state, from 1, so that 0 is a free slot. The steps of state i lead
    to `targets[offsets[i]:offsets[i + 1]]`.
    """
    mask, shift = len(slots) - 1, shift_for(len(slots))
    count, done = progress[0], progress[1]
    while done < until and count <= most and offsets[done] + len(values) <= len(targets):
        filled = _moves(
            states[done], values, sent, live, codes, bits, call, alone, still, ends, digits,
            starts, rest, kinds, owes, power, named, sources, turned,
        )  # fmt: skip
        for k in range(filled):
            slot = place_of(values[k], shift, mask)
            while slots[slot] != 0 and states[slots[slot] - 1] != values[k]:
                slot = slot + 1 & mask
            if slots[slot] == 0:
                states[count] = values[k]
                count += 1
                slots[slot] = count
            targets[offsets[done] + k] = slots[slot] - 1
        offsets[done + 1] = offsets[done] + filled
        done += 1
    progress[0], progress[1] = count, done
    return 0


def _moves(
    state: int,
    values: I64,
    sent: I64,
    live: I64,
    codes: int,
    bits: int,
    call: int,
    alone: int,
    still: int,
    ends: I64,
    digits: I64,
    starts: I64,
    rest: I64,
    kinds: I64,
    owes: I64,
    power: I64,
    named: I64,
    sources: I64,
    turned: I64,
) -> int:
    """Put the states to which one leads into `values`; the result is how many they are.

    `live` has for each agent its channels that are not over, and behind them those that are open.
    Two moves of an end to one state are one, if they send the same.
    """
    agents, links = len(power), len(ends) >> 1
    ones, high = (1 << bits) - 1, bits * links
    pairs = agents * (state >> high)
    for place in range(2 * agents):
        live[place] = 0
    for end in range(2 * links):
        number = state >> bits * (end >> 1) & ones
        if number != CLOSED:
            live[ends[end]] += 1
            if number != WAITS:
                live[agents + ends[end]] += 1
    only = _speaks_first(state, live, codes, bits, call, still, ends, digits, kinds, owes, agents)
    filled = 0
    for link in range(links):
        number = state >> bits * link & ones
        first, second = ends[2 * link], ends[2 * link + 1]
        speaks = 1 if number != CLOSED and (only < 0 or only == link) else 0
        if call == 1 and number == WAITS and live[agents + first] + live[agents + second] > 0:
            speaks = 0
        for side in range(2 * speaks):
            mine = first if side == 0 else second
            others = live[agents + mine] - (0 if number == WAITS else 1)
            learns = 0 if still == 1 or (alone == 1 and others > 0) else 1
            entry = (2 * number + side) * codes + digits[pairs + first]
            entry = 2 * (entry * codes + digits[pairs + second]) + learns
            begin = filled
            for k in range(3 * starts[entry], 3 * starts[entry + 1], 3):
                change = power[mine] * (rest[k + 1] - digits[pairs + mine])
                after = state + (rest[k] - number << bits * link) + (change << high)
                after = _least(after, agents, links, bits, named, sources, turned)
                filled = put(after, rest[k + 2], values, sent, begin, filled)
    return filled


def put(value: int, label: int, values: I64, sent: I64, begin: int, filled: int) -> int:
    """Put a move behind `filled` ones, unless it is one of those from `begin` on.

    The result is how many there are then.
    """
    for before in range(begin, filled):
        if values[before] == value and sent[before] == label:
            return filled
    values[filled] = value
    sent[filled] = label
    return filled + 1


def _speaks_first(
    state: int,
    live: I64,
    codes: int,
    bits: int,
    call: int,
    still: int,
    ends: I64,
    digits: I64,
    kinds: I64,
    owes: I64,
    agents: int,
) -> int:
    """The channel that speaks first in sessions that stand for all, as `PanelModel` says; else -1.

    An end may LEARN under `alone` if it has no other channel that is open.
    """
    links = len(ends) >> 1
    ones, pairs = (1 << bits) - 1, agents * (state >> bits * links)
    for link in range(links):
        number = state >> bits * link & ones
        first, second = ends[2 * link], ends[2 * link + 1]
        if number == WAITS:
            if still == 1 and (call == 0 or live[agents + first] + live[agents + second] == 0):
                return link
        elif number != CLOSED:
            if call == 1 or still == 1:
                return link
            mine = first if owes[number] == 0 else second
            entry = (2 * number + owes[number]) * codes + digits[pairs + first]
            entry = 2 * (entry * codes + digits[pairs + second])
            kind = kinds[entry + (1 if live[agents + mine] == 1 else 0)]
            own, all_own = live[mine] - 1, live[first] + live[second] - 2
            if (kind & LEARNS == 0 or own == 0) and (kind & CLOSES == 0 or all_own == 0):
                return link
    return -1


def _least(
    state: int, agents: int, links: int, bits: int, named: I64, sources: I64, turned: I64
) -> int:
    """The least of the states that differ from one in the names of agents and of values.

    The pairs are the highest bits, so that channels are looked at where those are not greater.
    """
    ones, high, best = (1 << bits) - 1, bits * links, -1
    pairs, orders = state >> high, len(sources) // links
    many = len(named) // orders
    for order in range(orders):
        upper = named[order * many + pairs]
        if best < 0 or upper <= best >> high:
            for place in range(order * links, (order + 1) * links):
                source = sources[place]
                number = state >> bits * (source >> 1) & ones
                upper = upper << bits | turned[2 * number + (source & 1)]
            if best < 0 or upper < best:
                best = upper
    return best


def lengths(offsets: I32, targets: I32, waiting: I32, ready: I32, length: I32) -> int:
    """Put the most steps that lead to each state into `length`; how many states are in no cycle.

    A state is `ready` when all steps to it have been counted. Where none is left and some are
    still `waiting`, a cycle leads to these.
    """
    for step in range(offsets[len(waiting)]):
        waiting[targets[step]] += 1
    count, done = 0, 0
    for state in range(len(waiting)):
        if waiting[state] == 0:
            ready[count] = state
            count += 1
    while done < count:
        state = ready[done]
        for step in range(offsets[state], offsets[state + 1]):
            target = targets[step]
            if length[target] <= length[state]:
                length[target] = length[state] + 1
            waiting[target] -= 1
            if waiting[target] == 0:
                ready[count] = target
                count += 1
        done += 1
    return count
