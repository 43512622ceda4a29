"""The product of a graph and a formula's automaton, and the search in it for ends, lassos and
fairness.

A node is a state of the graph with one of the automaton, as one number: `state << bits | value`;
its runs are the graph's runs whose promises are kept. Nodes and their edges are not stored: each
state has a kind, which is what is true of the formula's atoms there and whether a run ends there,
and of each kind and value `Moves` say which values may follow. A state in which a run ends has just
the value 0.

What is kept of a node is one number: 0 is a node that has not been met, a positive number the
order in which a depth-first search met it, -1 a node that no fair run visits for ever, and from
`INSIDE` downwards the number of the component that one does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from itertools import pairwise
from typing import NamedTuple

from proofs.core.explore import TooLarge
from proofs.core.kernels import Array, Runner
from proofs.core.webassembly import I32, I64, U8, U16
from proofs.logic.fairness import Strength
from proofs.logic.graph import Graph
from proofs.logic.tableau import Tableau
from pxp_fsm.lazy_dataclasses import dataclass

INSIDE = -2
"""The number of the first component; those of others are lower."""

LOST, FAIR, SMALLER = range(3)
"""What is found of a component: no fair run stays in it; one goes round all of it; or one may stay
in a part of it."""


def components(  # noqa: PLR0912, PLR0915 - one loop, whose parts share its stacks
    offsets: I32,
    targets: I32,
    kinds: I32,
    kept_starts: I32,
    kept: I32,
    bits: int,
    roots: I32,
    index: I32,
    path: I32,
    edges: I32,
    low: I32,
    loops: U8,
    stack: I32,
    progress: I64,
) -> int:
    """Number the strongly connected components with an edge inside that are reached from `roots`.

    (Tarjan, Depth-first search and linear graph algorithms, SIAM J. Comput. 1, 1972.) Nodes whose
    index is 0 are searched, and get the number of their component there, -1 if it has no edge
    inside. `progress` is the number of the next component, the order of the next node, and whether
    a state without an edge was met.

    `path` are the nodes from the root to where the search is, each with the next of its edges, the
    least order that it is known to lead back to, and whether it leads to itself at once. When a
    node's target has been searched, the node looks at that edge again: its target then has an
    order, if it may lead back further up, or a component. So it need not be kept which value
    of the target came last.
    """
    mask = (1 << bits) - 1
    component, met = progress[0], progress[1]
    for number in range(len(roots)):
        root = roots[number]
        if index[root] != 0:
            continue
        met += 1
        index[root] = met
        path[0], edges[0], low[0], loops[0] = root, offsets[root >> bits], met, 0
        stack[0] = root
        stacked, deep = 1, 1
        while deep > 0:
            node = path[deep - 1]
            state, value = node >> bits, node & mask
            edge, last, least = edges[deep - 1], offsets[state + 1], low[deep - 1]
            if offsets[state] == last:
                progress[2] = 1
            new = -1
            while edge < last:
                target = targets[edge]
                at = (kinds[target] << bits) + value
                for place in range(kept_starts[at], kept_starts[at + 1]):
                    code = (target << bits) + kept[place]
                    order = index[code]
                    if order == 0:
                        new = code
                        break
                    if order > 0:
                        least = min(least, order)
                        if code == node:
                            loops[deep - 1] = 1
                if new >= 0:
                    break
                edge += 1
            edges[deep - 1], low[deep - 1] = edge, least
            if new >= 0:
                met += 1
                index[new] = met
                path[deep], edges[deep], low[deep] = new, offsets[new >> bits], met
                loops[deep] = 0
                stack[stacked] = new
                stacked, deep = stacked + 1, deep + 1
                continue
            deep -= 1
            if deep > 0:
                low[deep - 1] = min(low[deep - 1], least)
            if least == index[node]:
                if stack[stacked - 1] == node and loops[deep] == 0:
                    stacked -= 1
                    index[node] = -1
                else:
                    member = -1
                    while member != node:
                        stacked -= 1
                        member = stack[stacked]
                        index[member] = INSIDE - component
                    component += 1
    progress[0], progress[1] = component, met
    return 0


def gather(
    kinds: I32, settles: I64, bits: int, index: I32, base: int, settled: I64, sizes: I32
) -> int:
    """What the nodes of each component from number `base` on settle, and how many there are."""
    mask = (1 << bits) - 1
    for node in range(len(index)):
        component = INSIDE - index[node] - base
        if index[node] <= INSIDE and component >= 0:
            settled[component] |= settles[(kinds[node >> bits] << bits) + (node & mask)]
            sizes[component] += 1
    return 0


def gather_labels(
    offsets: I32,
    targets: I32,
    kinds: I32,
    kept_starts: I32,
    kept: I32,
    bits: int,
    index: I32,
    base: int,
    labels: U16,
    enabled: U16,
    taken: U16,
    never: U16,
    ever: U16,
) -> int:
    """The labels that each component from number `base` on has on an edge inside; those that some
    node of it does not enable, and those that some node enables.
    """
    mask = (1 << bits) - 1
    for node in range(len(index)):
        own = index[node]
        component = INSIDE - own - base
        if own > INSIDE or component < 0:
            continue
        state, value = node >> bits, node & mask
        never[component] |= 0xFFFF - enabled[state]
        ever[component] |= enabled[state]
        for edge in range(offsets[state], offsets[state + 1]):
            if labels[edge] & (0xFFFF - taken[component]) == 0:
                continue  # it would add nothing
            target = targets[edge]
            at = (kinds[target] << bits) + value
            for place in range(kept_starts[at], kept_starts[at + 1]):
                if index[(target << bits) + kept[place]] == own:
                    taken[component] |= labels[edge]
    return 0


def judge(
    taken: U16, never: U16, ever: U16, weak: int, strong: int, verdicts: U8, without: U16
) -> int:
    """Take from `FAIR` components those that are unfair to a class of a word.

    Runs inside never take its edges. Weakly fair ones then have to leave the nodes that enable it,
    which they cannot where all do, nor in any part of the component. Strongly fair ones stay where
    nothing enables it: in the nodes `without` the labels.
    """
    for component in range(len(verdicts)):
        missing = 0xFFFF - taken[component]
        if verdicts[component] != LOST:
            if missing & (0xFFFF - never[component]) & weak:
                verdicts[component] = LOST
            without[component] = missing & ever[component] & strong
            if without[component] and verdicts[component] != LOST:
                verdicts[component] = SMALLER
    return 0


def leave(bits: int, index: I32, base: int, verdicts: U8, without: U16, enabled: U16) -> int:
    """Take the nodes that enable a label of `without` out of what is searched again."""
    for node in range(len(index)):
        component = INSIDE - index[node] - base
        if index[node] > INSIDE or component < 0 or verdicts[component] != SMALLER:
            continue
        if enabled[node >> bits] & without[component]:
            index[node] = -1
    return 0


def sift(index: I32, base: int, verdicts: U8, again: I32) -> int:
    """Keep what is fair, and collect in `again` what is searched once more; how many these are."""
    count = 0
    for node in range(len(index)):
        component = INSIDE - index[node] - base
        if index[node] <= INSIDE and component >= 0 and verdicts[component] != FAIR:
            if verdicts[component] == SMALLER:
                index[node] = 0
                again[count] = node
                count += 1
            else:
                index[node] = -1
    return count


def nearest(
    offsets: I32,
    targets: I32,
    kinds: I32,
    kept_starts: I32,
    kept: I32,
    bits: int,
    index: I32,
    ends: int,
    count: int,
    came: I32,
    queue: I32,
    level: I32,
) -> int:
    """The place in `queue` of the first node in breadth-first order that is looked for; -1 if none.

    That is one at which a run ends where `ends` is 1, else one inside a component. The first
    `count` nodes of `queue` are where the search begins. `came` is 0 for a node that was not met,
    -1 where the search begins, else the place of the node before it in the queue, plus one. Then
    `level[0]` is where the level of the node that is found ends.
    """
    mask = (1 << bits) - 1
    begin = 0
    while begin < count:
        end = count
        for place in range(begin, end):
            node = queue[place]
            state = node >> bits
            if ends:
                wanted = 1 if offsets[state] == offsets[state + 1] else 0
            else:
                wanted = 1 if index[node] <= INSIDE else 0
            if wanted:
                level[0] = end
                return place
        for place in range(begin, end):
            state, value = queue[place] >> bits, queue[place] & mask
            for edge in range(offsets[state], offsets[state + 1]):
                target = targets[edge]
                at = (kinds[target] << bits) + value
                for k in range(kept_starts[at], kept_starts[at + 1]):
                    code = (target << bits) + kept[k]
                    if came[code] == 0:
                        came[code] = place + 1
                        queue[count] = code
                        count += 1
        begin = end
    return -1


def number_members(index: I32, component: int, members: I32) -> int:
    """Collect the nodes of a component in `members`; their index is then their place, plus one."""
    count = 0
    for node in range(len(index)):
        if index[node] == INSIDE - component:
            members[count] = node
            count += 1
            index[node] = count
    return count


def walk(
    offsets: I32,
    targets: I32,
    kinds: I32,
    kept_starts: I32,
    kept: I32,
    bits: int,
    settles: I64,
    index: I32,
    members: I32,
    labels: U16,
    enabled: U16,
    start: int,
    wanted: int,
    wide: int,
    label: int,
    settled: int,
    came_edges: I32,
    came_places: I32,
    queue: I32,
    ending: I32,
) -> int:
    """A shortest walk inside a component; how many places were met, negative where there is none.

    A place is a member with what has been settled since the start, `wide` bits of it. The walk
    leaves the member `start`. It ends with an edge to the member `wanted` where that is not
    negative, and then all of the `wide` bits have been settled on it; else with an edge that has a
    label of `label`, or out of a node that settles `settled` or (where that is -1) does not enable
    `label`. `came_edges` and `came_places` say by which edge and from which place each was reached
    (the edge plus one; 0 where it was not, -1 at the start), `ending` by which edge the walk ends,
    from which place and at which member. `queue` are the places that were met.
    """
    mask, everything = (1 << bits) - 1, (1 << wide) - 1
    node = members[start]
    queue[0] = start << wide | (settles[(kinds[node >> bits] << bits) + (node & mask)] & everything)
    came_edges[queue[0]] = -1
    count, done = 1, 0
    while done < count:
        place = queue[done]
        done += 1
        node, here = members[place >> wide], place & everything
        state, value = node >> bits, node & mask
        own = settles[(kinds[state] << bits) + value]
        for edge in range(offsets[state], offsets[state + 1]):
            target = targets[edge]
            at = kinds[target] << bits
            for k in range(kept_starts[at + value], kept_starts[at + value + 1]):
                member = index[(target << bits) + kept[k]] - 1
                # Another component may have been numbered too: the number alone is no proof.
                if member < 0 or member >= len(members):
                    continue
                if members[member] != (target << bits) + kept[k]:
                    continue
                reached = here | settles[at + kept[k]] & everything
                if wanted >= 0:
                    ends = 1 if member == wanted and reached == everything else 0
                elif settled > 0:
                    ends = 1 if own & settled else 0
                else:
                    ends = 1 if labels[edge] & label else 0
                    if settled < 0 and enabled[state] & label == 0:
                        ends = 1
                if ends:
                    ending[0], ending[1], ending[2] = edge, place, member
                    return count
                then = member << wide | reached
                if came_edges[then] == 0:
                    came_edges[then], came_places[then] = edge + 1, place
                    queue[count] = then
                    count += 1
    return -count


def begin(
    states: I32, kinds: I32, starting_starts: I32, starting: I32, bits: int, nodes: I32
) -> int:
    """Put the nodes of `states` in which the formula holds into `nodes`; how many there are."""
    count = 0
    for number in range(len(states)):
        state = states[number]
        for k in range(starting_starts[kinds[state]], starting_starts[kinds[state] + 1]):
            nodes[count] = (state << bits) + starting[k]
            count += 1
    return count


def mark_good(offsets: I32, bits: int, index: I32, finite: int, infinite: int, good: U8) -> int:
    """Mark the nodes at which a run ends, and those inside a component, as far as they count."""
    for node in range(len(good)):
        state = node >> bits
        if infinite and index[node] <= INSIDE:
            good[node] = 1
        if finite and offsets[state] == offsets[state + 1] and state << bits == node:
            good[node] = 1
    return 0


def lead_to(
    starts: I32,
    sources: I32,
    kinds: I32,
    before_starts: I32,
    before: I32,
    bits: int,
    good: U8,
    left: I32,
) -> int:
    """Spread the marks to all nodes from which a marked one is reached.

    The edges of the graph are turned round; `before` are the values that a kind and a value may
    follow.
    """
    mask = (1 << bits) - 1
    waiting, done = 0, 0
    for node in range(len(good)):
        if good[node]:
            left[waiting] = node
            waiting += 1
    while done < waiting:
        state = left[done] >> bits
        at = (kinds[state] << bits) + (left[done] & mask)
        done += 1
        for k in range(before_starts[at], before_starts[at + 1]):
            value = before[k]
            for place in range(starts[state], starts[state + 1]):
                code = (sources[place] << bits) + value
                if not good[code]:
                    good[code] = 1
                    left[waiting] = code
                    waiting += 1
    return waiting


def mark_following(offsets: I32, targets: I32, kinds: I32, many: int, follows: U8) -> int:
    """Mark which of so many kinds some state has after one of a kind."""
    for state in range(len(kinds)):
        for edge in range(offsets[state], offsets[state + 1]):
            follows[kinds[state] * many + kinds[targets[edge]]] = 1
    return 0


def choose(kinds: I32, starting_starts: I32, starting: I32, bits: int, good: U8, result: U8) -> int:
    """For each state whether the formula holds in some marked node of it."""
    for state in range(len(result)):
        for k in range(starting_starts[kinds[state]], starting_starts[kinds[state] + 1]):
            if good[(state << bits) + starting[k]]:
                result[state] = 1
    return 0


class StateKind(NamedTuple):
    """What is true of the tableau's atoms in a state, and whether a run ends there."""

    ended: bool
    known: tuple[bool, ...]


