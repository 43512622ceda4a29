"""Inductive invariants for all n and k: the possible situations of a session.

The sessions are those of `proofs.sessions.model`, with symbols in place of the numbers: messages
sent, n, k, self-loops taken. Everything else in a state is finite and kept as it is. The numbers of
a state are described by a *region*, one alternative out of each of a few `Feature`s (such as "sent
< n"). A step runs the model's own code on the symbols (`proofs.induction.numbers` splits where a
comparison can go both ways) and leads to every region that Z3 cannot exclude.

Why that is sound: the alternatives of each feature cover all numbers (checked by Z3), the cases of
a step cover its region, and a region is left out only where Z3 proves that no numbers get there.
So the nodes found cover the first state and are closed under every step, for every n and k and
every MATCH and AGREE that the theory allows: they are an inductive invariant. The converse fails:
a node may stand for no session at all, so a claim that fails on one is not proved, not refuted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from typing import NamedTuple, cast

from proofs.induction.exact import exact
from proofs.induction.numbers import Given, NumberCase, Numbers, Unknown, Whole
from proofs.sessions.model import AGENTS, SentSoFar, SessionModel, SessionState, action_of
from proofs.sessions.relational import EMPTY, Structure, Theory
from pxp_fsm.automata.actions import Blocked, Say
from pxp_fsm.automata.automaton import Automaton, Kind
from pxp_fsm.errors import UsageError
from pxp_fsm.protocol import decisions
from pxp_fsm.protocol.interfaces import Decisions
from pxp_fsm.protocol.messages import Tag
from pxp_fsm.protocol.relations import Assumption
from pxp_fsm.protocol.rules import Interact, Pxp, Rules

Values = tuple[tuple[str, Whole | int], ...]
"""The numbers that a step changes, in terms of those before it."""


# Regions: the distinctions between numbers in which the invariants are written. Each is a family of
# alternatives that together cover all whole numbers, which Z3 checks.

Region = tuple[str, ...]
"""The alternative of each feature, by name."""

OTHERS = 7
"""PXP(k): up to here, messages that take no self-loop are counted exactly."""


class Feature(NamedTuple):
    """A distinction between numbers: alternatives by name, which together cover everything."""

    name: str
    alternatives: Mapping[str, Given]


def check_coverage(numbers: Numbers, feature: Feature) -> None:
    """Raise unless every number is in some alternative: else steps could lead nowhere unseen."""
    if not numbers.covers(feature.alternatives.values()):
        raise AssertionError(f"the alternatives of {feature.name} leave numbers out")


def turn(numbers: Numbers) -> Feature:
    """How many messages were sent: exactly up to 2, then odd or even."""
    sent = numbers.named("sent")
    odd = (sent % 2).equals(1)
    ways: dict[str, Given] = {str(i): (sent.equals(i),) for i in range(3)}
    ways["odd"] = (odd, (3 - sent).at_most(0))
    ways["even"] = (odd.contrary(), (4 - sent).at_most(0))
    ways["negative"] = (sent.at_most(-1),)
    return Feature("sent", ways)


def room(numbers: Numbers) -> Feature:
    """Whether there is room for another message."""
    sent, n = numbers.named("sent"), numbers.named("n")
    below, above = sent.at_most(n - 1), n.at_most(sent - 1)
    return Feature("room", {"< n": (below,), "= n": (sent.equals(n),), "> n": (above,)})


def others(numbers: Numbers, tags: Iterable[str]) -> Feature:
    """How many of the messages took no self-loop: exactly, up to a bound."""
    taken = sum(map(numbers.named, tags), start=Whole(numbers.anything, (), 0))
    rest = numbers.named("sent") - taken
    ways: dict[str, Given] = {str(i): (rest.equals(i),) for i in range(OTHERS + 1)}
    ways["more"] = ((OTHERS + 1 - rest).at_most(0),)
    ways["negative"] = (rest.at_most(-1),)
    return Feature("others", ways)


def loops(numbers: Numbers, tags: Iterable[str]) -> tuple[Feature, ...]:
    """How often the self-loop on each tag was taken: never, at most k times, more often."""
    k = numbers.named("k")
    found = []
    for tag in tags:
        taken = numbers.named(tag)
        some = (1 - taken).at_most(0)
        ways: dict[str, Given] = {
            "0": (taken.equals(0),),
            "1..k": (some, taken.at_most(k)),
            "> k": (some, (k + 1).at_most(taken)),
            "negative": (taken.at_most(-1),),
        }
        found.append(Feature(tag, ways))
    return tuple(found)


class InvariantNode(NamedTuple):
    """The states that agree in all but numbers, and whose numbers lie in one region.

    `said` is the session so far while it begins one of the watched sequences, else None;
    `replied` is the set of tags that intelligibility counts of the responder, None if not kept.
    """

    state: SessionState
    said: tuple[Say, ...] | None
    replied: frozenset[str] | None
    region: Region


class InvariantEdge(NamedTuple):
    """A step from `source` to `target` where the numbers satisfy `case`; `values` are the new.

    There is no action where nothing is possible.
    """

    source: InvariantNode
    case: Given
    action: Say | Blocked | None
    values: Values
    target: InvariantNode


@dataclass(frozen=True)
class KeptPast:
    """What of a session's past is kept, because claims ask for it; less makes fewer nodes.

    `said` are sequences to watch for; `replied` is whether to keep the set of tags that
    the responder has sent; `data` whether to keep how the last values are related at the end;
    `others` whether to count, for PXP(k), the messages that take no self-loop. With `along`, only
    sessions that begin as it does are followed: a step that leaves it is there, and not what
    comes after. The answers of the agent `free` (0, 1) are free, whatever is assumed of them.
    """

    said: tuple[tuple[Say, ...], ...] = ()
    replied: bool = False
    data: bool = False
    others: bool = False
    along: tuple[Say, ...] = ()
    free: int | None = None


NOTHING = KeptPast()


@dataclass(frozen=True)
class SymbolicProtocol:
    """A protocol with symbols as bounds: INTERACT, PXP without bound, or PXP(k)."""

    name: str
    automaton: Callable[[], Automaton]
    rules: Callable[[NumberCase, Decisions], Rules]
    counts_loops: bool = False
    bounded: bool = False

    def theory(self, given: Theory) -> Theory:
        """What sessions of the subject may take for granted of relations that are as `given`.

        PXP never compares a value with itself: the received one is compared with one's own, and
        the new one with the received one. So nothing in a session tells a relation from the
        same with all pairs of a value and itself in it, which is reflexive, and symmetric or
        transitive or shared where the first is.
        """
        if self.bounded or not given.deterministic:
            return given
        return replace(given, assumptions=given.assumptions | {Assumption.REFLEXIVE})


def _symbol(case: NumberCase, name: str) -> int:
    return cast(int, case.named(name))


INTERACT = SymbolicProtocol(
    "interact",
    lambda: Interact().automaton,
    lambda case, functions: Interact(_symbol(case, "n"), _symbol(case, "k"), functions=functions),
    bounded=True,
)
PXP = SymbolicProtocol(
    "pxp", lambda: Pxp().automaton, lambda _case, functions: Pxp(functions=functions)
)
PXP_K = SymbolicProtocol(
    "pxp(k)",
    lambda: Pxp().automaton,
    lambda case, functions: Pxp(_symbol(case, "k"), functions=functions),
    counts_loops=True,
)


UNKEPT = (SentSoFar(), SentSoFar())
"""For what each agent has sent: the model only adds to it, so nothing depends on it."""


class _Forgotten(str):
    """A tag that the model does not look at; comparing it shows that it does."""

    __slots__ = ()
    __hash__ = str.__hash__

    def __eq__(self, other: object) -> bool:
        raise _Remembered

    def __ne__(self, other: object) -> bool:
        raise _Remembered


class _Remembered(Exception):
    """A tag that had been forgotten was looked at."""


_FORGOTTEN = _Forgotten("-")


class Invariant:
    """The nodes that a session can be in, with the edges between them, for all numbers.

    Build it with `invariant_of`. `nodes` maps each to its edges, breadth first.
    """

    def __init__(
        self,
        subject: SymbolicProtocol,
        theory: Theory,
        keep: KeptPast,
        tables: tuple[Automaton, Automaton],
        numbers: Numbers,
        functions: Decisions,
        forgets: bool,
    ) -> None:
        self.subject, self.keep = subject, keep
        self.theory = replace(subject.theory(theory), free=keep.free)
        self.tables, self.numbers = tables, numbers
        self._functions = functions
        self._forgets = forgets
        self._cases: dict[Given, tuple[Given, ...]] = {}
        self._models: dict[Given, SessionModel] = {}
        self._regions: dict[tuple[Given, Values], tuple[Region, ...]] = {}
        self.nodes: dict[InvariantNode, tuple[InvariantEdge, ...]] = {}
        self.first = tuple(self._first())
        left = dict.fromkeys(self.first)
        while left:
            node = next(iter(left))
            del left[node]
            self.nodes[node] = tuple(dict.fromkeys(self._edges(node)))
            reached = (m.target for m in self.nodes[node] if self._is_followed(m.target))
            left.update((target, None) for target in reached if target not in self.nodes)

    def _is_followed(self, node: InvariantNode) -> bool:
        return not self.keep.along or node.said is not None

    @property
    def edges(self) -> Iterator[InvariantEdge]:
        """Every edge."""
        return (edge for edges in self.nodes.values() for edge in edges)

    def given(self, region: Region) -> Given:
        """What is known of the numbers in a region."""
        chosen = zip(self.features, region, strict=True)
        return tuple(dict.fromkeys(a for f, name in chosen for a in f.alternatives[name]))

    @cached_property
    def features(self) -> tuple[Feature, ...]:
        """The distinctions; the first is the bounds that the protocol accepts."""
        found = [turn(self.numbers)]
        if self.subject.bounded:
            found.append(room(self.numbers))
        if self.keep.others and self.subject.counts_loops:
            found.append(others(self.numbers, self.loops))
        if self.subject.counts_loops:
            found += loops(self.numbers, self.loops)
        for feature in found:
            check_coverage(self.numbers, feature)
        accepted = {}
        for case, fine in self.numbers.cases((), self._accepted, {}):
            if fine:
                accepted[" and ".join(map(str, case)) or "any"] = case
        return (Feature("bounds", accepted), *found)

    def _accepted(self, case: NumberCase) -> bool:
        try:
            self.subject.rules(case, self._functions)
        except UsageError:
            return False
        return True

    @cached_property
    def loops(self) -> tuple[str, ...]:
        """The tags whose self-loops are counted: all that a table sends but INIT and TERM."""
        rows = (row for table in self.tables for row in table.transitions)
        sent = {row.label for row in rows if row.kind is Kind.SEND} - {Tag.INIT, Tag.TERM}
        return tuple(sorted(map(str, sent))) if self.subject.counts_loops else ()

    def _first(self) -> Iterator[InvariantNode]:
        zeros: Values = (("sent", 0), *((tag, 0) for tag in self.loops))
        for bounds in self.features[0].alternatives.values():
            (state,) = self._model(bounds).initial()
            for region in self._reached(bounds, zeros):
                yield InvariantNode(self._general(state), (), self._counted(None, None), region)

    def _edges(self, node: InvariantNode) -> Iterator[InvariantEdge]:
        if node.state.over:
            return
        cases = self.numbers.cases(
            self.given(node.region),
            lambda case: tuple(
                self._model(case.given).successors(self._symbolic(case, node.state))
            ),
            self._cases,
        )
        for case, steps in cases:
            for step in steps:
                taken = dict(step.target.loops)
                changed = {"sent": step.target.sent} | {tag: taken[tag] for tag in self.loops}
                values = tuple(cast("dict[str, Whole | int]", changed).items())
                action = action_of(step)
                said = self._watched(node.said, action)
                state = self._general(step.target, action)
                replied = self._counted(node.replied, action)
                for region in self._reached(case, values):
                    yield InvariantEdge(
                        node, case, action, values, InvariantNode(state, said, replied, region)
                    )
            if not steps:
                stuck = node._replace(state=node.state._replace(over="stuck"))
                yield InvariantEdge(node, case, None, (), stuck)

    def _watched(
        self, before: tuple[Say, ...] | None, action: Say | Blocked
    ) -> tuple[Say, ...] | None:
        if before is None or isinstance(action, Blocked):
            return None
        said = (*before, action)
        watched = (self.keep.along,) if self.keep.along else self.keep.said
        return said if any(known[: len(said)] == said for known in watched) else None

    def _counted(
        self, replied: frozenset[str] | None, action: Say | Blocked | None
    ) -> frozenset[str] | None:
        """The responder's tags so far, after `action`, where they are kept."""
        if not self.keep.replied:
            return None
        before = replied or frozenset()
        match action:
            case Say(speaker, tag) if speaker == AGENTS[1] and tag not in (Tag.INIT, Tag.TERM):
                return before | {tag}
        return before

    def _model(self, case: Given) -> SessionModel:
        """The model for one case, whose answers it may remember."""
        if case not in self._models:
            rules = self.subject.rules(NumberCase(self.numbers, case), self._functions)
            self._models[case] = SessionModel(rules, self.theory, self.tables, counting=True)
        return self._models[case]

    def _general(self, state: SessionState, action: Say | Blocked | None = None) -> SessionState:
        """The state after `action`, with symbols as numbers, without what nobody asks for."""
        tags = state.tags
        if self._forgets and action is not None:
            first = action.agent == AGENTS[0]
            tags = (tags[0], _FORGOTTEN) if first else (_FORGOTTEN, tags[1])
        if self._forgets and state.over:
            tags = (_FORGOTTEN, _FORGOTTEN)
        y, e = map(self._related, (state.predictions, state.explanations))
        if state.over and not self.keep.data:
            y = e = EMPTY
        found = SessionState(0, state.at, tags, y, e, UNKEPT, over=state.over)
        return self._symbolic(self.numbers.anything, found)

    def _symbolic(self, case: NumberCase, state: SessionState) -> SessionState:
        """`state` with the numbers of `case` as symbols."""
        taken = tuple((tag, _symbol(case, tag)) for tag in self.loops)
        return state._replace(sent=_symbol(case, "sent"), loops=taken)

    def _related(self, structure: Structure) -> Structure:
        """Where answers are free but for a value and itself, which values are equal is forgotten:
        more answers are possible then, never fewer."""
        return structure if self.theory.deterministic else Structure(structure.points)

    def _reached(self, case: Given, values: Values) -> tuple[Region, ...]:
        """Every region that numbers with `case` can be in once they have the new `values`."""
        key = (case, values)
        if key not in self._regions:
            example, new = self.numbers.example(case), dict(values)
            ways = (self._ways(feature, case, new, example) for feature in self.features)
            self._regions[key] = tuple(product(*ways))
        return self._regions[key]

    def _ways(
        self,
        feature: Feature,
        case: Given,
        new: Mapping[str, Whole | int],
        example: Mapping[str, int],
    ) -> tuple[str, ...]:
        """The alternatives that Z3 cannot exclude; one alone, if everything in `case` is in it."""
        after = {n: [a.after(new) for a in atoms] for n, atoms in feature.alternatives.items()}
        for name, atoms in after.items():
            if all(atom.holds(example) for atom in atoms):
                if all(self.numbers.follows(case, atom) for atom in atoms):
                    return (name,)
                break
        return tuple(n for n, atoms in after.items() if self.numbers.possible((*case, *atoms)))


def invariant_of(
    subject: SymbolicProtocol,
    theory: Theory,
    keep: KeptPast = NOTHING,
    tables: tuple[Automaton, Automaton] | None = None,
    numbers: Numbers | None = None,
    functions: Decisions = decisions,
) -> Invariant:
    """The invariant of `subject` between agents with `tables` (its own, unless others are given).

    Share `numbers` between calls: what Z3 has answered is remembered there. Raises `Unknown` where
    there is no state at all (of nothing everything would be true), and where `functions` do what is
    not faithful to symbols (`proofs.induction.exact`).
    """
    both = tables or (subject.automaton(), subject.automaton())
    numbers, functions = numbers or Numbers(), exact(functions)
    try:
        found = Invariant(subject, theory, keep, both, numbers, functions, forgets=True)
    except _Remembered:
        found = Invariant(subject, theory, keep, both, numbers, functions, forgets=False)
    if not found.nodes:
        raise Unknown("the rules take no n and k at all, so whatever is said of them is empty")
    return found
