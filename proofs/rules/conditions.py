"""The conditions on numbers of a certificate, for other provers: SMT-LIB and Coq.

A certificate's lemmas are all that its checker believes of numbers; it verifies each by adding. Who
would rather ask another prover gives it these files: an SMT solver answers `unsat` to each
question, and Coq proves each lemma by `lia`. What follows from the lemmas the checker computes
anew; it is in neither file.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

_NONE = "It needs none: all follows from the states, which the checker of certificates computes."
"""What stands in place of conditions."""

Atom = tuple[tuple[tuple[str, int], ...], int]
"""Names with their factors, and a constant: the sum is at most 0."""


def as_smt(document: Mapping[str, Any]) -> str:
    """The lemmas of a certificate as a script of SMT-LIB 2.6: each answer is `unsat`."""
    lemmas = [*_lemmas(document)]
    names = sorted({name for _, atoms in lemmas for terms, _ in atoms for name, _ in terms})
    lines = [
        f"; Numbers in the certificate of {_members(document)}: each answer is unsat.",
        "(set-logic QF_LIA)",
        *(f"(declare-const |{name}| Int)" for name in names),
    ]
    lines += [] if lemmas else [f"; {_NONE}"]
    for title, atoms in lemmas:
        lines += [f"; {title}", "(push 1)"]
        lines += [f"(assert (<= {_smt_sum(*atom)} 0))" for atom in atoms]
        lines += ["(check-sat)", "(pop 1)"]
    return "\n".join(lines) + "\n"


def as_coq(document: Mapping[str, Any]) -> str:
    """The same as a file of Coq: a lemma each, proved by `lia`."""
    lines = [
        f"(* Numbers in the certificate of {_members(document)}. *)",
        "From Coq Require Import ZArith Lia.",
        "Open Scope Z_scope.",
    ]
    lemmas = [*_lemmas(document)]
    lines += [] if lemmas else [f"(* {_NONE} *)"]
    for title, atoms in lemmas:
        names = dict.fromkeys(name for terms, _ in atoms for name, _ in terms)
        called = {name: f"x{place}" for place, name in enumerate(names)}
        told = ", ".join(f"{short} is {name}" for name, short in called.items())
        sums = (f"{_coq_sum(terms, constant, called)} <= 0" for terms, constant in atoms)
        lines += [
            "",
            f"(* {told} *)" if told else "(* no numbers *)",
            f"Lemma {title.replace(' ', '_').replace(',', '')} :",
            f"  forall {' '.join(called.values())} : Z," if called else "  True ->",
            "  " + " -> ".join(sums) + " -> False.",
            "Proof. intros; lia. Qed.",
        ]
    return "\n".join(lines) + "\n"


FORMATS = {".smt2": as_smt, ".v": as_coq}
"""What is written of a certificate to a file with this ending, in place of all of it."""


def _lemmas(document: Mapping[str, Any]) -> Iterator[tuple[str, Sequence[Atom]]]:
    for number, part in enumerate(document["parts"], 1):
        for place, lemma in enumerate(part["lemmas"], 1):
            atoms = [
                (tuple((str(name), int(times)) for name, times in terms), int(constant))
                for (terms, constant), _ in lemma
            ]
            yield f"part {number}, lemma {place}", atoms


def _members(document: Mapping[str, Any]) -> str:
    return ", ".join(re.sub(r"[^\w.]", "_", name) for name, _ in document["members"])


def _smt_sum(terms: Sequence[tuple[str, int]], constant: int) -> str:
    parts = [f"(* {_smt_number(times)} |{name}|)" for name, times in terms]
    return f"(+ {' '.join(parts)} {_smt_number(constant)})" if parts else _smt_number(constant)


def _smt_number(value: int) -> str:
    return str(value) if value >= 0 else f"(- {-value})"


def _coq_sum(terms: Sequence[tuple[str, int]], constant: int, called: Mapping[str, str]) -> str:
    parts = [f"({times}) * {called[name]}" for name, times in terms]
    return " + ".join([*parts, f"({constant})"])
