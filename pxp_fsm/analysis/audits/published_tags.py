"""The file `tags.txt` written by the authors' published code: one session per line, tags only.

    sessionID-3f2a, ailment-Pneumonia ::: tags-['Machine: init', 'Human: refute']

Its other files hold Python objects, which loading would run: they are not read. As that code
counts, a session is one-way intelligible for the human if its last tag is RATIFY; for the machine,
if its last tag is RATIFY or it sent a REVISE in this session or any before it: the note of that is
never cleared.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from proofs.audit import AuditedMessage, Recording
from proofs.audit.sessions import AsPublished
from proofs.languages import Word, class_language
from pxp_fsm.errors import DataError, quoted

_LINE = re.compile(r"sessionID-([^\s,]+), (?:ailment|mol)-(.*) ::: tags-\[(.*)\]", re.DOTALL)
_TAG = re.compile(r"'(Machine|Human): ([A-Za-z_]{1,40})'")


def published_words(path: Path) -> list[Word]:
    """The tag sequences of its sessions, in their order. Raises `DataError` as below."""
    return [recording.word for recording, _ in published_recordings(path, AsPublished())]


def published_recordings(path: Path, followed: AsPublished) -> Iterator[tuple[Recording, str]]:
    """Its sessions as recordings, each with what it is about.

    The code writes a line when a session is over. Raises `DataError` for a line of another form.
    """
    with path.open(encoding="utf-8-sig", errors="replace", newline="\n") as file:
        for number, line in enumerate(file, start=1):
            if line.strip():
                yield _recording(line.rstrip("\r\n"), f"{path}, line {number}", followed)


def _recording(line: str, where: str, followed: AsPublished) -> tuple[Recording, str]:
    found = _LINE.fullmatch(line)
    parts = found[3].split(", ") if found is not None and found[3] else []
    tags = [_TAG.fullmatch(part) for part in parts]
    if found is None or None in tags:
        raise DataError(
            f"{where}: it is not sessionID-NAME, ailment-WHAT ::: tags-['Machine: init', ...]: "
            f"{quoted(line)}"
        )
    said = tuple(AuditedMessage(tag[1] == "Machine", tag[2].upper(), "", "") for tag in tags if tag)
    recording = Recording(found[1], said, None)
    # where it is not over, it is told that the rules go on: any ending of theirs shows that
    ending = followed.ending(recording.word) or "bound"
    return Recording(found[1], said, ending), found[2]


def as_counted(words: Sequence[Word]) -> Iterable[tuple[str, int, int]]:
    """Each class with how many sessions are in it: by the definitions, and as that code counts."""
    human = [_last(word, "h") == "RATIFY" for word in words]
    machine, revised = list[bool](), False
    for word in words:
        revised = revised or "m:REVISE" in word
        machine.append(revised or _last(word, "m") == "RATIFY")
    counts = {
        "one_way:h": sum(human),
        "one_way:m": sum(machine),
        "two_way": sum(one and two for one, two in zip(human, machine, strict=True)),
    }
    for name, theirs in counts.items():
        yield name, sum(word in class_language(name) for word in words), theirs


def _last(word: Word, agent: str) -> str:
    return next((one.tag for one in reversed(word) if one.agent == agent), "")
