"""Data of others that are not in the repository: beside it, or where `PXP_TEST_DATA` says."""

from __future__ import annotations

import os
from pathlib import Path

FOLDER = Path(os.environ.get("PXP_TEST_DATA") or Path(__file__).parents[2] / "shared" / "data")
