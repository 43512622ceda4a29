"""Generated calls of assistants, right and wrong, and a second judge of what came of them.

`python -m tests.web.assistant_calls CALLS SEED` makes that many, and prints what came of them.
"""

from __future__ import annotations

import asyncio
import json
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mcp.shared.exceptions import MCPError

from backends.databases import SqlBlackboard
from pxp_fsm.automata.actions import (
    Choose,
    Decide,
    Deliver,
    Exchange,
    External,
    Send,
    SystemAction,
)
from pxp_fsm.automata.automaton import Automaton, Kind
from pxp_fsm.automata.system_files import SystemFile
from pxp_fsm.sessions.events import Event
from pxp_fsm.sessions.policy import actor_of
from tests.web.assistants import ANSWER, EXAMPLES, PEX, Hosted, hosted


def illegal(file: SystemFile, actions: Sequence[Event]) -> str:
    """The first action that the members' tables do not have; "" where there is none.

    It knows rows and letters alone: a second implementation, without the code that ran.
    """
    tables = {one.name: one.automaton for one in file.members}
    states = {name: table.initial for name, table in tables.items()}
    posted = Counter[tuple[str, str, str]]()
    for one in actions:
        for name, kind, label, guard in _parts(one.action, tables, states, posted):
            rows = [
                row
                for row in tables[name].transitions
                if (row.source, row.kind, row.label) == (states[name], kind, label)
                and guard in (None, row.guard)
            ]
            if not rows:
                return f"action {one.number}, {one.action}: {name} is in {states[name]}"
            if not isinstance(one.action, Choose):
                states[name] = rows[0].target
        if min(posted.values(), default=0) < 0:
            return f"action {one.number}, {one.action}: it was never sent"
    return ""


def _parts(
    action: SystemAction,
    tables: Mapping[str, Automaton],
    states: Mapping[str, str],
    posted: Counter[tuple[str, str, str]],
) -> list[tuple[str, Kind, str, str | None]]:
    match action:
        case Exchange(sender, receiver, tag):
            return [(sender, Kind.SEND, tag, None), (receiver, Kind.RECEIVE, tag, None)]
        case Send(sender, receiver, tag, lost):
            posted[sender, receiver, tag] += not lost
            return [(sender, Kind.SEND, tag, None)]
        case Deliver(sender, receiver, tag, kept):
            posted[sender, receiver, tag] -= not kept
            return [(receiver, Kind.RECEIVE, tag, None)]
        case Choose(member, guard, tag):
            return [(member, Kind.SEND, tag, guard)]
        case Decide(guard, label, member):
            return [(member, Kind.EVENT, label, guard)]
        case External(label):
            found: list[tuple[str, Kind, str, str | None]] = [
                (name, Kind.EVENT, label, None)
                for name, table in tables.items()
                for row in table.transitions
                if (row.source, row.kind, row.label, row.guard)
                == (states[name], Kind.EVENT, label, None)
            ]
            assert found, action
            return found


SYSTEMS = (
    PEX,
    EXAMPLES / "two_phase_commit" / "two_phase.toml",
    EXAMPLES / "approval" / "approval.toml",
    EXAMPLES / "debate" / "debate.toml",
    EXAMPLES / "contract_net" / "contract_net.toml",
)
"""The systems that generated calls are made to."""

_JUNK: tuple[Any, ...] = (
    None, True, -1, 10**400, 1.5, float("nan"), float("inf"), "", "x" * 300, "\ud800", "\x00", "☃",
    [], {}, [[[[[[]]]]]], {"do": {"do": {}}}, {"prediction": 1}, "INIT", "RAT", "WAIT", "../../etc",
    "'; DROP TABLE actions; --", json.dumps(ANSWER), ANSWER,
)  # fmt: skip


@dataclass
class Counts:
    """What came of generated calls."""

    calls: int = 0
    sessions: int = 0
    actions: int = 0
    outcomes: Counter[str] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)


async def generated(calls: int, seed: int, folder: Path) -> Counts:
    """Make generated calls, right and wrong ones, by clients of both revisions."""
    chance, counts, number = random.Random(seed), Counts(), 0
    with SqlBlackboard(str(folder / "generated.sqlite")) as board:
        while counts.calls < calls:
            number += 1
            path = SYSTEMS[number % len(SYSTEMS)]
            async with hosted(path, board, seed=chance.randrange(10**6)) as found:
                await _generate(found, chance, counts, min(calls, counts.calls + 400))
                begun = await found.assistants.sessions(next(iter(found.run.opening.respondents)))
                actions = found.stored() if begun else ()
                counts.sessions, counts.actions = counts.sessions + 1, counts.actions + len(actions)
                wrong = illegal(found.run.opening.file, actions)
                if wrong:
                    counts.faults.append(wrong)
    return counts


