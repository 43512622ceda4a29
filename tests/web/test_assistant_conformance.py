"""The protocol's own conformance suite against our server of assistants, both revisions.

The server is that of `pxp serve --mcp`, mounted as the command mounts it, with a few tools and a
resource of the suite's own names beside ours (`conformance_server`).
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.web import conformance

pytestmark = pytest.mark.deep


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A server of the suite's tools and ours."""
    conformance.node()
    folder = str(tmp_path_factory.mktemp("conformance"))
    with conformance.printing("tests.web.conformance_server", folder) as found:
        yield found


@pytest.mark.parametrize("revision", conformance.PASSED)
def test_the_suite_finds_what_is_offered(revision: str, address: str, tmp_path: Path) -> None:
    conformance.require_conformance(address, revision, tmp_path)
