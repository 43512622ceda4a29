"""A developer at the terminal, with the interface of every developer of an update."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from backends.people.input import say
from pxp_fsm.errors import PXPError, UsageError, quoted
from pxp_fsm.plugins.easylan.experiments.review import Reviewed, TerminalReviewer
from pxp_fsm.plugins.easylan.lan import Lan
from pxp_fsm.plugins.easylan.model.merging import merging
from pxp_fsm.plugins.easylan.model.network import LanAgent, Network
from pxp_fsm.plugins.easylan.model.operations import (
    AgentField,
    ChangeTask,
    Connect,
    Create,
    Delete,
    Disconnect,
    Edit,
    Forget,
    Operation,
    Split,
    SplitKind,
)
from pxp_fsm.plugins.easylan.running.execution import LanTurn, NetworkRun
from pxp_fsm.plugins.easylan.training.developer import (
    Act,
    Continuation,
    DeveloperChoice,
    Judged,
    RegressionChoice,
    StepView,
)
from pxp_fsm.plugins.easylan.training.regressions import Regression
from pxp_fsm.plugins.easylan.training.simulated import Satisfied
from pxp_fsm.plugins.easylan.training.steps import UpdateStep, closed_fields
from pxp_fsm.protocol.relations import digest

_TEXTS = (AgentField.NAME, AgentField.TASK, AgentField.OUTPUT)
_SWITCH = {"yes": True, "no": False}


def operations(words: tuple[str, ...], network: Network) -> tuple[Operation, ...]:
    """The operations on `network` that the words mean; raises `UsageError` where they mean none."""
    match words:
        case ("merge", name, into):
            return merging(network, name, into)
        case ("split", name, kind, *texts) if (
            texts and len(texts) % 3 == 0 and kind in list(SplitKind)
        ):
            parts = zip(texts[::3], texts[1::3], texts[2::3], strict=True)
            return (Split(name, SplitKind(kind), tuple(LanAgent(*part) for part in parts)),)
    return (_single(words, network),)


def _single(words: tuple[str, ...], network: Network) -> Operation:  # noqa: PLR0911 - a case each
    match words:
        case ("create", name, task, output):
            return Create(LanAgent(name, task, output))
        case ("delete", name):
            return Delete(name)
        case ("connect", source, target):
            return Connect(source, target)
        case ("disconnect", source, target):
            return Disconnect(source, target)
        case ("set", name, field, *values):
            return _edit(name, field, tuple(values))
        case ("task", task):
            return ChangeTask(task)
        case ("forget", external):
            return Forget(external)
        case ("add" | "replace" | "drop", name, field, *values):
            return _piece(words[0], network.agent(name), field, tuple(values))
    raise UsageError(
        f"{quoted(' '.join(words))} is not an operation; there are: create NAME TASK OUTPUT, "
        f"delete NAME, connect NAME NAME, disconnect NAME NAME, set NAME FIELD VALUE..., "
        f"add NAME FIELD TEXT, replace NAME FIELD NUMBER TEXT, drop NAME FIELD NUMBER, "
        f"merge NAME INTO, split NAME {'|'.join(SplitKind)} PART TASK OUTPUT PART TASK OUTPUT..., "
        f"task TEXT, forget INPUT"
    )


def _piece(word: str, agent: LanAgent, named: str, values: tuple[str, ...]) -> Edit:
    """One text of a list, counted from 1, is added, replaced or dropped."""
    lists = {
        AgentField.KNOWLEDGE: agent.knowledge,
        AgentField.CONTROL_KNOWLEDGE: agent.control.knowledge,
        AgentField.REQUIRED: agent.control.required,
    }
    if named not in lists:
        raise UsageError(f"{word} is for {', '.join(lists)}, not {quoted(named)}; use set")
    field = AgentField(named)
    pieces = list(lists[field])
    match word, values:
        case "add", (text,):
            pieces.append(text)
        case "replace", (number, text):
            pieces[_place(number, pieces, agent, field)] = text
        case "drop", (number,):
            del pieces[_place(number, pieces, agent, field)]
        case _:
            raise UsageError(
                "it is add NAME FIELD TEXT, replace NAME FIELD NUMBER TEXT, drop NAME FIELD NUMBER"
            )
    return Edit(agent.name, field, tuple(pieces))


def _place(number: str, pieces: list[str], agent: LanAgent, field: AgentField) -> int:
    if number.isascii() and number.isdigit() and 1 <= int(number) <= len(pieces):
        return int(number) - 1
    raise UsageError(
        f"the {field} of {quoted(agent.name)} has {len(pieces)} pieces, counted from 1; "
        f"{quoted(number)} is none of them"
    )


def _edit(name: str, named: str, values: tuple[str, ...]) -> Edit:
    if named not in list(AgentField):
        raise UsageError(f"an agent has no field {quoted(named)}; it has: {', '.join(AgentField)}")
    field = AgentField(named)
    if field in _TEXTS or field is AgentField.ENABLED:
        if len(values) != 1:
            raise UsageError(f"{field} takes one text; put it in quotes")
        if field is not AgentField.ENABLED:
            return Edit(name, field, values[0])
        if values[0] not in _SWITCH:
            raise UsageError(f"enabled must be yes or no, not {quoted(values[0])}")
        return Edit(name, field, _SWITCH[values[0]])
    if not values:
        raise UsageError(f"set {field} takes one text or more; drop takes one away")
    return Edit(name, field, values)


_FORMS = (
    "create NAME TASK OUTPUT, delete NAME, connect NAME NAME, disconnect NAME NAME, "
    "set NAME FIELD VALUE..., add NAME FIELD TEXT, replace NAME FIELD NUMBER TEXT, "
    "drop NAME FIELD NUMBER, task TEXT, forget INPUT, undo, redo; or an empty line"
)


async def edit_network(reviewer: TerminalReviewer, lan: Lan) -> None:
    """One operation on `lan`, or none where the line is empty; texts of several words are quoted.

    What the network refuses is said, and the line stays to be mended.
    """
    _show(lan)
    say(f"   {_FORMS}")

    def accept(text: str) -> None:
        if text.strip() not in ("", "undo", "redo"):
            lan.would_be(*_operations(text, lan.network))

    before = reviewer.keys.taken()
    text = (await reviewer.text("Operation: ", accept)).strip()
    spent, reviewer.keys.pressed = reviewer.keys.taken(), before
    try:
        if text == "undo":
            lan.undo()
        elif text == "redo":
            lan.redo()
        elif text:
            lan.edit(*_operations(text, lan.network), about=text, ued=spent)
    except PXPError as error:
        say("   ", str(error))


def _operations(text: str, network: Network) -> tuple[Operation, ...]:
    try:
        return operations(tuple(shlex.split(text)), network)
    except ValueError as error:
        raise UsageError(f"{error}; close the quotes") from error


def _show(lan: Lan) -> None:
    network = lan.network
    for name in network.order:
        agent = network.agent(name)
        sends = ", ".join(network.successors(name)) or "nobody"
        say(f"   {name} → {sends}: {agent.task}")
        for number, piece in enumerate(agent.control.knowledge, 1):
            say(f"      control_knowledge {number}: {piece}")
        for number, piece in enumerate(agent.knowledge, 1):
            say(f"      knowledge {number}: {piece}")


def described(network: Network, run: NetworkRun | None, name: str | None = None) -> Iterator[str]:
    """A network agent by agent, or the agent `name`, with what each did in `run`, as lines.

    Raises `UsageError` where there is no such agent.
    """
    if name is None:
        yield f"Task: {network.task}"
        yield f"{len(network.handled)} examples handled"
        if run is not None:
            yield f"Last run: {run.external} → {run.output}"
    for agent in map(network.agent, network.order if name is None else [name]):
        yield ""
        yield agent.name
        yield from _field("task", agent.task)
        yield from _field("output", agent.output)
        yield from _field("receives", ", ".join(network.predecessors(agent.name)))
        yield from _field("sends to", ", ".join(network.successors(agent.name)))
        control = agent.control
        yield from _field("control", "decides" if control.enabled else "always active")
        yield from _field("required", ", ".join(control.required))
        for field, pieces in (
            ("control_knowledge", control.knowledge),
            ("knowledge", agent.knowledge),
        ):
            for number, piece in enumerate(pieces, 1):
                yield from _field(f"{field} {number}", piece)
        yield from _field("examples", f"{len(agent.examples)}")
        turn = None if run is None else run.turns.get(agent.name)
        if turn is not None:
            yield from _turned(turn)


def _turned(turn: LanTurn) -> Iterator[str]:
    yield "   in the last run:"
    yield from _field("   input", turn.received.external)
    for piece in turn.received.pieces:
        yield from _field(f"   from {piece.author}", piece.text)
    yield from _field("   active", "yes" if turn.active else f"no ({turn.guard})")
    yield from _field("   why", turn.control_thoughts)
    yield from _field("   thoughts", turn.execution_thoughts)
    yield from _field("   result", turn.result or "")


def _field(name: str, text: str) -> Iterator[str]:
    """A named text, if it is none that is empty; further lines of it are indented alike."""
    if text:
        first, *more = text.split("\n")
        yield f"   {name}: {first}"
        deeper = " " * (len(name) - len(name.lstrip()) + 6)
        yield from (f"{deeper}{line}" for line in more)


_STEPS = {
    UpdateStep.GAP: "what is wrong with the output",
    UpdateStep.REASON: "why it is",
    UpdateStep.WEAKNESS: "why the agent does poorly",
    UpdateStep.PARAMETERS: "the parameters of the strategy",
}


class TerminalDeveloper:
    """Supervises an update at the terminal; what is typed and not sent is kept in `drafts`.

    Without `will_do` they are asked whether each output will do, else it is decided for them.
    """

    name = "person at the terminal"

    def __init__(self, drafts: Path, will_do: Satisfied | None = None) -> None:
        self._reviewer = TerminalReviewer(drafts)
        self._will_do = will_do

    async def satisfied(self, run: NetworkRun, truth: str, lan: Lan) -> bool | Judged:
        say("")
        for line in _told(run, truth):
            say(line)
        for name, turn in run.turns.items():
            shown = turn.result if turn.result is not None else f"not active ({turn.guard})"
            say(f"   {name}: {shown}")
        if self._will_do is not None and truth:
            met = await self._will_do(run, truth)
            say("The output will do." if met else "The output will not do.")
            return met
        words = ("yes", "no", "network")
        said = "Will it do? yes, no or network: "
        while (word := await self._reviewer.ask(said, words)) == "network":
            await edit_network(self._reviewer, lan)
        if word == "yes" or truth:
            return word == "yes"
        said = "The right output (an empty line ends it; nothing: you do not know it):\n"
        right = await self._reviewer.text(said, lambda _text: None, lines=True)
        return Judged(False, right.strip("\n"))

    async def review(self, view: StepView, lan: Lan) -> Act:
        title = f"Step {view.step.number}: {_STEPS[view.step]}"
        if view.strategy is not None:
            title = f"{title} {view.strategy}"
        sent = await self._reviewer.review(
            Reviewed(
                title,
                view.proposal,
                view.rationale,
                digest(json.dumps([view.run.external, view.step, view.proposal])),
                tuple(_told(view.run, view.truth)),
                dict(closed_fields(view.step, view.strategy)),
                view.may_reject,
                view.refused,
                view.version,
                tuple(str(one).lower() for one in view.back),
            ),
            {"network": partial(edit_network, self._reviewer, lan)},
        )
        result = None if sent.value == view.proposal else sent.value
        to = UpdateStep(sent.to.upper()) if sent.to else None
        return Act(DeveloperChoice(sent.choice), result, sent.hint, sent.keys, to)

    async def weigh(
        self, regressions: tuple[Regression, ...], copy: Network, lan: Lan
    ) -> RegressionChoice:
        say("With this update earlier examples would no longer be right:")
        for one in regressions:
            say("   input:  ", one.handled.external)
            say("   was:    ", one.handled.output)
            say("   would be: ", one.output if one.output is not None else one.why)
        say("   accept records the new outputs as right, forget drops these examples")
        words = {
            "accept": RegressionChoice.ACCEPT,
            "forget": RegressionChoice.FORGET,
            "retry": RegressionChoice.RETRY,
            "take over": RegressionChoice.TAKE_OVER,
        }
        return words[await self._reviewer.ask(f"{', '.join(words)}? ", tuple(words))]

    async def handed(self, why: str, lan: Lan) -> Continuation:
        say("It is yours now: ", why)
        words = ("resume", "skip", "network")
        said = "resume (run it again), skip (this example) or network: "
        while (word := await self._reviewer.ask(said, words)) == "network":
            await edit_network(self._reviewer, lan)
        return Continuation.RESUME if word == "resume" else Continuation.SKIP


def _told(run: NetworkRun, truth: str) -> Iterator[str]:
    yield f"input:  {run.external}"
    yield f"output: {run.output}"
    if truth:
        yield f"wanted: {truth}"
