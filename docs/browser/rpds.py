"""What `referencing` uses of `rpds`, whose collections are compiled: as plain Python."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any


class HashTrieMap(dict[Any, Any]):
    """A map; what changes it gives another one."""

    @classmethod
    def convert(cls, value: Any) -> HashTrieMap:
        """`value` as such a map."""
        return value if isinstance(value, cls) else cls(value)

    def insert(self, key: Any, value: Any) -> HashTrieMap:
        """This map with the value at a key."""
        return HashTrieMap({**self, key: value})

    def remove(self, key: Any) -> HashTrieMap:
        """This map without a key; `KeyError` where it has none."""
        left = HashTrieMap(self)
        del left[key]
        return left

    def update(self, *maps: Mapping[Any, Any], **named: Any) -> HashTrieMap:  # type: ignore[override] # another one
        """This map with the entries of others."""
        entries_here = dict(self)
        for entries in maps:
            entries_here |= entries
        return HashTrieMap(entries_here | named)


class HashTrieSet(frozenset[Any]):
    """A set; what changes it gives another one."""

    def insert(self, value: Any) -> HashTrieSet:
        """This set with a value."""
        return HashTrieSet(self | {value})

    def remove(self, value: Any) -> HashTrieSet:
        """This set without a value; `KeyError` where it is not in it."""
        if value not in self:
            raise KeyError(value)
        return HashTrieSet(self - {value})

    def update(self, *values: Iterable[Any]) -> HashTrieSet:
        """This set with the values of others."""
        return HashTrieSet(self.union(*values))


class List(tuple[Any, ...]):
    """A list; what changes it gives another one, and what is pushed comes first."""

    def __new__(cls, *values: Any) -> List:
        """The values, or those of one iterable."""
        return super().__new__(cls, values[0] if len(values) == 1 else values)

    @property
    def first(self) -> Any:
        """The first value."""
        return self[0]

    @property
    def rest(self) -> List:
        """What follows the first value."""
        return List(self[1:])

    def push_front(self, value: Any) -> List:
        """This list with a value before it."""
        return List((value, *self))

    def drop_first(self) -> List:
        """This list without its first value."""
        return self.rest
