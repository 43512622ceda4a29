"""Archives of runs for a paper's supplement, and their checks by whoever receives them.

An archive is a ZIP file of what a reader needs to trust a table: the recorded sessions with their
hash chain, plan, prompts, versions, fingerprints of the data, tables, figures, certificates, and an
anchor. The same runs give the same bytes.

A check opens somebody's file: nothing of it is unpacked under a name of its own, and nothing of it
is run.
"""

from __future__ import annotations

import hashlib
import json
import platform
import re
import shutil
import stat
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from functools import partial
from importlib import metadata, resources
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import Any

from backends.databases import RunRecord, SqlBlackboard, anchors, transfer
from backends.databases.verify import IntegrityProblem, Mark, mark_of
from proofs.claims import certificates
from pxp_fsm import __version__
from pxp_fsm.artifacts import atomic_path, file_name
from pxp_fsm.errors import DataError, PXPError, UsageError, counted, quoted
from pxp_fsm.experiments import sheets, summary
from pxp_fsm.experiments.drawings import chosen_runs
from pxp_fsm.experiments.members import prompts_text_of_plan
from pxp_fsm.experiments.outcomes import estimates, outcomes_of
from pxp_fsm.experiments.plan_data import (
    data_fingerprint,
    read_plan,
    stored_plan,
)
from pxp_fsm.experiments.reports import write as reports
from pxp_fsm.experiments.run_kinds import kind_of
from pxp_fsm.experiments.sheets import contents
from pxp_fsm.experiments.statistics import statistics_of
from pxp_fsm.lazy_dataclasses import dataclass

FORMAT = "pxp-fsm archive 1"
MANIFEST = "manifest.json"
SUFFIX = ".zip"

SESSIONS, TABLE, CERTIFICATE = "sessions.jsonl", "table1.csv", "certificate.json"
ANCHOR, KEY = "anchor.jsonl", "anchor-key.pem"
_EPOCH = (1980, 1, 1, 0, 0, 0)
"""The time of every file in an archive: the earliest that a ZIP file knows."""

_README = """\
This archive was written by pxp-fsm {version}. Check it with

    pip install pxp-fsm=={version}
    pxp verify FILE

manifest.json lists every file with its SHA-256, each run with its mark, and the versions that made
it. For each run there are: the recorded sessions (sessions.jsonl; pxp import reads them), the plan,
the prompts, the automaton, its certificate (python -I -S PATH certificate.json
automaton.toml; pxp doctor says the path of the checker), what is known of the data, and Table 1.
report/ has the page, tables and figures.
"""


def write_archive(
    board: SqlBlackboard,
    runs: Sequence[str],
    path: Path,
    *,
    anchor: Path | None = None,
    key: Path | None = None,
    catalogue: Path | None = None,
) -> Sequence[str]:
    """Write `runs` of `board` to `path`; the names of the files in it.

    `anchor` holds their signed marks, and `key` is the public key of it. `catalogue` is one of the
    user's, which the runs were asked with. Raises `UsageError` for a run without a plan, an anchor
    that is not of these runs, or a name that is none; `NotThere`, `BlackboardError`, and `OSError`
    where the disk refuses.
    """
    if path.suffix != SUFFIX:
        raise UsageError(f"{path}: the name of an archive must end in {SUFFIX}", "output")
    records = chosen_runs(board, runs, "to archive")
    marks = [board.read(partial(mark_of, run=run_record.run)) for run_record in records]
    if anchor is not None and key is not None:
        problems = list(unsigned(anchor, key, marks))
        if problems:
            raise UsageError(f"{problems[0].where}: {problems[0].what}", "anchor")
    told = []
    with TemporaryDirectory() as drafts:
        place, files = Path(drafts), dict[str, Path]()
        for record, mark in zip(records, marks, strict=True):
            folder = _folder(record.run, files)
            for name, content in _files_of(board, record, place / folder):
                files[f"{folder}/{name}"] = _written(place / folder / name, content)
            told.append(_entry(board, record, mark, folder))
        files |= _report(board, [record.run for record in records], place, catalogue)
        readme = _README.format(version=__version__).encode()
        files["README.txt"] = _written(place / "README.txt", readme)
        if anchor is not None and key is not None:
            files |= {ANCHOR: anchor, KEY: key}
        manifest = {
            "format": FORMAT,
            "versions": _versions(),
            "runs": told,
            "files": {name: _digest(file) for name, file in sorted(files.items())},
        }
        files[MANIFEST] = _written(place / MANIFEST, as_json(manifest))
        with atomic_path(path) as draft, zipfile.ZipFile(draft, "w") as archive:
            for name, file in sorted(files.items()):
                _pack(archive, name, file)
    return sorted(files)


