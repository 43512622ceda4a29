"""Counterexamples as drawings: the sequence chart, and each agent's path on its automaton.

What is drawn has been taken by the real machines: the messages are those of the replayed session.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from proofs.claims.checking import plain
from proofs.core.actions import Choose, Decide, Deliver, Exchange, External, Send
from proofs.core.explore import Trace
from proofs.core.model import Step
from proofs.core.results import Result, Verdict
from proofs.sessions.model import AGENTS, SessionModel, State
from proofs.systems import Composition, Configuration, System
from proofs.systems.receptions import Receptions, Unreceived
from pxp_fsm.analysis import systems
from pxp_fsm.analysis.checks import counterexample
from pxp_fsm.diagrams import (
    Arrow,
    Lifeline,
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


def draw_violation(tables: tuple[str, ...], name: str, channel: str, path: Path) -> Path:
    """Draw how `tables`, joined by `channel`, break `name`: a standard check or a formula.

    Raises `UsageError` where it does not fail, or fails without a trace.
    """
    system, result = systems.counterexample(tables, name, channel)
    verdict, trace = result.verdict, result.trace
    if trace is None:
        told = f"; {verdict.detail}" if verdict.detail else ""
        raise UsageError(f"{name} has no counterexample: {verdict.status.value}{told}")
    remark = f"over {channel}: {_ending(verdict, trace)}"
    write(
        violation_chart(system, trace, f"{name} fails", remark, _refused(system, trace, name)), path
    )
    return path


def _refused(system: System, trace: Trace[Configuration], name: str) -> Iterable[Unreceived]:
    """What is not received after `trace`: for the standard checks that are about it, what could be
    sent; for others, what has been chosen."""
    composition = Composition(system)
    receptions, state = Receptions(composition), composition.encoding.state(_last(trace))
    if not system.channel.synchronous:
        return ()
    if name in ("no-deadlock", "no-unspecified-reception", "no-orphan-message"):
        return receptions.unreceived(state, ended=name == "no-orphan-message")
    return receptions.waiting(state)


def _last(trace: Trace[Configuration]) -> Configuration:
    return trace.steps[-1].target if trace.steps else trace.start


def violation_chart(
    system: System,
    trace: Trace[Configuration],
    title: str,
    remark: str,
    refused: Iterable[Unreceived] = (),
) -> SequenceChart:
    """The messages of `trace`, where each member is in the end, and what is `refused` there."""
    arrows, events = list[Arrow](), list[str]()
    for number, step in enumerate(trace.steps, start=1):
        match step.action:
            case External(label):
                events.append(f"{label} in step {number}")
            case Decide(guard, label, member):
                events.append(f"{member} chooses {guard}/!{label} in step {number}")
            case Exchange(sender, receiver, tag):
                arrows.append(Arrow(number, sender, receiver, tag, ()))
            case Send(sender, receiver, tag) as action:
                arrows.append(Arrow(number, sender, receiver, tag, (_fate(trace, number, action),)))
            case Choose(member, guard, tag):
                events.append(f"{member} chooses {guard}/+{tag} in step {number}")
    after = len(trace.steps) + 1
    arrows += (Arrow(after, r.sender, r.receiver, r.tag, ("not received",)) for r in refused)
    lifelines = tuple(
        Lifeline(member.name, state)
        for member, state in zip(system.members, _last(trace).at, strict=True)
    )
    return SequenceChart(title, lifelines, tuple(arrows), "; ".join([remark, *events]))


def _fate(trace: Trace[Configuration], number: int, sent: Send) -> str:
    """What became of a message that was sent in step `number` over a channel with buffers."""
    if sent.lost:
        return "lost"
    actions = [step.action for step in trace.steps]
    gone = Deliver(sent.sender, sent.receiver, sent.tag)
    kept = Deliver(sent.sender, sent.receiver, sent.tag, kept=True)
    earlier = actions[: number - 1].count(sent)
    taken = list[str]()
    for step, action in enumerate(actions, start=1):
        if not earlier and action in (gone, kept):
            taken.append(str(step))
        if action == gone and not earlier:
            return _received(taken)
        earlier -= action == gone
    return f"{_received(taken)}, and a copy is left" if taken else "not received"


def _received(steps: list[str]) -> str:
    return f"received in step{'s' if len(steps) > 1 else ''} {', '.join(steps)}"


def _ending(verdict: Verdict, trace: Trace[Configuration]) -> str:
    if verdict.cycle:
        return f"the last {verdict.cycle} of {len(trace.steps)} steps go on for ever"
    return f"so after {len(trace.steps)} step{'' if len(trace.steps) == 1 else 's'}"