@dataclass(frozen=True)
class Moves:
    """A formula's automaton, as far as the kinds of a graph lead, in tables.

    `starting` are for each kind the values in which the formula holds; `following` for each kind
    and value those that may come after it in a state of the kind; `settles` for each kind and value
    a bit for each of `wide` promises, whether it is not waiting there.
    """

    bits: int
    wide: int
    starting: Sequence[Sequence[int]]
    following: Sequence[Mapping[int, Sequence[int]]]
    settles: Callable[[int, int], int]


def exactly(tableau: Tableau, kinds: Sequence[StateKind]) -> Moves:
    """The automaton whose values are valuations of a tableau."""
    starting, following = list[list[int]](), list[dict[int, list[int]]]()
    for ended, known in kinds:
        starting.append([])
        following.append({})
        here: Sequence[int | None] = [None] if ended else tableau.valuations
        for valuation in here:
            previous = tableau.kept(known, valuation)
            following[-1].setdefault(previous, []).append(valuation or 0)
            if tableau.holds(known, valuation):
                starting[-1].append(valuation or 0)

    def settles(kind: int, value: int) -> int:
        ended, known = kinds[kind]
        return 0 if ended else tableau.settled(known, value)

    return Moves(len(tableau.choices), len(tableau.waiting), starting, following, settles)


