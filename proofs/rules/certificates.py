"""Certificates of what is proved for all parameters, with all that a recheck needs.

A certificate is a JSON document of a few kilobytes. It names the tables of the members by digests
of what decides in them; each of its parts has claims under the same assumptions, with the
comparisons of numbers that matter, lemmas and ranks. `proofs.recheck` finds all states anew from
the tables, and is asked before a certificate is made.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from proofs import recheck
from proofs.core.results import Result, Status, Verdict
from proofs.logic import parse
from proofs.rules import conditions
from proofs.rules.prover import PartProof, prove
from proofs.systems import System
from pxp_fsm.artifacts import atomic_path
from pxp_fsm.automata.automaton import Automaton
from pxp_fsm.automata.expressions import BOOL, INT
from pxp_fsm.automata.serialization import document
from pxp_fsm.automata.table_files import Property
from pxp_fsm.errors import UsageError
from pxp_fsm.lazy_dataclasses import dataclass

TITLES = {
    "terminates": "every session ends",
    "never-stuck": "until all have ended, something can happen",
    "one-guard": "wherever rules decide, exactly one guard is true",
}
"""What can be proved of every system with rules, beside `never` and `step`."""


@dataclass(frozen=True, repr=False)
class RulesCertificate:
    """What is proved of a system for all values of its parameters.

    `filename` is that of the certificate of a protocol of two. `tables` are those of the members,
    which the checker needs beside it.
    """

    document: Mapping[str, Any]
    filename: str = ""
    tables: tuple[Automaton, ...] = ()

    def __repr__(self) -> str:
        members = ", ".join(name for name, _ in self.document["members"])
        return f"<RulesCertificate of {members}: {', '.join(self.claims)}>"

    @property
    def claims(self) -> tuple[str, ...]:
        """The names of the claims."""
        parts = self.document["parts"]
        return tuple(claim["name"] for part in parts for claim in part["claims"])

    def text(self) -> str:
        """The certificate as it is written: a line a part."""
        rest = dict(self.document)
        parts = ",\n".join(f" {_json(part)}" for part in rest.pop("parts"))
        return f'{_json(rest)[:-1]}, "parts": [\n{parts}\n]}}\n'

    def write(self, path: str | Path) -> Path:
        """Write the certificate into a file, or one of a protocol into a folder; gives the file.

        Into a file that ends in .smt2 or .v, its conditions on numbers for an SMT solver or Coq.
        """
        path = Path(path) / self.filename if Path(path).is_dir() else Path(path)
        form = conditions.FORMATS.get(path.suffix)
        with atomic_path(path) as draft:
            draft.write_text(self.text() if form is None else form(self.document), "utf-8")
        return path


def name_of_claim(claimed: Property) -> str:
    """The name of the claim of a property; "" where it has none."""
    return str(claimed.claim["claims"][0]["name"]) if claimed.claim else ""


def prove_system(
    system: System, properties: Iterable[Property], channel: str = ""
) -> tuple[list[Result], RulesCertificate | None]:
    """What is proved of a system over synchronous channels for all values of its parameters.

    There is one result for each of the `properties` that has a claim, and the certificate of those
    that hold. What is not proved is UNKNOWN: that a proof fails is no counterexample. Another
    `channel` than the system's is one without a capacity, of which nothing is proved.
    """
    members = {member.name: member.automaton.written for member in system.members}
    channel, reason = channel or system.channel.name, ""
    if channel != system.channel.name or not system.channel.synchronous:
        reason = f"rules are proved over synchronous channels, not {channel}"
    return _proved(members, properties, system.name, channel, reason)


def prove_table(automaton: Automaton) -> tuple[list[Result], RulesCertificate | None]:
    """What is proved of the claims of a table (`properties`), whatever its peers send and when."""
    automaton = automaton.written
    members = {automaton.name: automaton}
    return _proved(members, automaton.properties, automaton.name, "any peers")


def _proved(
    members: Mapping[str, Automaton],
    properties: Iterable[Property],
    subject: str,
    peers: str,
    reason: str = "",
) -> tuple[list[Result], RulesCertificate | None]:
    """The results, and the certificate of what holds; with a `reason` nothing is tried."""
    asked = [claimed for claimed in properties if claimed.claim]

    def result(claimed: Property, obstacle: str) -> Result:
        return _result([*members.values()], claimed, obstacle, subject, peers)

    if reason:
        return [result(claimed, reason) for claimed in asked], None
    groups = dict[str, list[Property]]()
    for claimed in asked:
        groups.setdefault(_json({**claimed.claim, "claims": []}), []).append(claimed)
    results, proofs = dict[int, Result](), list[PartProof]()
    for group in groups.values():
        claims = [dict(claimed.claim["claims"][0]) for claimed in group]
        proof = prove(members, {**group[0].claim, "claims": claims})
        proofs.append(proof)
        for claimed in group:
            obstacle = proof.obstacles.get(claimed.claim["claims"][0]["name"], "")
            results[id(claimed)] = result(claimed, obstacle)
    return [results[id(claimed)] for claimed in asked], certificate_of(members, proofs)


_EXPLORED = {"terminates": "--formula 'F ended'", "never-stuck": "--property no-deadlock"}
"""What explores, for some values of parameters, what a claim says for all."""


def _remedy(tables: Sequence[Automaton], claim: Mapping[str, Any]) -> str:
    """What explores a claim that is not proved, for one value of each parameter."""
    values = dict[str, str]()
    for parameter in (declared for table in tables for declared in table.rules.parameters):
        if parameter.type.members:
            values[parameter.name] = min(parameter.type.members)
        else:
            number = str(max(parameter.minimum or 0, 3))
            values[parameter.name] = "true" if parameter.type == BOOL else number
    for oracle in (declared for table in tables for declared in table.rules.oracles):
        if oracle.type == INT:
            values[oracle.name] = f"{oracle.minimum or 0}..{(oracle.minimum or 0) + 3}"
    fixed = ",".join(f"{name}={value}" for name, value in values.items())
    never = re.sub(r"\w+", lambda word: values.get(word[0], word[0]), claim.get("never", ""))
    for written, in_logic in _IN_LOGIC.items():
        never = re.sub(written, in_logic, never)
    explored = _EXPLORED.get(claim["check"], "")
    if never:
        with suppress(UsageError):  # not every expression is a formula
            parse(f"AG !({never})")
            explored = f"--formula 'AG !({never})'"
    options = " ".join(filter(None, (f"--with {fixed}" if fixed else "", explored)))
    return f"explore one case: {options}" if options else ""


_IN_LOGIC = {r"\.at == ": "@", "==": "=", r"\band\b": "&", r"\bor\b": "|", r"\bnot ": "!"}
"""How formulas of temporal logic write what expressions write otherwise."""


def _result(
    tables: Sequence[Automaton], claimed: Property, obstacle: str, subject: str, peers: str
) -> Result:
    """HOLDS for all, or UNKNOWN."""
    claim = claimed.claim["claims"][0]
    assumed = list(recheck.given(claimed.claim))
    verdict = Verdict(Status.UNKNOWN, obstacle, remedy=_remedy(tables, claim))
    if not obstacle:
        numbers = dict.fromkeys(
            parameter.name for table in tables for parameter in table.rules.parameters
        )
        verdict = Verdict(Status.HOLDS, f"for all {' and '.join(numbers)}" if numbers else "")
    title = claimed.about or TITLES.get(
        claim["check"], f"{claim['check']} {claim.get(claim['check'])}"
    )
    expected = Status(claimed.expected)
    under = ", ".join([_decided_by(tables), peers, *assumed])
    return Result(subject, claim["name"], title, under, verdict, expected, 0.0, subject)


def _decided_by(tables: Sequence[Automaton]) -> str:
    """What decides in the members, in words: rules, or whoever is asked."""
    states = {
        (table.name, state.name): state.name in table.rules.deciding
        for table in tables
        for state in table.states
        if state.guards
    }
    if all(states.values()):
        return "by rules"
    return "by rules, whoever decides" if any(states.values()) else "whoever decides"


def certificate_of(
    members: Mapping[str, Automaton], proofs: Sequence[PartProof], protocol: str = ""
) -> RulesCertificate | None:
    """The certificate of what is proved of a system; None where nothing is.

    Of a `protocol` it says all that the checker demands.

    Raises `AssertionError` where the checker does not agree: the prover is wrong then.
    """
    evidence = [proof.evidence for proof in proofs if proof.proved]
    if not evidence:
        return None
    tables = {digest_of(member): member for member in members.values()}
    digests = [[name, digest_of(automaton)] for name, automaton in members.items()]
    named = {"protocol": protocol} if protocol else {}
    certificate = RulesCertificate(
        {"format": recheck.FORMAT, **named, "members": digests, "parts": evidence},
        tables=tuple(members.values()),
    )
    refused = _refusal(json.loads(certificate.text()), tables.values())
    if refused:
        raise AssertionError(f"the checker refuses what was proved: {refused}")
    return certificate


def digest_of(automaton: Automaton) -> str:
    """The digest of what decides in a table, as the checker has it."""
    return recheck.Rules(document(automaton)).digest


def _refusal(certificate: Any, tables: Iterable[Automaton]) -> str:
    """Why the checker refuses a certificate; "" where it accepts."""
    try:
        read = recheck.check_rules(certificate, *map(document, tables))
        return "; ".join(text for fine, text in read if not fine)
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        return f"{type(error).__name__}: {error}"


def _json(data: object) -> str:
    return json.dumps(data, ensure_ascii=False)