def _written(path: Path, content: bytes | None) -> Path:
    """The file at `path`, with this content unless it is there already."""
    if content is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return path


def _digest(path: Path) -> dict[str, Any]:
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    return {"bytes": path.stat().st_size, "sha256": digest}


def _pack(archive: zipfile.ZipFile, name: str, path: Path) -> None:
    """Put a file into an archive, a piece at a time: sessions may be larger than memory."""
    entry = zipfile.ZipInfo(name, _EPOCH)
    entry.compress_type, entry.create_system = zipfile.ZIP_DEFLATED, 3
    entry.external_attr = (stat.S_IFREG | 0o644) << 16
    entry.file_size = path.stat().st_size
    entry._compresslevel = 9  # type: ignore[attr-defined]  # public from Python 3.13 on
    with path.open("rb") as file, archive.open(entry, "w") as packed:
        shutil.copyfileobj(file, packed)


def _folder(run: str, files: Mapping[str, Path]) -> str:
    """The folder of a run in the archive; no two have the same."""
    stem = f"runs/{file_name(run)}"
    taken = {str(PurePosixPath(name).parent) for name in files}
    return next(
        name
        for number in range(1, len(taken) + 2)
        if (name := stem if number == 1 else f"{stem}-{number}") not in taken
    )


def _files_of(
    board: SqlBlackboard, record: RunRecord, place: Path
) -> Iterator[tuple[str, bytes | None]]:
    """The files of one run, with what is in them; None where it is in `place` already."""
    plan = stored_plan(record)
    place.mkdir(parents=True)
    transfer.write_jsonl(transfer.export_rows(board.engine, record.run), place / SESSIONS)
    yield SESSIONS, None
    yield "plan.json", as_json(json.loads(record.plan))
    yield TABLE, table1(board, record.run)
    rules = plan.rules()
    proved = certificates.proved_table(rules) or rules.automaton
    table = resources.files("pxp_fsm.automata").joinpath("data", f"{proved.name}.toml")
    yield "automaton.toml", table.read_bytes()
    for session in board.sessions(record.run, limit=1):
        coverage = certificates.coverage(rules, session.assumptions)
        if coverage is not None:
            yield CERTIFICATE, coverage.path.read_bytes()
    try:
        task, data = read_plan(plan)
    except (PXPError, OSError) as error:
        yield "data.json", as_json({"fingerprint": record.data_fingerprint, "not read": str(error)})
        return
    sets = {"sessions": data.sessions, "validation": data.validation, "test": data.test}
    yield (
        "data.json",
        as_json(
            {
                "fingerprint": record.data_fingerprint,
                "as recorded": data_fingerprint(plan, data) == record.data_fingerprint,
                "origin": data.origin,
                "instances": {
                    name: [row.instance.key for row in rows] for name, rows in sets.items()
                },
                "materials": len(data.materials),
            }
        ),
    )
    if plan.machine or plan.judge or plan.human_model or plan.preset:
        whose, text = prompts_text_of_plan(plan, task)
        yield "prompts.toml", f"# Prompts {whose}.\n{text}".encode()


def _entry(board: SqlBlackboard, record: RunRecord, mark: Mark, folder: str) -> dict[str, Any]:
    """A run as the manifest tells of it."""
    sessions = board.sessions(record.run)
    return {
        "run": record.run,
        "folder": folder,
        "task": record.task,
        "version": record.version,
        "seed": record.seed,
        "data_fingerprint": record.data_fingerprint,
        "automata": sorted({f"{session.automaton} {session.fingerprint}" for session in sessions}),
        "agents": sorted(
            {f"{name}: {about}" for session in sessions for name, about in session.agents}
        ),
        "sessions": mark.sessions,
        "over": sum(session.ending is not None for session in sessions),
        "messages": mark.messages,
        "mark": mark.mark,
    }