LARGEST_AUTOMATON = 10_000
"""States of a formula's automaton for which there are tables."""

MOST_WAITING = 62
"""How many promises may be put off: each has a bit of an integer."""


def at_least(
    tableau: Tableau, kinds: Sequence[StateKind], follows: Callable[[int], Sequence[int]]
) -> Moves:
    """The automaton whose values are numbers of ways to meet a tableau's duties; 0 is the end.

    It is worked out for the kinds that may come after each, which `follows` gives. Raises
    `TooLarge`.
    """
    promised = len(tableau.promised)
    first, numbers = tableau.duties(tableau.first), {-1: 0}
    values = [-1]

    def number(way: int) -> int:
        if way not in numbers:
            numbers[way] = len(values)
            values.append(way)
            if len(values) > LARGEST_AUTOMATON:
                raise TooLarge(
                    f"the formula's automaton has more than {LARGEST_AUTOMATON:,} states"
                )
        return numbers[way]

    def met(duties: int, kind: int) -> list[int]:
        ended, known = kinds[kind]
        if ended:
            return [0] if tableau.met_at_the_end(duties, known) else []
        return [number(way) for way in tableau.ways(duties, known)]

    starting = [met(first, kind) for kind in range(len(kinds))]
    following: list[dict[int, list[int]]] = [{} for _ in kinds]
    left = [(kind, value) for kind, begun in enumerate(starting) for value in begun]
    seen = set(left)
    while left:
        kind, value = left.pop()
        if kinds[kind].ended:
            continue
        for then in follows(kind):
            if value not in following[then]:
                following[then][value] = met(values[value] & (1 << promised) - 1, then)
            for target in following[then][value]:
                if (then, target) not in seen:
                    seen.add((then, target))
                    left.append((then, target))
    # A promise that is never put off needs no bit.
    put_off = 0
    for way in values[1:]:
        put_off |= way >> promised
    waiting = [bit for bit in range(len(tableau.untils)) if put_off >> bit & 1]
    if len(waiting) > MOST_WAITING:
        raise TooLarge(
            f"{len(waiting)} different U, F and M may be put off for ever, and at most "
            f"{MOST_WAITING} are checked"
        )

    def settles(_kind: int, value: int) -> int:
        if not 0 < value < len(values):  # the end, or no state
            return 0
        waits = values[value] >> promised
        return sum((not waits >> bit & 1) << place for place, bit in enumerate(waiting))

    bits = (len(values) - 1).bit_length()
    return Moves(bits, len(waiting), starting, following, settles)


