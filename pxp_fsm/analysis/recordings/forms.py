"""The forms of recordings, told apart by how a file begins."""

from __future__ import annotations

import codecs
from collections.abc import Callable, Iterator
from pathlib import Path

from pxp_fsm import registry
from pxp_fsm.analysis.recordings.conversations import Convention, Found
from pxp_fsm.errors import DataError
from pxp_fsm.lazy_dataclasses import dataclass

Reader = Callable[[Path, Convention | None], Iterator[Found]]
"""Reads the sessions of a file of another tool; with a convention, other programs' messages."""


@dataclass(frozen=True)
class RecordingForm:
    """What a recording is: its name, words for it in an error, and how a file of it begins.

    `begins` is asked of the first bytes of a file, without a byte order mark and white space. A
    form with `read` is one of another tool, whose sessions are read into a database.
    """

    name: str
    about: str
    begins: Callable[[bytes], bool]
    read: Reader | None = None


DATABASE = RecordingForm(
    "database", "a database of runs", lambda head: head.startswith(b"SQLite format 3\x00")
)
TAGS = RecordingForm(
    "tags",
    "a tags.txt of the authors' published code, whose lines begin with sessionID-",
    lambda head: head.startswith(b"sessionID-"),
)

_HEAD = 4096


def form_of(name: str) -> RecordingForm:
    """The form of the recording `name`; a URL, or a file that is not there, counts as a database.

    Raises `DataError` for a file of no such form.
    """
    path = Path(name)
    if not path.is_file():
        return DATABASE
    with path.open("rb") as file:
        head = file.read(_HEAD)
    begins = head.removeprefix(codecs.BOM_UTF8).lstrip()
    if not head:
        return DATABASE
    for form in (DATABASE, TAGS):
        if form.begins(begins):
            return form
    forms: list[RecordingForm] = list(registry.listed("recordings"))
    for form in forms:
        if form.begins(begins):
            return form
    known = ", nor ".join(form.about for form in (DATABASE, TAGS, *forms))
    raise DataError(f"{path} is not a recording: neither {known}")
