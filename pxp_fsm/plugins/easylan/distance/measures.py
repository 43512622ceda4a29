"""Measures of a developer's manual changes, from the log: actions, and their least UED.

Source: arXiv 2404.15974, sections 6.5.1 and 6.6, Table 6. What came of an action has a least UED;
whoever mistypes presses more, which a log holds where it was counted.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import field, replace
from enum import StrEnum

from pxp_fsm.errors import quoted
from pxp_fsm.lazy_dataclasses import dataclass
from pxp_fsm.plugins.easylan.distance.lmd import EMPTY, FIELDS, cost, form_cost, text_cost
from pxp_fsm.plugins.easylan.model.history import Author, Change, History
from pxp_fsm.plugins.easylan.model.network import LanAgent, Network
from pxp_fsm.plugins.easylan.model.operations import (
    AgentField,
    Begin,
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
    Teach,
    apply,
    merging,
)
from pxp_fsm.plugins.easylan.training.developer import OutputView
from pxp_fsm.plugins.easylan.training.events import Answered, Asked, Told, Withdrawn
from pxp_fsm.plugins.easylan.training.steps import UpdateStep
from pxp_fsm.plugins.easylan.training.supervision import DEVELOPER, EFFORT
from pxp_fsm.prompting.model import Ask, Layer, ModelRequest, Reply
from pxp_fsm.protocol.messages import Instance, Tag
from pxp_fsm.sessions.events import Event


class Action(StrEnum):
    """What developers do; the first seven are the rows of Table 6."""

    STEP_1 = "modify step 1"
    STEP_2 = "modify step 2"
    STEP_3 = "modify step 3"
    STEP_4 = "modify step 4"
    NEW_AGENT = "new agent"
    MODIFY_AGENT = "modify agent"
    MODIFY_EDGE = "modify edge"
    DELETE_AGENT = "delete agent"
    UNDO = "undo"
    CONFIRM = "confirm a step"
    TAKE_OVER = "take a step over"
    MERGE = "merge agents"
    SPLIT = "split an agent"
    FORGET = "forget an example"
    TASK = "edit the task"


MODIFYING = frozenset(Action) - {Action.CONFIRM, Action.TAKE_OVER}
"""The actions whose UED is added up, as in Table 6: they modify a step's result or the network.

