"""Experiments of DRUG and RAD as files: what is known by its fingerprint stays so."""

from __future__ import annotations

from pathlib import Path

import pytest

from pxp_fsm.experiments import files
from tests.experiments.test_experiments import written

BASE = 'format = 1\ntask = "drug"\ninstances = 3\n'


@pytest.mark.parametrize(
    ("text", "fingerprint"),
    [
        (BASE, "96754b15339bac9cd3e59dd1a41e9b3188d207dd47a4c5d12e0fbbe1434fe895"),
        (
            BASE + 'protocol = "pxp"\nk = "unbounded"\nseed = 7\norder = "sampled"\nmemo = false\n'
            "timeout = 9\n",
            "be9ff155c98a3cadfc9b97a0e6ece22d19c0a93680c0bf2b192b1d5a1cc18107",
        ),
        (
            'format = 1\ntask = "rad"\nn = 4\nk = 2\nrepetitions = 5\ntimeout = 0.5\n'
            '[agents]\nhuman = "terminal"\nscope = "run"\nvotes = 3\n'
            '[learning]\nkeep = "better"\ngate = "context"\ncarry = false\n',
            "e89a90d862b8b3b2fd53b9e48d0dd16f38659768763f057d8c5c1d14239a8d19",
        ),
        (
            'format = 1\ntask = "drug"\nprotocol = "pxp"\n'
            '[agents]\nmachine = "openai:m"\njudge = "openai:j"\npreset = "B-drug"\n',
            # all bundled rows, of which two have changed: another experiment since then
            "91100a65f94fd66507d62d782c3c4efa86bdf3248d9a4910f280ab464de007e3",
        ),
    ],
)
def test_files_written_before_keep_their_fingerprints(
    text: str, fingerprint: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "__version__", "0.1.0")
    assert files.load(written(tmp_path, text)).fingerprint == fingerprint


EXAMPLES = Path(__file__).parents[3] / "examples"


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*controlled.toml")), ids=lambda p: p.name)
def test_the_examples_are_experiments(path: Path) -> None:
    assert files.load(path).plan.repetitions == 5
