"""The section on tag languages of the page of findings: tables, numbers and pictures."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from proofs.claims.catalogue import NAMED
from proofs.languages import Language, ProtocolReading, sequences
from proofs.languages.published_code import PublishedCode, published_sequences
from pxp_fsm import defaults
from pxp_fsm.diagrams import Diagram
from pxp_fsm.experiments.statistics import Published, published
from pxp_fsm.plugins.languages.explanation import (
    ROWS,
    Explained,
    explained,
    papers,
    published_code,
    says_more,
)
from pxp_fsm.protocol.rules import Interact, Pxp

_LENGTHS = (3, 5, 10, 20, 100)
_COUNTED = ((3, 1), (4, 1), (5, 1))


def words() -> Mapping[str, str]:
    """What the page's template is filled with."""
    code = {
        name: published_sequences(PublishedCode(assumptions=assumptions))
        for name, assumptions in NAMED.items()
    }
    return {
        "sequences": "\n".join(_sequences()),
        "shares": "\n".join(_shares()),
        "explained": "\n".join(_explained()),
        "states_endless": _listed({n: _endless(n).states for n in NAMED}),
        "states_hundred": _listed({n: _of(100, n).states for n in NAMED}),
        "code_sequences": _listed({name: language.count() or 0 for name, language in code.items()}),
        "code_same": "just" if code["tolerance"] == code["equivalence"] else "NOT",
        "pxp_same": "the same" if _pxp("tolerance") == _pxp("equivalence") else "NOT the same",
    }


def pictures() -> Iterator[tuple[str, Diagram]]:
    """The pictures of the page, by file name."""
    for name in ("tolerance", "equivalence"):
        title = f"INTERACT without its bound, k = 3 ({name})"
        yield f"language-{name}", replace(_endless(name), title=title).diagram()


def _of(n: int, name: str, k: int = defaults.K) -> Language:
    return sequences(ProtocolReading(Interact(n, k), NAMED[name]))


def _endless(name: str) -> Language:
    return sequences(ProtocolReading(Interact(), NAMED[name], bounded=False))


def _pxp(name: str) -> Language:
    return sequences(ProtocolReading(Pxp(), NAMED[name]))


def _listed(numbers: Mapping[str, int]) -> str:
    return ", ".join(f"{number:,} for {name}" for name, number in numbers.items())


def _sequences() -> Iterator[str]:
    yield "| n, k | equivalence | tolerance | noisy |"
    yield "|---|--:|--:|--:|"
    for n, k in _COUNTED:
        counts = [f"{_of(n, name, k).count():,}" for name in NAMED]
        yield f"| {n}, {k} | {' | '.join(counts)} |"


def _shares() -> Iterator[str]:
    yield "| n | noisy | impossible for tolerance | impossible for equivalence |"
    yield "|--:|--:|--:|--:|"
    for n in _LENGTHS:
        noisy = _of(n, "noisy")
        cells = [_share(noisy, _of(n, name)) for name in ("tolerance", "equivalence")]
        yield f"| {n} | {_large(noisy.count() or 0)} | {' | '.join(cells)} |"


def _share(every: Language, better: Language) -> str:
    """How much of a language is beyond another; exact numbers, in parts of a thousand."""
    total, beyond = every.count() or 0, (every - better).count() or 0
    return f"{_large(beyond)} ({beyond / total:.1%})" if total else "–"


def _large(number: int) -> str:
    return f"{number:,}" if number < 10**9 else f"{number:.3g}".replace("e+", "e")


def _explained() -> Iterator[str]:
    """For each published column the least noise, by the table alone and with the text."""
    yield "| column | strong m − ultra-strong m | strong h | table alone | with the text |"
    yield "|---|--:|--:|---|---|"
    for task in ("rad", "drug"):
        for column in published(task):
            counts = dict(zip(ROWS, column.counts, strict=True))
            by_itself = _least(column, text=False)
            told = _least(column, text=True) if says_more(column) else "–"
            apart = counts["strong:m"] - counts["ultra_strong:m"]
            yield f"| {column.title} | {apart} | {counts['strong:h']} | {by_itself} | {told} |"


def _least(column: Published, *, text: bool) -> str:
    """The least noise for a column, by the papers' procedures and by the published code."""
    readings = papers(human_revises=True), published_code(human_revises=False)
    least = dict.fromkeys(_noise(explained(column, each, text=text)) for each in readings)
    return " or ".join(least)


def _noise(explanation: Explained) -> str:
    if explanation.beyond_tolerance is None:
        return "impossible"
    if not explanation.beyond_equivalence:
        return "0: an equivalence will do"
    if not explanation.beyond_tolerance:
        return "0 for tolerance"
    return f"at least {explanation.beyond_tolerance}"
