"""Counterexamples as drawings: the sequence chart, and each agent's path on its automaton.

What is drawn has been taken by the real machines: the messages are those of the replayed session.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from difflib import get_close_matches
from pathlib import Path

from proofs.check import answer
from proofs.claims.catalogue import find
from proofs.claims.checking import Bounds, ClaimChecker, plain
from proofs.core.explore import Step
from proofs.core.results import Result, Status
from proofs.export.traces import export_trace
from proofs.requests import Request
from proofs.sessions.model import AGENTS, SessionModel, SessionState
from proofs.subjects import SYSTEMS
from proofs.systems import compatibility
from pxp_fsm.artifacts import file_name, write_atomically
from pxp_fsm.diagrams import (
    Diagram,
    SequenceChart,
    StateDiagram,
    Style,
    sequence_chart,
    state_diagram,
    write,
)
from pxp_fsm.diagrams.style import PLAIN
from pxp_fsm.errors import UsageError
from pxp_fsm.protocol.messages import Answer
from pxp_fsm.protocol.rules import Interact
from pxp_fsm.sessions.replay import trace

_ONE_WORD = re.compile(r"[\w-]+")
"""What may be a misspelt name of a check; other formulas have blanks, brackets or signs."""

TABULAR = ("itf", "latex")
"""The formats of a counterexample that are no drawing: data, and a table of its steps."""


def draw(
    name: str,
    path: Path,
    relations: str | None,
    n: int,
    k: int,
    agent: str | None,
    style: Style = PLAIN,
    form: str | None = None,
) -> tuple[Path, ...]:
    """Draw the counterexample to the claim `name`; returns the files.

    The chart goes to `path`, each agent's automaton beside it; with `agent` its automaton alone
    goes to `path`. `form` "itf" or "latex" writes the trace itself. Raises `UsageError` where there
    is no counterexample or no such agent.
    """
    if agent is not None and agent not in AGENTS:
        raise UsageError(f"a counterexample has no agent {agent!r}; it has {', '.join(AGENTS)}")
    line, checker = counterexample(name, relations, n, k)
    if form in TABULAR:
        return _exported(line, path, form)
    model = checker.model(line.subject, line.assumptions)
    ways = {agent_name: way(line, model, agent_name) for agent_name in AGENTS}
    return _written(chart(line, model), ways, path, agent, style)


def counterexample(name: str, relations: str | None, n: int, k: int) -> tuple[Result, ClaimChecker]:
    """The failing line of the claim `name` (or PROTOCOL.NAME), with the checker that found it.

    Without `relations` it is the first set of assumptions under which the claim is known to fail.
    Raises `UsageError` where there is no such claim, where more protocols than one have one that
    fails, and where it does not fail.
    """
    fails = [
        (claim, assumed)
        for claim in find(name)
        for assumed in (claim.expected if relations is None else (relations,))
        if relations is not None or claim.expected[assumed] is Status.FAILS
    ]
    checker, seen = ClaimChecker(Bounds(n, k)), list[str]()
    failing = list[Result]()
    for protocol in dict.fromkeys(claim.protocol for claim, _ in fails):
        for claim, assumed in fails:
            if claim.protocol == protocol:
                line = checker.check(claim, assumed)
                seen.append(f"{assumed}: {line.verdict.status}")
                if line.verdict.status is Status.FAILS and line.verdict.trace is not None:
                    failing.append(line)
                    break
    if len(failing) > 1:
        names = " or ".join(f"{line.subject}.{line.name}" for line in failing)
        raise UsageError(f"{name} fails in more than one protocol; choose {names}")
    if not failing:
        checked = f" ({'; '.join(seen)})" if seen else ""
        raise UsageError(f"{name} has no counterexample{checked}; try other relations", "relations")
    return failing[0], checker


def _exported(result: Result, path: Path, form: str) -> tuple[Path, ...]:
    write_atomically(path, export_trace(result, form))
    return (path,)


def _written(
    chart: SequenceChart,
    ways: Mapping[str, StateDiagram],
    path: Path,
    agent: str | None,
    style: Style,
) -> tuple[Path, ...]:
    """The files of a counterexample: the chart and each agent's automaton, or that of `agent`."""
    files: dict[Path, Diagram] = {path: chart}
    if agent is not None:
        files = {path: ways[agent]}
    else:
        named = ((file_name(name), diagram) for name, diagram in ways.items())
        files |= {path.with_stem(f"{path.stem}-{name}"): diagram for name, diagram in named}
    for file, diagram in files.items():
        of_chart = isinstance(diagram, SequenceChart)  # which has no direction to choose
        write(diagram, file, replace(style, direction=None) if of_chart else style)
    return tuple(files)