def _report(
    board: SqlBlackboard, runs: Sequence[str], place: Path, catalogue: Path | None
) -> dict[str, Path]:
    """The report of all runs, with its tables and figures, by their names in the archive."""
    page, figures = place / "report" / "report.html", place / "report" / "figures"
    _, written = reports.write(
        board,
        runs,
        page,
        catalogue=catalogue,
        figures=figures,
        source="the sessions in this archive",
    )
    return {path.relative_to(place).as_posix(): path for path in written}


def table1(board: SqlBlackboard, run: str) -> bytes:
    """Table 1 of a run, counted from its sessions; of a panel intelligibility by direction."""
    if kind_of(board.run(run)) is not None:
        return sheets.directions_csv(sheets.directions(board, run)).encode()
    by_class = estimates(outcomes_of(board, run))
    return summary.as_csv(statistics_of(board, run), (), by_class).encode()


def _versions() -> dict[str, str]:
    """Python, this package, and each installed distribution that it may use."""
    versions = {"python": platform.python_version(), "pxp-fsm": __version__}
    try:
        wanted = metadata.requires("pxp-fsm") or []
    except metadata.PackageNotFoundError:
        wanted = []
    for line in wanted:
        name = re.match(r"[A-Za-z0-9._-]+", line)
        if name is not None and name[0] not in versions:
            try:
                versions[name[0]] = metadata.version(name[0])
            except metadata.PackageNotFoundError:
                continue
    return versions


def as_json(data: object) -> bytes:
    """What the files of an archive that are JSON hold for `data`."""
    return (json.dumps(data, indent=1, sort_keys=True, ensure_ascii=False) + "\n").encode()


def unsigned(anchor: Path, key: Path, marks: Sequence[Mark]) -> Iterator[IntegrityProblem]:
    """What of `marks` is not as signed; other runs of the same anchor are nobody's affair."""
    own = {f"run {mark.run}" for mark in marks}
    for problem in anchors.differences(anchor, key, marks):
        if problem.where in own or not problem.where.startswith("run "):
            yield problem


_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.@+-]{0,120}")
_DEEPEST = 4
_MOST_FILES, _MOST_BYTES = 5_000, 2**31


@dataclass(frozen=True)
class ArchiveCheck:
    """What a check of an archive found: nothing wrong if there are no `problems`.

    `found` says what was compared, `unknown` what could not be.
    """

    found: list[str] = field(default_factory=list)
    problems: list[IntegrityProblem] = field(default_factory=list)
    unknown: list[IntegrityProblem] = field(default_factory=list)


def check_archive(path: Path, key: Path | None = None) -> ArchiveCheck:
    """Check the archive `path`: files, hash chains, marks, Table 1, certificates, signatures.

    `key` is the public key of its anchor, from whoever signed; without it the one in the archive is
    taken. Raises `DataError` for what is no archive, or has a name that leads out of it.
    """
    files = dict(_read(path))
    manifest = _manifest(path, files.pop(MANIFEST, b""))
    checked = ArchiveCheck()
    listed = manifest["files"]
    for name in sorted(listed.keys() | files.keys()):
        if name not in files:
            checked.problems.append(IntegrityProblem(name, "it is listed, and is not there"))
        elif name not in listed:
            checked.problems.append(IntegrityProblem(name, "it is there, and is not listed"))
        elif hashlib.sha256(files[name]).hexdigest() != listed[name].get("sha256"):
            checked.problems.append(IntegrityProblem(name, "it is not what is listed"))
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
    checked: ArchiveCheck,
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
        checked.problems.append(IntegrityProblem(where, str(error).replace(str(draft), SESSIONS)))
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
            remark = f"its {name} is {value}, and {quoted(told.get(name))} is listed"
            checked.problems.append(IntegrityProblem(where, remark))
    if files.get(f"{folder}/plan.json") != as_json(json.loads(record.plan)):
        checked.problems.append(
            IntegrityProblem(where, "plan.json is not the plan of the sessions")
        )
    if files.get(f"{folder}/{TABLE}") != table1(board, mark.run):
        checked.problems.append(
            IntegrityProblem(where, "table1.csv is not what its sessions come to")
        )
    remark = f"{contents(mark)}, mark {mark.mark}"
    checked.found.append(f"{where}: {remark}; Table 1 counted again")
    _check_certificate(board, record, files.get(f"{folder}/{CERTIFICATE}"), place, checked)
    return mark


