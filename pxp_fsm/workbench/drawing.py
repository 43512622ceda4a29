"""What `pxp draw` and reports draw: automata, and recorded sessions by the rows they took."""

from __future__ import annotations

import re
from pathlib import Path

from backends.databases import FAULTS, SqlBlackboard, StoredSession
from pxp_fsm.diagrams import (
    SequenceChart,
    StateDiagram,
    sequence_chart,
    state_diagram,
    write,
)
from pxp_fsm.errors import UsageError
from pxp_fsm.tables import BUILTIN, builtin, load_automaton
from pxp_fsm.tracing import trace
from pxp_fsm.workbench.recorded import check_table

_SESSION = re.compile(r"[^/\s]+/\d+/\d+")


def draw(what: str, path: Path, state: str | None, agent: str | None, database: str) -> Path:
    """Draw `what` to `path` and return it."""
    if what not in BUILTIN and not Path(what).exists() and _SESSION.fullmatch(what):
        if state is not None:
            raise UsageError("--state marks a state of a table; of a session, give --agent")
        with SqlBlackboard(database, create=False) as board:
            diagram = of_session(board.session(what), agent)
    else:
        if agent is not None:
            raise UsageError(f"--agent goes with a session; {what} is a table")
        diagram = state_diagram(load_automaton(what), marked=state)
    write(diagram, path)
    return path


def of_session(stored: StoredSession, agent: str | None = None) -> StateDiagram | SequenceChart:
    """A session as a sequence chart, or the way that one `agent`'s automaton took."""
    record = stored.record
    check_table(record)
    messages = [entry.message for entry in stored.entries]
    automaton = builtin(record.automaton)
    over = record.ending is not None and record.ending not in FAULTS
    paths = {name: trace(automaton, messages, name, over=over) for name, _ in record.agents}
    states = {name: path[-1].target if path else automaton.initial for name, path in paths.items()}
    if agent is None:
        return sequence_chart(
            messages,
            title=f"Session {record.session}",
            note=f"{record.instance.key}; ended: {record.ending or 'not over'}",
            states=states,
        )
    if agent not in paths:
        raise UsageError(f"{record.session} has no agent {agent!r}; it has {', '.join(paths)}")
    return state_diagram(automaton, marked=states[agent], path=paths[agent])


def file_name(what: str) -> str:
    """A file name for the drawing of `what`: letters, digits, dots, dashes, underscores."""
    stem = Path(what).stem if what.endswith((".toml", ".json")) else what
    return re.sub(r"[^\w.-]+", "-", stem, flags=re.ASCII).strip("-.") or "drawing"
