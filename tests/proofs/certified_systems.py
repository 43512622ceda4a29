"""Systems to certify, and what the checker says of certificates of them."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from proofs import recheck
from proofs.claims.system_certificates import (
    SystemCertificate,
)
from proofs.core.limits import Effort
from proofs.core.results import Result, Status
from proofs.logic.formulas import Atom
from proofs.systems import (
    Composition,
    Member,
    System,
    check_formulas,
    check_standard,
    check_termination,
    parse_channel,
)
from proofs.systems.propositions import of_steps, vocabulary
from pxp_fsm.automata.automaton import Automaton, State
from pxp_fsm.automata.serialization import document
from tests.proofs import test_compatibility as compatible
from tests.proofs.random_systems import (
    CHANNELS,
    random_system,
    symmetric_system,
    with_own,
)

EXAMPLES = Path(__file__).parents[2] / "examples"
STANDARD = recheck.STANDARD
SMALL = Effort(150)


def read(certificate: SystemCertificate) -> Any:
    return json.loads(certificate.text())


def tables(system: System) -> list[Any]:
    found = {one.automaton.fingerprint: one.automaton for one in system.members}
    return [document(one) for one in found.values()]


def accepts(stated: Any, system: System) -> bool:
    """Whether the checker accepts; what it cannot read at all it does not accept."""
    try:
        return all(fine for fine, _ in recheck.check_system(stated, *tables(system)))
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return False


def asked(system: System, *formulas: str) -> list[Result]:
    """What `pxp check` says of a system: standard checks, termination, formulas."""
    found = [*check_standard(system, STANDARD), *check_termination(system)]
    return [*found, *check_formulas(system, formulas)]


def verdicts(results: list[Result]) -> dict[str, str]:
    return {one.name: one.status.value for one in results}


def random_one(seed: int) -> System | None:
    """A system over each of the channels in turn; None where it is large."""
    chance, channel = random.Random(seed), parse_channel(CHANNELS[seed % len(CHANNELS)])
    guards = chance.choice((0, 0.5, 0.9))
    if seed % 5:
        system = random_system(chance, guards=guards, most=3)
    else:
        system = symmetric_system(chance, guards=guards)
    if seed % 4 == 1 and not channel.synchronous:
        channel = with_own(chance, system, channel)
    over = system.over(channel)
    unknown = Status.UNKNOWN in [one.status for one in check_standard(over, ["no-deadlock"], SMALL)]
    return None if unknown else over


def invariants(system: System, chance: random.Random) -> list[str]:
    """Formulas G p and AG p, written in several ways."""
    composition = Composition(system)
    names = sorted(vocabulary(composition) - of_steps(composition))

    def atom() -> Atom:
        return Atom(chance.choice(names))

    def text(depth: int) -> str:
        if depth == 0 or chance.random() < 0.2:
            return chance.choice((*[atom().name] * 4, f'"{atom().name}"', "true", "false"))
        left, right = text(depth - 1), text(depth - 1)
        sign = chance.choice(("&", "&&", "|", "||", "->", "<->"))
        found = f"{left} {sign} {right}"
        return chance.choice((found, f"({found})", f"!({found})", f"! {left}"))

    heads = ("G", "AG", "A G", "G ")
    return [f"{chance.choice(heads)} ({text(3)})" for _ in range(6)] + ["G ended", "AG !ended"]


def lettered(system: System) -> System:
    """The system with states q0, q1, ... for 0, 1, ...: names that a table's file can have."""

    def renamed(table: Automaton) -> Automaton:
        rows = [replace(t, source=f"q{t.source}", target=f"q{t.target}") for t in table.transitions]
        states = tuple(State(f"q{one.name}") for one in table.states)
        final = frozenset(f"q{name}" for name in table.final)
        return replace(
            table, states=states, initial=f"q{table.initial}", final=final, transitions=tuple(rows)
        )

    members = (Member(one.name, renamed(one.automaton)) for one in system.members)
    return replace(system, members=tuple(members))


def example_systems() -> Iterator[System]:
    for name in ("interact", "pxp"):
        for channel in ("sync", "fifo:2", "lossy:1", "reordering:2"):
            yield System.load(name, channel=channel)
    folder = EXAMPLES / "own_protocol"
    for channel in ("sync", "fifo:2"):
        yield System.load(str(folder / "buyer.toml"), str(folder / "seller.toml"), channel=channel)
    for system in (CLIENT_SERVER_LOGGER, lettered(compatible.ALTERNATING_BIT)):
        for channel in ("sync", "lossy:1", "lossy+duplicating:1"):
            yield system.over(parse_channel(channel))


CLIENT_SERVER_LOGGER = lettered(compatible.CLIENT_SERVER_LOGGER)
EXAMPLE_SYSTEMS = list(example_systems())


LOOP = compatible.system(
    a="q0 b!ping q1; q1 b?pong q0; q0 b!stop q2", b="q0 a?ping q1; q1 a!pong q0; q0 a?stop q2"
)
