"""The forms of recordings, told apart by how a file begins."""

from __future__ import annotations

import codecs
from enum import Enum
from pathlib import Path

from pxp_fsm.errors import DataError


class Form(Enum):
    """What a recording is; the value describes it in an error."""

    DATABASE = "a database of runs"
    TAGS = "a tags.txt of the authors' published code, whose lines begin with sessionID-"
    INSPECT = "a log of Inspect (.eval or .json)"
    SPANS = "OpenTelemetry spans as OTLP JSON, in one document or one per line"


_HEAD = 4096
_SPANS = (b'"resourceSpans"', b'"resource_spans"')


def form_of(name: str) -> Form:
    """The form of the recording `name`; a URL, or a file that is not there, counts as a database.

    Raises `DataError` for a file of no such form.
    """
    path = Path(name)
    if not path.is_file():
        return Form.DATABASE
    with path.open("rb") as file:
        head = file.read(_HEAD)
    begins = head.removeprefix(codecs.BOM_UTF8).lstrip()
    if not head or head.startswith(b"SQLite format 3\x00"):
        return Form.DATABASE
    if begins.startswith(b"sessionID-"):
        return Form.TAGS
    if begins.startswith(b"{") and any(key in begins for key in _SPANS):
        return Form.SPANS
    if is_archive(path) or (begins.startswith(b"{") and b'"eval"' in begins):
        return Form.INSPECT
    known = ", nor ".join(form.value for form in Form)
    raise DataError(f"{path} is not a recording: neither {known}")


def is_archive(path: Path) -> bool:
    """Whether a file begins as a ZIP archive, as Inspect's .eval does."""
    with path.open("rb") as file:
        return file.read(4) == b"PK\x03\x04"
