"""A global protocol as a system: a table for each role, over buffers of one message."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from proofs.check import Results, check
from proofs.core.results import Result, Status, Verdict
from pxp_fsm.automata.automaton import Automaton, Kind
from pxp_fsm.automata.channels import parse_channel
from pxp_fsm.automata.serialization import to_toml
from pxp_fsm.automata.system import System, system_of
from pxp_fsm.documents import text_of
from pxp_fsm.errors import TableError, UsageError
from pxp_fsm.plugins.scribble.flow import ProtocolGraph, flow_of
from pxp_fsm.plugins.scribble.formation import faults_of_form
from pxp_fsm.plugins.scribble.inlining import inlined
from pxp_fsm.plugins.scribble.projection import (
    LocalView,
    TagNames,
    faults_of_roles,
    payloads_of,
)
from pxp_fsm.plugins.scribble.syntax import GlobalProtocol, ScribbleModule, fault_at, parse

CHANNEL = "fifo:1"
"""Over what the roles talk: as Scribble checks them, one message at a time on each way."""

CHECKS = (
    "no-deadlock",
    "no-unspecified-reception",
    "no-orphan-message",
    "progress",
    "eventual-reception",
)
"""What is checked of the projection. It is said with EF: under fairness of choices."""


def read(text: str, filename: str) -> System:
    """The system of the first protocol of a text that is not auxiliary.

    Every protocol of the text that is not auxiliary must be well-formed. Raises `TableError` with
    the place of each fault.
    """
    module = parse(text, filename)
    main = [protocol for protocol in module.protocols if not protocol.auxiliary] or list(
        module.protocols
    )
    systems = [projected(module, protocol) for protocol in main]
    return systems[0]


def load(path: str | Path) -> System:
    """The system of the first protocol of a file; see `read`."""
    return read(text_of(Path(path), "a global protocol", error=TableError), str(path))


def projected(module: ScribbleModule, protocol: GlobalProtocol) -> System:
    """The system of a protocol of a module; raises `TableError` where it is not well-formed."""
    body = inlined(module, protocol)
    flow = flow_of(body)
    faults = faults_of_form(module.filename, body, flow, frozenset(protocol.roles))
    acting = [role for role in protocol.roles if _acts(flow, role)]
    views = [LocalView(flow, role) for role in acting]
    faults = faults or faults_of_roles(module.filename, views, protocol.at)
    if not faults and len(acting) < 2:
        faults = [fault_at(module.filename, protocol.at, f"{protocol.name} has no message")]
    if faults:
        raise TableError(faults)
    tags = TagNames()
    payloads = payloads_of(flow, module.types, tags)
    changed = ", ".join(f"{ours} is {theirs}()" for theirs, ours in tags.changed.items())
    names = f" ({changed})" if changed else ""
    members = [
        (
            view.role,
            view.table(
                _table_name(protocol.name, view.role),
                f"{view.role} in {protocol.name}{names}",
                tags,
                payloads,
            ),
        )
        for view in views
    ]
    return system_of(members, parse_channel(CHANNEL))


def _acts(flow: ProtocolGraph, role: str) -> bool:
    return any(role in (message.sender, message.receiver) for message in flow.messages())


def _table_name(protocol: str, role: str) -> str:
    plain = re.sub(r"[^a-z0-9_]", "_", f"{protocol}_{role}".lower())
    return plain[:64] if plain[0].isalpha() else f"p{plain}"[:64]


def check_fair(system: System) -> Results:
    """What is checked of a projection where choices are fair: nobody has to wait for ever."""
    return check(system, *CHECKS, channels=(CHANNEL,))


UNFAIR = "progress-without-fairness"
"""Progress and reception where choices may always fall alike, and only agents are treated fairly.
Scribble asks for it; where choices are fair, it need not hold."""


def check_unfair(system: System) -> Result:
    """Whether whoever waits receives, and what was sent is received, however choices fall.

    It is not required: it says what fairness of choices is needed for.
    """
    started, verdict = time.perf_counter(), Verdict(Status.HOLDS)
    formulas = [*_waiting(system), *_sent(system)]
    for result in check(system, *formulas, channels=(CHANNEL,), fair=(_AGENTS,)):
        if not result.verdict.holds:
            verdict = replace(result.verdict, reason=result.name)
            break
    title = "whoever waits receives, and what is sent is received, however choices fall"
    seconds = time.perf_counter() - started
    under = f"{CHANNEL}, {_AGENTS}"
    return Result(system.name, UNFAIR, title, under, verdict, None, seconds, system.name)


_AGENTS = "weak:agents"


def _waiting(system: System) -> Iterator[str]:
    for member in system.members:
        table: Automaton = member.automaton
        for state in table.states:
            rows = table.leaving(state.name)
            if (
                rows
                and state.name not in table.final
                and all(row.kind is Kind.RECEIVE for row in rows)
            ):
                taken = " | ".join(f'"{row.partner}:{member.name}?{row.label}"' for row in rows)
                yield f'G ("{member.name}@{state.name}" -> X F ({taken}))'


def _sent(system: System) -> Iterator[str]:
    for sender in system.members:
        sent = {
            (row.partner, row.label)
            for row in sender.automaton.transitions
            if row.kind is Kind.SEND
        }
        for receiver, tag in sorted(sent):
            link = f"{sender.name}:{receiver}"
            yield f'G ("{link}@has.{tag}" -> F "{link}?{tag}")'


def write(system: System, source: Path, folder: Path | None = None) -> Iterator[Path]:
    """Write a projection as a system file and its tables; gives the files.

    Raises `UsageError` where one of them is there already.
    """
    into = folder or Path(source.stem)
    name = _table_name(source.stem, "system").removesuffix("_system")
    lines = ["format = 1", f'name = "{name}"', f'channel = "{CHANNEL}"']
    texts = dict[Path, str]()
    for member in system.members:
        file = f"{member.name}.toml"
        texts[into / file] = to_toml(member.automaton)
        lines += ["", "[[members]]", f'name = "{member.name}"', f'table = "{file}"']
    texts[into / f"{name}.system.toml"] = "\n".join(lines) + "\n"
    for path in texts:
        if path.exists():
            raise UsageError(f"{path} is there already; name another folder with -o")
    into.mkdir(parents=True, exist_ok=True)
    for path, text in texts.items():
        path.write_text(text, "utf-8")
        yield path
