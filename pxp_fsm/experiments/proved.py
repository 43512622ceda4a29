"""What is proved of a system before it is run: from a stored result that fits, or checked now."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path

from proofs.check import check
from proofs.core.results import Result, Status
from proofs.logic import parse
from proofs.logic.termination import ALWAYS_ENDS, END_REACHABLE
from proofs.rules.certificates import prove_system
from proofs.systems import System
from proofs.systems.standard_checks import NO_DEADLOCK
from pxp_fsm import __version__
from pxp_fsm.artifacts import write_atomically
from pxp_fsm.automata.system_files import SystemFile
from pxp_fsm.automata.table_files import Property
from pxp_fsm.documents import text_of
from pxp_fsm.errors import Fault, FileError, UsageError
from pxp_fsm.lazy_dataclasses import dataclass

MOST_STATES = 1_000_000
"""How many states are explored before a run; beyond, nothing is known."""

ASKED = (NO_DEADLOCK, END_REACHABLE, ALWAYS_ENDS)
"""What is said of every system, before what its file demands."""

_WORDS = {
    NO_DEADLOCK: ("deadlock-free", "it has a deadlock"),
    END_REACHABLE: ("can always come to its end", "it cannot always come to its end"),
    ALWAYS_ENDS: ("every run ends", "a run need not end"),
}


@dataclass(frozen=True, slots=True)
class Known:
    """One property: its verdict, the expected one, and the trace or reason in words.

    `stated` is what a system's file writes of it, by which a stored verdict is known again.
    """

    name: str
    status: str
    expected: str
    why: str = ""
    about: str = ""
    stated: str = ""

    def __str__(self) -> str:
        label = f'"{self.about}"' if self.about else self.name
        holds, fails = _WORDS.get(self.name, (f"{label} holds", f"{label} fails"))
        if self.status in (Status.HOLDS, Status.HOLDS_UP_TO):
            return f"{holds} {self.why}" if self.why.startswith("for all ") else holds
        if self.status == Status.FAILS:
            return fails
        return f"{label} is {self.status}"


@dataclass(frozen=True, slots=True)
class Proved:
    """What is known of the system with that fingerprint; `stored` names the file that says so."""

    fingerprint: str
    known: tuple[Known, ...]
    seconds: float = 0.0
    stored: str = ""

    @property
    def line(self) -> str:
        """All of it in one line."""
        how = f"stored in {self.stored}" if self.stored else f"checked now, {self.seconds:.1f} s"
        return f"Proved ({how}): {'; '.join(map(str, self.known))}"

    @property
    def objections(self) -> tuple[str, ...]:
        """What speaks against a run: a deadlock, and properties, that are not as expected."""
        return tuple(
            f"{_objection(known)}: {known.why}" if known.why else _objection(known)
            for known in self.known
            if known.name not in (END_REACHABLE, ALWAYS_ENDS)
            and known.status in (Status.HOLDS, Status.FAILS)
            and known.status != known.expected
        )


def _objection(known: Known) -> str:
    """What is not as expected."""
    if known.name == NO_DEADLOCK:
        return _WORDS[NO_DEADLOCK][known.status == Status.FAILS]
    return f"{known.name} {'fails' if known.status == Status.FAILS else 'holds'}"


def proved(system: System, file: SystemFile, stored: Path) -> Proved:
    """What is proved of `system`: read from the file `stored`, or checked, and stored there.

    A stored result counts where it is of this version, of the system with the same fingerprint and
    of the same formulas. Raises `FileError`, with its line, for a formula that cannot be read.
    """
    asked = [stated for stated in file.properties if stated.check not in ASKED]
    for stated in asked:
        if stated.formula:
            with _located(file, stated):
                parse(stated.formula)
    earlier = _read(stored)
    if earlier is not None and earlier.fingerprint == system.fingerprint:
        of_file = [(_stated(stated), stated.expected, stated.about) for stated in asked]
        first, last = earlier.known[: len(ASKED)], earlier.known[len(ASKED) :]
        found_before = [(known.stated, known.expected, known.about) for known in last]
        if tuple(known.name for known in first) == ASKED and found_before == of_file:
            return replace(earlier, known=(*_expected(file, first), *last))
    started = time.perf_counter()
    known = [*_expected(file, map(_known, check(system, *ASKED, limit=MOST_STATES)))]
    for stated in asked:
        with _located(file, stated):
            known += _demanded(system, stated)
    verdicts = Proved(system.fingerprint, tuple(known), time.perf_counter() - started)
    document = {"version": __version__, **asdict(verdicts), "stored": ""}
    write_atomically(stored, json.dumps(document, indent=1) + "\n")
    return verdicts


def _expected(file: SystemFile, known: Iterable[Known]) -> Iterator[Known]:
    """What is said of every system, with the verdicts that the file expects."""
    stated = {prop.check: prop.expected for prop in file.properties if prop.check}
    for verdict in known:
        yield replace(verdict, expected=stated.get(verdict.name, Status.HOLDS.value))


def _demanded(system: System, stated: Property) -> Iterator[Known]:
    """What is found of a formula, a claim, or a standard check of the file."""
    if stated.claim:
        results: Iterable[Result] = prove_system(system, [stated])[0]
    else:
        results = check(system, stated.formula or stated.check, limit=MOST_STATES)
    for result in results:
        known = replace(_known(result), expected=stated.expected, about=stated.about)
        yield replace(known, stated=_stated(stated))


def _stated(stated: Property) -> str:
    """What the file says: a formula, a claim or a check, and what a claim assumes."""
    text = stated.formula or stated.never or stated.step or stated.check
    return ", assuming ".join((text, *stated.assume))


@contextmanager
def _located(file: SystemFile, stated: Property) -> Iterator[None]:
    """What is wrong with a formula is told with its line of the file."""
    try:
        yield
    except UsageError as error:
        fault = Fault(("properties", file.properties.index(stated), "formula"), str(error))
        raise FileError(file.located([fault])) from error


def _known(result: Result) -> Known:
    expected = Status.HOLDS if result.expected is None else result.expected
    return Known(result.name, result.status.value, expected.value, result.verdict.explanation)


def _read(path: Path) -> Proved | None:
    """What a file says, or None where it says nothing that this version has written."""
    try:
        raw = json.loads(text_of(path, "results of checks"))
        if raw["version"] != __version__:
            return None
        known = tuple(Known(**entry) for entry in raw["known"])
        return Proved(str(raw["fingerprint"]), known, float(raw["seconds"]), str(path))
    except (FileError, ValueError, KeyError, TypeError, RecursionError):
        return None
