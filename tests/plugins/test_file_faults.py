"""What is said of faulty files that plug-ins read, word by word; none reads without end."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from pxp_fsm.plugins.conformance.project_checks import checks_in
from pxp_fsm.plugins.conformance.pytest_plugin import pytest_collect_file
from pxp_fsm.plugins.conformance.trace_files import read_traces
from pxp_fsm.plugins.drug.pathways import read_materials
from pxp_fsm.plugins.drug.retrosynthesis.templates import load as load_templates
from pxp_fsm.plugins.easylan.experiments.developers import read_edits, read_lines
from pxp_fsm.plugins.easylan.experiments.setup import examples
from pxp_fsm.plugins.easylan.experiments.tasks import load_task
from pxp_fsm.plugins.easylan.model import files as networks
from pxp_fsm.plugins.easylan.running import serialization as runs
from pxp_fsm.plugins.easylan.running.requests import load_prompts
from pxp_fsm.plugins.easylan.studio import state
from pxp_fsm.plugins.gateway.policy import is_policy, load_policy
from pxp_fsm.plugins.integrations.inspect_logs import inspect_sessions
from pxp_fsm.plugins.integrations.spans import span_sessions
from pxp_fsm.plugins.scribble import protocols
from pxp_fsm.plugins.studies.files import load_study
from tests.file_faults import (
    ODD,
    FaultyFile,
    Loader,
    Reader,
    check_odd,
    faulty_files,
    what_is_said,
)

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


def policy(path: Path) -> None:
    assert not is_policy(path)
    load_policy(path)


def inspect_log(path: Path) -> None:
    if find_spec("inspect_ai") is None:
        pytest.skip("it needs Inspect")
    list(inspect_sessions(path, None))


def checks(path: Path) -> None:
    if not path.is_file():
        assert pytest_collect_file(path, None) is None  # type: ignore[arg-type] # it is not used
    list(checks_in(path))


READERS = {
    **{kind: Reader(load) for kind, load in LOADERS.items()},
    "examples": Reader(examples, "odd.jsonl", b'{"input": "'),
    "prompts of a network": Reader(load_prompts),
    "policy": Reader(policy),
    "spans": Reader(
        lambda path: list(span_sessions(path, None)), "odd.jsonl", b'{"a": "', silent=True
    ),
    "log of Inspect": Reader(inspect_log, "odd.json", b"{"),
    "traces": Reader(lambda path: list(read_traces([path])), "odd.jsonl", b'["'),
    "pyproject.toml": Reader(checks, "pyproject.toml", b"[tool.pxp]\n"),
    "global protocol": Reader(protocols.load, "odd.scr", b"global protocol"),
    "templates": Reader(load_templates),
    "materials": Reader(read_materials, "odd.csv", b"smiles\nC"),
}
"""Everything in plug-ins that reads files of people or of other programs."""


@pytest.mark.skipif(sys.platform != "linux", reason="limits memory, and reads /proc")
@pytest.mark.parametrize("kind", ODD)
@pytest.mark.parametrize("reader", READERS.values(), ids=READERS)
def test_an_odd_file_is_refused_at_once(reader: Reader, kind: str, tmp_path: Path) -> None:
    check_odd(reader, kind, tmp_path)