The paper's sums have no confirmations, which are counted apart.
"""


@dataclass(frozen=True, slots=True)
class ManualAction:
    """One action of a developer, and its UED.

    `spent` is what it really took, None where nobody counted; the first action of a change has what
    the whole change took.
    """

    action: Action
    on: str
    ued: int
    spent: int | None = None

    @property
    def done(self) -> int:
        """Its UED as it was done, where that was counted; else the least."""
        return self.ued if self.spent is None else self.spent


@dataclass(frozen=True, slots=True)
class ActionTally:
    """How often an action was done, and its UED in all."""

    count: int = 0
    ued: int = 0


def tallied(actions: Iterable[ManualAction]) -> Mapping[Action, ActionTally]:
    """Every kind of action with its count and its UED, as Table 6 has them."""
    tallies = dict.fromkeys(Action, ActionTally())
    for acted in actions:
        before = tallies[acted.action]
        tallies[acted.action] = ActionTally(before.count + 1, before.ued + acted.done)
    return tallies


def ued(actions: Iterable[ManualAction], among: Set[Action] = MODIFYING) -> int:
    """The UED in all, as it was done where that was counted: the one measure of this name."""
    return sum(acted.done for acted in actions if acted.action in among)


def confirmations(actions: Iterable[ManualAction]) -> int:
    """How often the result of a step was confirmed."""
    return sum(acted.action is Action.CONFIRM for acted in actions)


def by_hand(history: History) -> tuple[ManualAction, ...]:
    """The developer's manual actions in a log, in their order.

    What the network began as is nobody's action.
    """
    actions: list[ManualAction] = []
    past = History((), Network(""))
    for change in history.changes:
        if change.by is Author.DEVELOPER:
            done = tuple(actions_of(past.network, change))
            rest = None if change.ued is None else 0
            actions += [replace(action, spent=change.ued) for action in done[:1]]
            actions += [replace(action, spent=rest) for action in done[1:]]
        past = past.after(change)
    return tuple(actions)


def modifications(history: History) -> int:
    """How many changes of the agents and edges there are in a log after the first one.

    Each is what was done between two runs: one plan applied by the system, or one saving of the
    developer's. Undoing counts; recording an example that was handled does not.
    """
    past, count = History((), Network("")), 0
    for change in history.changes:
        before = past.network
        past = past.after(change)
        began = any(isinstance(operation, Begin) for operation in change.operations)
        count += not began and _shape(before) != _shape(past.network)
    return count


def counted(actions: Sequence[ManualAction], history: History) -> str:
    """The UED in all, and what is counted beside it, in words."""
    return (
        f"UED {ued(actions)}; confirmations {confirmations(actions)}; "
        f"modifications {modifications(history)}"
    )


def _shape(network: Network) -> object:
    """What of a network a modification changes: all but examples."""
    agents = frozenset(
        (
            agent.name,
            agent.task,
            agent.output,
            agent.knowledge,
            agent.control.enabled,
            agent.control.required,
            agent.control.knowledge,
        )
        for agent in network.agents
    )
    return agents, network.edges


def actions_of(network: Network, change: Change) -> Iterator[ManualAction]:
    """The actions of one change: the edits of one agent in a row are one filling in of its form."""
    if change.undoes is not None:
        yield ManualAction(Action.UNDO, f"change {change.undoes}", cost("undo"))
    if change.restores is not None:
        yield ManualAction(Action.UNDO, f"to version {change.restores}", cost("undo"))
    if any(isinstance(operation, Begin) for operation in change.operations):
        return
    merged = _merged(network, change.operations)
    if merged is not None:
        yield ManualAction(Action.MERGE, " into ".join(merged), cost("merge"))
        return
    form: _Form | None = None
    for operation in change.operations:
        before, network = network, apply(network, operation)
        edits = _edits(operation, form)
        if form is not None and not edits:
            yield from form.filled_in()
            form = None
        match operation:
            case Create(agent):
                form = _Form(EMPTY, agent, opened=0)
            case Edit(name) | Teach(name):
                if form is None:
                    form = _Form(before.agent(name), before.agent(name), cost("open"))
                form = form.with_(network.agent(_name_after(operation, name)))
        yield from _by_itself(operation, before)
    if form is not None:
        yield from form.filled_in()


def _by_itself(operation: Operation, before: Network) -> Iterator[ManualAction]:
    """The action that an operation is, where it is none in a form."""
    match operation:
        case Create(agent):
            yield ManualAction(Action.NEW_AGENT, agent.name, cost("create"))
        case Delete(name):
            yield ManualAction(Action.DELETE_AGENT, name, cost("delete"))
        case Connect(source, target):
            yield ManualAction(Action.MODIFY_EDGE, f"{source} → {target}", cost("connect"))
        case Disconnect(source, target):
            yield ManualAction(Action.MODIFY_EDGE, f"{source} → {target}", cost("disconnect"))
        case Split(name, kind, parts):
            spent = _split_cost(before.agent(name), kind, parts)
            yield ManualAction(Action.SPLIT, name, spent)
        case ChangeTask(task):
            yield ManualAction(Action.TASK, quoted(task), text_cost(before.task, task))
        case Forget(external):
            yield ManualAction(Action.FORGET, quoted(external), cost("delete"))


def _merged(network: Network, operations: tuple[Operation, ...]) -> tuple[str, str] | None:
    """The agent that goes and the one that stays, where operations merge two."""
    gone = [operation.name for operation in operations if isinstance(operation, Delete)]
    if len(gone) != 1 or len(operations) == 1:
        return None
    others = (name for name in network.names if name != gone[0])
    mergeable = (name for name in others if merging(network, gone[0], name) == operations)
    return next(((gone[0], name) for name in mergeable), None)


def _split_cost(old: LanAgent, kind: SplitKind, parts: tuple[LanAgent, ...]) -> int:
    """The least UED of a split: two parts are begun as the agent with a number, others empty."""
    spent = cost("split") + cost("switch") * (kind is SplitKind.PARALLEL)
    for number, part in enumerate(parts, start=1):
        begun = LanAgent(f"{old.name} {number}", old.task, old.output) if number < 3 else EMPTY
        spent += cost("create") * (number >= 3)
        spent += sum(text_cost(shown(begun), shown(part)) for shown in FIELDS.values())
    return spent


def _name_after(operation: Operation, name: str) -> str:
    """The name that the agent `name` has after an operation on it."""
    match operation:
        case Edit(_, AgentField.NAME, value):
            return str(value)
    return name


def _edits(operation: Operation, form: _Form | None) -> bool:
    """Whether an operation is done in the form that is open."""
    return form is not None and isinstance(operation, Edit | Teach) and operation.name == form.name


@dataclass(frozen=True, slots=True)
class _Form:
    """The form of an agent: what it showed at first, and what it shows now."""

    before: LanAgent
    after: LanAgent
    opened: int

    @property
    def name(self) -> str:
        return self.after.name

    def with_(self, agent: LanAgent) -> _Form:
        return _Form(self.before, agent, self.opened)

    def filled_in(self) -> Iterator[ManualAction]:
        changed = set(self.before.control.required) ^ set(self.after.control.required)
        spent = form_cost(self.before, self.after)
        if spent:
            yield ManualAction(Action.MODIFY_AGENT, self.after.name, self.opened + spent)
        for name in sorted(changed):
            yield ManualAction(Action.MODIFY_EDGE, f"{name} → {self.after.name}", cost("require"))


STEPS = {
    UpdateStep.GAP: Action.STEP_1,
    UpdateStep.REASON: Action.STEP_2,
    UpdateStep.WEAKNESS: Action.STEP_3,
    UpdateStep.PARAMETERS: Action.STEP_4,
}


@dataclass(frozen=True, slots=True)
class DeveloperEffort:
    """What a developer's message took: the UED as it was counted, and the seconds it took them."""

    ued: int = 0
    seconds: float = 0.0


