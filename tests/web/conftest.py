"""The browser of a file of tests: sync Playwright has a loop in its thread, so each has one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.web.browsers import chromium, require_browser


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    require_browser()
    with chromium() as found:
        yield found