def chart(line: Result, model: SessionModel) -> SequenceChart:
    """The session of a failing `line`, with what the relations answered at each message."""
    steps = _steps(line)
    told = [
        replace(message, payload=Answer(*_answers(step, model)))
        for message, step in zip(line.messages, steps, strict=True)
    ]
    last = steps[-1].target
    return sequence_chart(
        told,
        title=f"{line.subject}: {line.name} fails ({line.assumptions})",
        note="; ".join(filter(None, (bounds_of(model), *_remarks(line, model, last)))),
        states=dict(zip(AGENTS, last.at, strict=True)),
    )


def bounds_of(model: SessionModel) -> str:
    """The bounds n and k of a model's sessions, in words; "" where nothing bounds them."""
    bounds = {"n": model.rules.n, "k": model.rules.k}
    return ", ".join(f"{name} = {value}" for name, value in bounds.items() if value is not None)


def way(line: Result, model: SessionModel, agent: str) -> StateDiagram:
    """The way that `agent` took on its automaton in the session of a failing `line`."""
    last = _steps(line)[-1].target
    table = model.both[AGENTS.index(agent)]
    path = trace(table, line.messages, agent, over=bool(last.over))
    return state_diagram(table, marked=last.at[AGENTS.index(agent)], path=path)


def _steps(line: Result) -> Sequence[Step[SessionState]]:
    if line.verdict.trace is None:
        raise UsageError(f"{line.name} has no trace to draw")
    return plain(line.verdict.trace).steps


def _answers(step: Step[SessionState], model: SessionModel) -> tuple[str, str]:
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


def _remarks(line: Result, model: SessionModel, last: SessionState) -> Iterator[str]:
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


def draw_violation(
    tables: tuple[str, ...],
    name: str,
    channel: str | None,
    path: Path,
    agent: str | None = None,
    style: Style = PLAIN,
    form: str | None = None,
    parameters: tuple[str, ...] = (),
) -> tuple[Path, ...]:
    """Draw how `tables`, joined by `channel`, break `name`: a standard check or a formula.

    Gives the files: the chart at `path` and each member's automaton beside it; with `agent` its
    automaton alone. `form` "itf" or "latex" writes the trace itself. Raises `UsageError` where it
    does not fail, or fails without a trace, or there
    is no such member.
    """
    known = {
        named_property.name for named_property in SYSTEMS.properties()
    } | compatibility.TITLES.keys()
    request = Request(
        tables,
        names=(name,) if name in known else (),
        formulas=() if name in known else (name,),
        channels=() if channel is None else (channel,),
        parameters=parameters,
    )
    try:
        result = answer(request)[0]
    except UsageError as error:
        near = get_close_matches(name, known)
        if name in known or not near or not _ONE_WORD.fullmatch(name):
            raise
        raise UsageError(
            f"there is no standard check {name!r}; did you mean {' or '.join(near)}? As a formula: "
            f"{error}"
        ) from error
    if result.trace is None:
        told = f"; {result.verdict.detail}" if result.verdict.detail else ""
        raise UsageError(f"{name} has no counterexample: {result.status.value}{told}")
    if form in TABULAR:
        return _exported(result, path, form)
    ways = result.member_diagrams()
    if agent is not None and agent not in ways:
        raise UsageError(f"the system has no member {agent!r}; it has {', '.join(ways)}", "agent")
    return _written(result.diagram(), ways, path, agent, style)
