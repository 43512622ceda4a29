"""Certificates of what holds of a system over its channel, with all that a recheck needs.

A certificate is a JSON document. Its `states` are those that can be reached, each with the number
of one before it: where members are, what is on its way, the guards that are settled. What can
happen from everywhere has a distance for each state; that every run ends has ranks.
`proofs.recheck` checks it without any code of ours, and is asked before one is written.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from proofs import recheck
from proofs.core.limits import Effort
from proofs.core.results import Result, Status, Verdict
from proofs.logic.fairness import Strength
from proofs.logic.parsing import parse
from proofs.logic.termination import ALWAYS_ENDS, FAIR_ENDS, NO_TRAP
from proofs.systems import Channel, Composition, System, check, compatibility, decide_standard
from proofs.systems.checking import invariant
from proofs.systems.fairness import agent_of, agents_of
from proofs.systems.product import Move
from proofs.systems.reachability import reach
from proofs.systems.results import ANY_CAPACITY, MACHINE, TITLES
from pxp_fsm.artifacts import atomic_path
from pxp_fsm.automata.automaton import Kind, Transition
from pxp_fsm.automata.serialization import document
from pxp_fsm.errors import UsageError
from pxp_fsm.lazy_dataclasses import dataclass

MOST_STATES = 100_000
"""States of a system of which a certificate is written."""

FORMAT = 1

OTHERS = "a certificate is of formulas G p and AG p over complete runs, where p speaks of states"
"""Why what holds is in no certificate."""

_WRITTEN = re.compile(r"\s*(G|AG|A\s+G)\b")
"""How formulas begin that the checker reads."""


class NotCertified(UsageError):
    """There is no certificate of a system, for this reason."""


@dataclass(frozen=True, repr=False)
class SystemCertificate:
    """What holds of `system` over its channel, or over FIFO channels of every capacity."""

    system: System
    document: Mapping[str, Any]

    def __repr__(self) -> str:
        about = f"{self.system.name} over {self.document['channel']}"
        return f"<Certificate of {about}: {len(self.document['states'])} states>"

    @property
    def claims(self) -> tuple[str, ...]:
        """The names of the claims that hold, and are certified."""
        return tuple(
            claim["name"] for claim in self.document["claims"] if claim["verdict"] == "HOLDS"
        )

    def text(self) -> str:
        """The certificate as it is written: a line a state."""
        rest = dict(self.document)
        states = ",\n".join(f" {_json(state)}" for state in rest.pop("states"))
        return f'{_json(rest)[:-1]}, "states": [\n{states}\n]}}\n'

    def write(self, path: str | Path) -> Path:
        """Write the certificate into a file, which is returned."""
        with atomic_path(Path(path)) as draft:
            draft.write_text(self.text(), "utf-8")
        return Path(path)


def certify_system(
    system: System, results: Iterable[Result] = (), effort: Effort | None = None
) -> SystemCertificate:
    """Certify what `results` say holds of a system, beside its standard checks.

    Results are those of formulas G p and AG p, where p speaks of states, and of termination; others
    are left out. Results over FIFO channels of every capacity have a certificate of their own.

    >>> import pxp_fsm as pxp
    >>> system = pxp.System.load("interact", channel="fifo:1")
    >>> certificate = pxp.proofs.certify_system(system, pxp.check(system, "G (1@END -> 2@END)"))
    >>> certificate
    <Certificate of interact1, interact2 over fifo:1: 38 states>
    >>> "no-orphan-message" in certificate.claims
    True

    Raises `NotCertified` for a system with parameters, where there are more states than `effort`
    allows or `MOST_STATES`, where there is no capacity that is exhaustive, and where the
    independent checker does not agree.
    """
    if any(member.automaton.unfolding for member in system.members):
        raise NotCertified(
            "a certificate is of every decision, whatever the rules say: certify the system "
            "without parameters, or state a claim, which is proved for all (pxp help proofs)"
        )
    results = tuple(results)
    held = [result for result in results if result.status is Status.HOLDS]
    unbounded = any(result.assumptions == ANY_CAPACITY for result in results)
    capacities = [result.bound.capacities_from or 0 for result in held if result.bound is not None]
    content = dict[str, Any](format=FORMAT, channel=system.channel.name)
    if unbounded:
        k = max(capacities, default=0)
        if not k:
            raise NotCertified("no property holds over channels of every capacity")
        system, content = system.over(Channel(k)), content | {"channel": "fifo", "k": k}
    states = States(system, effort or Effort())
    content["members"] = [
        {"name": member.name, "fingerprint": member.automaton.without_rules().fingerprint}
        for member in system.members
    ]
    if unbounded:
        claims, content["distances"] = _unbounded(states)
    else:
        claims, content["distances"] = _standard(states, effort)
        claims += _besides(states, [result.name for result in held])
    document_of = content | {"claims": claims, "states": [*states.listed()]}
    certificate = SystemCertificate(system, document_of)
    refusal = _refusal(certificate)
    if refusal:
        raise NotCertified(f"the independent checker refuses it: {refusal}")
    return certificate


def uncertified(
    results: Iterable[Result], reason: str, claims: Collection[str] = ()
) -> Iterator[Result]:
    """The results; what holds and is not among the `claims` of a certificate is UNKNOWN.

    What is said of the machine of a table is of code, and is no claim about the system.
    """
    for result in results:
        if result.status is Status.HOLDS and result.name not in (*claims, MACHINE):
            yield replace(result, verdict=Verdict(Status.UNKNOWN, f"not certified: {reason}"))
        else:
            yield result


class States:
    """The states of a system, with their steps by the numbers of states."""

    def __init__(self, system: System, effort: Effort) -> None:
        self.composition = Composition(system)
        allowed = replace(effort, states=min(effort.states, MOST_STATES))
        reached = reach(self.composition, allowed, compiled=False)
        if reached.cut:
            raise NotCertified(
                f"a certificate is written of at most {allowed.states:,} states; {reached.cut}"
            )
        self.states = [*map(int, reached.states)]
        self.parents = [*map(int, reached.parents)]
        numbers = {state: number for number, state in enumerate(self.states)}
        self.steps = [
            [(numbers[state + move.difference], move) for move in self.composition.moves(state)]
            for state in self.states
        ]
        self.known = [*map(self.composition.encoding.configuration, self.states)]
        self.over = [*map(self.composition.ended, self.states)]

    def listed(self) -> Iterator[list[Any]]:
        """Each state as it is written."""
        nothing = ("",) * len(self.composition.system.members)
        for (at, buffers, settled), parent in zip(self.known, self.parents, strict=True):
            yield [at, buffers, settled or nothing, parent if parent >= 0 else None]

    def distances(self, goals: Collection[int], without: str | None = None) -> list[int | None]:
        """How many steps each state is from a goal, at the least; None where it comes to none."""
        before: list[list[int]] = [[] for _ in self.states]
        for number, steps in enumerate(self.steps):
            for target, move in steps:
                if without is None or agent_of(move.action) != without:
                    before[target].append(number)
        distances: list[int | None] = [None] * len(self.states)
        level, distance = [*goals], 0
        while level:
            for number in level:
                distances[number] = distance
            near = {
                source for number in level for source in before[number] if distances[source] is None
            }
            level, distance = [*near], distance + 1
        return distances

    def ranks(self, strength: Strength | None, whose: str) -> list[Any]:
        """For each state in which a run may be that has not come to an end its ranks, each with the
        row or agent that leads away from it. Raises `NotCertified` where some fair run never ends.
        """
        running, left = set[int](), [0]
        while left:
            number = left.pop()
            if number not in running and not self.over[number]:
                running.add(number)
                left += (target for target, _ in self.steps[number])
        ranks: list[Any] = [[] if number in running else None for number in range(len(self.states))]
        self._rank(running, ranks, strength, whose)
        return ranks

    def _rank(
        self, among: set[int], ranks: list[Any], strength: Strength | None, whose: str
    ) -> None:
        import networkx as nx

        graph: nx.DiGraph[int] = nx.DiGraph()
        graph.add_nodes_from(among)
        graph.add_edges_from((n, to) for n in among for to, _ in self.steps[n] if to in among)
        condensed = nx.condensation(graph)
        for rank, part in enumerate(reversed([*nx.topological_sort(condensed)])):
            block = {*condensed.nodes[part]["members"]}
            helpful, left = self._helpful(block, strength, whose)
            for number in block:
                ranks[number].append([rank, helpful])
            if left:
                self._rank(left, ranks, strength, whose)

    def _helpful(
        self, block: set[int], strength: Strength | None, whose: str
    ) -> tuple[str | None, set[int]]:
        """Who must act in a component that runs stay in, if they are fair, and does not stay: and
        where it cannot act.
        """
        stays = [move for n in block for to, move in self.steps[n] if to in block]
        if not stays:
            return None, set()
        taken = {key for move in stays for key in self._keys(move, whose)}
        enabled = dict[str, set[int]]()
        for number in block:
            for _, move in self.steps[number]:
                for key in self._keys(move, whose):
                    enabled.setdefault(key, set()).add(number)
        for key in sorted(enabled.keys() - taken if strength else ()):
            if strength is Strength.STRONG or enabled[key] == block:
                return key, block - enabled[key]
        raise NotCertified("a run does not end, and is fair")

    def _keys(self, move: Move, whose: str) -> Iterator[str]:
        if whose == "agent":
            yield from agents_of(self.composition, move)
            return
        for place, row in move.rows:
            yield f"{self.composition.system.members[place].name}: {_line(row)}"


def _line(row: Transition) -> str:
    return f"{row.source} {row.target} {row.guard or '⊤'} {row.action}"


def _json(data: object) -> str:
    return json.dumps(data, ensure_ascii=False)


Claims = list[dict[str, Any]]
Distances = dict[str, list[int | None]]


def _claim(name: str, holds: bool) -> dict[str, Any]:
    return {"name": name, "verdict": (Status.HOLDS if holds else Status.FAILS).value}


def _standard(states: States, effort: Effort | None) -> tuple[Claims, Distances]:
    composition = states.composition
    claims = [
        _claim(name, verdict.status is Status.HOLDS)
        for name, verdict in decide_standard(composition, effort, names=frozenset(recheck.STANDARD))
    ]
    distances = {"end": states.distances([n for n, over in enumerate(states.over) if over])}
    for place, member in enumerate(composition.system.members):
        bound = partial(composition.encoding.is_bound, place)
        free = [number for number, state in enumerate(states.states) if not bound(state)]
        if len(free) < len(states.states):
            distances[f"sends {member.name}"] = states.distances(free)
    return claims, distances


def _besides(states: States, names: Iterable[str]) -> Iterator[dict[str, Any]]:
    """The claims of termination that hold, and the formulas that hold of every state."""
    for name in names:
        if name == NO_TRAP:
            yield _claim(name, True)
        elif name in (ALWAYS_ENDS, *FAIR_ENDS):
            ranks = states.ranks(*FAIR_ENDS.get(name, (None, "row")))
            yield _claim(name, True) | {"ranks": ranks}
        elif name not in (*TITLES, MACHINE) and _WRITTEN.match(name):
            formula = parse(name)
            if invariant(states.composition, formula) is not None:
                holds = check(states.composition, formula).status is Status.HOLDS
                yield from [_claim(name, True)] * holds


def _unbounded(states: States) -> tuple[Claims, Distances]:
    composition = states.composition
    system, k = composition.system, composition.channel.capacity
    bounded = compatibility.within(system, k)
    claims = [_claim(name, bounded.fails[name] is None) for name in compatibility.TITLES]
    distances = Distances()
    for place, member in enumerate(system.members):
        goals = [
            number
            for number, known in enumerate(states.known)
            if not _is_full(system, place, known.at[place], known.buffers)
        ]
        distances[f"sends {member.name}"] = states.distances(goals, member.name)
    received = dict[tuple[int, int], set[int]]()
    for receiver, member in enumerate(system.members):
        for row in member.automaton.transitions:
            if row.kind is Kind.RECEIVE:
                received.setdefault((system.partners(receiver, row)[0], receiver), set())
    for number, steps in enumerate(states.steps):
        for _, move in steps:
            for receiver, row in move.rows:
                if row.kind is Kind.RECEIVE:
                    received[system.partners(receiver, row)[0], receiver].add(number)
    for link in (*system.links, *received):
        name = ">".join(system.members[place].name for place in link)
        distances[f"receives {name}"] = states.distances(received.get(link, set()))
    return claims, distances


def _is_full(system: System, place: int, where: str, buffers: tuple[tuple[str, ...], ...]) -> bool:
    """Whether a member is about to send, and there is no room."""
    rows = system.members[place].automaton.leaving(where)
    links = {(place, system.partners(place, row)[0]) for row in rows if row.kind is Kind.SEND}
    capacity = system.channel.capacity
    return any(len(buffers[system.links.index(link)]) == capacity for link in links)


def _refusal(certificate: SystemCertificate) -> str:
    """Why the independent checker refuses a certificate; "" where it accepts."""
    tables = {
        member.automaton.without_rules().fingerprint: member.automaton
        for member in certificate.system.members
    }
    try:
        read = recheck.check_system(json.loads(certificate.text()), *map(document, tables.values()))
        return "; ".join(text for fine, text in read if not fine)
    except (ValueError, LookupError, TypeError) as error:
        return f"{type(error).__name__}: {error}"
