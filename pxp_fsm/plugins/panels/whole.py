"""A panel's whole model as integers, and its search as compiled kernels.

What `exploration` explores a state at a time in Python, with no reduction but that values are
exchanged, under any schedule and rules. Channels are numbered as they can come to be: a channel of
two agents who may each change its pair elsewhere, asked of the model of two, with LEARN and
without. What a panel adds is done here: who owes a message and who of them speaks, who may LEARN,
and that a change is one in each of the agent's channels.

A state has fields of bits: for each channel its number and its place in the queue, from the lowest
on, then for each agent its pair and how often it has changed, as far as a limit asks, and at last
who spoke last, as far as the schedule asks.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import replace
from itertools import pairwise, permutations, product

from proofs.core.kernels import Array, Compiled, Runner
from proofs.core.table_search import WIDEST, place_of, shift_for
from proofs.core.webassembly import I32, I64, U8
from pxp_fsm.errors import UsageError
from pxp_fsm.lazy_dataclasses import dataclass
from pxp_fsm.plugins.panels.board import ChannelStatus, Owed, PanelBoard, Talk
from pxp_fsm.plugins.panels.exploration import AssumedRelations, PanelModel
from pxp_fsm.plugins.panels.packed import lengths, put
from pxp_fsm.plugins.panels.panel import Scheduling
from pxp_fsm.protocol.messages import Tag

STALE, CLOSED, RATIFIED, REJECTED, FRESH, OPEN, WAITS = 1, 2, 4, 8, 16, 32, 64
"""What is told of a channel: a RATIFY is stale, it is over, both ends sent RATIFY last, or REJECT,
both RATIFYs are fresh, it is open, it waits for its INIT."""

BY_FIRST, BY_SECOND = 128, 256
"""A fresh RATIFY of an end stands in the channel."""

AGENTS, LINKS, PAIRS, CODES, NAMES = 0, 1, 2, 3, 4
CODE_BITS, RANK_BITS, PAIR_BITS, CHANGE_BITS = 5, 6, 7, 8
CALL, ALONE, COMMIT, LIMIT, SCHEDULE = 9, 10, 11, 12, 13
"""Where in `numbers` the kernels find how many there are of each, how wide each is, and the rules;
of the schedule its place in `Scheduling`."""

FACTS = ("stale", "closed_apart", "rejected_alike", "unstable")
"""What is looked for in states, and after the last of a run, as `PanelAnswers` names it."""

_CHUNK = 1 << 16
"""After how many states the kernel returns, so that interrupts are seen."""

_STEPS = 4
"""For how many steps of each state there is room."""


@dataclass(frozen=True)
class WholeSpace:
    """What a search has found of a model.

    `longest` is the most messages, None where it was cut or there is a cycle; `ends` says whether
    there is none, None where it was cut. `idle_cycle`: there is one in which nobody changes. `runs`
    has a shortest run for each of `FACTS` that was found, and for each reply, received tag and tag,
    that two agents never give.
    """

    states: int
    transitions: int
    is_whole: bool
    ends: bool | None
    longest: int | None
    idle_cycle: bool
    runs: dict[str, tuple[str, ...]]


class WholePanel:
    """The tables of a model, which fit into integers of `WIDEST` bits; else `UsageError`.

    An entry is what may be sent in a channel of this number: by the pair of who owes a message,
    and whether it may LEARN. From `starts` of it to that of the next are its moves, each with three
    numbers in `rest`: of the channel afterwards, of the sender's pair, and of what is sent, odd
    where that pair has changed. `elsewhere` has the number of each channel after its first, or its
    second, end has changed in another. `images` and `named` have what an exchange of values makes
    of channels and of pairs.
    """

    def __init__(self, model: PanelModel) -> None:
        panel = model.panel
        if model.relations is not AssumedRelations.EQUIVALENCE or model.reduced or panel.rules.n:
            raise UsageError("a whole panel is one of PXP, with an equivalence, not reduced")
        plain = replace(
            panel,
            schedule=Scheduling.FREE,
            call=False,
            alone=False,
            commit=False,
            limit=None,
            channels=None,
        )
        self.model = model
        self.learning = replace(model, panel=plain, agents=2)
        self.unlearning = replace(self.learning, panel=replace(plain, limit=0))
        self.pairs: tuple[Hashable, ...] = (None, *model.pairs)
        self.numbers: dict[Talk, int] = {}
        self._found: list[Talk] = []
        self._moves: dict[tuple[int, int, int], dict[tuple[int, int, int], None]] = {}
        self.elsewhere = list[int]()
        self._fill()
        self.names = [
            (*first, *second)
            for first in permutations(range(model.values[0]))
            for second in permutations(range(model.values[1]))
        ]
        self.named = [self._renamed(pair, name) for name in self.names for pair in self.pairs]
        self.images = [self._image(talk, name) for name in self.names for talk in self._found]
        links, limit = model.layout.links, panel.limit
        self.code_bits = (len(self._found) - 1).bit_length()
        self.rank_bits = 0 if panel.schedule == Scheduling.FREE else len(links).bit_length()
        self.pair_bits = (len(self.pairs) - 1).bit_length()
        self.change_bits = 0 if limit is None else limit.bit_length()
        turn_bits = model.agents.bit_length() if panel.schedule == Scheduling.ROUND_ROBIN else 0
        bits = (self.code_bits + self.rank_bits) * len(links) + turn_bits
        bits += (self.pair_bits + self.change_bits) * model.agents
        if bits > WIDEST:
            raise UsageError(f"a state of {model.name} has {bits} bits, more than {WIDEST}")

    def _number(self, talk: Talk) -> int:
        if talk not in self.numbers:
            self.numbers[talk] = len(self._found)
            self._found.append(talk)
        return self.numbers[talk]

    def _kept(self, talk: Talk) -> Talk:
        return self.learning.forgotten(self.learning.layout.channel_key(talk, 0, 0), 0)

    def _fill(self) -> None:
        """Ask the models of two for each channel that can be, wherever its ends may be at."""
        panel = self.model.panel
        kept_learning = (
            (1,) if not (panel.alone or panel.commit or panel.limit is not None) else (0, 1)
        )
        self._number(self._kept(Talk(0)))
        for number, talk in enumerate(self._found):  # grows while it is read
            for member in (0, 1):
                board = PanelBoard(self.pairs[1:2] * 2, (0, 0), (talk,))
                after = self.learning.layout.changed_elsewhere(board, member, self.pairs[-1])
                self.elsewhere.append(self._number(self._kept(after.talks[0])))
            if talk.status is ChannelStatus.CLOSED:
                continue
            member = owing(talk)
            for place, pair in enumerate(self.pairs):
                for learns in kept_learning:
                    self._fill_moves(
                        number, talk, Owed(member, 1 - member, 0), (place, pair), learns
                    )

    def _fill_moves(
        self, number: int, talk: Talk, owed: Owed, own: tuple[int, Hashable], learns: int
    ) -> None:
        place, pair = own
        model = self.learning if learns else self.unlearning
        current = (pair, None) if owed.member == 0 else (None, pair)
        board = PanelBoard(current, (0, 0), (talk,))
        moves = self._moves.setdefault((number, place, learns), {})
        for tag, sent in model.replies(board, owed):
            after = model.after(board, owed, tag, sent).talks[0]
            changed = pair not in (None, sent)
            label = 2 * list(Tag).index(Tag(tag)) + changed
            moves[self._number(self._kept(after)), self.pairs.index(sent), label] = None

    def _renamed(self, pair: Hashable, name: tuple[int, ...]) -> int:
        if pair is None:
            return 0
        values = self.model.values
        left, right = divmod(self.model.pairs.index(pair), values[1])
        return 1 + values[1] * name[left] + name[values[0] + right]

    def _image(self, talk: Talk, name: tuple[int, ...]) -> int:
        """The number of a channel whose values are named so."""
        left, right = (self.pairs[self._renamed(pair, name)] for pair in talk.pairs)
        return self.numbers[talk._replace(pairs=(left, right))]

    def told(self) -> Iterator[int]:
        """What is told of each channel."""
        for talk in self._found:
            status = (WAITS, OPEN, CLOSED)[talk.status]
            ratified = [talk.said[end] == Tag.RATIFY for end in (0, 1)]
            stale = any(ratified[end] and any(talk.moved[end]) for end in (0, 1))
            fresh = [talk.ratified(end) for end in (0, 1)]
            yield (
                status
                + STALE * stale
                + RATIFIED * all(ratified)
                + REJECTED * (talk.said == (Tag.REJECT, Tag.REJECT))
                + FRESH * all(fresh)
                + BY_FIRST * fresh[0]
                + BY_SECOND * fresh[1]
            )

    def moves(self) -> tuple[list[int], list[int]]:
        """The tables `starts` and `rest`."""
        starts, rest = [0], list[int]()
        for entry in product(range(len(self._found)), range(len(self.pairs)), (0, 1)):
            rest += [number for move in self._moves.get(entry, ()) for number in move]
            starts.append(len(rest) // 3)
        return starts, rest

    def owes(self) -> Iterator[int]:
        """Which end of each channel owes a message; 0 for what is over."""
        return (0 if talk.status is ChannelStatus.CLOSED else owing(talk) for talk in self._found)

    def number(self, board: PanelBoard) -> int:
        """The number of a board that the model has kept: the least of those with other values."""
        model, images = self.model, list[int]()
        codes = [self.numbers[self._of_two(talk, n)] for n, talk in enumerate(board.talks)]
        many = len(self._found)
        for place in range(len(self.names)):
            state, at = 0, 0
            for code, talk in zip(codes, board.talks, strict=True):
                state |= self.images[place * many + code] << at
                state |= (talk.since if self.rank_bits else 0) << at + self.code_bits
                at += self.code_bits + self.rank_bits
            for pair, changes in zip(board.current, board.changes, strict=True):
                named = self.named[place * len(self.pairs) + self.pairs.index(pair)]
                state |= (named | changes << self.pair_bits) << at
                at += self.pair_bits + self.change_bits
            if model.panel.schedule == Scheduling.ROUND_ROBIN:
                state |= board.speaker + 1 << at
            images.append(state)
        return min(images)

    def _of_two(self, talk: Talk, number: int) -> Talk:
        """A channel of the panel as one of two agents, which are its ends."""
        link = self.model.layout.links[number]
        opener = link.index(talk.opener) if talk.opener >= 0 else -1
        speaker = link.index(talk.speaker) if talk.speaker >= 0 else -1
        return talk._replace(opener=opener, speaker=speaker, since=0)


def owing(talk: Talk) -> int:
    """Which end owes a message in a channel of two that is not over."""
    return talk.opener if talk.status is ChannelStatus.WAITS else 1 - talk.speaker


def search_whole(panel: WholePanel, most: int, runner: Runner | None = None) -> WholeSpace:
    """Every state that can be reached, breadth first, or as many as `most`.

    >>> import pxp_fsm as pxp
    >>> model = PanelModel(pxp.Panel(pxp.Pxp(k=1), "fifo", call=True))
    >>> found = search_whole(WholePanel(model), 10_000)
    >>> found.states, found.longest, len(found.runs["stale"])
    (822, 20, 7)
    """
    runner = runner or Compiled()
    model, (starts, rest) = panel.model, panel.moves()
    layout, own = model.layout, model.panel
    widest = len(layout.links) * max((end - start for start, end in pairwise(starts)), default=0)
    numbers = [
        *(model.agents, len(layout.links), len(panel.pairs), len(panel.numbers), len(panel.names)),
        *(panel.code_bits, panel.rank_bits, panel.pair_bits, panel.change_bits),
        *(own.call, own.alone, own.commit, -1 if own.limit is None else own.limit),
        list(Scheduling).index(Scheduling(own.schedule)),
    ]
    ends = [end for link in layout.links for end in link]
    tables = [
        runner.put("q", entries)
        for entries in (
            *(numbers, ends, starts, rest, panel.owes(), panel.told(), panel.elsewhere),
            *(panel.images, panel.named),
        )
    ]
    states, offsets = runner.new("q", most + widest), runner.new("i", most + widest + 1)
    parents = runner.new("i", most + widest)
    targets = runner.new("i", _STEPS * most + widest)
    changed = runner.new("B", _STEPS * most + widest)
    slots = runner.new("i", 1 << (2 * len(states)).bit_length())
    values, sent = runner.new("q", widest), runner.new("q", widest)
    first = runner.new("q", len(FACTS))
    parts = runner.new("q", 4 * len(layout.links) + 2 * model.agents)
    progress = runner.new("q", 2)
    states[0] = panel.number(next(iter(model.initial())))
    slots[place_of(states[0], shift_for(len(slots)), len(slots) - 1)] = 1
    progress[0], until = 1, 0
    while progress[1] == until < progress[0]:
        until = min(progress[0], until + _CHUNK)
        runner.run(
            _search, states, slots, offsets, targets, changed, parents, first, progress, until,
            most, values, sent, parts, *tables,
        )  # fmt: skip
    count, done = progress
    steps = offsets[done]
    ends_all, longest, idle = None, None, False
    if done == count:
        waiting, ready, length = (runner.new("i", count) for _ in range(3))
        ends_all = runner.run(lengths, offsets, targets, waiting, ready, length) == count
        longest = max(length) if ends_all else None
        if not ends_all:
            runner.run(_still, offsets, targets, changed, count)
            waiting, ready, length = (runner.new("i", count) for _ in range(3))
            idle = runner.run(lengths, offsets, targets, waiting, ready, length) < count
    return WholeSpace(
        count, steps, done == count, ends_all, longest, idle, _runs(panel, states, parents, first)
    )


def _runs(
    panel: WholePanel, states: Array, parents: Array, first: Array
) -> dict[str, tuple[str, ...]]:
    """The shortest runs that were found, followed through the model itself."""
    runs = dict[str, tuple[str, ...]]()
    for fact, place in zip(FACTS, first, strict=True):
        path, state = list[int](), place - 1
        while state > 0:
            path.append(states[state])
            state = parents[state]
        words, (board,) = list[str](), panel.model.initial()
        for target in reversed(path):
            step = next(
                step
                for step in panel.model.successors(board)
                if panel.number(step.target) == target
            )
            words.append(str(step.action))
            board = step.target
        if place:
            runs[fact] = tuple(words)
    return runs


def _search(
    states: I64,
    slots: I32,
    offsets: I32,
    targets: I32,
    changed: U8,
    parents: I32,
    first: I64,
    progress: I64,
    until: int,
    most: int,
    values: I64,
    sent: I64,
    parts: I64,
    numbers: I64,
    ends: I64,
    starts: I64,
    rest: I64,
    owes: I64,
    told: I64,
    elsewhere: I64,
    images: I64,
    named: I64,
) -> int:
    """Expand states up to number `until`, as long as there is room and at most `most` are met.

    A slot holds the number of a state, from 1, so that 0 is a free slot. The steps of state i lead
    to `targets[offsets[i]:offsets[i + 1]]`. States are met breadth first, so that the first of
    which a fact is told has a shortest run.
    """
    mask, shift = len(slots) - 1, shift_for(len(slots))
    count, done = progress[0], progress[1]
    while done < until and count <= most and offsets[done] + len(values) <= len(targets):
        facts = _facts(states[done], parts, numbers, told)
        for fact in range(3):
            if facts >> fact & 1 == 1 and first[fact] == 0:
                first[fact] = done + 1
        filled = _moves(
            states[done], values, sent, parts, numbers, ends, starts, rest, owes, told, elsewhere,
            images, named,
        )  # fmt: skip
        for k in range(filled):
            slot = place_of(values[k], shift, mask)
            while slots[slot] != 0 and states[slots[slot] - 1] != values[k]:
                slot = slot + 1 & mask
            if slots[slot] == 0:
                states[count] = values[k]
                parents[count] = done
                count += 1
                slots[slot] = count
            targets[offsets[done] + k] = slots[slot] - 1
            changed[offsets[done] + k] = sent[k] & 1
            lost = 1 if facts & 8 != 0 and first[3] == 0 else 0
            if lost == 1 and _facts(values[k], parts, numbers, told) & 8 == 0:
                first[3] = slots[slot]
        offsets[done + 1] = offsets[done] + filled
        done += 1
    progress[0], progress[1] = count, done
    return 0


def _taken_apart(state: int, parts: I64, numbers: I64) -> int:
    """Put the fields of a state into `parts`: channels, queue, pairs, changes; the rest of it."""
    agents, links = numbers[AGENTS], numbers[LINKS]
    for link in range(links):
        parts[link] = state & (1 << numbers[CODE_BITS]) - 1
        state >>= numbers[CODE_BITS]
        parts[links + link] = state & (1 << numbers[RANK_BITS]) - 1
        state >>= numbers[RANK_BITS]
    for agent in range(agents):
        parts[4 * links + agent] = state & (1 << numbers[PAIR_BITS]) - 1
        state >>= numbers[PAIR_BITS]
        parts[4 * links + agents + agent] = state & (1 << numbers[CHANGE_BITS]) - 1
        state >>= numbers[CHANGE_BITS]
    return state


def _facts(state: int, parts: I64, numbers: I64, told: I64) -> int:
    """Whether a RATIFY is stale (1), all is closed by RATIFY apart (2), or alike though one is
    closed by REJECT (4); whether there is a consensus (8)."""
    agents, links = numbers[AGENTS], numbers[LINKS]
    _taken_apart(state, parts, numbers)
    some, every, alike = 0, 511, 1 if parts[4 * links] != 0 else 0
    for link in range(links):
        some |= told[parts[link]]
        every &= told[parts[link]]
    for agent in range(1, agents):
        if parts[4 * links + agent] != parts[4 * links]:
            alike = 0
    facts = some & STALE
    if every & (CLOSED | RATIFIED) == CLOSED | RATIFIED and alike == 0:
        facts |= 2
    if every & CLOSED != 0 and some & REJECTED != 0 and alike == 1:
        facts |= 4
    if every & FRESH != 0 and alike == 1:
        facts |= 8
    return facts


def _moves(
    state: int,
    values: I64,
    sent: I64,
    parts: I64,
    numbers: I64,
    ends: I64,
    starts: I64,
    rest: I64,
    owes: I64,
    told: I64,
    elsewhere: I64,
    images: I64,
    named: I64,
) -> int:
    """Put the states to which one leads into `values`; the result is how many they are.

    Behind the channels and their places in the queue `parts` has those of the state that is made.
    Two moves in a channel to one state are one, if they send the same.
    """
    agents, links, newest = numbers[AGENTS], numbers[LINKS], 0
    turn, pairs = _taken_apart(state, parts, numbers), 4 * links
    only = -2 if numbers[SCHEDULE] == 0 else _speaks(turn, parts, numbers, ends, owes, told)
    for link in range(links):
        if parts[links + link] >= newest:
            newest = parts[links + link] + 1
    filled = 0
    for link in range(links):
        code = parts[link]
        mine = ends[2 * link + owes[code]]
        speaks = 1 if only < -1 or only == link else 0
        if told[code] & CLOSED != 0 or _waits(link, parts, numbers, ends, told) == 1:
            speaks = 0
        own, changes = parts[pairs + mine], parts[pairs + agents + mine]
        entry = 2 * (code * numbers[PAIRS] + own) + _learns(link, mine, parts, numbers, ends, told)
        begin = filled
        for k in range(3 * starts[entry] * speaks, 3 * starts[entry + 1] * speaks, 3):
            changed = rest[k + 2] & 1
            _make(mine if changed == 1 else -1, newest, parts, numbers, ends, told, elsewhere)
            parts[2 * links + link] = rest[k]
            parts[3 * links + link] = newest
            parts[pairs + mine] = rest[k + 1]
            parts[pairs + agents + mine] = changes + changed if numbers[CHANGE_BITS] > 0 else 0
            value = _least(
                mine + 1 if numbers[SCHEDULE] == 2 else 0, parts, numbers, told, images, named
            )
            parts[pairs + mine] = own
            parts[pairs + agents + mine] = changes
            filled = put(value, rest[k + 2], values, sent, begin, filled)
    return filled


def _side(link: int, agent: int, ends: I64) -> int:
    """Which end of a channel an agent is; -1 for none."""
    side = 1 if ends[2 * link + 1] == agent else -1
    return 0 if ends[2 * link] == agent else side


def _learns(link: int, agent: int, parts: I64, numbers: I64, ends: I64, told: I64) -> int:
    """Whether the panel's rules let an agent LEARN in a channel now."""
    agents, links = numbers[AGENTS], numbers[LINKS]
    learns = 1
    if numbers[LIMIT] >= 0 and parts[4 * links + agents + agent] >= numbers[LIMIT]:
        learns = 0
    for other in range(links):
        side = _side(other, agent, ends)
        if other != link and side >= 0:
            if numbers[ALONE] == 1 and told[parts[other]] & OPEN != 0:
                learns = 0
            if numbers[COMMIT] == 1 and told[parts[other]] & (BY_FIRST << side) != 0:
                learns = 0
    return learns


