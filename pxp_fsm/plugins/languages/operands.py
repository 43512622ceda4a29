"""Languages by name: a protocol, a set of assumptions, a class, a database."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from backends.databases.recordings import recorded_sessions
from backends.databases.records import CONCLUDED
from proofs.claims.catalogue import NAMED, assumptions_of, name_of
from proofs.languages import (
    Language,
    ProtocolReading,
    Word,
    class_language,
    of_words,
    replayed,
    sequences,
    symbol,
)
from proofs.languages.published_code import ROUNDS, PublishedCode, published_sequences
from pxp_fsm import defaults
from pxp_fsm.analysis.audits.records import published_words
from pxp_fsm.analysis.recordings.files import open_recordings
from pxp_fsm.analysis.recordings.forms import TAGS, form_of
from pxp_fsm.errors import NotThere, UsageError, quoted
from pxp_fsm.lazy_dataclasses import dataclass
from pxp_fsm.protocol.intelligibility import DEFINITIONS
from pxp_fsm.protocol.rules import Interact, Pxp, Rules

ANY = "any"
"""What is given for n where INTERACT has no bound."""

GREATEST = 1000
"""The largest n and k: beyond it an automaton is only large, and no other."""

_PROTOCOL = re.compile(r"(interact|pxp)(?:\(([^()]*)\))?(?:/(.+))?")
_PUBLISHED = re.compile(r"published(?:\((\w+)\))?(?:/(.+))?")
_CLASS = re.compile(r"[a-z_-]+:[a-z]+|two[-_]way")


@dataclass(frozen=True)
class LanguageSettings:
    """What a name does not say: a protocol's assumptions, and which run of a database."""

    relations: str | None = None
    run: str | None = None


@dataclass(frozen=True)
class Operand:
    """A language, and the protocol's reading that it is of, where it is of one."""

    language: Language
    reading: ProtocolReading | None = None

    def witnessed(self, word: Word) -> bool:
        """Whether two running agents have sent `word`; only a protocol's sequences can be sent.

        Raises `NotReplayed` where the machines do something else than the model.
        """
        return self.reading is not None and bool(replayed(self.reading, word))


def operand(
    text: str, settings: LanguageSettings, *, beside: ProtocolReading | None = None
) -> Operand:
    """The language that `text` names.

    A protocol is `interact` or `pxp`, if need be with its own bounds and relations
    (`interact(4,2)/tolerance`, `interact(any,3)`, `pxp(2)`), or `published` (of so many rounds:
    `published(5)/noisy`); the name of relations alone is the protocol `beside` under these. A class
    is `strong:human` and the like, or `two_way`. Anything else is a database, or a `tags.txt` of
    the published code, whose recorded sessions are meant. Raises `UsageError`, `DataError` and
    `NotThere`.
    """
    protocol = _PROTOCOL.fullmatch(text)
    if protocol is not None:
        name, bounds, relations = protocol.groups()
        n, k = _bounds(name, bounds)
        chosen = assumptions_of(relations or settings.relations or "noisy")
        return _of(ProtocolReading(_rules(name, n, k), chosen, bounded=n != ANY))
    published = _PUBLISHED.fullmatch(text)
    if published is not None and not Path(text).exists():
        rounds, relations = published.groups()
        chosen = assumptions_of(relations or settings.relations or "noisy")
        return Operand(published_sequences(PublishedCode(_rounds(rounds), assumptions=chosen)))
    if text.startswith("without ") or text.partition("+")[0] in _names():
        if beside is None:
            raise UsageError(
                f"{text} names relations without a protocol; write interact/{text} or pxp/{text}"
            )
        return _of(ProtocolReading(beside.rules, assumptions_of(text), beside.bounded))
    if _CLASS.fullmatch(text) and not Path(text).exists():
        return Operand(class_language(text))
    if form_of(text) is TAGS:
        if settings.run is not None:
            raise UsageError(f"{text} is a file of tags, which has no runs", "run")
        return Operand(of_words(f"recorded in {text}", published_words(Path(text))))
    if "://" not in text and not Path(text).is_file():
        raise NotThere(
            f"there is no database {text}, nor is a language called that; languages are: "
            + ", ".join(f"{name} ({meaning})" for name, meaning in meanings().items())
        )
    return Operand(recorded(text, settings.run))


