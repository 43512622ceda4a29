"""Models, and their exhaustive exploration, breadth first, so that every trace is a shortest one.

A model says where it starts, where it can go, and what is true there. Its states are any hashable
values: nothing here knows PXP.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from dataclasses import field
from typing import Generic, Protocol, TypeVar

from proofs.core.limits import Effort
from pxp_fsm.lazy_dataclasses import dataclass

S = TypeVar("S", bound=Hashable)


@dataclass(frozen=True, slots=True)
class Step(Generic[S]):
    """A transition: the action, and where it leads.

    The action is one of `pxp_fsm.automata.actions`, or any value whose `str()` a person can read.
    `facts` are answers of oracles behind it, for replaying; they do not tell steps apart.
    """

    action: Hashable
    target: S
    facts: tuple[bool, ...] = field(default=(), compare=False)

    @property
    def label(self) -> str:
        """The action in words."""
        return str(self.action)


class Model(Protocol[S]):
    """A transition system."""

    @property
    def name(self) -> str:
        """What it models, in words."""

    def initial(self) -> Iterable[S]:
        """The states in which it may start."""

    def successors(self, state: S) -> Iterable[Step[S]]:
        """The steps that are possible in `state`; none where it has ended or is stuck."""

    def propositions(self, state: S) -> frozenset[str]:
        """The names of what is true in `state`."""


T = TypeVar("T", bound=Hashable)


@dataclass(frozen=True, repr=False)
class Trace(Generic[S]):
    """A path of a model: its first state, then step by step."""

    start: S
    steps: tuple[Step[S], ...]

    def __str__(self) -> str:
        return ", ".join(self.labels) or "(at once, before any step)"

    def _repr_markdown_(self) -> str:
        steps = [f"{number}. `{step.label}`" for number, step in enumerate(self.steps, start=1)]
        return "\n".join(steps) or str(self)

    def __repr__(self) -> str:
        return f"<Trace of {len(self.steps)} steps: {self}>"

    @property
    def labels(self) -> tuple[str, ...]:
        """What happens, in order."""
        return tuple(step.label for step in self.steps)

    def map(self, of: Callable[[S], T]) -> Trace[T]:
        """The trace of another model in which `of` each state is in its place."""
        steps = (Step(step.action, of(step.target), step.facts) for step in self.steps)
        return Trace(of(self.start), tuple(steps))


@dataclass(frozen=True)
class Space(Generic[S]):
    """The reachable part of a model: every state with its steps, in breadth-first order.

    Distinct steps to one state are kept; `transitions` counts them.
    """

    steps: Mapping[S, tuple[Step[S], ...]]
    parents: dict[S, tuple[S, Step[S]] | None]

    @property
    def states(self) -> int:
        return len(self.steps)

    @property
    def transitions(self) -> int:
        return sum(map(len, self.steps.values()))

    def trace_to(self, state: S) -> Trace[S]:
        """A shortest trace from an initial state to `state`."""
        path: list[Step[S]] = []
        parent = self.parents[state]
        while parent is not None:
            state, step = parent
            path.append(step)
            parent = self.parents[state]
        return Trace(state, tuple(reversed(path)))

    def depth(self, state: S) -> int:
        """How many steps a shortest trace to `state` has."""
        return len(self.trace_to(state).steps)

    def find(self, holds: Callable[[S], bool]) -> Trace[S] | None:
        """A shortest trace to a state in which `holds`; None if there is none."""
        state = next(filter(holds, self.steps), None)
        return None if state is None else self.trace_to(state)


class TooLarge(Exception):
    """Exploration stopped at its bound on states; nothing is known of the rest."""


MOST_STATES = 5_000_000
"""How many states are explored, unless told."""

Followed = Callable[[S, tuple[Step[S], ...], Callable[[S], bool]], tuple[Step[S], ...]]
"""Which steps of a state are followed, told of any state whether it has been looked at already."""


def explore(
    model: Model[S],
    limit: int = MOST_STATES,
    effort: Effort | None = None,
    followed: Followed[S] | None = None,
    until: Callable[[S], bool] | None = None,
) -> Space[S]:
    """Every reachable state of `model`. Raises `TooLarge` past `limit` states, or past `effort`.

    With `followed` other steps are left out, as if the model did not have them. The first state in
    which `until` is true ends the search: it is the last of the space, without steps.
    """
    steps, parents = dict[S, tuple[Step[S], ...]](), dict.fromkeys(model.initial())
    for _ in _search(model, steps, parents, limit, effort, followed, until):
        pass
    return Space(steps, parents)


def explore_as_read(model: Model[S], limit: int = MOST_STATES) -> Space[S]:
    """The same space, explored no further than its steps are read: to the first counterexample.

    What `explore` raises is raised by whoever reads so far, each time.
    """
    steps, parents = dict[S, tuple[Step[S], ...]](), dict.fromkeys(model.initial())
    return Space(_StepsAsRead(steps, _search(model, steps, parents, limit)), parents)


class _StepsAsRead(Mapping[S, tuple[Step[S], ...]]):
    """The steps of each state that a search finds, in its order; reading them goes on with it."""

    def __init__(self, steps: Mapping[S, tuple[Step[S], ...]], search: Iterator[S]) -> None:
        self._steps, self._search = steps, search
        self._order = list[S]()
        self._error: BaseException | None = None

    def _goes_on(self) -> bool:
        """Find one more state; False where there is none.

        A generator that has raised an error says next that it has ended, so that what is left of
        the states would look like all of them: the error is kept, and raised again.
        """
        if self._error is not None:
            raise self._error
        try:
            self._order.append(next(self._search))
        except StopIteration:
            return False
        except BaseException as error:
            self._error = error
            raise
        return True

    def __iter__(self) -> Iterator[S]:
        place = 0
        while place < len(self._order) or self._goes_on():
            yield self._order[place]
            place += 1

    def __getitem__(self, state: S) -> tuple[Step[S], ...]:
        while state not in self._steps and self._goes_on():
            pass
        return self._steps[state]

    def __len__(self) -> int:
        while self._goes_on():
            pass
        return len(self._order)


def _search(
    model: Model[S],
    steps: dict[S, tuple[Step[S], ...]],
    parents: dict[S, tuple[S, Step[S]] | None],
    limit: int,
    effort: Effort | None = None,
    followed: Followed[S] | None = None,
    until: Callable[[S], bool] | None = None,
) -> Iterator[S]:
    """Each reachable state, breadth first, its steps found; `steps` and `parents` grow with it."""
    left = deque(parents)
    depth, level = 0, len(parents)
    while left:
        if len(steps) == level:
            depth, level = depth + 1, len(parents)
        if effort is not None and (not len(steps) & 1023 or len(parents) > effort.states):
            reason = effort.spent(len(parents), depth, len(left))
            if reason:
                raise TooLarge(reason)
        state = left.popleft()
        steps[state] = tuple(model.successors(state))
        if followed is not None:
            steps[state] = followed(state, steps[state], steps.__contains__)
        yield state
        for step in steps[state]:
            if step.target not in parents:
                if len(parents) >= limit:
                    raise TooLarge(f"{model.name}: more than {limit} states")
                parents[step.target] = (state, step)
                left.append(step.target)
                if until is not None and until(step.target):
                    steps[step.target] = ()
                    yield step.target
                    return
