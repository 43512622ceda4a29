"""What is asked of `check`: subjects, properties and limits."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import field
from pathlib import Path
from typing import Any, NamedTuple

from pxp_fsm import defaults
from pxp_fsm.automata.table_files import Property
from pxp_fsm.errors import UsageError, quoted
from pxp_fsm.lazy_dataclasses import dataclass
from pxp_fsm.options import option


def parameters_option() -> Any:
    """With which parameters rules decide."""
    return option(
        "Let the rules of the tables decide and count, with these parameters (n=4,k=2), before "
        "those of a system file, and intervals of the numbers that oracles say (right=0..9); "
        "without them, whoever decides; repeatable.",
        (),
        name="with",
        metavar="NAME=VALUE",
    )


def parameters_in(texts: Iterable[str]) -> dict[str, object]:
    """The parameters that texts like "n=4,k=2" give: numbers, true or false, names, and intervals.

    Raises `UsageError` for a text that gives none.
    """
    values = dict[str, object]()
    for text in ",".join(texts).split(","):
        name, equals, value = (part.strip() for part in text.partition("="))
        if not name or not equals or not value:
            reason = f"{quoted(text)} is no parameter; write NAME=VALUE, as in n=4,k=2"
            raise UsageError(reason, "parameters")
        number = re.fullmatch(r"(-?[0-9]{1,18})(?:\.\.(-?[0-9]{1,18}))?", value)
        if number and number[2]:
            values[name] = range(int(number[1]), int(number[2]) + 1)
        else:
            values[name] = (
                int(value) if number else {"true": True, "false": False}.get(value, value)
            )
    return values


def limit_option() -> Any:
    """How many states are explored."""
    return option(
        "Explore at most so many states of a system; beyond, the verdict is UNKNOWN.",
        None,
        metavar="STATES",
        least=1,
    )


def memory_option() -> Any:
    """How much memory an exploration may take."""
    return option(
        "Explore a system until the process uses this memory; beyond, the verdict is UNKNOWN.",
        None,
        metavar="MB",
        default="half of what there is",
        least=1,
    )


TERMINATION, RUNNING = "termination", "running"
ALONE = frozenset({TERMINATION, RUNNING})
"""Names that are asked for alone: each stands for properties of its own."""


@dataclass(frozen=True, slots=True)
class Request:
    """What to check; without `subjects` both built-in protocols.

    A subject is a name or a file, or a value that a `Checkable` accepts (a system, a table, a
    protocol with its bounds). With `names` or `formulas` nothing else is checked: each formula on
    the system of the tables with free guards, over `runs` that are complete, finite or infinite,
    under the fairness constraints `fair` (`weak:WHAT`, `strong:WHAT`); with `relations`, over the
    sessions of a protocol. `properties` are what a system must do beside its standard checks, as
    its file does. With `values`, INTERACT's sessions are explored over that many explicit values of
    y and of e, for which MATCH and AGREE are equality. A system has several tables, with names
    (NAME=TABLE), or one table that is joined with itself; it is checked over each of `channels` and
    explored up to `limit` states and `memory` MB, with the `reduction`. With a `certificate` what
    holds of a system has to be certified; where that is a folder, claims are proved anew, where
    else the certificates that come with the package are re-checked. Two names stand alone:
    `termination`, which is what a system is asked about its ends, and `running`, whether two
    running agents do what the model of sessions says. `given` are parameters by name, beside those
    that are written as texts.
    """

    subjects: tuple[Any, ...] = option("", (), argument=True, metavar="[TABLE...]")
    names: tuple[str, ...] = option(
        "Check only the property or claim NAME (pxp list claims); termination asks whether the "
        "TABLEs can end, must end, must end under fairness, and running whether two running agents "
        "do what the model of sessions says, whatever MATCH and AGREE answer; repeatable.",
        (),
        name="property",
        metavar="NAME",
        listed="claims",
    )
    relations: str | None = option(
        "Check only under these assumptions on MATCH and AGREE: equivalence, tolerance, noisy, "
        "'without symmetric', deterministic+shared, …",
        None,
        metavar="NAME",
    )
    n: int = option("The bound n of INTERACT, where sessions are explored.", defaults.N)
    k: int = option(
        "The bound k, where sessions are explored; with --channel fifo, the largest k tried.",
        defaults.K,
    )
    values: int | None = option(
        "Explore INTERACT over V explicit values of y and of e, without symmetry.",
        None,
        metavar="V",
        least=1,
    )
    formulas: tuple[str, ...] = option(
        "Check only this formula of temporal logic (pxp help logic) on the TABLEs or, with "
        "--relations, on sessions of interact or pxp; repeatable.",
        (),
        name="formula",
        metavar="FORMULA",
    )
    runs: str = option(
        "The runs that a formula quantifies over.",
        "complete",
        choices=("complete", "finite", "infinite"),
    )
    fair: tuple[str, ...] = option(
        "Consider only runs that are fair to the steps after which WHAT holds (1.RATIFY), to each "
        "of the rows, or to each of the agents; repeatable.",
        (),
        metavar="weak:WHAT|strong:WHAT",
    )
    channels: tuple[str, ...] = option(
        "The channel between the TABLEs: sync, or with a capacity C fifo:C, lossy:C, "
        "duplicating:C, reordering:C, or several joined by + (pxp help systems); fifo alone "
        "has any capacity (pxp help exchange); repeatable.",
        (),
        name="channel",
        metavar="CHANNEL",
    )
    parameters: tuple[str, ...] = parameters_option()
    limit: int | None = limit_option()
    memory: int | None = memory_option()
    reduction: str | None = option(
        "Reduce the states of a system: by the symmetry of equal members, or by partial order.",
        None,
        name="reduce",
        choices=("symmetry", "partial-order"),
    )
    certificate: Path | None = option(
        "Write a certificate of what holds of the TABLEs over one channel into this file; what "
        "holds and cannot be certified is then unknown. Of what is proved from rules FILE.smt2 or "
        "FILE.v has the conditions on numbers, for an SMT solver or Coq. Of interact and pxp a "
        "PATH without a suffix is a folder, for the certificates of the claims, proved anew.",
        None,
        metavar="PATH",
        path="any",
    )
    given: Mapping[str, object] = field(default_factory=dict)
    properties: tuple[Property, ...] = ()

    @property
    def termination(self) -> bool:
        """Whether a system is asked only about its ends."""
        return TERMINATION in self.names

    @property
    def running(self) -> bool:
        """Whether running agents are compared with the model of sessions."""
        return RUNNING in self.names

    def __post_init__(self) -> None:
        """Raise `UsageError` where the certificate would be written over what is checked."""
        if self.certificate is None or not self.certificate.suffix:
            return
        files = [
            Path(subject.rpartition("=")[2])
            for subject in self.subjects
            if isinstance(subject, str)
        ]
        same = self.certificate.resolve() in [file.resolve() for file in files]
        if same or self.certificate.suffix == ".toml":  # a member's table ends so, too
            reason = (
                "a certificate is JSON, beside the tables that it is of; write another FILE.json"
            )
            raise UsageError(reason, "certificate")

    @property
    def certificate_folder(self) -> Path | None:
        """Where the certificates of claims, which are proved anew, are wanted: no suffix."""
        return self.certificate if self.certificate and not self.certificate.suffix else None

    @property
    def certificate_file(self) -> Path | None:
        """Where a certificate of what holds of tables is wanted."""
        return self.certificate if self.certificate and self.certificate.suffix else None

    def refuse_folder(self) -> None:
        """Raise `UsageError` where a folder is given for what has one certificate."""
        if self.certificate_folder is not None:
            reason = "only the claims about interact and pxp fill a folder; write FILE.json"
            raise UsageError(reason, "certificate")

    def wants(self, name: str, subject: str = "") -> bool:
        """Whether the property `name` (or SUBJECT.NAME) is asked for; without names all are."""
        asked = not self.names and not self.formulas
        return asked or name in self.names or f"{subject}.{name}" in self.names


ANY_TABLE = "any table"
"""The subject of what is checked of any table or system."""


class NamedProperty(NamedTuple):
    """A property that can be asked for by its name; of `subject`, or of "any table".

    `about` explains it: when it holds and fails, why it matters, how to see it.
    """

    name: str
    subject: str
    title: str
    about: str = ""