def language(subject: Rules | str, *, relations: str = "noisy") -> Language:
    """The tag sequences that a protocol can have under `relations`, or those that a text names.

    >>> import pxp_fsm as pxp
    >>> interact = pxp.language(pxp.Interact(n=4, k=2), relations="equivalence")
    >>> strong = interact & pxp.language("strong:human")
    >>> interact.count(), strong.count()
    (8, 1)

    A text is what `pxp language` takes: a class, a database, `pxp(2)/tolerance`. Raises
    `UsageError` where there is no such language.
    """
    if isinstance(subject, str):
        return operand(subject, LanguageSettings(relations=relations)).language
    if not isinstance(subject, Interact | Pxp):
        raise UsageError(f"language takes Interact(...), Pxp(...) or a text, not {quoted(subject)}")
    return sequences(
        ProtocolReading(subject, assumptions_of(relations), bounded=subject.n is not None)
    )


def meanings() -> dict[str, str]:
    """The languages that have a name, with what each is the language of."""
    named = {
        "interact": "sessions of INTERACT; interact(4,2)/tolerance with bounds and relations",
        "pxp": "sessions of PXP; pxp(2) with a bound k",
        "published": "sessions of the authors' code; published(9) of 9 rounds",
        "two_way": "sessions that are one_way for both agents",
    }
    for name, definition in DEFINITIONS.items():
        named[f"{name}:human"] = f"human: {definition.about}"
        named[f"{name}:machine"] = f"machine: {definition.about}"
    return named | {
        f"interact/{name}": f"sessions of INTERACT where MATCH and AGREE are {meaning}"
        for name, meaning in (
            ("equivalence", "equivalence relations"),
            ("tolerance", "reflexive and symmetric"),
            ("noisy", "arbitrary"),
        )
    }


def _names() -> set[str]:
    return {*NAMED, *(name_of(frozenset({assumption})) for assumption in NAMED["equivalence"])}


def _of(reading: ProtocolReading) -> Operand:
    return Operand(sequences(reading), reading)


def _bounds(name: str, written: str | None) -> tuple[str | None, int | None]:
    """n (a number or `any`) and k, as they stand in parentheses; None where nothing stands."""
    if written is None:
        return None, None
    parts = [part.strip() for part in written.split(",")]
    if len(parts) != (2 if name == "interact" else 1):
        raise UsageError(
            f"{name}({written}): write interact(n,k), with a number or {ANY!r} for n, or pxp(k)"
        )
    return parts[0] if name == "interact" else None, _number(parts[-1], "k")


def _rules(name: str, n: str | None, k: int | None) -> Rules:
    if name == "pxp":
        return Pxp(k)
    wanted = defaults.N if n in (None, ANY) else _number(str(n), "n")
    return Interact(wanted, defaults.K if k is None else k)


def _rounds(written: str | None) -> int | None:
    if written is None:
        return ROUNDS
    return None if written == ANY else _number(written, "the number of rounds")


def has_relations(text: str) -> bool:
    """Whether what `text` names is a protocol, for which relations are assumed."""
    match = _PROTOCOL.fullmatch(text) or _PUBLISHED.fullmatch(text)
    return match is not None and match.groups()[-1] is None


def _number(text: str, name: str) -> int:
    if not (text.isascii() and text.isdigit() and 1 <= int(text[:9]) <= GREATEST):
        or_any = "" if name == "k" else f", or {ANY!r}"
        raise UsageError(
            f"{name} is a whole number from 1 to {GREATEST:,}{or_any}; it was {text!r}"
        )
    return int(text)


def recorded(database: str, run: str | None = None) -> Language:
    """The tag sequences of recorded sessions that the protocol ended, of `run` or of all runs.

    The initiator is m, the responder h. Sessions of panels are left out. Raises `NotThere` where
    there is no such run, and `UsageError` where the run is of a panel.
    """
    with open_recordings(database) as recordings:
        board = recordings.board
        runs = [board.run(run)] if run is not None else board.runs()
        words = set[Word]()
        for record in runs:
            for session in recorded_sessions(board, record.run):
                if session.turns and run is not None:
                    raise UsageError(
                        f"run {quoted(run)} is of a panel of several agents, and a tag sequence is "
                        f"of two; pxp show SESSION shows what each agent sent"
                    )
                if session.ending in CONCLUDED and not session.turns:
                    sent = (
                        (message.sender == session.initiator, message.tag)
                        for message in session.messages
                    )
                    words.add(word_of(sent))
        title = f"recorded in {board.shown}" + (f", {run}" if run is not None else "")
    return of_words(title, words)


def word_of(sent: Iterable[tuple[bool, str]]) -> Word:
    """A tag sequence from whether each message is the initiator's, and its tag."""
    return tuple(symbol("m" if initiator else "h", tag) for initiator, tag in sent)
