"""Graphs of LangGraph, read from a `StateGraph` or what it was compiled to; no node is run.

A graph runs in supersteps: all active nodes run, then all that they lead to. A state is the set of
nodes that run at once, with the joins (`add_edge([a, b], c)`) that wait. Each interrupt set when
a graph is compiled is a state of its own, which `resume` leaves.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import field, replace
from functools import partial
from itertools import pairwise, product
from types import CellType, CodeType, FunctionType
from typing import Any, NamedTuple

from pxp_fsm.errors import UsageError
from pxp_fsm.lazy_dataclasses import dataclass
from pxp_fsm.plugins.machines.machines import (
    Alternative,
    ForeignMachine,
    ForeignState,
    SourcePlace,
)
from pxp_fsm.plugins.machines.sources import place_of

LIBRARY = "LangGraph"
START, END = "__start__", "__end__"
MOST_STATES, MOST_WAYS = 1_000, 5_000
"""Sets of nodes that run at once, and ways between them, that a graph may have."""


def is_graph(value: Any) -> bool:
    """Whether `value` is a builder of LangGraph, or a graph that one was compiled to."""
    loaded = sys.modules.get("langgraph.graph.state")
    kind = getattr(loaded, "StateGraph", None)
    return kind is not None and (
        isinstance(value, kind) or isinstance(getattr(value, "builder", None), kind)
    )


class _Choice(NamedTuple):
    """One way on from a node: why, the nodes that it leads to, and whether END was named."""

    guard: str
    meaning: str
    targets: frozenset[str]
    ends: bool


class _Step(NamedTuple):
    """The nodes that run at once, and for each join the nodes that it has waited for so far."""

    active: frozenset[str]
    waiting: frozenset[tuple[int, str]]
    ended: bool = False


def read(graph: Any, name: str = "") -> ForeignMachine:
    """The machine of a graph; its states are named after the nodes that run.

    Raises `UsageError` for a graph without an entry, for deferred nodes, and where too many sets
    of nodes can run at once.
    """
    builder = getattr(graph, "builder", graph)
    own = getattr(graph, "name", None)
    name = name or (own if own and own != LIBRARY else "graph")
    deferred = [node for node, spec in builder.nodes.items() if getattr(spec, "defer", False)]
    if deferred:
        raise UsageError(
            f"{name}, of {LIBRARY}, has deferred nodes ({', '.join(deferred)}), which are not read"
        )
    return _Reading(graph, builder, name).machine()


@dataclass
class _Reading:
    """A graph as it is read: what each node leads to, and the states met."""

    graph: Any
    builder: Any
    name: str
    names: dict[_Step, str] = field(default_factory=dict)
    alternatives: list[Alternative] = field(default_factory=list)
    states: dict[str, ForeignState] = field(default_factory=dict)
    regions: dict[str, set[str]] = field(default_factory=dict)

    def machine(self) -> ForeignMachine:
        """The whole graph as a machine."""
        order = {node: place for place, node in enumerate(self.builder.nodes)}
        self._order = order
        self._joins = sorted(self.builder.waiting_edges, key=lambda join: (join[1], join[0]))
        self._choices = {node: [*self._ways(node)] for node in (START, *order)}
        if not self._choices[START][0].targets and len(self._choices[START]) == 1:
            raise UsageError(f"{self.name}, of {LIBRARY}, has no edge from START to a node")
        first = _Step(frozenset({START}), frozenset())
        self._explore(first)
        for node in order:  # nodes that nothing has led to, with what they would lead to
            if not any(node in step.active for step in self.names):
                self._explore(_Step(frozenset({node}), frozenset()))
                joins = [starts for starts, end in self._joins if end == node]
                if joins:
                    about = f"the edge from {', '.join(joins[0])} to it waits for ever"
                    self.states[node] = replace(self.states[node], about=about)
        return ForeignMachine(
            LIBRARY,
            self.name,
            tuple(self.states.values()),
            self.names[first],
            tuple(self.alternatives),
            word="node",
            cycles="outside its nodes' code only the recursion limit bounds it",
            notes=tuple(self._notes()),
            regions={
                name: frozenset(some) for name, some in self.regions.items() if some != {name}
            },
        )

    def _explore(self, first: _Step) -> None:
        waiting = [first]
        self._name(first)
        for step in waiting:
            for following in self._follow(step):
                if following not in self.names:
                    self._name(following)
                    waiting.append(following)
            if len(self.names) > MOST_STATES or len(self.alternatives) > MOST_WAYS:
                raise UsageError(
                    f"{self.name}, of {LIBRARY}, has more than {MOST_STATES:,} sets of nodes that "
                    f"can run at once, or {MOST_WAYS:,} ways between them; check a part of it"
                )

    def _name(self, step: _Step) -> str:
        nodes = sorted(step.active, key=lambda node: self._order.get(node, -1))
        label = "_and_".join(_plain(node) for node in nodes)
        waits = sorted({self._joins[join][1] for join, _ in step.waiting})
        if not step.active:
            label = "END" if step.ended or not waits else f"STOPPED_before_{'_and_'.join(waits)}"
        elif waits:
            came = sorted({node for _, node in step.waiting}, key=lambda node: self._order[node])
            label += f"_after_{'_and_'.join(came)}"
        self.names[step] = label
        place = self._place(nodes[0]) if len(nodes) == 1 else None
        final = not step.active and label == "END"
        about = ""
        if not step.active and not final:
            joins = sorted({self._joins[join] for join, _ in step.waiting})
            about = "the graph stops there: " + "; ".join(
                f"the edge from {', '.join(starts)} to {end} still waits" for starts, end in joins
            )
        self.states.setdefault(label, ForeignState(label, final, place, about))
        for node in step.active:
            self.regions.setdefault(_plain(node), set()).add(label)
        return label

    def _follow(self, step: _Step) -> Iterator[_Step]:
        """The steps after one, with the rows that lead to them."""
        source = self.names[step]
        if not step.active:
            return
        nodes = sorted(step.active, key=lambda node: self._order.get(node, -1))
        every = [*product(*(self._choices[node] for node in nodes))]
        for choices in every:
            following = self._after(step, nodes, choices)
            known = following in self.names
            target = self.names[following] if known else self._name(following)
            guard = " ".join(choice.guard for choice in choices if choice.guard)
            meaning = "; ".join(choice.meaning for choice in choices if choice.meaning)
            self._row(source, target, nodes, following, guard if len(every) > 1 else "", meaning)
            if not known:
                del self.names[following]  # the caller goes on with what is new
            yield following

    def _row(
        self, source: str, target: str, ran: list[str], step: _Step, guard: str, meaning: str
    ) -> None:
        """A way from one state to another, through the interrupts that are set between them."""
        after = [_plain(node) for node in ran if self._interrupts("after", node)]
        before = [_plain(node) for node in step.active if self._interrupts("before", node)]
        way = [source]
        if after:
            way.append(f"interrupt_after_{'_and_'.join(after)}_to_{target}")
        if before:
            way.append(f"interrupt_before_{target}")
        for node in after:
            self.regions.setdefault(f"interrupt_after_{node}", set()).add(way[1])
        for node in before:
            self.regions.setdefault(f"interrupt_before_{node}", set()).add(way[-1])
        way.append(target)
        for place, (here, there) in enumerate(pairwise(way)):
            self.states.setdefault(there, ForeignState(there))
            row = (
                Alternative(there, here, there, guard, meaning)
                if place == 0
                else Alternative("resume", here, there)
            )
            if row not in self.alternatives:
                self.alternatives.append(row)

    def _interrupts(self, when: str, node: str) -> bool:
        nodes = getattr(self.graph, f"interrupt_{when}_nodes", None) or ()
        return node != START and (nodes == "*" or node in nodes)

    def _after(self, step: _Step, nodes: list[str], choices: tuple[_Choice, ...]) -> _Step:
        active = frozenset(target for choice in choices for target in choice.targets)
        waiting = set(step.waiting)
        for number, (starts, _) in enumerate(self._joins):
            waiting |= {(number, node) for node in nodes if node in starts}
        for number, (starts, end) in enumerate(self._joins):
            if all((number, node) in waiting for node in starts):
                active |= {end}
                waiting -= {(number, node) for node in starts}
        ended = not active and any(choice.ends for choice in choices)
        return _Step(active, frozenset() if ended else frozenset(waiting), ended)

    def _ways(self, node: str) -> Iterator[_Choice]:
        """What a node leads to: its edges, with one target of each conditional edge."""
        edges = {end for start, end in self.builder.edges if start == node}
        chosen: list[list[tuple[str, str, str]]] = []
        for label, branch in self.builder.branches.get(node, {}).items():
            ends = branch.ends
            if ends is None:
                ends = {other: other for other in (*self.builder.nodes, END) if other != node}
            chosen.append(
                [
                    (f"{label} {_plain(str(key))}", f"{label} returns {key!r}", end)
                    for key, end in ends.items()
                ]
            )
        spec = self.builder.nodes.get(node)
        if spec is not None and spec.ends:
            goes: list[tuple[str, str, str]] = [self._goto(node, end) for end in spec.ends]
            chosen.append(goes)
        elif spec is not None and _makes_commands(self._function(node)):
            anywhere = [self._goto(node, end) for end in (*self.builder.nodes, END)]
            chosen.append([(f"{node} without goto", f"{node} returns no goto", ""), *anywhere])
        for combination in product(*chosen):
            targets = edges | {end for _, _, end in combination if end}
            yield _Choice(
                " ".join(guard for guard, _, _ in combination),
                "; ".join(meaning for _, meaning, _ in combination),
                frozenset(targets - {END}),
                END in targets,
            )
        handler = getattr(spec, "error_handler_node", None)
        if handler:
            yield _Choice(f"{node} raises", f"{node} raises an error", frozenset({handler}), False)

    @staticmethod
    def _goto(node: str, end: str) -> tuple[str, str, str]:
        return f"{node} goto {_plain(end)}", f"{node} returns Command(goto={end!r})", end

    def _place(self, node: str) -> SourcePlace | None:
        function = self._function(node)
        return None if function is None else place_of(function)

    def _function(self, node: str) -> Any:
        spec = self.builder.nodes.get(node)
        runnable = getattr(spec, "runnable", None)
        function = getattr(runnable, "func", None) or getattr(runnable, "afunc", None)
        while isinstance(function, partial):
            function = function.func
        return function

    def _notes(self) -> Iterator[str]:
        joined = {start for starts, _ in self.builder.waiting_edges for start in starts}
        for node, spec in self.builder.nodes.items():
            leads = [choice for choice in self._choices[node] if choice.targets or choice.ends]
            if not leads and node not in joined:
                yield f"node {node} has no edge out: the graph stops there, as at END"
            code = getattr(self._function(node), "__code__", None)
            if code is not None and "interrupt" in code.co_names:
                yield f"node {node} calls interrupt(): it goes on when it is resumed"
            if hasattr(getattr(spec, "runnable", None), "builder"):
                yield f"node {node} is a graph, which is one node here; check it by itself"
            elif self._function(node) is None and not spec.ends:
                yield (
                    f"node {node} is no function: a Command that it returns is not seen; name "
                    f"where it may lead with destinations="
                )
            elif not spec.ends and _makes_commands(self._function(node)):
                yield (
                    f"node {node} uses Command and names no targets: it may lead to every node; "
                    f"annotate what it returns with Command[Literal[...]]"
                )
            if any(branch.ends is None for branch in self.builder.branches.get(node, {}).values()):
                yield (
                    f"a conditional edge of {node} names no targets: it may lead to every node; "
                    f"give path_map, or annotate what its function returns with Literal[...]"
                )
        if self.builder.branches or any(spec.ends for spec in self.builder.nodes.values()):
            yield (
                "a conditional edge, or a Command, is taken to choose one of its targets at a time"
            )
        several = [name for name in self.states if "_and_" in name]
        if several:
            yield (
                f"nodes that run at once are one state each: {', '.join(several[:5])}; in formulas "
                f"{self.name}@NODE is true wherever NODE runs"
            )


def _makes_commands(function: Any) -> bool:
    """Whether a function's code, or that of functions of its module that it names, has `Command`.

    What other code makes is not seen.
    """
    from langgraph.types import Command

    met, left = set[int](), [function]
    while left:
        function = left.pop()
        function = getattr(function, "__func__", function)
        if not hasattr(function, "__code__"):
            function = vars(type(function)).get("__call__")
        if id(function) in met or not hasattr(function, "__code__"):
            continue
        met.add(id(function))
        values = [cell.cell_contents for cell in function.__closure__ or () if _is_filled(cell)]
        codes = [function.__code__]
        for code in codes:
            codes += [value for value in code.co_consts if isinstance(value, CodeType)]
            if "Command" in code.co_names:
                return True
            values += [function.__globals__.get(name) for name in code.co_names]
        if any(value is Command for value in values):
            return True
        left += [
            value
            for value in values
            if isinstance(value, FunctionType) and value.__module__ == function.__module__
        ]
    return False


def _is_filled(cell: CellType) -> bool:
    try:
        cell.cell_contents  # noqa: B018 - it raises where nothing is in it yet
    except ValueError:
        return False
    return True


def _plain(node: str) -> str:
    return {START: "START", END: "END"}.get(node, node)
