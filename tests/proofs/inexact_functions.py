"""Decision functions of which symbols would say what is not so of numbers, and lists of them."""

from __future__ import annotations

import functools
from collections.abc import Callable
from enum import Enum
from types import FunctionType, ModuleType, SimpleNamespace
from typing import Any, cast

from pxp_fsm.protocol import decisions
from pxp_fsm.protocol.interfaces import Decisions

TWENTY = {20: True}
CALLS: list[int] = []
HALF = 0.5


def changed(name: str, function: Callable[..., Any]) -> Decisions:
    functions = SimpleNamespace(**vars(decisions))
    setattr(functions, name, function)
    return cast(Decisions, functions)


# Each is `done`, and right or wrong for reasons that symbols do not show.


def in_a_set(sent: int, n: int, stopped: bool) -> bool:
    return stopped or (sent + 1 > n and n not in {20})


def in_a_dictionary(sent: int, n: int, stopped: bool) -> bool:
    return stopped or (sent + 1 > n and not TWENTY.get(n))


def by_a_key(sent: int, n: int, stopped: bool) -> bool:
    return stopped or (sent + 1 > n and {False: True}[n == 20])


def with_a_float(sent: int, n: int, stopped: bool) -> bool:
    return stopped or sent > n - 0.5


def with_a_named_float(sent: int, n: int, stopped: bool) -> bool:
    return stopped or sent > n - HALF


def with_a_quotient(sent: int, n: int, stopped: bool) -> bool:
    return stopped or (sent + 1) / n > 1


def with_a_whole_quotient(sent: int, n: int, stopped: bool) -> bool:
    return stopped or (sent + 1) // n > 0


def with_a_power(sent: int, n: int, stopped: bool) -> bool:
    return stopped or sent**2 > n**2


def with_a_product(sent: int, n: int, stopped: bool) -> bool:
    return stopped or (sent + 1) * (sent + 1) > n * n


def by_bits(sent: int, n: int, stopped: bool) -> bool:
    return stopped or (sent + 1 > n and not n & 16)


def by_its_text(sent: int, n: int, stopped: bool) -> bool:
    return stopped or (sent + 1 > n and str(n) != "20")


def by_a_formatted_text(sent: int, n: int, stopped: bool) -> bool:
    return stopped or (sent + 1 > n and f"{n}" != "20")


def by_its_representation(sent: int, n: int, stopped: bool) -> bool:
    return stopped or (sent + 1 > n and f"{n!r}" != "20")


def by_percent(sent: int, n: int, stopped: bool) -> bool:
    return stopped or (sent + 1 > n and "%d" % n != "20")  # noqa: UP031 - an attack


def by_its_length(sent: int, n: int, stopped: bool) -> bool:
    return stopped or (sent + 1 > n and n.bit_length() != 5)


def by_its_hash(sent: int, n: int, stopped: bool) -> bool:
    return stopped or (sent + 1 > n and hash(n) != 20)


def as_an_index(sent: int, n: int, stopped: bool) -> bool:
    return stopped or (sent + 1 > n and (True,)[n - n])


def in_a_range(sent: int, n: int, stopped: bool) -> bool:
    return stopped or sent not in range(n)


def converted(sent: int, n: int, stopped: bool) -> bool:
    return stopped or int(sent) + 1 > int(n)


def rounded(sent: int, n: int, stopped: bool) -> bool:
    return stopped or round(n, -1) < sent + 1


def by_its_type(sent: int, n: int, stopped: bool) -> bool:
    return stopped or (sent + 1 > n and not (type(n) is int and n == 20))


def by_its_identity(sent: int, n: int, stopped: bool) -> bool:
    return stopped or (sent + 1 > n and n is not sent)


def remembering(sent: int, n: int, stopped: bool) -> bool:
    CALLS.append(sent)
    return stopped or sent + 1 > n


def by_what_it_remembers(sent: int, n: int, stopped: bool) -> bool:
    return stopped or (sent + 1 > n and not CALLS)


def by_a_default(sent: int, n: int, stopped: bool, seen: list[int] = []) -> bool:  # noqa: B006
    return stopped or (sent + 1 > n and not seen)


def in_a_loop(sent: int, n: int, stopped: bool) -> bool:
    while sent > n:
        sent -= 1
    return stopped or sent == n


def calling_itself(sent: int, n: int, stopped: bool) -> bool:
    return stopped or sent >= n if sent < 1 else calling_itself(sent - 1, n - 1, stopped)


def swallowing(sent: int, n: int, stopped: bool) -> bool:
    try:
        return stopped or (sent + 1 > n and n not in {20})
    except BaseException:  # noqa: BLE001 - an attack
        return True


def with_an_expression_that_assigns(sent: int, n: int, stopped: bool) -> bool:
    return stopped or (now := sent + 1) > n or now < 0


class Counting(Enum):
    """A member whose truth and order change with how often they were asked for."""

    X = 1

    def __bool__(self) -> bool:
        CALLS.append(0)
        return len(CALLS) > 1_000_000

    def __lt__(self, other: object) -> bool:
        return not self


class Moving(ModuleType):
    """A module with a name that is computed, before what its own dictionary says of it."""

    @property
    def ONE(self) -> int:  # noqa: N802 - a constant, to whoever reads it
        return 1 + bool(Counting.X)


moving = Moving("moving")
vars(moving)["ONE"] = 1


def by_the_truth_of_a_member(sent: int, n: int, stopped: bool) -> bool:
    return stopped or (sent + 1 > n and not Counting.X)


def by_the_order_of_a_member(sent: int, n: int, stopped: bool) -> bool:
    return stopped or (sent + 1 > n and Counting.X < 2)


def by_a_name_that_is_computed(sent: int, n: int, stopped: bool) -> bool:
    return stopped or sent + moving.ONE > n


class Computed:
    """Decision functions of which one is computed whenever it is asked for."""

    def __getattr__(self, name: str) -> Any:
        return getattr(decisions, name)

    @property
    def done(self) -> Callable[..., bool]:
        return by_what_it_remembers if Counting.X else decisions.done


class Intercepted(SimpleNamespace):
    """The same, where the function that is stored is the right one."""

    def __getattribute__(self, name: str) -> Any:
        cheats = name == "done" and Counting.X
        return by_what_it_remembers if cheats else super().__getattribute__(name)


class Names(dict[str, Any]):
    """The global names of a function, which change."""

    def __getitem__(self, name: str) -> Any:
        return len(CALLS) if name == "Tag" else super().__getitem__(name)


elsewhere = FunctionType(decisions.done.__code__, Names(vars(decisions)))
cached = functools.cache(decisions.done)
partly = functools.partial(decisions.done)

SEEN_BY_TYPE = [
    *(in_a_set, in_a_dictionary, with_a_float, with_a_named_float, with_a_quotient),
    *(with_a_whole_quotient, with_a_power, with_a_product, by_bits, by_its_text),
    *(by_a_formatted_text, by_its_representation, by_percent, by_its_length, by_its_hash),
    *(as_an_index, in_a_range, converted, rounded, cached),
]
SEEN_BY_SOURCE = [
    *(one for one in SEEN_BY_TYPE if one not in (cached, with_a_product)),
    *(by_a_key, by_its_type, by_its_identity, remembering, by_what_it_remembers),
    *(in_a_loop, swallowing, with_an_expression_that_assigns),
    *(by_the_truth_of_a_member, by_the_order_of_a_member, by_a_name_that_is_computed),
]
