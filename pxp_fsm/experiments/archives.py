"""Archives of runs for a paper's supplement.

An archive is a ZIP file of what a reader needs to trust a table: the recorded sessions with their
hash chain, plan, prompts, versions, fingerprints of the data, tables, figures, certificates, and an
anchor. The same runs give the same bytes.
"""

from __future__ import annotations

import hashlib
import json
import platform
import re
import stat
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from importlib import metadata, resources
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import Any

from backends.databases import RunRecord, SqlBlackboard, anchors, transfer
from backends.databases.verify import Mark, Problem, mark_of
from proofs.claims import certificates
from pxp_fsm import __version__
from pxp_fsm.artifacts import atomic_path
from pxp_fsm.errors import PXPError, UsageError
from pxp_fsm.experiments import summary
from pxp_fsm.experiments.drawings import chosen_runs, file_name
from pxp_fsm.experiments.outcomes import estimates, outcomes_of
from pxp_fsm.experiments.participants import prompts_text_of_plan
from pxp_fsm.experiments.plan_data import data_fingerprint, read_plan
from pxp_fsm.experiments.reports import write as reports
from pxp_fsm.experiments.statistics import statistics_of
from pxp_fsm.experiments.stored_plans import stored_plan

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
    pxp archive FILE --check

manifest.json lists every file with its SHA-256, each run with its mark, and the versions that made
it. For each run there are: the recorded sessions (sessions.jsonl; pxp import reads them), the plan,
the prompts, the automaton, its certificate (python -m proofs.recheck certificate.json
automaton.toml), what is known of the data, and Table 1. report/ has the page, tables and figures.
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
    marks = [board.read(partial(mark_of, run=one.run)) for one in records]
    files: dict[str, bytes] = {"README.txt": _README.format(version=__version__).encode()}
    told = []
    with TemporaryDirectory() as place:
        for record, mark in zip(records, marks, strict=True):
            folder = _folder(record.run, files)
            own = dict(_files_of(board, record, Path(place)))
            files |= {f"{folder}/{name}": content for name, content in own.items()}
            told.append(_entry(board, record, mark, folder))
        files |= _report(board, [record.run for record in records], Path(place), catalogue)
    if anchor is not None and key is not None:
        problems = list(unsigned(anchor, key, marks))
        if problems:
            raise UsageError(f"{problems[0].where}: {problems[0].what}", "anchor")
        files |= {ANCHOR: anchor.read_bytes(), KEY: key.read_bytes()}
    manifest = {
        "format": FORMAT,
        "versions": _versions(),
        "runs": told,
        "files": {
            name: {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
            for name, content in sorted(files.items())
        },
    }
    files[MANIFEST] = as_json(manifest)
    with atomic_path(path) as draft, zipfile.ZipFile(draft, "w") as archive:
        for name, content in sorted(files.items()):
            entry = zipfile.ZipInfo(name, _EPOCH)
            entry.compress_type, entry.create_system = zipfile.ZIP_DEFLATED, 3
            entry.external_attr = (stat.S_IFREG | 0o644) << 16
            archive.writestr(entry, content, compresslevel=9)
    return sorted(files)


def _folder(run: str, files: Mapping[str, bytes]) -> str:
    """The folder of a run in the archive; no two have the same."""
    stem = f"runs/{file_name(run)}"
    taken = {str(PurePosixPath(name).parent) for name in files}
    return next(
        name
        for number in range(1, len(taken) + 2)
        if (name := stem if number == 1 else f"{stem}-{number}") not in taken
    )


def _files_of(board: SqlBlackboard, record: RunRecord, place: Path) -> Iterator[tuple[str, bytes]]:
    """The files of one run; `place` is a folder for drafts."""
    plan = stored_plan(record)
    draft = place / SESSIONS
    draft.unlink(missing_ok=True)
    transfer.write_jsonl(transfer.export_rows(board.engine, record.run), draft)
    yield SESSIONS, draft.read_bytes()
    yield "plan.json", as_json(json.loads(record.plan))
    yield TABLE, table1(board, record.run)
    rules = plan.rules()
    table = resources.files("pxp_fsm.automata").joinpath("data", f"{rules.automaton.name}.toml")
    yield "automaton.toml", table.read_bytes()
    for session in board.sessions(record.run, limit=1):
        found = certificates.coverage(rules, session.assumptions)
        if found is not None:
            yield CERTIFICATE, found.path.read_bytes()
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
        "automata": sorted({f"{one.automaton} {one.fingerprint}" for one in sessions}),
        "agents": sorted({f"{name}: {about}" for one in sessions for name, about in one.agents}),
        "sessions": mark.sessions,
        "over": sum(one.ending is not None for one in sessions),
        "messages": mark.messages,
        "mark": mark.mark,
    }


def _report(
    board: SqlBlackboard, runs: Sequence[str], place: Path, catalogue: Path | None
) -> dict[str, bytes]:
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
    return {path.relative_to(place).as_posix(): path.read_bytes() for path in written}


def table1(board: SqlBlackboard, run: str) -> bytes:
    """Table 1 of a run, counted from its sessions."""
    found = estimates(outcomes_of(board, run))
    return summary.as_csv(statistics_of(board, run), (), found).encode()


def _versions() -> dict[str, str]:
    """Python, this package, and each installed distribution that it may use."""
    found = {"python": platform.python_version(), "pxp-fsm": __version__}
    try:
        wanted = metadata.requires("pxp-fsm") or []
    except metadata.PackageNotFoundError:
        wanted = []
    for line in wanted:
        name = re.match(r"[A-Za-z0-9._-]+", line)
        if name is not None and name[0] not in found:
            try:
                found[name[0]] = metadata.version(name[0])
            except metadata.PackageNotFoundError:
                continue
    return found


def as_json(data: object) -> bytes:
    """What the files of an archive that are JSON hold for `data`."""
    return (json.dumps(data, indent=1, sort_keys=True, ensure_ascii=False) + "\n").encode()


def unsigned(anchor: Path, key: Path, marks: Sequence[Mark]) -> Iterator[Problem]:
    """What of `marks` is not as signed; other runs of the same anchor are nobody's affair."""
    own = {f"run {mark.run}" for mark in marks}
    for problem in anchors.differences(anchor, key, marks):
        if problem.where in own or not problem.where.startswith("run "):
            yield problem
