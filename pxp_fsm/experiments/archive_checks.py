"""Checks of an archive by whoever receives it: files, chains, Table 1, certificates, anchor.

An archive is somebody's file: nothing of it is unpacked under a name of its own, and nothing of it
is run.
"""

from __future__ import annotations

import hashlib
import json
import re
import stat
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from backends.databases import RunRecord, SqlBlackboard, transfer
from backends.databases.verify import Mark, Problem
from proofs.claims import certificates
from pxp_fsm import __version__
from pxp_fsm.errors import DataError, PXPError, quoted
from pxp_fsm.experiments.archives import (
    ANCHOR,
    CERTIFICATE,
    FORMAT,
    KEY,
    MANIFEST,
    SESSIONS,
    TABLE,
    as_json,
    table1,
    unsigned,
)
from pxp_fsm.experiments.stored_plans import stored_plan
from pxp_fsm.experiments.summary import contents, counted

_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.@+-]{0,120}")
_DEEPEST = 4
_MOST_FILES, _MOST_BYTES = 5_000, 2**31


@dataclass(frozen=True)
class Checked:
    """What a check of an archive found: nothing wrong if there are no `problems`.

    `found` says what was compared, `unknown` what could not be.
    """

    found: list[str] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    unknown: list[Problem] = field(default_factory=list)


def check_archive(path: Path, key: Path | None = None) -> Checked:
    """Check the archive `path`: files, hash chains, marks, Table 1, certificates, signatures.

    `key` is the public key of its anchor, from whoever signed; without it the one in the archive is
    taken. Raises `DataError` for what is no archive, or has a name that leads out of it.
    """
    files = dict(_read(path))
    manifest = _manifest(path, files.pop(MANIFEST, b""))
    checked = Checked()
    listed = manifest["files"]
    for name in sorted(listed.keys() | files.keys()):
        if name not in files:
            checked.problems.append(Problem(name, "it is listed, and is not there"))
        elif name not in listed:
            checked.problems.append(Problem(name, "it is there, and is not listed"))
        elif hashlib.sha256(files[name]).hexdigest() != listed[name].get("sha256"):
            checked.problems.append(Problem(name, "it is not what is listed"))
    checked.found.append(f"{len(files)} files, as listed")
    if checked.problems:
        return checked
    marks = []
    with TemporaryDirectory() as place, SqlBlackboard(":memory:") as board:
        for told in manifest["runs"]:
            mark = _check_run(board, told, files, Path(place), checked)
            marks += [] if mark is None else [mark]
        if ANCHOR in files:
            _check_anchor(files, key, marks, Path(place), checked)
    made = manifest["versions"].get("pxp-fsm")
    checked.found.append(f"written by pxp-fsm {made}, checked by {__version__}")
    return checked


def _check_run(
    board: SqlBlackboard,
    told: Mapping[str, Any],
    files: Mapping[str, bytes],
    place: Path,
    checked: Checked,
) -> Mark | None:
    """Take in the sessions of a run, and compare what was said of them; its mark."""
    folder, where = told["folder"], f"run {told['run']}"
    draft = place / SESSIONS
    draft.write_bytes(files.get(f"{folder}/{SESSIONS}", b""))
    try:
        mark = transfer.import_rows(
            board.engine, transfer.read_jsonl(draft), f"{folder}/{SESSIONS}"
        )
    except PXPError as error:
        checked.problems.append(Problem(where, str(error).replace(str(draft), SESSIONS)))
        return None
    record = board.run(mark.run)
    is_as = {
        "run": mark.run,
        "mark": mark.mark,
        "sessions": mark.sessions,
        "messages": mark.messages,
        "data_fingerprint": record.data_fingerprint,
        "version": record.version,
    }
    for name, value in is_as.items():
        if told.get(name) != value:
            said = f"its {name} is {value}, and {quoted(told.get(name))} is listed"
            checked.problems.append(Problem(where, said))
    if files.get(f"{folder}/plan.json") != as_json(json.loads(record.plan)):
        checked.problems.append(Problem(where, "plan.json is not the plan of the sessions"))
    if files.get(f"{folder}/{TABLE}") != table1(board, mark.run):
        checked.problems.append(Problem(where, "table1.csv is not what its sessions come to"))
    said = f"{contents(mark)}, mark {mark.mark}"
    checked.found.append(f"{where}: {said}; Table 1 counted again")
    _check_certificate(board, record, files.get(f"{folder}/{CERTIFICATE}"), place, checked)
    return mark


