"""Whether some run satisfies a formula of LTL, whatever the propositions do; and such a run.

The automaton of the formula's obligations is searched depth first, as far as need be, for an end or
for a strongly connected component in which nothing waits for ever (Couvreur, On-the-fly
verification of linear temporal logic, FM 1999). Its steps are found by a solver, from clauses that
say what the parts of the formula demand (Li, Zhu, Pu and Vardi, SAT-based explicit LTL reasoning,
HVC 2015): so propositions are never enumerated, and what has been refuted once is never met again.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field
from itertools import pairwise

from proofs.core.explore import TooLarge
from proofs.core.satisfiability import Solver
from proofs.logic.formulas import Atom, Formula
from proofs.logic.past import history_of
from proofs.logic.tableau import FALSE, TRUE, PartKind, Tableau
from pxp_fsm.lazy_dataclasses import dataclass

Letter = frozenset[str]
"""The propositions that are true in a state."""


@dataclass(frozen=True)
class WitnessRun:
    """A run that satisfies a formula: its states, of which the last `cycle` repeat for ever."""

    states: tuple[Letter, ...]
    cycle: int


@dataclass(slots=True)
class _Node:
    """A state of the automaton on the way of the search: at least `duties` must hold.

    It has an order, and the order of the node before; `letter` is what was true there. `guard`
    switches on the clauses that block steps of this node alone, `literals` are its duties. An edge
    is the order of its target, what it settles, and what is true. `asked` is whether a step was
    looked for; `refuted`, whether a clause says that its duties, or some of them, lead nowhere;
    `cannot_end` are duties because of which no run ends here.
    """

    duties: int
    order: int
    guard: int
    literals: list[int]
    came: int
    letter: Letter
    edges: list[tuple[int, int, Letter]] = field(default_factory=list)
    asked: bool = False
    refuted: bool = False
    cannot_end: frozenset[int] = frozenset()


@dataclass(slots=True)
class _Root:
    """A component of nodes on the way: the order of its first, what is settled by its edges, and by
    the edge that leads to it.
    """

    order: int
    arc: int
    settled: int


_PATIENCE = 5_000
"""Conflicts of the solver between two looks at the clock."""

_NEAREST = 3
"""To how many components, the latest first, a step back is tried."""

_UNROLL_AFTER, _LENGTHS = 60, (4, 8, 16, 32)
"""After how many nodes lassos with so many states are looked for: the search may be far from one
that is near.
"""

_GUARDS = 1 << 20
"""How many nodes a search may have."""


class _Search:
    """A search for a run that satisfies the formula of a tableau.

    Why nothing is missed: a step is blocked where one was taken from the same node that leaves no
    more duties and settles no less, and then the run goes on after that one too; or where it leads
    to duties from which no run leads on, which the clauses of `_refute` say of every set that
    contains them. Such clauses are added when a component without a way out is left (`_close`), or
    when the solver proves a node's duties to be impossible without a clause of that node alone.
    """

    def __init__(self, tableau: Tableau, *, finite: bool, infinite: bool, seconds: float) -> None:
        self._own, self._finite, self._infinite = tableau, finite, infinite
        self._seconds, self._until = seconds, time.process_time() + seconds
        names = len(tableau.atoms) + len(tableau.parts) + len(tableau.promised) + 2
        self._solver = Solver(names, _GUARDS)
        self._guards, self._unrolling = names, names + _UNROLL_AFTER
        self._end = 2 * (names - 1)
        self._holds = _literals(tableau, 1)
        first = len(tableau.atoms) + len(tableau.parts) + 1
        self._promise = {p: 2 * (first + bit) for bit, p in enumerate(tableau.promised)}
        self._until_bits = {number: bit for bit, number in enumerate(tableau.untils)}
        self._everything = (1 << len(tableau.untils)) - 1
        for literal in self._promise.values():
            self._solver.keep(literal >> 1, 1)
        _write(self._solver.add, tableau, self._holds, self._promise, self._end)

    def run(self) -> WitnessRun | None:
        """A run, or None if there is none."""
        self._live: dict[int, int] = {}
        self._nodes: list[_Node] = []
        self._roots: list[_Root] = []
        frames = [self._push(self._own.duties(self._own.first), -1, frozenset(), 0)]
        while frames:
            if time.process_time() > self._until:
                raise TooLarge(f"no answer within {self._seconds:g} seconds of CPU time")
            node = frames[-1]
            if self._infinite and self._guards == self._unrolling:
                self._unrolling = 0
                for length in _LENGTHS:
                    short = short_lasso(self._own, length)
                    if short is not None:
                        return short
            if self._finite and not node.asked and self._ends(node):
                return WitnessRun((*self._way(node.order), self._letter()), 0)
            way = self._step(node)
            if way is None:
                frames.pop()
                if self._roots[-1].order == node.order:
                    self._close(node)
                    if frames:  # its edge was the latest; the number of the node is given anew
                        frames[-1].edges.pop()
                continue
            duties, settled, letter = way
            target = self._live.get(duties)
            if target is None:
                frames.append(self._push(duties, node.order, letter, settled))
                node.edges.append((frames[-1].order, settled, letter))
            else:
                node.edges.append((target, settled, letter))
                if self._merge(target, settled):
                    return self._lasso(self._roots[-1].order)
            self._block(node, duties, settled)
        return None

    def _push(self, duties: int, came: int, letter: Letter, arc: int) -> _Node:
        order = len(self._nodes)
        self._guards += 1
        if self._guards - 1 >= self._solver.variables:
            raise TooLarge(f"more than {_GUARDS:,} states of its automaton")
        literals = [self._holds[n] for n in self._own.members(duties)]
        node = _Node(duties, order, 2 * self._guards, literals, came, letter)
        self._nodes.append(node)
        self._live[duties] = order
        self._roots.append(_Root(order, arc, 0))
        return node

    def _solve(self, assumed: Sequence[int], wished: Sequence[int] = ()) -> bool:
        while True:
            answer = self._solver.solve(assumed, wished, _PATIENCE)
            if answer is not None:
                return answer
            if time.process_time() > self._until:
                raise TooLarge(f"no answer within {self._seconds:g} seconds of CPU time")

    def _ends(self, node: _Node) -> bool:
        """Whether a run may end in a node."""
        if self._solve([*node.literals, self._end]):
            return True
        node.cannot_end = frozenset(self._solver.core) - {self._end}
        return False

    def _letter(self) -> Letter:
        return frozenset(
            atom.name
            for place, atom in enumerate(self._own.atoms)
            if isinstance(atom, Atom) and self._solver.true(2 * (place + 1))
        )

    def _step(self, node: _Node) -> tuple[int, int, Letter] | None:
        """Another step out of a node: its obligations then, what it settles, what is true."""
        base = [*node.literals, self._end ^ 1, node.guard]
        # What waits is wished to be settled: first what the component has not settled yet.
        missing = self._everything & ~self._roots[-1].settled
        waiting = [
            number
            for number in self._own.members(node.duties)
            if self._own.parts[number].kind is PartKind.UNTIL
        ]
        waiting.sort(key=lambda number: not missing >> self._until_bits[number] & 1)
        wished = [self._holds[self._own.parts[number].right] for number in waiting]
        # Then that what is true stays so: where nothing else is asked for, duties recur soon.
        wished += [
            2 * (place + 1) + (getattr(atom, "name", "") not in node.letter)
            for place, atom in enumerate(self._own.atoms)
        ]
        if self._infinite and not node.asked:
            node.asked = True
            closing = self._closing(node, base, wished)
            if closing is not None:
                return closing
        node.asked = True
        if self._solve(base, wished):
            return self._taken(node)
        core = {*self._solver.core}
        if node.guard not in core:
            self._refute({*core, *node.cannot_end}, node)
        return None

    def _closing(
        self, node: _Node, base: list[int], wished: list[int]
    ) -> tuple[int, int, Letter] | None:
        """A step back: to a node on the way that has all duties that are left, and perhaps more.

        Any run from there meets them too. So a component is found before a set of duties recurs.
        """
        for root in self._roots[: -_NEAREST - 1 : -1]:
            target = self._nodes[root.order]
            outside = [
                literal ^ 1
                for part, literal in self._promise.items()
                if not target.duties >> self._own.bits[part] & 1
            ]
            if self._solve([*base, *outside], wished):
                _, settled, letter = self._taken(node)
                return target.duties, settled, letter
        return None

    def _taken(  # noqa: PLR0912 - one case for each kind of part
        self, node: _Node
    ) -> tuple[int, int, Letter]:
        """The step that the solver found, with no more promises than it takes.

        What waits is a duty of this node. What is promised for another reason is one of the next,
        and waits from there on: a run that comes back here has met it before.
        """
        own, true, holds = self._own, self._solver.true, self._holds
        needed, duties, waits = set[int](), 0, 0
        left, later = self._own.members(node.duties), list[int]()
        while left or later:
            if left:
                number = left.pop()
            else:
                number = later.pop()
                part = own.parts[number]
                pair = part.left, part.right
                if any(
                    index in needed
                    or (own.parts[index].kind is PartKind.LITERAL and true(holds[index]))
                    for index in pair
                ):
                    number = TRUE
                else:
                    number = part.left if true(holds[part.left]) else part.right
            part = own.parts[number]
            if number in needed:
                part = own.parts[TRUE]
            needed.add(number)
            match part.kind:
                case PartKind.AND:
                    left += (part.left, part.right)
                case PartKind.OR:
                    later.append(number)
                case PartKind.NEXT | PartKind.WEAK_NEXT:
                    duties |= 1 << own.bits[part.left]
                case PartKind.UNTIL:
                    if true(holds[part.right]):
                        left.append(part.right)
                    else:
                        left.append(part.left)
                        duties |= 1 << own.bits[number]
                        waits |= 1 << self._until_bits[number]
                case PartKind.RELEASE:
                    left.append(part.right)
                    if true(holds[part.left]):
                        left.append(part.left)
                    else:
                        duties |= 1 << own.bits[number]
        return duties, self._everything & ~waits, self._letter()

    def _block(self, node: _Node, duties: int, settled: int) -> None:
        """No step again to as many obligations that settles no more."""
        clause = [node.guard ^ 1]
        for number in self._own.members(duties):
            clause.append(self._promise[number] ^ 1)
            if number in self._until_bits and not settled >> self._until_bits[number] & 1:
                clause.append(self._holds[self._own.parts[number].right])
        self._solver.add(clause)

    def _merge(self, target: int, settled: int) -> bool:
        """Join the components from a node on; whether nothing waits in the result."""
        while self._roots[-1].order > target:
            root = self._roots.pop()
            settled |= root.settled | root.arc
        self._roots[-1].settled |= settled
        return self._infinite and self._roots[-1].settled == self._everything

    def _close(self, node: _Node) -> None:
        """No run leads on from the nodes of the last component."""
        self._roots.pop()
        while len(self._nodes) > node.order:
            member = self._nodes.pop()
            del self._live[member.duties]
            if not member.refuted:
                self._refute({*member.literals}, member)

    def _refute(self, core: set[int], node: _Node) -> None:
        """Promise no more together what a core of a node's obligations is."""
        clause = [
            self._promise[number] ^ 1
            for number in self._own.members(node.duties)
            if self._holds[number] in core and number in self._promise
        ]
        if len(clause) == len(core & {*node.literals}):
            node.refuted = True
            self._solver.add(clause)

    def _way(self, order: int) -> list[Letter]:
        """What is true before a node, from the beginning."""
        letters = list[Letter]()
        while order > 0:
            letters.append(self._nodes[order].letter)
            order = self._nodes[order].came
        return letters[::-1]

    def _lasso(self, root: int) -> WitnessRun:
        """The way to a component, and a tour through it that settles everything."""
        stem, cycle, here, settled = self._way(root), list[Letter](), root, 0
        while settled != self._everything or here != root or not cycle:
            done = settled == self._everything
            steps = self._walk(here, root, settled, home=done)
            for target, gained, letter in steps:
                cycle.append(letter)
                settled |= gained
                here = target
        return WitnessRun((*stem, *cycle), len(cycle))

    def _walk(
        self, start: int, root: int, settled: int, *, home: bool
    ) -> list[tuple[int, int, Letter]]:
        """A shortest walk from a node to the root, or to settle more."""
        came: dict[int, tuple[int, tuple[int, int, Letter]]] = {}
        level, seen = [start], {start}
        while level:
            following = list[int]()
            for order in level:
                for edge in self._nodes[order].edges:
                    if edge[0] < root:
                        continue
                    if (home and edge[0] == root) or (not home and edge[1] & ~settled):
                        steps, back = [edge], order
                        while back != start:
                            back, before = came[back]
                            steps.append(before)
                        return steps[::-1]
                    if edge[0] not in seen:
                        seen.add(edge[0])
                        came[edge[0]] = (order, edge)
                        following.append(edge[0])
            level = following
        raise AssertionError("a component is strongly connected")


