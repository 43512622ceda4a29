"""Names of other tools as names of ours: what each is called here, and which were changed."""

from __future__ import annotations

import re
import unicodedata


class ForeignNames:
    """Names of another tool as names of ours: letters, digits and _, a letter first; of a table's
    name (`lower`) lower-case ones of ASCII.

    Each name stays the same wherever it stands; two never become one. `changed` says which were
    changed.
    """

    def __init__(self, first: str, *, lower: bool = False) -> None:
        self._first = first
        self._lower = lower
        self._names: dict[str, str] = {}
        self._taken: set[str] = set()

    def of(self, name: str) -> str:
        """The name that stands for `name`."""
        if name not in self._names:
            plain = unicodedata.normalize("NFKD", name.lower()) if self._lower else name
            if self._lower:
                plain = plain.encode("ascii", "ignore").decode()
            plain = re.sub(r"\W+", "_", unicodedata.normalize("NFC", plain)) or "_"
            if not re.match(r"[^\W\d_]", plain) or not plain.isidentifier():
                plain = self._first + re.sub(r"[^A-Za-z0-9_]", "_", plain)
            plain = plain[:56]
            candidate, number = plain, 1
            while candidate in self._taken:
                number += 1
                candidate = f"{plain}_{number}"
            self._taken.add(candidate)
            self._names[name] = candidate
        return self._names[name]

    @property
    def changed(self) -> dict[str, str]:
        """Our names by theirs, where they differ."""
        return {theirs: ours for theirs, ours in self._names.items() if theirs != ours}


def with_names(title: str, *names: ForeignNames) -> str:
    """A title that keeps which names were changed."""
    changed = {theirs: ours for name in names for theirs, ours in name.changed.items()}
    if not changed:
        return title
    listed = ", ".join(f"{ours} is {theirs}" for theirs, ours in changed.items())
    return f"{title} ({listed})"
