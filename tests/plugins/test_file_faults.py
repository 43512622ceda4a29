"""What is said of faulty files that plug-ins read, word by word; none reads without end."""

from __future__ import annotations

from pathlib import Path

import pytest

from pxp_fsm.errors import PXPError
from pxp_fsm.plugins.easylan.experiments.developers import read_edits, read_lines
from pxp_fsm.plugins.easylan.experiments.tasks import load_task
from pxp_fsm.plugins.easylan.model import files as networks
from pxp_fsm.plugins.easylan.running import serialization as runs
from pxp_fsm.plugins.easylan.studio import state
from pxp_fsm.plugins.studies.files import load_study
from tests.file_faults import FaultyFile, Loader, faulty_files, what_is_said

LOADERS: dict[str, Loader] = {
    "developer": lambda path: (read_lines(path), read_edits(path)),
    "network": networks.load,
    "network_log": networks.load,
    "notes": state.load_notes,
    "run": runs.load,
    "study": load_study,
    "task": load_task,
}


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
    with pytest.raises(PXPError, match=r"^/dev/zero: more than .* bytes; .* at most"):
        load(Path("/dev/zero"))