def _write(
    add: Callable[[Iterable[int]], None],
    tableau: Tableau,
    holds: Sequence[int],
    promise: Mapping[int, int],
    end: int,
) -> None:
    """The clauses of the relation at a state: a part that is to hold, and what that demands.

    `holds` and `promise` are the literals of parts in the state and in the next, `end` the one
    that there is none.
    """
    for number in tableau.reached:
        part, own = tableau.parts[number], holds[number]
        match part.kind:
            case PartKind.LITERAL:
                pass
            case PartKind.TRUE:
                add((own,))
            case PartKind.FALSE:
                add((own ^ 1,))
            case PartKind.AND:
                add((own ^ 1, holds[part.left]))
                add((own ^ 1, holds[part.right]))
            case PartKind.OR:
                add((own ^ 1, holds[part.left], holds[part.right]))
            case PartKind.NEXT:
                add((own ^ 1, promise[part.left]))
                add((own ^ 1, end ^ 1))
            case PartKind.WEAK_NEXT:
                add((own ^ 1, promise[part.left], end))
            case PartKind.UNTIL:
                add((own ^ 1, holds[part.right], holds[part.left]))
                add((own ^ 1, holds[part.right], promise[number]))
                add((own ^ 1, holds[part.right], end ^ 1))
            case PartKind.RELEASE:
                add((own ^ 1, holds[part.right]))
                add((own ^ 1, holds[part.left], promise[number], end))


