"""What can be seen of dataclasses, by the decorator that makes them; imports no other library."""

from __future__ import annotations

import copy
import dataclasses
import inspect
from collections.abc import Callable
from dataclasses import field
from typing import Any, ClassVar

from pxp_fsm.lazy_dataclasses import dataclass

Decorator = Callable[[type], Any]

CASES: tuple[dict[str, bool], ...] = (
    {},
    {"frozen": True},
    {"slots": True},
    {"frozen": True, "slots": True},
    {"frozen": True, "kw_only": True},
    {"frozen": True, "eq": False},
    {"frozen": True, "repr": False},
    {"slots": True, "init": False},
    {"frozen": True, "slots": True, "order": True},
)


FAULT = "TypeError: super(type, obj)"
"""What CPython says of a class with slots, whose `__setattr__` knows the class before it had them
(gh-90562); ours answers as without slots."""


def plain(decorate: Decorator) -> Any:
    class Plain:
        """Fields of every kind."""

        number: int
        name: str = field(default="x", repr=False)
        places: list[int] = field(default_factory=list, compare=False)
        kept: ClassVar[int] = 3
        double: int = field(init=False, default=0)

        def __post_init__(self) -> None:
            object.__setattr__(self, "double", 2 * self.number)

    return decorate(Plain)


def own(decorate: Decorator) -> Any:
    class Own:  # noqa: PLW1641 - what becomes of its hash is what is tested
        """Methods of its own."""

        number: int

        def __repr__(self) -> str:
            return "own"

        def __eq__(self, other: object) -> bool:
            return isinstance(other, Own)

    return decorate(Own)


def hashed(decorate: Decorator) -> Any:
    class Hashed:
        """A hash of its own."""

        number: int

        def __init__(self, number: int) -> None:
            object.__setattr__(self, "number", number)

        def __hash__(self) -> int:
            return 7

    return decorate(Hashed)


def inherited(decorate: Decorator) -> Any:
    class Lower(plain(decorate)):  # type: ignore[misc]
        """A dataclass below a dataclass."""

        more: int = 0

    return decorate(Lower)


def seen(cls: Any) -> list[str]:
    """What can be seen of a class and of instances of it, errors among it."""

    def outcome(function: Callable[[], object]) -> str:
        try:
            return str(function()).split(" at 0x")[0]
        except Exception as error:  # noqa: BLE001 - whatever one raises, the other must
            return f"{type(error).__name__}: {error}"

    class Below(cls):  # type: ignore[misc]
        """Not a dataclass, so it may have attributes of its own."""

        def __init__(self) -> None:
            super().__init__(number=1)
            self.more = 1

    def changed(name: str) -> object:
        setattr(one, name, 5)
        return one

    def without(name: str) -> object:
        delattr(one, name)
        return one

    def below(frozen: bool) -> object:
        return dataclasses.dataclass(frozen=frozen)(type("Lower", (cls,), {})).__doc__

    one, same, other = cls(number=1), cls(number=1), cls(number=2)
    return [
        outcome(function)
        for function in (
            lambda: inspect.signature(cls),
            lambda: cls.__init__.__qualname__,
            lambda: cls.__repr__.__qualname__,
            lambda: cls.__match_args__,
            lambda: [(each.name, each.type, each.kw_only) for each in dataclasses.fields(cls)],
            lambda: one,
            lambda: cls(1),
            lambda: cls(1, "y", [2], 4),
            lambda: one == same,
            lambda: one == other,
            lambda: one == "one",
            lambda: one < other,
            lambda: hash(one) == hash(same),
            lambda: hash(cls) != 0,
            lambda: dataclasses.asdict(one),
            lambda: dataclasses.replace(one, number=3),
            lambda: copy.copy(one) == one,
            lambda: copy.deepcopy(one) == one,
            lambda: Below().more,
            lambda: below(frozen=True),
            lambda: below(frozen=False),
            lambda: changed("number"),
            lambda: changed("invented"),
            lambda: without("number"),
            lambda: without("invented"),
        )
    ]


def differences() -> list[tuple[str, ...]]:
    found = []
    for options in CASES:
        for make in (plain, own, hashed, inherited):
            cases = []
            for decorate in (dataclasses.dataclass, dataclass):
                try:
                    cases.append(seen(make(decorate(**options))))
                except TypeError as error:  # such as a field without a place in __init__
                    cases.append([str(error)])
            pairs = zip(*cases, strict=True)
            found += [
                (make.__name__, str(options), *pair)
                for pair in pairs
                if pair[0] != pair[1] and not pair[0].startswith(FAULT)
            ]
    return found
