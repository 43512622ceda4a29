"""Proofs for all parameters: the search for atoms, lemmas and ranks that make claims evident.

Sessions are explored as the checker of certificates does (`proofs.recheck`), with a state for each
set of atoms (comparisons of numbers) that may hold. Where a claim fails, the atoms are added on
which its steps depend: its weakest precondition, atom by atom. Cases that no numbers satisfy are
refuted by elimination, and the factors found are lemmas that anybody can check by adding. Nothing
here is trusted: what is found goes into a certificate, and that is checked.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import chain, pairwise
from typing import Any

from proofs import recheck
from proofs.recheck import Edge, Knowledge, Linear, Node, Sessions, contrary, variable
from pxp_fsm.automata.arithmetic import Linear as Form
from pxp_fsm.automata.arithmetic import refute
from pxp_fsm.automata.automaton import Automaton
from pxp_fsm.automata.serialization import document
from pxp_fsm.lazy_dataclasses import dataclass

ROUNDS = 6
"""How often atoms are added before a claim counts as not proved."""

MOST_ATOMS, MOST_STATES = 40, 10_000
"""Atoms and states of a part beyond which no atoms are added."""

MOST_ROWS = 500
"""Rows of an elimination after which a case counts as possible."""

Part = Mapping[str, Any]
"""What is claimed under which assumptions: a part of a certificate, without its evidence."""


@dataclass(frozen=True)
class PartProof:
    """What came of a part: `evidence` is the part of a certificate that has the proved claims.

    `obstacles` say for each other claim where its proof fails, which is no counterexample.
    """

    evidence: dict[str, Any]
    obstacles: Mapping[str, str]
    nodes: int
    seconds: float = 0.0

    @property
    def proved(self) -> tuple[str, ...]:
        """The names of the claims that are proved."""
        return tuple(claim["name"] for claim in self.evidence["claims"])


def prove(members: Mapping[str, Automaton], part: Part, hints: Sequence[str] = ()) -> PartProof:
    """Prove what a part claims of the sessions of `members`.

    `hints` are expressions whose comparisons states know of from the start. What the rules or the
    claims are not proved about is an obstacle of every claim.
    """
    return prove_tables(
        {name: document(automaton) for name, automaton in members.items()}, part, hints
    )


def prove_tables(members: Mapping[str, Any], part: Part, hints: Sequence[str] = ()) -> PartProof:
    """The same of tables as TOML reads them."""
    started = time.perf_counter()
    try:
        tables = [(name, recheck.Rules(table)) for name, table in members.items()]
        return replace(_prove(tables, part, hints), seconds=time.perf_counter() - started)
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        reason = str(error) or type(error).__name__
        obstacles = {claim["name"]: reason for claim in part["claims"]}
        return PartProof({**part, "claims": [], "atoms": [], "lemmas": []}, obstacles, 0)


def _prove(tables: list[tuple[str, recheck.Rules]], part: Part, hints: Sequence[str]) -> PartProof:
    search = _Search()
    more, best = dict[Linear, None](), None
    for atom in (*_alike(tables), *_hinted(hints)):
        if contrary(atom) not in more:
            more[atom] = None
    # Each round explores with all atoms that the one before could not decide. It ends where every
    # claim is proved, or where nothing new was asked. The last round that came to an end counts:
    # its states know all that those of earlier rounds knew.
    for _ in range(ROUNDS):
        kept = dict(more)
        search.about.undecided.clear()
        search.about.known.clear()
        try:
            sessions = _explored(tables, part, list(kept), search.about, MOST_STATES)
        except recheck.TooMany:
            if best is None:
                raise
            break
        claims = [_ranked(sessions, claim) for claim in part["claims"]]
        obstacles_by_name = {claim["name"]: sessions.against(claim) for claim in claims}
        best = kept, claims, obstacles_by_name, len(sessions.nodes)
        known = {atom for linear in kept for atom in (linear, contrary(linear))}
        asked = [search.about.atoms[number] for number in search.about.undecided]
        more = kept | dict.fromkeys(a for a in asked if a not in known and not _is_measured(a))
        if not any(obstacles_by_name.values()) or len(more) == len(kept) or len(more) > MOST_ATOMS:
            break
    if best is None:
        raise ValueError("no round of the search came to an end")
    kept, claims, obstacles_by_name, nodes = best
    proved = [claim for claim in claims if not obstacles_by_name[claim["name"]]]
    evidence = {**part, "claims": proved, "atoms": [*map(_written, kept)]}
    evidence["lemmas"] = search.used_by(tables, evidence, list(kept)) if proved else []
    obstacles = {
        name: _described(obstacle) for name, obstacle in obstacles_by_name.items() if obstacle
    }
    return PartProof(evidence, obstacles, nodes)


def _explored(
    tables: list[tuple[str, recheck.Rules]],
    part: Part,
    kept: list[Linear],
    about: Knowledge,
    most: int = recheck.MOST_NODES,
) -> Sessions:
    sessions = Sessions(tables, part, kept, about)
    sessions.most = most
    sessions.explore("terminates" in [claim["check"] for claim in part["claims"]])
    return sessions


def _is_measured(atom: Linear) -> bool:
    """Whether an atom speaks of a number that is measured anew, of which no state knows."""
    return any(name.startswith("?") for name, _ in atom.terms)


def _alike(tables: Sequence[tuple[str, recheck.Rules]]) -> Iterable[Linear]:
    """That registers of one name are equal in neighbours: most protocols count alike."""
    for (member, first), (neighbour, second) in pairwise(tables):
        for name in first.registers:
            both = [table.registers.get(name) for table in (first, second)]
            if all(register and recheck.kind_of(register) == "int" for register in both):
                difference = variable(f"{member}.{name}").plus(variable(f"{neighbour}.{name}"), -1)
                yield from (difference, Linear((), 0).plus(difference, -1))


def _hinted(hints: Iterable[str]) -> Iterable[Linear]:
    """The atoms of expressions that compare numbers."""
    for text in hints:
        sign, left, right = recheck.parse(text)
        names = {name: variable(name) for name in recheck.names_in((sign, left, right))}
        atoms = dict[Linear, None]()

        def decide(atom: Linear) -> bool:
            atoms[atom] = None  # noqa: B023 - used up before the next hint
            return True

        recheck.value((sign, left, right), names, (), decide)
        yield from atoms


def _written(atom: Linear) -> list[Any]:
    return [[list(term) for term in atom.terms], atom.constant]


def _described(place: Any) -> str:
    """Where a proof fails, in words: at a state, or at a step from it where numbers are so."""
    if isinstance(place, Node):
        where, told = place.control, ""
    elif isinstance(place, Edge):
        where, told = place.source.control, f" by {place.move.label}"
    else:
        where, numbers, *moves = place
        told = "".join(f" by {move.label}" for move in moves) + f", where {numbers}"
    over = f" {where.over}" if where.over else ""
    return f"not proved: nothing excludes ({', '.join(where.at)}){over}{told}"


class _Search:
    """Lemmas, found by elimination when they are needed."""

    def __init__(self) -> None:
        self.about = Knowledge(self._refutes)
        self.lemmas = dict[frozenset[int], list[list[Any]]]()
        self._fine = set[frozenset[int]]()

    def _refutes(self, given: int, literal: int) -> bool:
        near = self._linked(given, literal)
        if near in self._fine:
            return False
        atoms = self.about.atoms
        factors = refute((Form(*atoms[number]) for number in sorted(near)), MOST_ROWS)
        if factors is None:
            self._fine.add(near)
            return False
        pairs = [(Linear(form.terms, form.constant), factor) for form, factor in factors.items()]
        literals = [self.about.literal(atom) for atom, _ in pairs]
        self.about.learn(literals)
        self.lemmas[frozenset(literals)] = [[_written(atom), factor] for atom, factor in pairs]
        return True

    def _linked(self, given: int, literal: int) -> frozenset[int]:
        """The known atoms that share names with one, or with such others: no other can matter.

        The others speak of other numbers: what satisfies them, and what satisfies those that are
        linked, together satisfy all. Where nothing satisfies the others, only a refutation is
        missed: a case that is not refuted counts as possible.
        """
        atoms = self.about.atoms
        left = {number for number in range(given.bit_length()) if given >> number & 1}
        names, near = {name for name, _ in atoms[literal].terms}, {literal}
        while new := {n for n in left if any(name in names for name, _ in atoms[n].terms)}:
            near |= new
            left -= new
            names.update(name for number in new for name, _ in atoms[number].terms)
        return frozenset(near)

    def used_by(
        self, tables: list[tuple[str, recheck.Rules]], part: Part, kept: list[Linear]
    ) -> list[Any]:
        """Few lemmas, of which one refutes each case that the checker will ask about."""
        about = _Recorded()
        by_bits = dict[int, frozenset[int]]()
        for literals in self.lemmas:
            own = {about.literal(self.about.atoms[number]) for number in literals}
            about.learn(own)
            by_bits[sum(1 << literal for literal in own)] = literals
        sessions = _explored(tables, part, kept, about)
        for claim in part["claims"]:
            sessions.against(claim)
        left, used = [*about.refuted], set[frozenset[int]]()
        while left:  # the lemma first that refutes most of what is left
            ((bits, _),) = Counter(chain.from_iterable(left)).most_common(1)
            left = [lemmas for lemmas in left if bits not in lemmas]
            used.add(by_bits[bits])
        return [lemma for literals, lemma in self.lemmas.items() if literals in used]


class _Recorded(Knowledge):
    """What is known, with the lemmas that refute each case, any of which will do."""

    def __init__(self) -> None:
        super().__init__()
        self.refuted = dict[tuple[int, ...], None]()

    def impossible(self, given: int, literal: int) -> bool:
        both = given | 1 << literal
        lemmas = tuple(bits for bits in self.lemmas.get(literal, ()) if bits & both == bits)
        if lemmas:
            self.refuted[lemmas] = None
        return bool(lemmas)


def _ranked(sessions: Sessions, claim: Any) -> Any:
    """A claim; one of termination without ranks, with those that were found."""
    if claim["check"] != "terminates" or "ranks" in claim:
        return claim
    return {**claim, "ranks": _ranks(sessions)}


def _ranks(sessions: Sessions) -> list[dict[str, int]]:
    """Linear ranks in lexicographic order: greedily those that never rise and sometimes fall.

    No choice is wrong: a form that never rises over all moves does not rise over fewer, so what
    could be chosen before can be chosen after, and moves are left only where no order of these
    forms makes them fall (Alias, Darte, Feautrier and Gonnord, Multi-dimensional rankings, program
    termination, and complexity bounds of flowchart programs, SAS 2010).
    """
    atoms = (atom for atom in sessions.about.atoms if not _is_measured(atom))
    forms = dict.fromkeys(Linear((), 0).plus(Linear(atom.terms, 0), -1) for atom in atoms)
    moved = dict.fromkeys((edge.given, edge.move.values) for edge in sessions.lasting())
    left, chosen = [*moved], list[Linear]()
    while left:
        best, falls = None, set[Any]()
        for form in forms:
            changes = {key: sessions.changes((form,), *key) for key in left}
            falling = {key for key, change in changes.items() if change == "falls"}
            if "rises" not in changes.values() and len(falling) > len(falls):
                best, falls = form, falling
        if best is None:
            break
        chosen.append(best)
        left = [key for key in left if key not in falls]
    return [dict(form.terms) for form in chosen]
