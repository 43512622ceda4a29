"""An experiment about findings against an independent server: what it plays is told of pictures."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.experiments.test_run_recordings import (
    others,
    pxp,
    run_against_others,
)

__all__ = ["others", "pxp"]

pytestmark = pytest.mark.deep


@pytest.mark.parametrize("kind", ["openai", "anthropic"])
def test_a_whole_experiment_about_findings(
    kind: str, others: Callable[[str], str], pxp: Callable[..., str]
) -> None:
    run_against_others("rad", kind, others, pxp)
