"""Reading traces: JSON lines, logs of Inspect, OpenTelemetry spans, our own runs."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from backends.databases.records import SessionRecord
from pxp_fsm.analysis.recordings.files import open_recordings
from pxp_fsm.analysis.recordings.forms import form_of
from pxp_fsm.automata.actions import Decide, Deliver, Exchange, External, Send
from pxp_fsm.documents import LONGEST_LINE, text_of
from pxp_fsm.errors import DataError, UsageError, quoted
from pxp_fsm.plugins.conformance.trace_learning import RecordedTrace
from pxp_fsm.protocol.rules import FAULTS
from pxp_fsm.sessions.events import Event

ACTION = re.compile(r"[+!-][^\W\d_]\w{0,63}( (to|from) [^\W\d_]\w{0,63})?")
_NAME = "+TAG, -TAG or !EVENT, with a partner +TAG to NAME or -TAG from NAME"


def read_traces(
    paths: Sequence[Path], agent: str | None = None, mapping: Path | None = None
) -> Iterator[RecordedTrace]:
    """The traces of `agent` in some files; of JSON lines each has one agent, or names it.

    A line of JSON is a list of actions, an object `{"trace": [...], "ended": true}`, or one action
    of a session: `{"session": "1", "action": "+ASK"}`, whose lines may stand between others'.
    Recordings are what `pxp audit` reads. Raises `DataError` with file and line.
    """
    for path in paths:
        if _has_lines(path):
            yield from _of_lines(path)
        else:
            yield from _of_recordings(path, agent, mapping)


def _has_lines(path: Path) -> bool:
    """Whether a file has traces as lines of JSON; spans may have that ending too."""
    if path.suffix != ".jsonl":
        return False
    try:
        return form_of(str(path)).read is None
    except DataError:
        return True


def _of_lines(path: Path) -> Iterator[RecordedTrace]:
    sessions: dict[str, list[str]] = {}
    ended: dict[str, bool] = {}
    lines = text_of(path, "a file of traces", most=LONGEST_LINE, error=DataError).splitlines()
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            value = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise DataError.at(path, number, f"it is not JSON: {quoted(line)}") from error
        where = f"{path}, line {number}"
        if isinstance(value, list):
            yield RecordedTrace(tuple(_action(element, where) for element in value), where=where)
        elif isinstance(value, dict) and isinstance(value.get("trace"), list):
            actions = tuple(_action(element, where) for element in value["trace"])
            yield RecordedTrace(actions, _ended(value, where), where)
        elif isinstance(value, dict) and "action" in value and "session" in value:
            name = str(value["session"])
            sessions.setdefault(name, []).append(_action(value["action"], where))
            ended[name] = ended.get(name, True) and _ended(value, where)
        else:
            raise DataError(
                f"{where}: a line is a list of actions, an object with trace, or one with session "
                f"and action, not {quoted(line)}"
            )
    for name, some in sessions.items():
        yield RecordedTrace(tuple(some), ended[name], f"{path}, session {name}")


def _action(value: Any, where: str) -> str:
    if not isinstance(value, str) or not ACTION.fullmatch(value):
        raise DataError(f"{where}: an action is {_NAME}, not {quoted(value)}")
    return value


def _ended(value: dict[str, Any], where: str) -> bool:
    ended = value.get("ended", True)
    if not isinstance(ended, bool):
        raise DataError(f"{where}: ended is true or false, not {quoted(ended)}")
    return ended


def _of_recordings(path: Path, agent: str | None, mapping: Path | None) -> Iterator[RecordedTrace]:
    with open_recordings(str(path), mapping) as recordings:
        records = recordings.board.sessions()
        names = {name for record in records for name in _agents(record)}
        if agent is None or agent not in names:
            there = ", ".join(sorted(names)) or "none"
            problem = "requires --agent" if agent is None else f"has no agent {quoted(agent)}"
            raise UsageError(f"{path} {problem}; its sessions have: {there}")
        for record in records:
            events = recordings.board.events(record.session)
            actions = tuple(told for event in events for told in _told(event, agent))
            ended = record.ending is not None and record.ending not in {*FAULTS}
            yield RecordedTrace(actions, ended, f"{path}, session {record.session}")


def _agents(record: SessionRecord) -> Iterator[str]:
    yield from (name for name, _ in record.agents)
    yield from (member.name for member in record.members)


def _told(event: Event, agent: str) -> Iterator[str]:
    """The action of an event for one agent."""
    match event.action:
        case Exchange(sender, receiver, tag):
            if agent in (sender, receiver):
                yield f"{'+' if agent == sender else '-'}{tag}"
        case Send(sender, _, tag):
            if agent == sender:
                yield f"+{tag}"
        case Deliver(_, receiver, tag):
            if agent == receiver:
                yield f"-{tag}"
        case External(label):
            yield f"!{label}"
        case Decide(_, label, member):
            if agent == member:
                yield f"!{label}"