def _literals(tableau: Tableau, first: int) -> list[int]:
    """The literals of the parts in a state; atoms and parts get variables from `first` on."""
    count = len(tableau.atoms)
    return [
        2 * (first + part.left) + part.right
        if part.kind is PartKind.LITERAL
        else 2 * (first + count + number)
        for number, part in enumerate(tableau.parts)
    ]


def short_lasso(tableau: Tableau, length: int) -> WitnessRun | None:
    """A lasso with so many states, if the solver finds one soon (Biere and others, TACAS 1999)."""
    width = len(tableau.atoms) + len(tableau.parts)
    end = 1 + (length + 1) * width
    solver = Solver(end + length)
    solver.add((2 * end + 1,))
    states = [_literals(tableau, 1 + place * width) for place in range(length + 1)]
    for holds, later in pairwise(states):
        promise = {number: later[number] for number in tableau.promised}
        _write(solver.add, tableau, holds, promise, 2 * end)
    back = [2 * (end + 1 + place) for place in range(length)]
    solver.add(back)
    for place, chosen in enumerate(back):
        # What is promised after the last state holds in the one to which the lasso goes back.
        for number in tableau.promised:
            solver.add((chosen ^ 1, states[-1][number] ^ 1, states[place][number]))
        for number in tableau.untils:
            right = tableau.parts[number].right
            ends = (holds[right] for holds in states[place:-1])
            solver.add((chosen ^ 1, states[-1][number] ^ 1, *ends))
    if not solver.solve((states[0][tableau.first],), (), _PATIENCE):
        return None
    letters = [
        frozenset(
            atom.name
            for number, atom in enumerate(tableau.atoms)
            if isinstance(atom, Atom) and solver.true(2 * (1 + place * width + number))
        )
        for place in range(length)
    ]
    cycle = length - next(place for place, chosen in enumerate(back) if solver.true(chosen))
    return WitnessRun(tuple(letters), cycle)


def satisfying_run(
    formula: Formula, *, finite: bool = False, infinite: bool = True, seconds: float = 3600
) -> WitnessRun | None:
    """A run of those that count that satisfies the formula; None where none does.

    Raises `TooLarge` where that is not known after so many seconds of CPU time.
    """
    history = history_of(formula)
    if history is not None:
        defined = history.defined()
        run = satisfying_run(defined, finite=finite, infinite=infinite, seconds=seconds)
        if run is None:
            return None
        own = frozenset(history.names)
        return WitnessRun(tuple(letter - own for letter in run.states), run.cycle)
    tableau = Tableau(formula)
    if tableau.first in (TRUE, FALSE):
        if tableau.first == FALSE:
            return None
        return WitnessRun((frozenset(),), 1 if infinite else 0)
    return _Search(tableau, finite=finite, infinite=infinite, seconds=seconds).run()