def _check_certificate(
    board: SqlBlackboard,
    record: RunRecord,
    certificate: bytes | None,
    place: Path,
    checked: ArchiveCheck,
) -> None:
    """Let the independent checker read the certificate of the table that the sessions followed."""
    where = f"run {record.run}"
    if certificate is None:
        checked.unknown.append(IntegrityProblem(where, "it has no certificate"))
        return
    for session in board.sessions(record.run, limit=1):
        rules = stored_plan(record).rules()
        if session.fingerprint != rules.automaton.fingerprint:
            remark = f"its automaton {session.automaton} is not the one of this version"
            checked.unknown.append(IntegrityProblem(where, f"certificate: {remark}"))
            return
        proved = certificates.proved_table(rules) or rules.automaton
        draft = place / certificates.filename_of(proved)
        draft.write_bytes(certificate)
        coverage = certificates.coverage(rules, session.assumptions, [place])
        if coverage is None:
            checked.problems.append(IntegrityProblem(where, "its certificate is not accepted"))
        else:
            claims = counted(len(coverage.claims), "claim")
            checked.found.append(f"{where}: certificate accepted, {claims} proved of its sessions")


def _check_anchor(
    files: Mapping[str, bytes],
    key: Path | None,
    marks: Sequence[Mark],
    place: Path,
    into: ArchiveCheck,
) -> None:
    """Compare the marks with those signed, by `key` or by the key in the archive."""
    anchor, packed = place / ANCHOR, place / KEY
    anchor.write_bytes(files[ANCHOR])
    packed.write_bytes(files.get(KEY, b""))
    for problem in unsigned(anchor, key or packed, marks):
        into.problems.append(
            IntegrityProblem(problem.where.replace(str(anchor), ANCHOR), problem.what)
        )
    if key is None:
        digest = hashlib.sha256(files.get(KEY, b"")).hexdigest()
        remark = (
            f"signed by the key in the archive (SHA-256 {digest}); --key takes the signer's own"
        )
        into.unknown.append(IntegrityProblem("anchor", remark))
    else:
        into.found.append(f"anchor compared by {key}")


def _read(path: Path) -> Iterator[tuple[str, bytes]]:
    """The files of a ZIP file by their names; raises `DataError` for any that must not be there."""
    if path.exists() and not (path.is_file() or path.is_dir()):
        raise DataError(f"{path} is a pipe or a device, no archive; give a file")
    try:
        with zipfile.ZipFile(path) as archive:
            entries = archive.infolist()
            if len(entries) > _MOST_FILES or sum(info.file_size for info in entries) > _MOST_BYTES:
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
        manifest = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise DataError(
            f"{path}: it has no {MANIFEST} that can be read; is it an archive?"
        ) from error
    known = isinstance(manifest, dict) and manifest.get("format") == FORMAT
    if not known:
        raise DataError(f"{path}: {MANIFEST} is not of the form {quoted(FORMAT)}")
    shapes = (("files", dict), ("runs", list), ("versions", dict))
    if not all(isinstance(manifest.get(name), kind) for name, kind in shapes) or not (
        all(isinstance(file, dict) for file in manifest["files"].values())
        and all(
            isinstance(run, dict) and all(isinstance(run.get(name), str) for name in _TEXTS)
            for run in manifest["runs"]
        )
    ):
        raise DataError(f"{path}: {MANIFEST} does not tell of files, runs and versions")
    return dict(manifest)
