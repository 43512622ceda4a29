"""What `pxp check` is asked: the tables, what to ask of them, and how far to look."""

from __future__ import annotations

from dataclasses import dataclass

from pxp_fsm import defaults

PROVED_OF = {"interact": ("interact",), "pxp": ("pxp", "pxp(k)")}
"""The protocols whose claims are about a built-in table."""


@dataclass(frozen=True, slots=True)
class Request:
    """What to check; nothing in `tables` means both built-in protocols.

    With `values`, INTERACT's sessions are explored over so many explicit values of y and of e, for
    which MATCH and AGREE are equality. With `formulas` nothing else is checked: each of them on the
    system of the tables under free guards, over `runs` that are complete, finite or infinite, and
    as fair as `fair` asks (`weak:WHAT`, `strong:WHAT`); with `relations`, over the sessions of a
    built-in protocol. With `termination` it is asked whether the system ends. A system has several
    tables, with names (NAME=TABLE), or one that is joined with itself; it is checked over each of
    `channels`, and explored up to `limit` states and `memory` MB, with fewer states where it is
    told how to `reduce` them.
    """

    tables: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    relations: str | None = None
    n: int = defaults.N
    k: int = defaults.K
    values: int | None = None
    formulas: tuple[str, ...] = ()
    runs: str = "complete"
    fair: tuple[str, ...] = ()
    termination: bool = False
    channels: tuple[str, ...] = ()
    limit: int | None = None
    memory: int | None = None
    reduce: str | None = None
