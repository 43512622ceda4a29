"""The tag sequences of INTERACT by trying all data there can be, in code of its own."""

from __future__ import annotations

from collections.abc import Iterator

from proofs.languages import Word
from proofs.languages.language import symbol

Held = dict[tuple[str, int, int], bool]


def by_hand(n: int, k: int, name: str, *, published: bool = False) -> set[Word]:
    """The sequences of INTERACT by trying all data there can be.

    Predictions are numbers, explanations too; a relation is chosen pair by pair as it is asked.
    `published` differs as the authors' code does: an unchanged answer is not sent, RATIFY stays,
    the machine's REJECT stops nothing.
    """
    found = set()
    for choose in _choices():
        held: Held = {}

        def related(what: str, a: int, b: int, choose: _Choose = choose, held: Held = held) -> bool:
            if name == "noisy":
                return bool(choose(2))
            if name == "equivalence" or a == b:
                return a == b
            key = (what, min(a, b), max(a, b))
            if key not in held:
                held[key] = bool(choose(2))
            return held[key]

        said, tags, known = list[tuple[int, int]](), list[str](), [0, 0]
        while True:
            j = len(tags) + 1
            fresh = [0, 0]
            for place in (0, 1):
                if name == "equivalence":
                    fresh[place] = choose(known[place] + 1)
                    known[place] = max(known[place], fresh[place] + 1)
                else:
                    fresh[place] = j
            own = said[-2] if j > 2 else (fresh[0], fresh[1])
            tag, sent = "INIT", (fresh[0], fresh[1])
            if j > 1:
                same = [related("ye"[i], said[-1][i], own[i]) for i in (0, 1)]
                late = not any(same) and j > k
                kept = (published or not (all(same) or late)) and all(
                    related("ye"[i], fresh[i], own[i]) for i in (0, 1)
                )
                tag = "REFUTE" if kept else "REVISE"
                tag = "RATIFY" if all(same) else "REJECT" if late else tag
                sent = own if published and kept else sent
            said.append(sent)
            tags.append(tag)
            if published:
                stop = {"RATIFY"} <= set(tags[::2]) & set(tags[1::2])
                stop = stop or (tag == "REJECT" and j % 2 == 0)
            else:
                stop = tag == "REJECT" or tags[-2:] == ["RATIFY", "RATIFY"]
            if stop or j == n:
                break
        found.add(tuple(symbol("hm"[j % 2], tag) for j, tag in enumerate(tags, start=1)))
    return found


class _Choose:
    """Takes one way through a tree of choices, and remembers where it may turn next."""

    def __init__(self, path: list[list[int]]) -> None:
        self.path, self.place = path, 0

    def __call__(self, ways: int) -> int:
        if self.place == len(self.path):
            self.path.append([0, ways])
        chosen = self.path[self.place][0]
        self.place += 1
        return chosen


def _choices() -> Iterator[_Choose]:
    path: list[list[int]] = []
    while True:
        yield _Choose(path)
        while path and path[-1][0] + 1 == path[-1][1]:
            path.pop()
        if not path:
            return
        path[-1][0] += 1