def step_of(instance: Instance) -> UpdateStep:
    """The step that a session is about."""
    return UpdateStep(instance.key.partition("-")[0])


def effort_of(event: Event) -> DeveloperEffort:
    """What a developer's message took; nothing where none is noted."""
    for judgement in event.judgements:
        if judgement.relation == EFFORT:
            return DeveloperEffort(int(json.loads(judgement.detail)["distance"]), judgement.seconds)
    return DeveloperEffort()


def in_steps(sessions: Iterable[tuple[Instance, Iterable[Event]]]) -> Iterator[ManualAction]:
    """The developer's actions in stored sessions: steps modified, confirmed, handed back.

    A step is modified where its result is edited or hinted at. A message that took nothing is
    nobody's action: it is sent because an earlier one was agreed to.
    """
    for instance, events in sessions:
        step = step_of(instance)
        for event in events:
            ued = effort_of(event).ued
            if event.carried.sender == DEVELOPER and ued:
                yield ManualAction(_action(step, event.carried.tag), instance.key, ued)


def _action(step: UpdateStep, tag: str) -> Action:
    if tag == Tag.RATIFY:
        return Action.CONFIRM
    return Action.TAKE_OVER if tag == Tag.REJECT else STEPS[step]


@dataclass
class Attention:
    """What a training took of its developer, from its events: seconds in which they were asked,
    the UED of their answers, and how many steps they confirmed.

    Questions about outputs count only with `outputs`, that is where the developer judges them.
    """

    outputs: bool = True
    clock: Callable[[], float] = time.perf_counter
    seconds: float = 0.0
    ued: int = 0
    confirmations: int = 0
    _since: float | None = None

    def __call__(self, event: Told) -> None:
        if isinstance(event, Asked):
            counts = self.outputs or not isinstance(event.question.view, OutputView)
            if not counts:
                self._since = None
            elif self._since is None:
                self._since = self.clock()
            return
        if isinstance(event, Answered):
            self.ued += event.ued
            self.confirmations += event.confirms
        if isinstance(event, Answered | Withdrawn) and self._since is not None:
            self.seconds += self.clock() - self._since
            self._since = None


@dataclass
class Stopwatch:
    """Seconds since it was made, and those of them in which at least one model was being asked.

    Models asked at once are counted once. `clock` gives seconds from anywhere.
    """

    clock: Callable[[], float] = time.perf_counter
    began: float = field(init=False)
    calls: int = 0
    _asking: int = 0
    _since: float = 0.0
    _asked: list[tuple[float, float]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.began = self.clock()

    @property
    def total(self) -> float:
        """Seconds since it was made."""
        return self.clock() - self.began

    @property
    def models(self) -> float:
        """Seconds in which a model was being asked."""
        return self.models_since(self.began)

    def models_since(self, moment: float) -> float:
        """Those of them after a moment of the clock."""
        now = [(self._since, self.clock())] if self._asking else []
        return sum(end - max(start, moment) for start, end in (*self._asked, *now) if end > moment)

    @property
    def interaction(self) -> float:
        """Seconds in which no model was being asked: the paper's interaction time."""
        return self.total - self.models

    def begin(self) -> None:
        """A model is asked."""
        if not self._asking:
            self._since = self.clock()
        self._asking += 1
        self.calls += 1

    def end(self) -> None:
        """A model that was asked has replied, or cannot."""
        self._asking -= 1
        if not self._asking:
            self._asked.append((self._since, self.clock()))


def timed(watch: Stopwatch) -> Layer:
    """Runs a stopwatch while a model is asked."""

    async def reply(ask: Ask, request: ModelRequest) -> Reply:
        watch.begin()
        try:
            return await ask(request)
        finally:
            watch.end()

    return reply