def _make(
    mover: int, newest: int, parts: I64, numbers: I64, ends: I64, told: I64, elsewhere: I64
) -> int:
    """Put all channels as they are for a state that is made, those of `mover` after a change.

    A channel that a change opens again is the newest of the queue.
    """
    links = numbers[LINKS]
    for link in range(links):
        code = parts[link]
        side = _side(link, mover, ends)
        after = code if side < 0 else elsewhere[2 * code + side]
        reopens = 1 if told[code] & CLOSED != 0 and told[after] & WAITS != 0 else 0
        parts[2 * links + link] = after
        parts[3 * links + link] = newest if reopens == 1 else parts[links + link]
    return 0


def _waits(link: int, parts: I64, numbers: I64, ends: I64, told: I64) -> int:
    """Whether a channel must not begin yet, under `call`: an end of it has an open one."""
    waits = 0
    if numbers[CALL] == 1 and told[parts[link]] & WAITS != 0:
        for other in range(numbers[LINKS]):
            if told[parts[other]] & OPEN != 0:
                for end in range(2 * other, 2 * other + 2):
                    if ends[end] == ends[2 * link] or ends[end] == ends[2 * link + 1]:
                        waits = 1
    return waits


def _speaks(turn: int, parts: I64, numbers: I64, ends: I64, owes: I64, told: I64) -> int:
    """The channel that speaks next by the queue, or by who spoke last; -1 for none."""
    agents, links, best, least = numbers[AGENTS], numbers[LINKS], -1, 0
    for link in range(links):
        code, key = parts[link], parts[links + link]
        speaks = 0 if told[code] & CLOSED != 0 else 1
        if _waits(link, parts, numbers, ends, told) == 1:
            speaks = 0
        if numbers[SCHEDULE] == 2:
            key += ((ends[2 * link + owes[code]] - turn + agents) % agents) << numbers[RANK_BITS]
        if speaks == 1 and (best < 0 or key < least):
            best = link
            least = key
    return best


