"""What a mistyped formula is told beside where it goes wrong: what was meant, most likely."""

from __future__ import annotations

import unicodedata
from collections.abc import Collection, Iterable
from difflib import get_close_matches

from pxp_fsm.errors import UsageError
from pxp_fsm.messages import quoted

_OTHERS = (
    ("&", ("∧", "⋀", "/\\", "and", "AND")),
    ("|", ("∨", "⋁", "\\/", "or", "OR")),
    ("!", ("¬", "~", "not", "NOT")),
    ("->", ("→", "⇒", "⟶", "⟹", "=>", "implies", "–>", "—>", "- >")),
    ("<->", ("↔", "⇔", "<=>", "iff", "≡")),
    ("G", ("□", "[]", "◻", "⊡")),
    ("F", ("◇", "<>", "♢", "⋄")),
    ("X", ("◯", "○", "()")),
    ("E", ("∃",)),
    ("A", ("∀",)),
    ("true", ("⊤",)),
    ("false", ("⊥",)),
    (">=", ("≥",)),
    ("<=", ("≤",)),
    ("!=", ("≠",)),
    ("=", ("==",)),
    ("R", ("V",)),
    ("( and )", ("[", "{")),
    ('"', ("'", "“", "”", "`", "‘", "’")),
)
"""How others write what is written here in another way; the longest that fits counts."""

_SHOWN = 60
"""How many names a list in an error has."""


def hint(rest: str, *, whole: bool = False) -> str:
    """What to write in place of another notation's operator, or of a letter that only looks so.

    With `whole`, `rest` is a word that was read as a name.
    """
    found = [
        (other, ours)
        for ours, others in _OTHERS
        for other in others
        if (rest == other if whole else _begins(rest, other))
    ]
    if found:
        other, ours = max(found, key=lambda pair: len(pair[0]))
        return f"; write {ours} for {other}"
    if not whole and rest[:1] in ("<", ">", "="):
        return "; a comparison is of a name with a whole number, as in number>=3"
    if rest and not rest[0].isascii():
        name = unicodedata.name(rest[0], "a character without a name")
        return f'; {name} is no letter of a formula (put names that have such in "...")'
    return ""


def _begins(rest: str, other: str) -> bool:
    """Whether `rest` begins with `other`, as a word of its own where it is one."""
    return rest.startswith(other) and not (
        other.isalnum() and rest[len(other) :][:1].isalnum() and other.isascii()
    )


def unknown(names: Iterable[str], known: Collection[str], whose: str) -> UsageError:
    """The error for propositions that there are none of; `whose` begins it."""
    asked = sorted(names)
    folded = {name.casefold(): name for name in (*known, "true", "false")}
    meant = dict.fromkeys(
        folded[near] for name in asked for near in get_close_matches(name.casefold(), folded, n=3)
    )
    told = f"{whose} {', '.join(map(quoted, asked))}"
    if meant:
        told += f"; did you mean {' or '.join(meant)}?"
    there = sorted(known)
    more = f", … ({len(there) - _SHOWN} more)" if len(there) > _SHOWN else ""
    return UsageError(f"{told}; there are: {', '.join(there[:_SHOWN]) or 'none'}{more}")