class FoundRun(NamedTuple):
    """A run of the graph: where it starts, its edges, and how many of the last repeat for ever."""

    start: int
    edges: tuple[int, ...]
    cycle: int


class FairnessTask(NamedTuple):
    """What a fair cycle has to meet: an edge with a label, a node that does not enable it (where
    `settles` is -1), or one that settles something.
    """

    word: int = 0
    label: int = 0
    settles: int = 0


class CycleStep(NamedTuple):
    """A step of a cycle: a node, and the edge of the graph by which it is left."""

    node: int
    edge: int


SHORTEST = 12
"""With how many promises that may be put off a cycle is a shortest one."""

LARGEST = (1 << 31) - 1
"""The highest number of a node."""


@dataclass
class Product:
    """`graph` times an automaton; `kinds` are the numbers of so `many` kinds, for each state."""

    graph: Graph
    moves: Moves
    kinds: Array
    many: int
    _taken: list[tuple[int, list[Array]]] = field(default_factory=list)
    _sizes: list[int] = field(default_factory=list)
    _is_recurring: bool = False

    def __post_init__(self) -> None:
        runner, moves = self.graph.runner, self.moves
        self._bits, self._wide = moves.bits, moves.wide
        self.nodes = self.graph.states << self._bits
        if self.nodes > LARGEST:
            raise TooLarge(
                f"{self.graph.states:,} states times {1 << self._bits:,} of the formula are too "
                f"many: {LARGEST:,} are searched"
            )
        kept, settles = list[Sequence[int]](), list[int]()
        before = list[list[int]]()
        for kind in range(self.many):
            following = moves.following[kind]
            before += [[] for _ in range(1 << self._bits)]
            for value in range(1 << self._bits):
                kept.append(following.get(value, ()))
                settles.append(moves.settles(kind, value))
                for then in kept[-1]:
                    before[(kind << self._bits) + then].append(value)
        kept_starts, self._before = _rows(runner, kept), _rows(runner, before)
        self._settles = runner.put("q", settles)
        self._starting = _rows(runner, moves.starting)
        self._edges = (
            self.graph.offsets, self.graph.targets, self.kinds, *kept_starts, self._bits,
        )  # fmt: skip
        self._index = runner.new("i", 0)

    def starting(self, states: Sequence[int]) -> Array:
        """The nodes in which the formula holds, of these states."""
        runner, (begins, _) = self.graph.runner, self._starting
        most = max(end - at for at, end in pairwise(begins))
        nodes, own = runner.new("i", len(states) * most), runner.put("i", states)
        return nodes[: runner.run(begin, own, self.kinds, *self._starting, self._bits, nodes)]

    def search(self, roots: Array) -> bool:
        """Number the components that a fair run visits for ever, of what is reached from `roots`;
        whether a state in which a run ends is reached.

        A component that is unfair as a whole is searched again without the nodes that a fair run
        inside it has to leave. It gets smaller each time, so that this ends.
        """
        runner, progress = self.graph.runner, self.graph.runner.new("q", 3)
        self._index = runner.new("i", self.nodes)
        while len(roots):
            base = progress[0]
            self._number(roots, progress)
            count = progress[0] - base
            settled, sizes = runner.new("q", count), runner.new("i", count)
            runner.run(
                gather, self.kinds, self._settles, self._bits, self._index, base, settled, sizes
            )
            everything = (1 << self._wide) - 1
            verdicts = runner.put("B", (FAIR if all_ == everything else LOST for all_ in settled))
            self._sizes += sizes
            roots = self._judged(base, verdicts)
            self._is_recurring = self._is_recurring or FAIR in bytes(verdicts)
        return bool(progress[2])

    def settled(self, node: int) -> int:
        """The bits of what does not wait in `node`."""
        kind, value = self.kinds[node >> self._bits], node & (1 << self._bits) - 1
        return int(self._settles[(kind << self._bits) + value])

    def _number(self, roots: Array, progress: Array) -> None:
        runner = self.graph.runner
        stack, path, edges, low = (runner.new("i", self.nodes) for _ in range(4))
        loops = runner.new("B", self.nodes)
        runner.run(
            components, *self._edges, roots, self._index, path, edges, low, loops, stack, progress
        )
        for unused in (loops, low, edges, path, stack):
            runner.release(unused)

    def _judged(self, base: int, verdicts: Array) -> Array:
        """Keep the components that are fair; the nodes that are searched again."""
        runner, graph = self.graph.runner, self.graph
        withouts, takens = list[Array](), list[Array]()
        for word, labels in enumerate(graph.labels):
            taken, never, ever, without = (runner.new("H", len(verdicts)) for _ in range(4))
            runner.run(
                gather_labels, *self._edges, self._index, base, labels, graph.enabled[word],
                taken, never, ever,
            )  # fmt: skip
            weak, strong = (
                sum(
                    fair_class.bit
                    for fair_class in graph.classes
                    if (fair_class.word, fair_class.strength) == (word, how)
                )
                for how in (Strength.WEAK, Strength.STRONG)
            )
            runner.run(judge, taken, never, ever, weak, strong, verdicts, without)
            withouts.append(without)
            takens.append(taken)
        self._taken.append((base, takens))
        sizes = zip(self._sizes[base:], verdicts, strict=True)
        again = runner.new("i", sum(size for size, verdict in sizes if verdict == SMALLER))
        if len(again):
            for without, enabled in zip(withouts, graph.enabled, strict=True):
                runner.run(leave, self._bits, self._index, base, verdicts, without, enabled)
        return again[: runner.run(sift, self._index, base, verdicts, again)]

    def live(self, roots: Array, *, finite: bool, infinite: bool) -> Array:
        """For each node a 1 where a run that counts leads on from it, as far as `roots` lead."""
        runner, graph = self.graph.runner, self.graph
        self._index = runner.new("i", self.nodes)
        if infinite:
            self.search(roots)
        good, left = runner.new("B", self.nodes), runner.new("i", self.nodes)
        runner.run(
            mark_good, graph.offsets, self._bits, self._index, int(finite), int(infinite), good
        )
        runner.run(lead_to, *graph.backwards, self.kinds, *self._before, self._bits, good, left)
        runner.release(left)
        return good

    def satisfying(self, *, finite: bool, infinite: bool) -> Array:
        """For each state a 1 where the formula holds of a run from it, of those that count."""
        runner, graph = self.graph.runner, self.graph
        good = self.live(self.starting(range(graph.states)), finite=finite, infinite=infinite)
        result = runner.new("B", graph.states)
        runner.run(choose, self.kinds, *self._starting, self._bits, good, result)
        return result

    def run_of(self, starts: Sequence[int], *, finite: bool, infinite: bool) -> FoundRun | None:
        """A run from `starts` that counts and satisfies the formula: a shortest one that ends; else
        one with a shortest stem, and then a shortest cycle where nothing has to be fair.
        """
        roots = self.starting(starts)
        ends = self.search(roots) if infinite else finite
        if finite and ends:
            level = self._nearest(roots, ends=True)
            if level is not None:
                return FoundRun(*level.path(self.graph, self._bits, level.place), 0)
        if not infinite or not self._is_recurring:
            return None
        level = self._nearest(roots, ends=False)
        if level is None:
            raise AssertionError("a component is reached")
        return self._lasso(level)

    def _nearest(self, roots: Array, *, ends: bool) -> _Level | None:
        """The first node at which a run ends, or that is in a component."""
        runner = self.graph.runner
        came, queue = runner.new("i", self.nodes), runner.new("i", self.nodes)
        level = runner.new("i", 1)
        queue[: len(roots)] = roots
        for root in roots:
            came[root] = -1
        place = runner.run(
            nearest, *self._edges, self._index, int(ends), len(roots), came, queue, level
        )
        return None if place < 0 else _Level(came, queue, place, level[0])

    def _lasso(self, level: _Level) -> FoundRun:
        """The shortest of the cycles through the nodes of a level, and the way there."""
        places = [
            place
            for place in range(level.place, level.end)
            if self._index[level.queue[place]] <= INSIDE
        ]
        numbers = [INSIDE - self._index[level.queue[place]] for place in places]
        walkers = dict[int, _Walker]()
        best: tuple[int, list[CycleStep]] | None = None
        for place, component in zip(places, numbers, strict=True):
            if component not in walkers:
                walkers[component] = _Walker(self, component)
            cycle = walkers[component].cycle(level.queue[place])
            if best is None or len(cycle) < len(best[1]):
                best = place, cycle
            if len(cycle) == 1:
                break
        if best is None:
            raise AssertionError("a component has a cycle")
        start, stem = level.path(self.graph, self._bits, best[0])
        return FoundRun(start, (*stem, *(step.edge for step in best[1])), len(best[1]))


