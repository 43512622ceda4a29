"""What is asked of a panel, answered by exploring its model: does it end, what answers what, …

The answers of a model that was explored whole hold for its number of agents and of values; of one
that was cut, what is found is real (each is a run of the model) and what is not found is unknown.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import field, replace
from time import process_time

from proofs.core.explore import Space, Step, Trace, explore
from pxp_fsm.automata.actions import Exchange
from pxp_fsm.lazy_dataclasses import dataclass
from pxp_fsm.plugins.panels.board import ChannelStatus, PanelBoard
from pxp_fsm.plugins.panels.exploration import REPLIES, PanelModel
from pxp_fsm.plugins.panels.packed import packed, search_packed
from pxp_fsm.plugins.panels.whole import FACTS, WholePanel, search_whole
from pxp_fsm.protocol.messages import Tag

MOST = 60_000
"""How many states are looked at."""


@dataclass(frozen=True)
class Lasso:
    """An endless run: a shortest one to a cycle, and the cycle.

    `changing` are the agents that change their pair again and again in it, `is_fair` says that
    everybody who owes a message for ever speaks again and again.
    """

    stem: tuple[str, ...]
    cycle: tuple[str, ...]
    changing: tuple[str, ...]
    is_fair: bool


@dataclass
class PanelAnswers:
    """What was found of a model: each run is a shortest one, as its messages.

    `longest` is the most messages of a session where all end (and the model was explored whole).
    `lasso` is an endless run, `fair` one in which everybody who owes a message speaks, `all_change`
    one in which everybody changes. `idle_cycle` says that a cycle exists in which nobody changes.
    `replies` are those that two agents never give: tag and answer. `stale` is a RATIFY after which
    an end has changed, `closed_apart` that all channels are closed with a RATIFY last from both
    ends and without agreement, `rejected_alike` an agreement although a channel was closed by
    REJECT, `unstable` a consensus that is none after one more message; `unstable_unless_fresh` the
    same where it is not asked that the RATIFYs are fresh. Of a reduced model ends, lengths, and
    which `replies` there are can be told; the rest is not asked, and in runs names are exchanged.
    """

    model: PanelModel
    states: int = 0
    transitions: int = 0
    seconds: float = 0.0
    is_whole: bool = True
    longest: int | None = None
    lasso: Lasso | None = None
    fair: Lasso | None = None
    all_change: Lasso | None = None
    idle_cycle: bool = False
    replies: dict[tuple[str, str], tuple[str, ...]] = field(default_factory=dict)
    stale: tuple[str, ...] | None = None
    closed_apart: tuple[str, ...] | None = None
    rejected_alike: tuple[str, ...] | None = None
    unstable: tuple[str, ...] | None = None
    unstable_unless_fresh: tuple[str, ...] | None = None

    @property
    def ends(self) -> bool | None:
        """Whether every session ends; None where that is not known."""
        if self.lasso is not None:
            return False
        return True if self.is_whole else None


def answers(model: PanelModel, most: int = MOST) -> PanelAnswers:
    """Explore a model, at most so many states of it, and answer what is asked of it.

    >>> import pxp_fsm as pxp
    >>> found = answers(PanelModel(pxp.Panel(pxp.Pxp(k=1), "fifo", call=True)))
    >>> found.ends, found.longest, found.replies
    (True, 20, {})
    """
    began, looked = process_time(), 0
    tables = packed(model)
    if tables is not None:
        searched = search_packed(tables, most)
        return PanelAnswers(
            model,
            searched.states,
            searched.transitions,
            process_time() - began,
            searched.is_whole,
            searched.longest,
        )

    def few(
        _state: PanelBoard,
        steps: tuple[Step[PanelBoard], ...],
        _seen: Callable[[PanelBoard], bool],
    ) -> tuple[Step[PanelBoard], ...]:
        nonlocal looked
        looked += 1
        return steps if looked <= most else ()

    space = explore(model, 10**9, followed=few)
    result = PanelAnswers(model, space.states, space.transitions, is_whole=looked <= most)
    if not model.reduced:
        _of_states(result, space)
    _of_steps(result, space)
    _of_cycles(result, space)
    result.seconds = process_time() - began
    return result


def completed(explored: PanelAnswers, most: int) -> PanelAnswers:
    """The answers of a model that was cut, with those of a compiled search of so many states.

    Lassos and replies stay as they were found before.
    """
    if explored.is_whole or explored.model.reduced:
        return explored
    began = process_time()
    space = search_whole(WholePanel(explored.model), most)
    return replace(
        explored,
        states=space.states,
        transitions=space.transitions,
        seconds=process_time() - began,
        is_whole=space.is_whole,
        longest=space.longest,
        idle_cycle=explored.idle_cycle or space.idle_cycle,
        **{fact: space.runs.get(fact) for fact in FACTS},  # type: ignore[arg-type]
    )


def _words(trace: Trace[PanelBoard]) -> tuple[str, ...]:
    return tuple(str(step.action) for step in trace.steps)


def _of_states(result: PanelAnswers, space: Space[PanelBoard]) -> None:
    for state in space.steps:  # breadth first, so that the first is a shortest
        talks = state.talks
        if result.stale is None and any(
            talk.said[end] == Tag.RATIFY and any(talk.moved[end])
            for talk in talks
            for end in (0, 1)
        ):
            result.stale = _words(space.trace_to(state))
        if any(talk.status is not ChannelStatus.CLOSED for talk in talks):
            continue
        agrees = result.model.layout.agrees(state, result.model.alike)
        ratified = all(talk.said == (Tag.RATIFY, Tag.RATIFY) for talk in talks)
        rejected = any(talk.said == (Tag.REJECT, Tag.REJECT) for talk in talks)
        if result.closed_apart is None and ratified and not agrees:
            result.closed_apart = _words(space.trace_to(state))
        if result.rejected_alike is None and rejected and agrees:
            result.rejected_alike = _words(space.trace_to(state))


def _of_steps(result: PanelAnswers, space: Space[PanelBoard]) -> None:
    layout = result.model.layout
    for state, steps in space.steps.items():
        consensus = _ratified(result.model, state, fresh=True)
        stale = _ratified(result.model, state, fresh=False)
        for step in steps:
            action = step.action
            assert isinstance(action, Exchange)  # noqa: S101 - a panel has no other
            sender, receiver = map(layout.names.index, (action.sender, action.receiver))
            number = layout.channels[sender, receiver]
            talk = state.talks[number]
            received = talk.said[layout.links[number].index(receiver)]
            answered = action.tag not in (Tag.INIT, Tag.TERM) and received in REPLIES
            place = received, action.tag
            if answered and REPLIES[received] != action.tag and place not in result.replies:
                result.replies[place] = (*_words(space.trace_to(state)), str(action))
            run = result.unstable is None or result.unstable_unless_fresh is None
            run = run and not result.model.reduced
            for was, fresh in ((consensus, True), (stale, False)) if run else ():
                if was and not _ratified(result.model, step.target, fresh=fresh):
                    words = (*_words(space.trace_to(state)), str(action))
                    if fresh:
                        result.unstable = result.unstable or words
                    else:
                        result.unstable_unless_fresh = result.unstable_unless_fresh or words


def _ratified(model: PanelModel, state: PanelBoard, *, fresh: bool) -> bool:
    """Whether all have ratified each other last (and `fresh`), and all pairs match and agree."""
    ends = ((talk, end) for talk in state.talks for end in (0, 1))
    ratified = all(
        talk.said[end] == Tag.RATIFY and (talk.ratified(end) or not fresh) for talk, end in ends
    )
    return ratified and model.layout.agrees(state, model.alike)


def _of_cycles(result: PanelAnswers, space: Space[PanelBoard]) -> None:
    everything = dict(space.steps)
    parts = [part for part in _components(everything) if _goes_round(space, part)]
    if not parts:
        if result.is_whole:
            result.longest = _longest(space)
        return
    still = {
        state: tuple(step for step in steps if not step.facts[0])
        for state, steps in space.steps.items()
    }
    result.idle_cycle = any(
        len(part) > 1 or any(step.target in part for step in still[next(iter(part))])
        for part in _components(still)
    )
    layout, order = result.model.layout, {state: n for n, state in enumerate(space.steps)}
    for part in sorted(parts, key=lambda part: min(map(order.__getitem__, part))):
        start = min(part, key=order.__getitem__)
        inside = [
            (state, step) for state in part for step in space.steps[state] if step.target in part
        ]
        changing = {step.action.sender for _, step in inside if step.facts[0]}  # type: ignore[attr-defined]
        speaks = {frozenset((s.action.sender, s.action.receiver)) for _, s in inside}  # type: ignore[attr-defined]
        waits = [
            layout.links[number]
            for number in range(len(layout.links))
            if all(state.talks[number].status is not ChannelStatus.CLOSED for state in part)
        ]
        names = layout.names
        is_fair = all(frozenset((names[a], names[b])) in speaks for a, b in waits)
        changes = tuple(sorted(changing))
        if (
            result.lasso is None
            or (is_fair and result.fair is None)
            or (len(changes) == len(names) and result.all_change is None)
        ):
            cycle = _round(space, part, start)
            lasso = Lasso(_words(space.trace_to(start)), cycle, changes, is_fair)
            result.lasso = result.lasso or lasso
            result.fair = result.fair or (lasso if is_fair else None)
            if len(changes) == len(names):
                result.all_change = result.all_change or lasso


def _goes_round(space: Space[PanelBoard], part: set[PanelBoard]) -> bool:
    if len(part) > 1:
        return True
    (state,) = part
    return any(step.target == state for step in space.steps[state])


def _round(space: Space[PanelBoard], part: set[PanelBoard], start: PanelBoard) -> tuple[str, ...]:
    """A shortest cycle through `start` within its component."""
    paths: dict[PanelBoard, tuple[str, ...]] = {start: ()}
    level = [start]
    while level:
        after = []
        for state in level:
            for step in space.steps[state]:
                path = (*paths[state], str(step.action))
                if step.target == start:
                    return path
                if step.target in part and step.target not in paths:
                    paths[step.target] = path
                    after.append(step.target)
        level = after
    raise AssertionError("a component has a cycle through each of its states")


def _components(
    steps: dict[PanelBoard, tuple[Step[PanelBoard], ...]],
) -> Iterator[set[PanelBoard]]:
    """The strongly connected components, by Tarjan's algorithm, without recursion."""
    index: dict[PanelBoard, int] = {}
    low: dict[PanelBoard, int] = {}
    stack: list[PanelBoard] = []
    on_stack: set[PanelBoard] = set()
    for root, first in steps.items():
        if root in index:
            continue
        work = [(root, iter(first))]
        index[root] = low[root] = len(index)
        stack.append(root)
        on_stack.add(root)
        while work:
            state, left = work[-1]
            for step in left:
                target = step.target
                if target not in index:
                    index[target] = low[target] = len(index)
                    stack.append(target)
                    on_stack.add(target)
                    work.append((target, iter(steps[target])))
                    break
                if target in on_stack:
                    low[state] = min(low[state], index[target])
            else:
                work.pop()
                if work:
                    above = work[-1][0]
                    low[above] = min(low[above], low[state])
                if low[state] == index[state]:
                    part: set[PanelBoard] = set()
                    while state not in part:
                        member = stack.pop()
                        on_stack.discard(member)
                        part.add(member)
                    yield part


def _longest(space: Space[PanelBoard]) -> int:
    """The most messages of a session of a model without a cycle."""
    waiting = dict.fromkeys(space.steps, 0)
    for steps in space.steps.values():
        for step in steps:
            waiting[step.target] += 1
    length = dict.fromkeys(space.steps, 0)
    ready = [state for state, many in waiting.items() if not many]
    for state in ready:  # grows while it is read
        for step in space.steps[state]:
            length[step.target] = max(length[step.target], length[state] + 1)
            waiting[step.target] -= 1
            if not waiting[step.target]:
                ready.append(step.target)
    return max(length.values())
