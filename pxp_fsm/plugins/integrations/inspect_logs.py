"""Logs of Inspect, read a few samples at a time: sessions of our tasks, and other conversations."""

from __future__ import annotations

import io
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, TypeVar

from backends.databases.session_documents import STORED_AS
from pxp_fsm.analysis.recordings.conversations import (
    Convention,
    Found,
    RecordedConversation,
    document_of,
)
from pxp_fsm.analysis.recordings.forms import RecordingForm
from pxp_fsm.errors import DataError, quoted, require_extra

if TYPE_CHECKING:
    from inspect_ai.log import EvalSample

T = TypeVar("T")

_TOGETHER = 50
"""Samples in memory."""
_LARGEST, _SMALL, _TIMES = 2**30, 64 * 2**20, 500
"""A member of the archive has at most so many bytes; a large one, so many times those it takes."""
_LARGEST_TEXT = 200_000_000
"""Bytes of a log in JSON, which is read as a whole."""
_PIECE = 2**20
_ARCHIVE = b"PK\x03\x04"
"""How Inspect's .eval, a ZIP archive, begins."""
_UNUSED = {"events", "events_data", "timelines", "scores", "output"}


def inspect_sessions(path: Path, convention: Convention | None) -> Iterator[Found]:
    """The sessions of a log, in its order: those of our tasks, or by `convention` all others.

    Raises `UsageError` without the extra `inspect`, and `DataError` where the file is no such log.
    """
    require_extra("inspect", "a log of Inspect", {"inspect_ai": "inspect-ai"})
    if not path.is_file():
        raise DataError(f"{path}: there is no such file, or it is not a regular one")
    with path.open("rb") as file:
        archive = file.read(4) == _ARCHIVE
    if archive:
        _check_sizes(path)
    name, samples = _samples_of_archive(path) if archive else _samples_of_json(path)
    run = name.rpartition("/")[2] or "inspect"
    positions: dict[str, int] = {}
    for sample in samples:
        where = f"sample {quoted(str(sample.id))}, epoch {sample.epoch}"
        position = positions.setdefault(str(sample.id), len(positions) + 1)
        try:
            yield where, _document(sample, position, run, convention)
        except DataError as error:
            yield where, error


def _document(
    sample: EvalSample, position: int, run: str, convention: Convention | None
) -> dict[str, Any]:
    stored = sample.store.get(STORED_AS)
    if isinstance(stored, dict):
        return stored
    if convention is None:
        if sample.error is not None:
            raise DataError("it ended with an error of Inspect, before the session was over")
        raise DataError("it is no session of pxp-fsm; name a --mapping to read its messages")
    name = f"{sample.epoch}/{position}"
    messages = tuple(
        (_sender(message), str(message.text))
        for message in sample.messages
        if message.role in ("user", "assistant") and message.text
    )
    return document_of(
        RecordedConversation(name, str(sample.id), sample.epoch, position, messages),
        convention,
        run,
    )


def _sender(message: Any) -> str:
    """Who sent a message: the agent in its metadata, else its role."""
    agent = (message.metadata or {}).get("agent")
    return agent if isinstance(agent, str) and agent else str(message.role)


def _samples_of_archive(path: Path) -> tuple[str, Iterator[EvalSample]]:
    from inspect_ai.log import (
        read_eval_log,
        read_eval_log_sample_summaries,
        read_eval_log_samples_by_id,
    )

    log = str(path)
    header = _read(path, lambda: read_eval_log(log, header_only=True, format="eval"))
    summaries = _read(path, lambda: read_eval_log_sample_summaries(log, format="eval"))

    def samples() -> Iterator[EvalSample]:
        left = iter([(summary.id, summary.epoch) for summary in summaries])
        while some := list(islice(left, _TOGETHER)):
            yield from _chunk(some)

    def _chunk(some: Iterable[tuple[str | int, int]]) -> list[EvalSample]:
        chosen: list[EvalSample] = _read(
            path,
            lambda: read_eval_log_samples_by_id(
                log, some, resolve_attachments=True, format="eval", exclude_fields=_UNUSED
            ),
        )
        return chosen

    return header.eval.task, samples()


def _samples_of_json(path: Path) -> tuple[str, Iterator[EvalSample]]:
    size = path.stat().st_size
    if size > _LARGEST_TEXT:
        raise DataError(
            f"{path}: {size:,} bytes; a log in JSON has at most {_LARGEST_TEXT:,}: convert it with "
            f"`inspect log convert --to eval`"
        )
    from inspect_ai.log import read_eval_log

    log = _read(path, lambda: read_eval_log(str(path), resolve_attachments=True, format="json"))
    return log.eval.task, iter(log.samples or [])


def _read(path: Path, read: Callable[[], T]) -> T:
    """What Inspect reads; anything that it raises says that the file is not what it expects."""
    try:
        return read()
    except Exception as error:
        lines = str(error).strip().splitlines() or [""]
        reason = quoted(f"{type(error).__name__}: {lines[0]}", 200)
        raise DataError(f"{path} cannot be read as a log of Inspect: {reason}") from error


def _check_sizes(path: Path) -> None:
    """Refuse an archive whose members are much larger than they look, or than they say."""
    try:
        with zipfile.ZipFile(path) as archive:
            members = archive.infolist()
    except (zipfile.BadZipFile, NotImplementedError, OSError) as error:
        raise DataError(
            f"{path} is not a whole archive ({error}); of an evaluation that was cut off, "
            f"`inspect log recover` makes one"
        ) from error
    with path.open("rb") as file:
        for member in members:
            named = f"{path}: its member {quoted(member.filename)}"
            if member.file_size > min(_LARGEST, max(_SMALL, _TIMES * member.compress_size)):
                raise DataError(
                    f"{named} expands to {member.file_size:,} bytes from "
                    f"{member.compress_size:,}; no sample of a session does"
                )
            try:
                size = _expanded(file, member)
            except Exception as error:  # each way of compression has its own
                raise DataError(f"{named} is damaged ({type(error).__name__})") from error
            if size != member.file_size:
                raise DataError(f"{named} is not of the {member.file_size:,} bytes that it says")


def _expanded(file: BinaryIO, member: zipfile.ZipInfo) -> int:
    """The size of a member, counted up to one byte more than it says.

    Inspect's reader goes by the compressed data alone.
    """
    file.seek(member.header_offset + 26)
    file.seek(sum(struct.unpack("<HH", file.read(4))), io.SEEK_CUR)
    packed = file.read(member.compress_size)
    if member.compress_type == zipfile.ZIP_STORED:
        return len(packed)
    read: Callable[[int], bytes]
    if member.compress_type == zipfile.ZIP_DEFLATED:
        inflating, waiting = zlib.decompressobj(-zlib.MAX_WBITS), packed

        def read(most: int) -> bytes:
            nonlocal waiting
            inflated = inflating.decompress(waiting, most)
            waiting = inflating.unconsumed_tail
            return inflated
    else:
        import zstandard

        stream = zstandard.ZstdDecompressor().stream_reader(packed, read_across_frames=True)
        read = stream.read
    size = 0
    while size <= member.file_size and (some := read(_PIECE)):
        size += len(some)
    return size


def _is_log(head: bytes) -> bool:
    return head.startswith(_ARCHIVE) or (head.startswith(b"{") and b'"eval"' in head)


INSPECT = RecordingForm("inspect", "a log of Inspect (.eval or .json)", _is_log, inspect_sessions)
