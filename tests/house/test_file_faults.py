"""What is said of faulty files, word by word; and no reader reads without end."""

from __future__ import annotations

import json
import re
import runpy
import sys
from pathlib import Path
from unittest.mock import patch

import pytest

from backends.databases import SqlBlackboard, anchors, transfer
from backends.databases.engine import open_engine
from backends.databases.schema import SCHEMA_VERSION
from backends.models.clients.keys import find_key
from backends.models.files import read_settings, read_unnamed
from backends.models.middleware import cache
from backends.models.middleware.cache import CallCache
from backends.people.input import Drafts, UnsentAnswer
from proofs.audit.sessions import AsPublished
from proofs.claims import certificates
from proofs.export.traces import actions_of
from pxp_fsm.analysis.audits.records import published_recordings
from pxp_fsm.analysis.recordings.forms import form_of
from pxp_fsm.automata.tables import builtin
from pxp_fsm.cli.kinds import kind_of, kinds
from pxp_fsm.documents import text_of
from pxp_fsm.errors import DataError
from pxp_fsm.experiments import proved
from pxp_fsm.experiments.archives import check_archive
from pxp_fsm.experiments.summaries import summary_prompt
from pxp_fsm.tasks.own_data import read_data
from pxp_fsm.tasks.prompts import prompts_text
from tests.backends.records import RUN
from tests.file_faults import (
    LOADERS,
    ODD,
    ROOT,
    FaultyFile,
    Reader,
    check_odd,
    faulty_files,
    what_is_said,
)


