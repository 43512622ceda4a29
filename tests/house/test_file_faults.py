"""What is said of faulty files, word by word; and no reader reads without end."""

from __future__ import annotations

from pathlib import Path

import pytest

from pxp_fsm.errors import PXPError
from tests.file_faults import LOADERS, FaultyFile, Loader, faulty_files, what_is_said


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


@pytest.mark.parametrize("load", LOADERS.values(), ids=LOADERS)
def test_a_file_without_end_is_refused(load: Loader) -> None:
    with pytest.raises(PXPError, match=r"^/dev/zero: more than 1,000,000 bytes; .* has at most"):
        load(Path("/dev/zero"))
