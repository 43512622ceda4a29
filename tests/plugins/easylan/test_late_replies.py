"""The studio's page, whose requests, replies and news come late, in any order."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.plugins.easylan.studios import network_file
from tests.web.browsers import expect, opened, server
from tests.web.test_late_replies import LATE

pytestmark = pytest.mark.deep


def test_what_is_typed_meanwhile_is_not_lost_in_the_studio(browser: Any, tmp_path: Path) -> None:
    path = network_file(tmp_path)
    with (
        server("serve", str(path), cwd=tmp_path) as (address, _process),
        opened(browser, address, late=LATE) as page,
    ):
        field = page.locator("[data-region=examples] textarea").first
        field.fill("one")
        page.get_by_role("button", name="Note it").click()
        field.fill("two")
        page.locator(".example-list li", has_text="one").wait_for()
        page.get_by_role("button", name="Note it").click()
        page.locator(".example-list li", has_text="two").wait_for()
        expect(field).to_have_value("")
        field.fill("three")
        page.evaluate("sockets.at(-1).close()")
        page.get_by_text("The server has ended.").wait_for()
        field.fill("three and more")
        page.get_by_text("The server has ended.").wait_for(state="detached")
        expect(field).to_have_value("three and more")