async def _generate(found: Hosted, chance: random.Random, counts: Counts, until: int) -> None:
    """Calls to one session until it is over, or there were enough."""
    members = list(found.run.opening.respondents)
    clients = {one: found.client(one, chance.choice(("auto", "legacy"))) for one in members}
    views: dict[str, dict[str, Any]] = {one: {} for one in members}
    async with AsyncExitStack() as entered:
        for client in clients.values():
            await entered.enter_async_context(client)
        while counts.calls < until:
            member = chance.choice(members)
            tool, arguments = _call(chance, member, views)
            own = _own(found, member) if tool == "answer" else 0
            counts.calls += 1
            try:
                result = await clients[member].call_tool(tool, arguments)
            except MCPError as error:
                counts.outcomes[f"error {error.code}"] += 1
                if error.code == _INTERNAL:
                    counts.faults.append(f"{tool} {arguments!r}: {error}")
                continue
            counts.outcomes[f"{tool} {'refused' if result.is_error else 'done'}"] += 1
            if tool == "answer" and result.is_error and _own(found, member) != own:
                counts.faults.append(f"{tool} {arguments!r} was refused, and is stored")
            view = result.structured_content
            if isinstance(view, dict) and "status" in view:
                views[member] = view
            if all(one.get("status") == "over" for one in views.values()):
                return


_INTERNAL = -32603


def _own(found: Hosted, member: str) -> int:
    """How many actions of a member are stored."""
    stored = found.board.events(f"{found.run.name}/1/1")
    return sum(actor_of(one.action) == member for one in stored)


def _call(
    chance: random.Random, member: str, views: Mapping[str, Mapping[str, Any]]
) -> tuple[str, dict[str, Any]]:
    """A call by `member`: mostly what it should do next, often somewhat wrong."""
    view, kind = views[member], chance.random()
    if kind < 0.25 or not view or (view["status"] == "others act" and kind < 0.8):
        return "turn", {}
    if kind < 0.3:
        return chance.choice(("moves", "sessions")), {}
    options = view.get("options") or [{"do": "INIT"}]
    option = chance.choice(options)
    arguments: dict[str, Any] = {"question": view.get("question", ""), "do": option["do"]}
    payload = option.get("payload")
    examples = payload.get("examples") if isinstance(payload, dict) else None
    arguments["payload"] = chance.choice(examples) if examples else chance.choice((None, "text", 7))
    if kind < 0.7:
        return "answer", arguments
    other = chance.choice(list(views))
    wrong = chance.randrange(7)
    if wrong == 0:
        arguments["question"] = views[other].get("question", "")
    elif wrong == 1:
        arguments["do"] = chance.choice(_JUNK)
    elif wrong == 2:
        arguments["payload"] = chance.choice(_JUNK)
    elif wrong == 3:
        arguments["to"] = chance.choice((*views, "nobody", *_JUNK))
    elif wrong == 4:
        arguments["session"] = chance.choice(_JUNK)
    elif wrong == 5:
        arguments[chance.choice(("member", "state", "\x00"))] = chance.choice(_JUNK)
    else:
        return chance.choice(("answer", "turn", "moves", "stop", "")), {
            "wait": chance.choice(_JUNK)
        }
    return "answer", arguments


def main() -> None:
    """Make generated calls, and print what came of them."""
    calls, seed = int(sys.argv[1]), int(sys.argv[2])
    began = time.process_time()
    with tempfile.TemporaryDirectory() as folder:
        counts = asyncio.run(generated(calls, seed, Path(folder)))
    told = f"{counts.calls:,} calls, {counts.sessions:,} sessions, {counts.actions:,} actions"
    sys.stdout.write(f"{told}, {time.process_time() - began:.0f} s of CPU time\n")
    for outcome, many in sorted(counts.outcomes.items()):
        sys.stdout.write(f"  {outcome}: {many:,}\n")
    sys.stdout.write(f"faults: {len(counts.faults)}\n")
    for fault in counts.faults[:20]:
        sys.stdout.write(f"  {fault}\n")


if __name__ == "__main__":
    main()