def _rows(runner: Runner, rows: Iterable[Sequence[int]]) -> tuple[Array, Array]:
    """Where each row begins, and the last one ends, among the entries of all; and these."""
    begins, entries = [0], list[int]()
    for row in rows:
        entries += row
        begins.append(len(entries))
    return runner.put("i", begins), runner.put("i", entries)


@dataclass(frozen=True)
class _Level:
    """Where a search breadth first came: the node at `place` of `queue` is the first that was
    looked for, and its level ends before `end`.
    """

    came: Array
    queue: Array
    place: int
    end: int

    def path(self, graph: Graph, bits: int, place: int) -> tuple[int, tuple[int, ...]]:
        """Where a shortest run to the node at `place` starts, and its edges."""
        states = [self.queue[place] >> bits]
        while (place := self.came[self.queue[place]] - 1) >= 0:
            states.append(self.queue[place] >> bits)
        return states[-1], tuple(graph.edges_along(states[::-1]))


class _Walker:
    """Walks inside a component of a product."""

    def __init__(self, product: Product, component: int) -> None:
        self._product, self._component = product, component
        self._runner = product.graph.runner
        self._members = self._runner.new("i", product._sizes[component])
        self._runner.run(number_members, product._index, component, self._members)
        room = len(self._members) << (product._wide if product._wide <= SHORTEST else 0)
        self._edges, self._places, self._queue = (self._runner.new("i", room) for _ in range(3))
        self._ending = self._runner.new("i", 3)
        self._none = self._runner.new("H", 0)

    def cycle(self, node: int) -> list[CycleStep]:
        """A cycle through `node` that waits for nothing and is fair."""
        start = self._product._index[node] - 1
        if self._product._wide <= SHORTEST:
            shortest, _ = self._walk(start, FairnessTask(), start, self._product._wide)
            if self._is_fair(shortest):
                return shortest
        tour, here = list[CycleStep](), start
        for task in self._tasks():
            if not any(self._meets(task, step) for step in tour):
                steps, here = self._walk(here, task)
                tour += steps
        if here != start or not tour:
            tour += self._walk(here, FairnessTask(), start)[0]
        return tour

    def _walk(
        self, start: int, task: FairnessTask, wanted: int = -1, wide: int = 0
    ) -> tuple[list[CycleStep], int]:
        """A shortest walk from a member that meets the task, or leads to `wanted`; and its end."""
        product, graph = self._product, self._product.graph
        labels, enabled = self._none, self._none
        if graph.labels:
            labels, enabled = graph.labels[task.word], graph.enabled[task.word]
        count = self._runner.run(
            walk, *product._edges, product._settles, product._index, self._members, labels, enabled,
            start, wanted, wide, task.label, task.settles, self._edges, self._places, self._queue,
            self._ending,
        )  # fmt: skip
        edge, place, end = self._ending
        steps = [CycleStep(self._members[place >> wide], edge)]
        while (edge := self._edges[place] - 1) >= 0:
            place = self._places[place]
            steps.append(CycleStep(self._members[place >> wide], edge))
        for met in self._queue[: abs(count)]:
            self._edges[met] = 0
        if count < 0:
            raise AssertionError("a fair component meets every task")
        return steps[::-1], end

    def _tasks(self) -> Iterator[FairnessTask]:
        """What a cycle has to meet, so that it waits for nothing and is fair."""
        product = self._product
        base, taken = next(
            (base, taken) for base, taken in reversed(product._taken) if base <= self._component
        )
        for bit in range(product._wide):
            yield FairnessTask(settles=1 << bit)
        for fair_class in product.graph.classes:
            if fair_class.strength is Strength.WEAK:
                yield FairnessTask(fair_class.word, fair_class.bit, settles=-1)
            elif taken[fair_class.word][self._component - base] & fair_class.bit:
                yield FairnessTask(fair_class.word, fair_class.bit)

    def _meets(self, task: FairnessTask, step: CycleStep) -> bool:
        graph, state = self._product.graph, step.node >> self._product._bits
        if task.settles > 0:
            return bool(self._product.settled(step.node) & task.settles)
        if graph.labels[task.word][step.edge] & task.label:
            return True
        return task.settles < 0 and not graph.enabled[task.word][state] & task.label

    def _is_fair(self, cycle: Sequence[CycleStep]) -> bool:
        graph = self._product.graph
        for fair_class in graph.classes:
            labels, enabled = graph.labels[fair_class.word], graph.enabled[fair_class.word]
            if any(labels[step.edge] & fair_class.bit for step in cycle):
                continue
            can = [enabled[step.node >> self._product._bits] & fair_class.bit for step in cycle]
            if all(can) if fair_class.strength is Strength.WEAK else any(can):
                return False
        return True
