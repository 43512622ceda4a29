"""Exact probabilities for a bound n: whole numbers over one common denominator, message by message.

No fraction is reduced on the way, so that a message costs a few products of a large number with a
small one; the denominator after n messages is that of each agent, as often as it has spoken.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from typing import Any, NamedTuple, TypeVar

from pxp_fsm.errors import UsageError
from pxp_fsm.plugins.odds.behaviour import Behaviour, Player
from pxp_fsm.plugins.odds.chain import LENGTH, Conclusion, Players, Weighted, fixed
from pxp_fsm.plugins.odds.results import Odds
from pxp_fsm.protocol import decisions
from pxp_fsm.protocol.decisions import Category
from pxp_fsm.protocol.rules import Interact

R = TypeVar("R")

MANY = 2000
"""So many messages are worth the time that loading FLINT takes."""


class Moment(NamedTuple):
    """The chain after a message: numerators over one denominator.

    `alive` goes by state, `ended` by result; `length` adds up what has been sent so far.
    """

    sent: int
    alive: dict[int, Any]
    ended: dict[Any, Any]
    denominator: int


def odds(rules: Interact, members: Mapping[str, Mapping[str, float | Fraction]]) -> Odds[Fraction]:
    """How probable each end and class of a session is, for agents that judge by chance.

    Each of the two agents, the first begins, is given by the probabilities of its categories A, B,
    C and D, and of `revise`; what is left out is 0.

    >>> import pxp_fsm as pxp
    >>> unsure = {"A": 0.5, "D": 0.5}
    >>> pxp.odds(pxp.Interact(n=4, k=2), {"m": unsure, "h": unsure}).of("two-way")
    Fraction(3, 8)

    Raises `UsageError` for probabilities that cannot be.
    """
    if len(members) != 2:
        raise UsageError(f"a session has two agents, not {len(members)}")
    first, second = map(_player, members.values())
    return exact((first, second), rules.n, rules.k)


def _player(shares: Mapping[str, float | Fraction]) -> Player:
    values = {name: Fraction(str(value)) for name, value in shares.items()}
    player = Player(
        Behaviour({category: values.pop(category.value, Fraction(0)) for category in Category})
    )
    for name, value in values.items():
        player = player.with_(name, value)
    return player


def exact(players: Players, n: int, k: int) -> Odds[Fraction]:
    """How probable each result is in INTERACT(n, k), as rationals."""
    decisions.check_bounds(n, k)
    return finite(fixed(players), n, k, *_whole(n))


def _whole(n: int) -> tuple[Any, Callable[[Any, int], Fraction]]:
    """One, as a whole number to count with, and how to divide such a number.

    They are Python's; for many messages FLINT's where they are installed (extra `odds`), because
    large ones are multiplied several times as fast.
    """
    if n >= MANY:
        try:
            from flint import fmpz
        except ModuleNotFoundError:
            pass
        else:
            return fmpz(1), lambda number, over: Fraction(int(number), over)
    return 1, Fraction


def lengths(players: Players, n: int, k: int) -> tuple[Fraction, ...]:
    """How probable it is that a session has 1, 2, … n messages."""
    decisions.check_bounds(n, k)
    weighted = fixed(players)
    left = Fraction(1)
    chances = []
    for moment in moments(weighted, n, k, 1, ending=False):
        still = Fraction(sum(moment.alive.values()), moment.denominator)
        chances.append(left - still if moment.sent < n else left)
        left = still
    return tuple(chances)


def finite(
    weighted: Weighted[R], n: int, k: int, unity: R, over: Callable[[Any, int], Any]
) -> Odds[Any]:
    """What a session comes to within `n` messages; `over` divides an element by a whole number."""
    moment = last(moments(weighted, n, k, unity))
    ended = dict(moment.ended)
    length = ended.pop(LENGTH)
    for state, value in moment.alive.items():
        result = weighted.chain.bounds[state]
        ended[result] = ended[result] + value if result in ended else value
    return Odds(ended, length, moment.denominator, over)


def last(walked: Iterator[Moment]) -> Moment:
    """The last moment; the others are not kept."""
    return deque(walked, maxlen=1).pop()


def moments(
    weighted: Weighted[Any], n: int, k: int, unity: Any, *, ending: bool = True
) -> Iterator[Moment]:
    """The chain after message 1, 2, … n; without `ending` only what goes on is followed."""
    nothing = 0 * unity
    plans = [[_planned(into, ending) for into in stage] for stage in weighted.into]
    alive: dict[int, Any] = defaultdict(lambda: nothing, {0: unity})
    ended: dict[Any, Any] = {LENGTH: unity} if ending else {}
    denominator, sent = 1, 1
    yield Moment(sent, alive, ended, denominator)
    for stage, count in weighted.chain.stages(n, k):
        for _ in range(count):
            speaker = sent % 2  # the initiator, 0, has the odd messages
            scale = weighted.scales[speaker]
            onward, over = plans[stage][speaker]
            if ending:
                ended = {result: value * scale for result, value in ended.items()}
                ended[LENGTH] += sum(alive.values(), nothing) * scale
                for result, terms in over:
                    share = _summed(terms, alive)
                    ended[result] = ended[result] + share if result in ended else share
            after = {target: _summed(terms, alive) for target, terms in onward}
            alive = defaultdict(lambda: nothing, after)
            denominator *= scale
            sent += 1
            yield Moment(sent, alive, ended, denominator)


_Terms = tuple[tuple[Any, int, tuple[int, ...]], ...]
"""Weights, each with the states that it is for: one, and the others."""


def _planned(
    into: Mapping[Any, Any], ending: bool
) -> tuple[list[tuple[int, _Terms]], list[tuple[Conclusion, _Terms]]]:
    """What is added up for each state, and for each result."""
    terms = {
        target: tuple((weight, first, tuple(others)) for weight, (first, *others) in weighted)
        for target, weighted in into.items()
    }
    onward = [(target, weighted) for target, weighted in terms.items() if isinstance(target, int)]
    over = [
        (target, weighted) for target, weighted in terms.items() if isinstance(target, Conclusion)
    ]
    return onward, over if ending else []


def _summed(terms: _Terms, alive: Mapping[int, Any]) -> Any:
    total = None
    for weight, first, others in terms:
        part = alive[first]
        for state in others:
            part = part + alive[state]
        part = part * weight
        total = part if total is None else total + part
    return total
