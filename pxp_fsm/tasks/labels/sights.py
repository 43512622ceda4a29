"""How the machine of labels sees instances: texts by their words, pictures by grey and colour."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache

from guards.text import normalised
from pxp_fsm.artifacts import package_fingerprint
from pxp_fsm.errors import DataError, NoAnswer
from pxp_fsm.prompting.model import Image
from pxp_fsm.protocol.messages import Instance
from pxp_fsm.tasks.labels import images
from pxp_fsm.tasks.labels.neighbours import LabelledCase, Squares

_READ = 20_000
"""Characters of a text that are looked at."""

_WORD = re.compile(r"\w+")
_PIECES = (3, 4, 5)
"""Letters of a piece of a word: endings and spellings differ, pieces stay."""

_LEAST = 1e-3
"""The cosine that two texts have at least, so that texts without a common piece are far, not
endlessly far."""

_NAMED, _TOLD = 3, 4
"""Common words that are told, at most, and how long such a word is at least."""

Pieces = Mapping[str, int]
"""How often each piece of a word is in a text."""


class TextSight:
    """Sees a text as the pieces of its words, of three to five letters, and the words themselves.

    Two texts are the nearer, the more of what is rare they share (TF-IDF, cosine).
    """

    @property
    def name(self) -> str:
        return f"neighbours of texts ({package_fingerprint(__package__, ('sights.py',))})"

    def see(self, instance: Instance) -> Pieces:
        """The pieces of its words; raises `NoAnswer` where it has no word."""
        pieces = _pieces(instance.x)
        if not pieces:
            raise NoAnswer(f"there is no word in the text of {instance.key[:80]}")
        return pieces

    def squares(self, known: Sequence[Pieces], cases: Sequence[Pieces]) -> Squares[Pieces]:
        """1 / c - 1 for the cosine c; what is rare among those `known` counts more."""
        there = Counter(piece for pieces in known for piece in pieces)
        rarity = {piece: _rarity(many, len(known)) for piece, many in there.items()}
        unknown = _rarity(0, len(known))

        def unit(pieces: Pieces) -> Mapping[str, float]:
            weights = {
                piece: (1 + math.log(many)) * rarity.get(piece, unknown)
                for piece, many in pieces.items()
            }
            length = math.hypot(*weights.values())
            return {piece: weight / length for piece, weight in weights.items()}

        units = [unit(pieces) for pieces in cases]

        def squares(seen: Pieces) -> list[float]:
            this = unit(seen)
            cosines = (
                math.fsum(weight * other[piece] for piece, weight in this.items() if piece in other)
                for other in units
            )
            return [1 / min(max(cosine, _LEAST), 1.0) - 1 for cosine in cosines]

        return squares

    def explained(self, prediction: str, seen: Pieces, nearest: LabelledCase[Pieces] | None) -> str:
        """The nearest case's explanation, and the longest words that both have."""
        if nearest is None:
            return f"Nothing is known yet; {prediction} is a guess."
        if nearest.seen == seen:  # what it was told of this very text
            return nearest.answer.explanation
        common = [piece[1:] for piece in seen if piece in nearest.seen and piece.startswith("=")]
        words = sorted((word for word in common if len(word) >= _TOLD), key=lambda w: (-len(w), w))
        shared = f" ({', '.join(words[:_NAMED])})" if words else ""
        return f"{nearest.answer.explanation} This is as in {nearest.key}{shared}."


def _rarity(texts: int, of: int) -> float:
    return math.log((1 + of) / (1 + texts)) + 1


@lru_cache(maxsize=4096)
def _pieces(text: str) -> Pieces:
    pieces = Counter[str]()
    for word in _WORD.findall(normalised(text[:_READ])):
        pieces[f"={word}"] += 1
        within = f" {word} "
        for length in _PIECES:
            for start in range(len(within) - length + 1):
                pieces[within[start : start + length]] += 1
    return pieces


_SIDE = 16
"""Pixels a side to which a picture is reduced."""
_SHADES = 4
"""Of red, of green and of blue."""

Look = tuple[float, ...]
"""A picture's greys, then the root of the share of each colour; both of length 1."""


class PictureSight:
    """Sees a picture as 16 x 16 greys and as the shares of 64 colours; size does not matter.

    `picture` shows an instance, or raises `DataError`.
    """

    def __init__(self, picture: Callable[[Instance], Image]) -> None:
        self._picture = picture

    @property
    def name(self) -> str:
        files = package_fingerprint(__package__, ("images.py", "sights.py"))
        return f"neighbours of pictures ({files}, {images.version_of_decoder()})"

    def see(self, instance: Instance) -> Look:
        """Its greys and colours; raises `NoAnswer` where it cannot be decoded."""
        try:
            return _look(self._picture(instance))
        except DataError as error:
            raise NoAnswer(str(error)) from error

    def squares(self, _known: Sequence[Look], cases: Sequence[Look]) -> Squares[Look]:
        """A quarter of the squared differences of greys and half of those of colours: 0 to 2."""

        def squares(seen: Look) -> list[float]:
            distances = []
            for case in cases:
                apart = [(a - b) ** 2 for a, b in zip(seen, case, strict=True)]
                greys, colours = apart[: _SIDE**2], apart[_SIDE**2 :]
                distances.append(math.fsum(greys) / 4 + math.fsum(colours) / 2)
            return distances

        return squares

    def explained(self, prediction: str, seen: Look, nearest: LabelledCase[Look] | None) -> str:
        """The nearest case's explanation."""
        if nearest is None:
            return f"Nothing is known yet; {prediction} is a guess."
        if nearest.seen == seen:
            return nearest.answer.explanation
        return f"{nearest.answer.explanation} This looks as {nearest.key} does."


@lru_cache(maxsize=1024)
def _look(image: Image) -> Look:
    greys, colours = images.reduced(image, _SIDE, _SHADES)
    mean = math.fsum(greys) / len(greys)
    apart = [value - mean for value in greys]
    length = math.hypot(*apart) or 1.0
    every = math.fsum(colours)
    return (*(value / length for value in apart), *(math.sqrt(many / every) for many in colours))