@pytest.mark.parametrize(
    "faulty", [faulty for kind in LOADERS for faulty in faulty_files(kind)], ids=str
)
def test_what_is_said_of_a_faulty_file(
    faulty: FaultyFile, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    load, path = LOADERS[faulty.kind], Path(faulty.name)
    assert what_is_said(load, path, faulty.base) == ()
    assert what_is_said(load, path, faulty.text) == faulty.says


def archived(path: Path) -> None:
    checked = check_archive(path)
    raise DataError(f"{path}: {checked}")


def certificate(path: Path) -> None:
    """The checker of certificates, which stands alone, as a program."""
    table = ROOT / "pxp_fsm" / "automata" / "data" / "interact.toml"
    with patch("sys.argv", ["recheck", str(path), str(table)]):
        try:
            runpy.run_path(str(ROOT / "proofs" / "recheck.py"), run_name="__main__")
        except SystemExit as end:
            raise DataError(f"{path}: {end}") from end


def draft(path: Path) -> None:
    """A draft of somebody's answer, of which only its folder is named."""
    drafts = Drafts(path.parent / "drafts")
    stored = drafts.keep("r-1/1/1", 1, UnsentAnswer("a", "b"))
    stored.unlink()
    stored.symlink_to(path)
    assert drafts.read("r-1/1/1", 1) is None


def parquet(path: Path) -> None:
    pytest.importorskip("pyarrow")
    folder = path.parent / "run.parquet"
    with SqlBlackboard(":memory:") as board:
        board.start_run(RUN)
        transfer.write_parquet(transfer.export_rows(board.engine, RUN.run), folder)
    (folder / "events.parquet").unlink()
    (folder / "events.parquet").symlink_to(path)
    try:
        list(transfer.read_parquet(folder))
    except DataError as error:
        assert "events.parquet" in str(error)
        raise DataError(str(path)) from error


def anchor(path: Path) -> None:
    pytest.importorskip("cryptography")
    keys = public_and_private(path.parent)
    with SqlBlackboard(":memory:") as board:
        board.start_run(RUN)
        with pytest.raises((DataError, OSError), match="odd"):
            anchors.sign_run(board, RUN.run, path, anchors.private_key(keys[1]))
    anchors.differences(path, keys[0], ())
    raise DataError(f"{path}: nothing is signed in it")  # an anchor without lines is one


def public_and_private(folder: Path) -> tuple[Path, Path]:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import (
        Encoding,
        NoEncryption,
        PrivateFormat,
        PublicFormat,
    )

    key = Ed25519PrivateKey.generate()
    public, private = folder / "public.pem", folder / "private.pem"
    private.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    public.write_bytes(
        key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    )
    return public, private


def trace(path: Path) -> None:
    actions_of(text_of(path, "a trace in ITF"), str(path))


def file_of(argument: str) -> None:
    if kind_of(argument) is kinds()["data"]:
        raise DataError(f"{argument} is a folder of data")


def environment(path: Path) -> None:
    if find_key("PXP_NO_SUCH_KEY", path.parent) is None:
        raise DataError(f"{path.name} has no such key")


EXPORT = json.dumps({"format": transfer.FORMAT, "schema": SCHEMA_VERSION}).encode() + b"\n"
CALLS = json.dumps({"format": cache.FORMAT, "version": cache.VERSION}).encode() + b"\n"

READERS = {
    **{kind: Reader(load) for kind, load in LOADERS.items()},
    "argument of a command": Reader(lambda path: file_of(str(path))),
    "table by NAME=TABLE": Reader(lambda path: file_of(f"a={path}")),
    "models file": Reader(read_settings),
    "pxp.toml": Reader(read_unnamed, "pxp.toml"),
    ".env": Reader(environment, ".env"),
    "data": Reader(read_data, "odd.csv", b"x,prediction,explanation\n"),
    "data in JSON Lines": Reader(read_data, "odd.jsonl", b'{"x": "'),
    "prompts": Reader(lambda path: prompts_text(path, "labels")),
    "prompt of summaries": Reader(summary_prompt),
    "trace in ITF": Reader(trace, "odd.json"),
    "recording": Reader(lambda path: form_of(str(path)), "odd.json", silent=True),
    "tags of the authors": Reader(
        lambda path: list(published_recordings(path, AsPublished())),
        "odd.txt",
        b"sessionID-",
        silent=True,
    ),
    "results of checks": Reader(proved._read, "odd.json", silent=True),
    "stored certificate": Reader(
        lambda path: certificates._accepted(path, builtin("interact")), "odd.json", silent=True
    ),
    "certificate": Reader(certificate, "odd.json"),
    "export": Reader(lambda path: list(transfer.read_jsonl(path)), "odd.jsonl", EXPORT),
    "export in Parquet": Reader(parquet, "odd.parquet", b"PAR1"),
    "archive": Reader(archived, "odd.zip", b"PK\x03\x04"),
    "database": Reader(lambda path: open_engine(str(path), create=False), "odd.sqlite"),
    "new database": Reader(lambda path: open_engine(str(path), create=True), "odd.sqlite"),
    "replies": Reader(lambda path: CallCache(path, writes=False), "odd.jsonl", CALLS),
    "replies and more": Reader(CallCache, "odd.jsonl", CALLS),
    "anchor": Reader(anchor, "odd.jsonl"),
    "public key": Reader(anchors.public_key, "odd.pem", b"-----BEGIN PUBLIC KEY-----\n"),
    "private key": Reader(anchors.private_key, "odd.pem", b"-----BEGIN PRIVATE KEY-----\n"),
    "draft": Reader(draft, "odd.json", silent=True),
}
"""Everything in the core that reads files of people or of other programs."""


@pytest.mark.skipif(sys.platform != "linux", reason="limits memory, and reads /proc")
@pytest.mark.parametrize("kind", ODD)
@pytest.mark.parametrize("reader", READERS.values(), ids=READERS)
def test_an_odd_file_is_refused_at_once(reader: Reader, kind: str, tmp_path: Path) -> None:
    check_odd(reader, kind, tmp_path)


WITHOUT_BOUND = re.compile(r"\.(?:read_text|read_bytes|readall|readlines)\(|\bfile\.read\(\)")
INSTALLED = re.compile(r"resources?\b|\bfiles\(|^ +\.")
OURS = {
    "backends/models/middleware/cache.py",  # a file of replies, read line by line before
    "proofs/core/kernels.py",  # /proc
    "proofs/core/limits.py",  # /proc and /sys
    "pxp_fsm/cli/doctor.py",  # a package beside ours
    "pxp_fsm/cli/help.py",
    "pxp_fsm/diagrams/graphviz.py",  # our cache
    "pxp_fsm/experiments/archives.py",  # what was written, or read in bounds, before
    "pxp_fsm/plugins/drug/retrosynthesis/precedents.py",
    "pxp_fsm/plugins/drug/retrosynthesis/templates.py",
    "pxp_fsm/plugins/machines/sources.py",  # the source of a class that was imported
    "pxp_fsm/registry.py",  # what packages are installed
    "pxp_fsm/tasks/prompts.py",
}
"""What reads whole files: those of our own, or that come with the package."""


def test_only_our_own_files_are_read_without_a_bound() -> None:
    reads = {
        path.relative_to(ROOT).as_posix()
        for package in ("pxp_fsm", "guards", "backends", "proofs")
        for path in (ROOT / package).rglob("*.py")
        for line in path.read_text("utf-8").splitlines()
        if WITHOUT_BOUND.search(line) and not INSTALLED.search(line)
    }
    assert reads == OURS
