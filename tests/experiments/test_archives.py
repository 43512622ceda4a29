"""Archives for a paper's supplement: the same bytes, checked, refused where they are hostile."""

from __future__ import annotations

import hashlib
import json
import stat
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
)

from backends.databases import SqlBlackboard, transfer
from pxp_fsm.errors import DataError, UsageError
from pxp_fsm.experiments import archives, runs
from pxp_fsm.experiments.archives import MANIFEST, check_archive, write_archive
from pxp_fsm.experiments.plans import Plan
from tests.command_line import pxp

Files = dict[str, bytes]


@pytest.fixture(scope="module")
def packed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a database of one run, and its archive."""
    folder = tmp_path_factory.mktemp("packed")
    with SqlBlackboard(str(folder / "b.sqlite")) as board:
        runs.run(Plan("animals", instances="2"), board)
        write_archive(board, ["animals-1"], folder / "a.zip")
    return folder


def files_of(path: Path) -> Files:
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def written(path: Path, files: Files, *, listed: bool = False) -> Path:
    """An archive of other files; `listed` says that the manifest tells of them as they are."""
    if listed:
        manifest = json.loads(files[MANIFEST])
        manifest["files"] = {
            name: {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
            for name, content in files.items()
            if name != MANIFEST
        }
        files = {**files, MANIFEST: json.dumps(manifest).encode()}
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return path


@pytest.mark.deep
def test_what_was_written_passes_and_has_all_that_a_supplement_needs(packed: Path) -> None:
    checked = check_archive(packed / "a.zip")
    assert not checked.problems
    assert not checked.unknown
    assert any("Table 1 counted again" in line for line in checked.found)
    assert any("certificate accepted" in line for line in checked.found)
    files = files_of(packed / "a.zip")
    own = {"sessions.jsonl", "plan.json", "table1.csv", "automaton.toml", "certificate.json"}
    assert {f"runs/animals-1/{name}" for name in (*own, "data.json")} <= set(files)
    assert {
        "report/report.html",
        "report/report-table1.tex",
        "report/figures/animals-1-curves.pdf",
    } <= (set(files))
    manifest = json.loads(files[MANIFEST])
    assert {"python", "pxp-fsm", "transitions", "rdkit"} <= set(manifest["versions"])
    assert str(packed).encode() not in b"".join(files.values())


@pytest.mark.deep
def test_the_same_run_gives_the_same_bytes_wherever_its_database_is(
    packed: Path, tmp_path: Path
) -> None:
    with SqlBlackboard(str(packed / "b.sqlite"), create=False) as board:
        rows = list(transfer.export_rows(board.engine, "animals-1"))
    with SqlBlackboard(str(tmp_path / "other.sqlite")) as board:
        transfer.import_rows(board.engine, iter(rows), "rows")
        write_archive(board, ["animals-1"], tmp_path / "b.zip")
    assert (tmp_path / "b.zip").read_bytes() == (packed / "a.zip").read_bytes()


def edited(name: str, change: Callable[[bytes], bytes]) -> Callable[[Files], Files]:
    return lambda files: {**files, name: change(files[name])}


RUN = "runs/animals-1"


@pytest.mark.deep
@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (edited(f"{RUN}/table1.csv", lambda raw: raw.replace(b"2", b"3", 1)), "come to"),
        (edited(f"{RUN}/plan.json", lambda raw: raw.replace(b'"seed": 0', b'"seed": 1')), "plan"),
        (edited(f"{RUN}/sessions.jsonl", lambda raw: raw.replace(b"RATIFY", b"REFUTE", 1)), "run"),
        (edited(f"{RUN}/certificate.json", lambda raw: raw.replace(b"0", b"1", 9)), "certificate"),
        (edited(MANIFEST, lambda raw: raw.replace(b'"messages": ', b'"messages": 1')), "messages"),
        (edited(f"{RUN}/sessions.jsonl", lambda _raw: b""), "run animals-1"),
        (
            lambda files: {k: v for k, v in files.items() if "sessions.jsonl" not in k},
            "run animals-1",
        ),
    ],
)
def test_what_was_changed_is_found_though_the_manifest_was_made_to_fit(
    packed: Path, tmp_path: Path, change: Callable[[Files], Files], problem: str
) -> None:
    path = written(tmp_path / "a.zip", change(files_of(packed / "a.zip")), listed=True)
    found = check_archive(path).problems
    assert found
    assert problem in f"{found[0].where}: {found[0].what}"


@pytest.mark.deep
def test_a_file_that_is_other_missing_or_more_than_listed_is_named(
    packed: Path, tmp_path: Path
) -> None:
    files = files_of(packed / "a.zip")
    other = {name: content for name, content in files.items() if name != "README.txt"}
    other |= {"more.txt": b"", f"{RUN}/plan.json": b"{}"}
    checked = check_archive(written(tmp_path / "a.zip", other))
    assert {problem.where: problem.what for problem in checked.problems} == {
        "README.txt": "it is listed, and is not there",
        "more.txt": "it is there, and is not listed",
        f"{RUN}/plan.json": "it is not what is listed",
    }


@pytest.mark.parametrize(
    "name",
    ["../evil", "/etc/passwd", "a/../../b", "a\\b", "C:/x", ".hidden", "a//b", "a/b/c/d/e", "a\nb"],
)
def test_a_path_that_could_lead_out_of_an_archive_is_refused(tmp_path: Path, name: str) -> None:
    before = sorted(tmp_path.iterdir())
    path = written(tmp_path / "a.zip", {name: b"x", MANIFEST: b"{}"})
    with pytest.raises(DataError, match="no path of an archive"):
        check_archive(path)
    assert sorted(tmp_path.iterdir()) == [*before, path]


def test_links_doubles_and_bombs_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w") as archive:
        link = zipfile.ZipInfo("link")
        link.create_system, link.external_attr = 3, (stat.S_IFLNK | 0o777) << 16
        archive.writestr(link, "/etc/passwd")
    with pytest.raises(DataError, match="no plain file"):
        check_archive(path)
    written(path, {MANIFEST: b"{}", "A.txt": b"", "a.TXT": b""})
    with pytest.raises(DataError, match="twice"):
        check_archive(path)
    monkeypatch.setattr(archives, "_MOST_BYTES", 2**20)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("zeros", bytes(2**20 + 1))
    with pytest.raises(DataError, match="more than"):
        check_archive(path)


@pytest.mark.deep
def test_what_is_no_archive_is_refused(packed: Path, tmp_path: Path) -> None:
    path = tmp_path / "a.zip"
    for content in (b"", b"PK\x03\x04nonsense", (packed / "a.zip").read_bytes()[:5000]):
        path.write_bytes(content)
        with pytest.raises(DataError, match="not a ZIP file"):
            check_archive(path)
    raw = bytearray((packed / "a.zip").read_bytes())
    raw[200] ^= 255
    path.write_bytes(bytes(raw))
    with pytest.raises(DataError):
        check_archive(path)
    with pytest.raises(DataError, match="cannot be read"):
        check_archive(tmp_path / "nowhere.zip")


@pytest.mark.parametrize(
    "manifest",
    [
        b"",
        b"[]",
        b"{}",
        b'{"format": "pxp-fsm archive 2"}',
        b'{"format": "pxp-fsm archive 1", "files": [], "runs": [], "versions": {}}',
        b'{"format": "pxp-fsm archive 1", "files": {}, "runs": [{"run": 1}], "versions": {}}',
        b'{"format": "pxp-fsm archive 1", "files": {"a": 1}, "runs": [], "versions": {}}',
        b"[" * 100_000,
    ],
)
def test_a_manifest_of_another_form_is_refused(tmp_path: Path, manifest: bytes) -> None:
    path = written(tmp_path / "a.zip", {MANIFEST: manifest})
    with pytest.raises(DataError, match=r"manifest\.json"):
        check_archive(path)


@pytest.mark.deep
def test_an_anchor_is_packed_and_compared_with_the_signers_own_key(
    packed: Path, tmp_path: Path
) -> None:
    for name in ("mine", "other"):
        key = Ed25519PrivateKey.generate()
        secret = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
        (tmp_path / f"{name}.pem").write_bytes(secret)
        public = key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
        (tmp_path / f"{name}.pub").write_bytes(public)
    for words in (
        ("run", "animals", "--instances", "1", "--output", "."),
        ("verify", "blackboard.sqlite", "--anchor", "anchor.jsonl", "--sign", "mine.pem"),
    ):
        begun = pxp(*words, cwd=tmp_path)
        assert begun.returncode == 0, begun.stderr
    asked = (
        "export",
        "animals-1",
        "--format",
        "zip",
        "--database",
        "blackboard.sqlite",
        "--anchor",
        "anchor.jsonl",
    )
    wrong = pxp(*asked, "--key", "other.pub", cwd=tmp_path)
    assert wrong.returncode == 2
    assert "not signed with this key" in wrong.stderr
    assert pxp(*asked, cwd=tmp_path).returncode == 2
    assert pxp(*asked, "--key", "mine.pub", cwd=tmp_path).returncode == 0
    alone = pxp("verify", "animals-1.zip", cwd=tmp_path)
    assert alone.returncode == 0
    assert "signed by the key in the archive" in alone.stdout
    mine = pxp("verify", "animals-1.zip", "--key", "mine.pub", cwd=tmp_path)
    assert "anchor compared by mine.pub" in mine.stdout
    forged = pxp("verify", "animals-1.zip", "--key", "other.pub", cwd=tmp_path)
    assert forged.returncode == 1
    assert "Changed: anchor" in forged.stdout


@pytest.mark.deep
def test_what_cannot_be_archived_is_refused_and_nothing_is_overwritten(
    packed: Path, tmp_path: Path
) -> None:
    with (
        SqlBlackboard(str(packed / "b.sqlite"), create=False) as board,
        pytest.raises(UsageError, match=r"must end in \.zip"),
    ):
        write_archive(board, ["animals-1"], tmp_path / "a.tar")
    taken = tmp_path / "taken.zip"
    taken.write_text("mine")
    where = ("--database", str(packed / "b.sqlite"))
    refused = pxp("export", "animals-1", "-o", "taken.zip", *where, cwd=tmp_path)
    assert refused.returncode == 2
    assert "already exists" in refused.stderr
    assert taken.read_text() == "mine"
    unknown = pxp("export", "animals-9", "--format", "zip", *where, cwd=tmp_path)
    assert "no run 'animals-9'" in unknown.stderr
    assert unknown.returncode == 2


@pytest.mark.deep
def test_an_archive_is_listed_by_an_erasure(packed: Path, tmp_path: Path) -> None:
    (tmp_path / "b.sqlite").write_bytes((packed / "b.sqlite").read_bytes())
    where = ("--database", "b.sqlite")
    assert pxp("export", "animals-1", "-o", "given.zip", *where, cwd=tmp_path).returncode == 0
    erased = pxp("erase", "animals-1/1/1", "--yes", *where, cwd=tmp_path)
    digest = hashlib.sha256((tmp_path / "given.zip").read_bytes()).hexdigest()
    assert "Given out before: animals-1: archive given.zip, " in erased.stdout
    assert f"SHA-256 {digest[:12]}" in erased.stdout