def _check_certificate(
    board: SqlBlackboard,
    record: RunRecord,
    certificate: bytes | None,
    place: Path,
    checked: Checked,
) -> None:
    """Let the independent checker read the certificate of the table that the sessions followed."""
    where = f"run {record.run}"
    if certificate is None:
        checked.unknown.append(Problem(where, "it has no certificate"))
        return
    for session in board.sessions(record.run, limit=1):
        rules = stored_plan(record).rules()
        if session.fingerprint != rules.automaton.fingerprint:
            said = f"its automaton {session.automaton} is not the one of this version"
            checked.unknown.append(Problem(where, f"certificate: {said}"))
            return
        draft = place / f"{rules.name}-{rules.automaton.fingerprint[:12]}.json"
        draft.write_bytes(certificate)
        found = certificates.coverage(rules, session.assumptions, [place])
        if found is None:
            checked.problems.append(Problem(where, "its certificate is not accepted"))
        else:
            claims = counted(len(found.claims), "claim")
            checked.found.append(f"{where}: certificate accepted, {claims} proved of its sessions")


def _check_anchor(
    files: Mapping[str, bytes], key: Path | None, marks: Sequence[Mark], place: Path, into: Checked
) -> None:
    """Compare the marks with those signed, by `key` or by the key in the archive."""
    anchor, packed = place / ANCHOR, place / KEY
    anchor.write_bytes(files[ANCHOR])
    packed.write_bytes(files.get(KEY, b""))
    for problem in unsigned(anchor, key or packed, marks):
        into.problems.append(Problem(problem.where.replace(str(anchor), ANCHOR), problem.what))
    if key is None:
        digest = hashlib.sha256(files.get(KEY, b"")).hexdigest()
        said = f"signed by the key in the archive (SHA-256 {digest}); --key takes the signer's own"
        into.unknown.append(Problem("anchor", said))
    else:
        into.found.append(f"anchor compared by {key}")


def _read(path: Path) -> Iterator[tuple[str, bytes]]:
    """The files of a ZIP file by their names; raises `DataError` for any that must not be there."""
    try:
        with zipfile.ZipFile(path) as archive:
            entries = archive.infolist()
            if len(entries) > _MOST_FILES or sum(one.file_size for one in entries) > _MOST_BYTES:
                raise DataError(
                    f"{path}: more than {_MOST_FILES:,} files or {_MOST_BYTES:,} bytes; it is not "
                    f"an archive of runs"
                )
            seen: set[str] = set()
            for entry in entries:
                wrong = _wrong(entry, seen)
                if wrong is not None:
                    raise DataError(f"{path}: {quoted(entry.filename)}: {wrong}")
                seen.add(entry.filename.casefold())
                with archive.open(entry) as file:
                    content = file.read(entry.file_size + 1)
                if len(content) != entry.file_size:
                    raise DataError(f"{path}: {entry.filename} is longer than it says")
                yield entry.filename, content
    except (zipfile.BadZipFile, zipfile.LargeZipFile, NotImplementedError, EOFError) as error:
        raise DataError(f"{path}: this is not a ZIP file that can be read: {error}") from error
    except (ValueError, RuntimeError) as error:
        raise DataError(f"{path}: a file in it cannot be read: {error}") from error
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror or error}") from error


def _wrong(entry: zipfile.ZipInfo, seen: set[str]) -> str | None:
    """Why a file must not be in an archive; None where it may."""
    parts = entry.filename.split("/")
    if entry.orig_filename != entry.filename or len(parts) > _DEEPEST:
        return "this is no path of an archive"
    if not all(_NAME.fullmatch(part) for part in parts):
        return "this is no path of an archive"
    kind = stat.S_IFMT(entry.external_attr >> 16)
    if kind not in (0, stat.S_IFREG) or entry.flag_bits & 1:
        return "this is no plain file"
    return "it is there twice" if entry.filename.casefold() in seen else None


_TEXTS = ("run", "folder", "mark", "data_fingerprint", "version")


def _manifest(path: Path, content: bytes) -> dict[str, Any]:
    """The manifest, of the form that `write_archive` gives it; raises `DataError`."""
    try:
        found = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise DataError(
            f"{path}: it has no {MANIFEST} that can be read; is it an archive?"
        ) from error
    known = isinstance(found, dict) and found.get("format") == FORMAT
    if not known:
        raise DataError(f"{path}: {MANIFEST} is not of the form {quoted(FORMAT)}")
    shapes = (("files", dict), ("runs", list), ("versions", dict))
    if not all(isinstance(found.get(name), kind) for name, kind in shapes) or not (
        all(isinstance(one, dict) for one in found["files"].values())
        and all(
            isinstance(one, dict) and all(isinstance(one.get(name), str) for name in _TEXTS)
            for one in found["runs"]
        )
    ):
        raise DataError(f"{path}: {MANIFEST} does not tell of files, runs and versions")
    return dict(found)