def _least(turn: int, parts: I64, numbers: I64, told: I64, images: I64, named: I64) -> int:
    """The least of the states that differ from the made one in the names of values."""
    agents, links, best = numbers[AGENTS], numbers[LINKS], -1
    places = 0
    for link in range(links):
        if told[parts[2 * links + link]] & CLOSED == 0:
            places |= 1 << parts[3 * links + link]
    for link in range(links):
        rank = 0
        if numbers[RANK_BITS] > 0 and told[parts[2 * links + link]] & CLOSED == 0:
            for place in range(parts[3 * links + link]):
                rank += places >> place & 1
        parts[3 * links + link] = rank
    for order in range(numbers[NAMES]):
        state, at = 0, 0
        for link in range(links):
            state |= images[order * numbers[CODES] + parts[2 * links + link]] << at
            at += numbers[CODE_BITS]
            state |= parts[3 * links + link] << at
            at += numbers[RANK_BITS]
        for agent in range(agents):
            state |= named[order * numbers[PAIRS] + parts[4 * links + agent]] << at
            at += numbers[PAIR_BITS]
            state |= parts[4 * links + agents + agent] << at
            at += numbers[CHANGE_BITS]
        state |= turn << at
        if best < 0 or state < best:
            best = state
    return best


def _still(offsets: I32, targets: I32, changed: U8, count: int) -> int:
    """Leave out the steps in which somebody changes."""
    kept, begin = 0, 0
    for state in range(count):
        end = offsets[state + 1]
        for step in range(begin, end):
            if changed[step] == 0:
                targets[kept] = targets[step]
                kept += 1
        begin = end
        offsets[state + 1] = kept
    return kept
