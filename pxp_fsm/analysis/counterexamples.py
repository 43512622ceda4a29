"""Counterexamples as drawings: the sequence chart, and each agent's path on its automaton.

What is drawn has been taken by the real machines: the messages are those of the replayed session.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from proofs.claims.checking import plain
from proofs.core.model import Step
from proofs.core.results import Result
from proofs.sessions.model import AGENTS, SessionModel, State
from pxp_fsm.analysis import systems
from pxp_fsm.analysis.checks import counterexample
from pxp_fsm.diagrams import (
    SequenceChart,
    StateDiagram,
    sequence_chart,
    state_diagram,
    write,
)
from pxp_fsm.errors import UsageError
from pxp_fsm.protocol.messages import Answer
from pxp_fsm.protocol.rules import Interact
from pxp_fsm.sessions.replay import trace


def draw(
    name: str, path: Path, relations: str | None, n: int, k: int, agent: str | None
) -> tuple[Path, ...]:
    """Draw the counterexample to the claim `name`; returns the files.

    The chart goes to `path`, each agent's automaton beside it; with `agent` its automaton alone
    goes to `path`. Raises `UsageError` where there is no counterexample or no such agent.
    """
    if agent is not None and agent not in AGENTS:
        raise UsageError(f"a counterexample has no agent {agent!r}; it has {', '.join(AGENTS)}")
    line, checker = counterexample(name, relations, n, k)
    model = checker.model(line.subject, line.assumptions)
    if agent is not None:
        write(way(line, model, agent), path)
        return (path,)
    files = {path: chart(line, model)} | {
        path.with_stem(f"{path.stem}-{one}"): way(line, model, one) for one in AGENTS
    }
    for file, diagram in files.items():
        write(diagram, file)
    return tuple(files)


def chart(line: Result, model: SessionModel) -> SequenceChart:
    """The session of a failing `line`, with what the relations answered at each message."""
    steps = _steps(line)
    told = [
        replace(message, answer=Answer(*_answers(step, model)))
        for message, step in zip(line.messages, steps, strict=True)
    ]
    last = steps[-1].target
    return sequence_chart(
        told,
        title=f"{line.subject}: {line.name} fails ({line.assumptions})",
        note="; ".join(_remarks(line, model, last)),
        states=dict(zip(AGENTS, last.at, strict=True)),
    )


def way(line: Result, model: SessionModel, agent: str) -> StateDiagram:
    """The way that `agent` took on its automaton in the session of a failing `line`."""
    last = _steps(line)[-1].target
    table = model.both[AGENTS.index(agent)]
    path = trace(table, line.messages, agent, over=bool(last.over))
    return state_diagram(table, marked=last.at[AGENTS.index(agent)], path=path)


def _steps(line: Result) -> Sequence[Step[State]]:
    if line.verdict.trace is None:
        raise UsageError(f"{line.name} has no trace to draw")
    return plain(line.verdict.trace).steps


def _answers(step: Step[State], model: SessionModel) -> tuple[str, str]:
    """What MATCH and AGREE said of the received pair, and what came of one's own."""
    if len(step.facts) < 2:
        return "", ""
    match, agree, *revision = step.facts
    judged = f"MATCH {_word(match)}, AGREE {_word(agree)}"
    if not revision:
        return judged, ""
    held = all(revision)
    if isinstance(model.rules, Interact):
        return judged, f"its answer has {'not changed' if held else 'changed'}"
    return judged, f"what it learned reconciles them: {_word(held)}"


def _remarks(line: Result, model: SessionModel, last: State) -> Iterator[str]:
    yield f"contradicts “{line.title}”"
    yield f"ended: {last.over}" if last.over else "goes on"
    if line.verdict.cycle:
        yield f"the last {line.verdict.cycle} messages for ever"
    data = (last.predictions, last.explanations)
    if model.theory.deterministic and last.over and all(part.points == 2 for part in data):
        match, agree = ((0, 1) in part.left for part in data)
        yield f"the last two answers: MATCH {_word(match)}, AGREE {_word(agree)}"


def _word(truth: bool) -> str:
    return "yes" if truth else "no"


def draw_violation(tables: tuple[str, ...], name: str, channel: str | None, path: Path) -> Path:
    """Draw how `tables`, joined by `channel`, break `name`: a standard check or a formula.

    Raises `UsageError` where it does not fail, or fails without a trace.
    """
    result = systems.counterexample(tables, name, channel)
    if result.trace is None:
        told = f"; {result.verdict.detail}" if result.verdict.detail else ""
        raise UsageError(f"{name} has no counterexample: {result.status.value}{told}")
    write(result.diagram(), path)
    return path
