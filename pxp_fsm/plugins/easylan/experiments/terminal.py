"""A developer at the terminal, with the interface of every developer of an update.

A step's JSON result is reviewed: confirmed, edited, hinted at, handed back. What is typed is
never lost: a text that is no JSON is given back as it was left, and whoever leaves finds their
version and hint when they come back. Keys are counted as pressed.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import field
from functools import partial
from pathlib import Path
from types import MappingProxyType

from backends.people.input import (
    LEFT,
    Drafts,
    Keys,
    UnsentAnswer,
    ask_line,
    ask_lines,
    one_of,
    say,
)
from pxp_fsm.errors import PXPError, UsageError, quoted
from pxp_fsm.lazy_dataclasses import dataclass
from pxp_fsm.plugins.easylan.lan import Lan
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
    merging,
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

_HEADING, _NAME = "bold", "ansicyan"
HELP = {
    "confirm": "agree to it, as it stands in your version",
    "edit": "change it as JSON; what you write as <??> is filled in for you",
    "hint": "say in words what is to be different",
    "hole": "make one of its fields <??>",
    "type": "set a field that has a closed list of values",
    "retry": "send your version and your hint, for another result",
    "reset": "put the result back as it was, without a hint",
    "reject": "take over: the step ends without a result",
    "back": "go back to an earlier step, and begin with what you agreed on there",
}

Also = Mapping[str, Callable[[], Awaitable[None]]]
"""What else can be done while a result is reviewed, by the word for it."""


@dataclass(frozen=True, slots=True)
class Reviewed:
    """A result to be reviewed, with what is told beside it.

    `told` are lines about it; `quick` gives the values that a field may have, where they are a
    closed list. `refused` says why an earlier act was not allowed, `version` is what was written
    then. `back` names the earlier results to which one can go back. `key` tells it apart from
    others, for what was typed and not sent.
    """

    title: str
    value: object
    rationale: str
    key: str
    told: Sequence[str] = ()
    quick: Mapping[str, Sequence[str]] = field(default_factory=dict)
    may_reject: bool = True
    refused: str = ""
    version: object = None
    back: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class ReviewAct:
    """What a person does: `choice` is confirm, retry, reject or back; their version, hint, keys.

    `to` is the earlier result to which they go back.
    """

    choice: str
    value: object
    hint: str
    keys: int
    to: str = ""


class TerminalReviewer:
    """Reviews results at the terminal; what is not sent is kept in the folder `drafts`."""

    def __init__(self, drafts: Path, hole: str = "<??>") -> None:
        self._drafts = Drafts(drafts)
        self._hole = hole
        self.keys = Keys()
        self._told: Sequence[str] = ()

    async def review(self, shown: Reviewed, also: Also = MappingProxyType({})) -> ReviewAct:
        """The action on `shown` or `also`; raises `UserLeft`, a `KeyboardInterrupt`."""
        version, hint = _written(shown.value if shown.version is None else shown.version), ""
        draft = self._drafts.read(shown.key, 1)
        self._show(shown)
        if draft is not None:
            version, hint = draft.prediction, draft.explanation
            say("What you had typed when you left is here again.")
            _show_json(version, "your version")
            if hint:
                say("   your hint: ", hint)
        while True:
            word = await self._choice(shown, also, version, hint)
            if word in also:
                await self._aside(also[word], shown, version, hint)
            elif word == "back":
                return await self._back(shown, version, hint)
            elif word in ("confirm", "retry", "reject"):
                value, problem = _read(version)
                if problem and word != "reject":
                    say("   ", problem)
                    continue
                if word == "confirm" and hint and not await self._drops(hint):
                    continue
                return self._sent(shown, word, value, hint if word == "retry" else "")
            else:
                version, hint = await self._changed(word, shown, version, hint)

    async def ask(self, question: str, words: Sequence[str]) -> str:
        """One of `words`, typed as a whole or so far that it could be no other."""
        return await self._line(question, words)

    async def text(
        self, question: str, accept: Callable[[str], object], default: str = "", lines: bool = False
    ) -> str:
        """A text that `accept` takes, of one line or of many; what it raises is shown.

        A text that is refused comes back: several lines as they were, a single one with Up.
        """
        if not lines:
            return await ask_line(question, accept, default=default, keys=self.keys)
        while True:
            default = await ask_lines(question, default=default, keys=self.keys)
            try:
                accept(default)
            except PXPError as error:
                say("   ", str(error))
            else:
                return default

    async def _aside(
        self, done: Callable[[], Awaitable[None]], shown: Reviewed, version: str, hint: str
    ) -> None:
        """Do something else, and keep what was typed here if they leave from there."""
        try:
            await done()
        except LEFT:
            self._keep(shown, version, hint)
            raise
        self._show(shown)

    async def _back(self, shown: Reviewed, version: str, hint: str) -> ReviewAct:
        """Go back; what was typed here is kept, should the same result come again."""
        earlier = list(shown.back)
        prompt = f"Back to which? {', '.join(earlier)} "
        to = earlier[0] if len(earlier) == 1 else await self._line(prompt, earlier)
        self._keep(shown, version, hint)
        return ReviewAct("back", shown.value, "", self.keys.taken(), to)

    async def _choice(self, shown: Reviewed, also: Also, version: str, hint: str) -> str:
        words = [word for word in HELP if shown.may_reject or word != "reject"] + list(also)
        if not shown.quick:
            words.remove("type")
        if not shown.back:
            words.remove("back")
        try:
            return await self._line(f"{', '.join(words)}? ", words)
        except LEFT:
            self._keep(shown, version, hint)
            raise

    async def _drops(self, hint: str) -> bool:
        """Whether to confirm without the hint that they have written and not sent."""
        say("   your hint: ", hint)
        say("   Confirming sends no hint; retry sends it, for another result.")
        return await self._line("Confirm without the hint? yes, no ", ("yes", "no")) == "yes"

    async def _changed(
        self, word: str, shown: Reviewed, version: str, hint: str
    ) -> tuple[str, str]:
        """Their version and hint after one more thing was done to them."""
        if word == "reset":
            self._drafts.drop(shown.key, 1)
            return _written(shown.value), ""
        part, typed = (hint, "hint") if word == "hint" else (version, "version")
        try:
            if word == "hint":
                prompt = "Your hint (an empty line ends it):\n"
                hint = await ask_lines(prompt, default=hint, keys=self.keys)
            elif word == "edit":
                prompt = "Your version (an empty line at its end ends it):\n"
                version = await ask_lines(prompt, default=version, keys=self.keys)
                problem = _read(version)[1]
                if problem:
                    say("   ", problem, "; it is kept as you left it, edit it again")
            else:
                version = await self._set(word, shown, version)
        except LEFT as left:
            part = left.typed if word in ("hint", "edit") else part
            self._keep(
                shown,
                part if typed == "version" else version,
                part if typed == "hint" else hint,
            )
            raise
        if word != "hint":
            _show_json(version, "your version")
        return version, hint

    async def _set(self, word: str, shown: Reviewed, version: str) -> str:
        """Their version with one field set, by name, to a hole or to one of its values."""
        value, problem = _read(version)
        if problem or not isinstance(value, dict):
            say("   ", problem or "it has no fields; edit it")
            return version
        fields = (
            list(value) if word == "hole" else [field for field in shown.quick if field in value]
        )
        name = fields[0] if len(fields) == 1 else await self._line("Which field? ", fields)
        if word == "hole":
            return _written({**value, name: self._hole})
        options = shown.quick[name]
        return _written({**value, name: await self._line(f"{', '.join(options)}? ", options)})

    async def _line(self, question: str, words: Sequence[str]) -> str:
        return await one_of(question, tuple(words), keys=self.keys)

    def _sent(self, shown: Reviewed, choice: str, value: object, hint: str) -> ReviewAct:
        self._drafts.drop(shown.key, 1)
        return ReviewAct(choice, value, hint.strip(), self.keys.taken())

    def _keep(self, shown: Reviewed, version: str, hint: str) -> None:
        if version in (_written(shown.value), _written(shown.version)) and not hint:
            return
        path = self._drafts.keep(shown.key, 1, UnsentAnswer(version, hint))
        say(f"What you typed and did not send is kept in {path}.")

    def _show(self, shown: Reviewed) -> None:
        say("")
        if tuple(shown.told) != tuple(self._told):
            for line in shown.told:
                say(line)
            self._told = shown.told
        say((_HEADING, shown.title))
        _show_json(_written(shown.value))
        if shown.rationale:
            say("   because: ", shown.rationale)
        if shown.refused:
            say("   refused: ", (_HEADING, shown.refused))
        if shown.version is not None:
            _show_json(_written(shown.version), "your version, to be mended; reset drops it")


def _written(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2)


def _read(text: str) -> tuple[object, str]:
    """The value of a text, and why it has none."""
    try:
        return json.loads(text), ""
    except (ValueError, RecursionError) as error:
        return None, f"this is not JSON: {error}"


def _show_json(text: str, whose: str = "") -> None:
    if whose:
        say("   ", (_NAME, whose))
    for line in text.split("\n"):
        say(f"   {line}")


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
            lan.undo(ued=spent)
        elif text == "redo":
            lan.redo(ued=spent)
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
        for named, pieces in (
            ("control_knowledge", control.knowledge),
            ("knowledge", agent.knowledge),
        ):
            for number, piece in enumerate(pieces, 1):
                yield from _field(f"{named} {number}", piece)
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
        prompt = "Will it do? yes, no or network: "
        while (word := await self._reviewer.ask(prompt, words)) == "network":
            await edit_network(self._reviewer, lan)
        self._reviewer.keys.taken()  # what modifies nothing is no part of the UED
        if word == "yes" or truth:
            return word == "yes"
        prompt = "The right output (an empty line ends it; nothing: you do not know it):\n"
        right = await self._reviewer.text(prompt, lambda _text: None, lines=True)
        self._reviewer.keys.taken()
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
                tuple(str(step).lower() for step in view.back),
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
        for regression in regressions:
            say("   input:  ", regression.handled.external)
            say("   was:    ", regression.handled.output)
            say(
                "   would be: ",
                regression.output if regression.output is not None else regression.why,
            )
        say("   accept records the new outputs as right, forget drops these examples")
        words = {
            "accept": RegressionChoice.ACCEPT,
            "forget": RegressionChoice.FORGET,
            "retry": RegressionChoice.RETRY,
            "take over": RegressionChoice.TAKE_OVER,
        }
        word = await self._reviewer.ask(f"{', '.join(words)}? ", tuple(words))
        self._reviewer.keys.taken()
        return words[word]

    async def handed(self, why: str, lan: Lan) -> Continuation:
        say("It is yours now: ", why)
        words = ("resume", "skip", "network")
        prompt = "resume (run it again), skip (this example) or network: "
        while (word := await self._reviewer.ask(prompt, words)) == "network":
            await edit_network(self._reviewer, lan)
        self._reviewer.keys.taken()
        return Continuation.RESUME if word == "resume" else Continuation.SKIP


def _told(run: NetworkRun, truth: str) -> Iterator[str]:
    yield f"input:  {run.external}"
    yield f"output: {run.output}"
    if truth:
        yield f"wanted: {truth}"
