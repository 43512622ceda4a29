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
        (BASE, "23e10a803444eaf1ccb7b7fcb7f1acf70bb940df85790ad0d4ab40f86dc8eb50"),
        (
            BASE + 'protocol = "pxp"\nk = "unbounded"\nseed = 7\norder = "sampled"\nmemo = false\n'
            "timeout = 9\n",
            "4535ad142f8d78e326003bd17b8169e2a550861c4e01e5e1450618ecf93520ae",
        ),
        (
            'format = 1\ntask = "rad"\nn = 4\nk = 2\nrepetitions = 5\ntimeout = 0.5\n'
            '[agents]\nhuman = "terminal"\nscope = "run"\nvotes = 3\n'
            '[learning]\nkeep = "better"\ngate = "context"\ncarry = false\n',
            "8eef803bc33aa687fd8d4bd587e0ffb85be21d0d143fb884f497c86a6422ad3b",
        ),
        (
            'format = 1\ntask = "drug"\nprotocol = "pxp"\n'
            '[agents]\nmachine = "openai:m"\njudge = "openai:j"\npreset = "B-drug"\n',
            # all bundled rows, of which two have changed: another experiment since then
            "ec181f60972880a1ea36d7d8ce43d350ad37a3746b01b268d444f5a37ea08f9c",
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
