"""Quick acts in the studio: each is done to what came of the one before."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pxp_fsm.plugins.easylan.lan import Lan
from tests.plugins.easylan.studio_walks import agents, served, until, until_file
from tests.plugins.easylan.studios import network_file
from tests.web.browsers import opened

pytestmark = pytest.mark.deep


def test_quick_acts_are_done_in_turn_though_news_come_late(browser: Any, tmp_path: Path) -> None:
    path = network_file(tmp_path, agents("One", "Two", edges={("One", "Two")}))
    with served(path) as address, opened(browser, address) as page:
        news = list[Any]()
        late = list[Any]()

        def keep(one: Any) -> None:
            news.append(one)

        def hold(pages: Any) -> None:
            late.append(pages)
            pages.connect_to_server().on_message(keep)

        def deliver_until(holds: Callable[[], bool]) -> None:
            def delivered() -> bool:
                while news:
                    late[-1].send(news.pop(0))
                return holds()

            until(page, delivered)

        page.route_web_socket("**/api/events", hold)
        page.reload(wait_until="commit")
        edge = page.locator(".edge")
        deliver_until(lambda: edge.count() == 1)
        edge.focus()
        page.keyboard.press("Enter")
        page.get_by_label("required", exact=True).click()
        until_file(page, path, lambda lan: lan.agent("Two").control.required == ("One",))
        edge.focus()
        page.keyboard.press("Delete")
        page.locator('[data-agent="Two"]').click()
        page.keyboard.press("Delete")
        page.wait_for_timeout(100)
        assert Lan.load(path).network.edges, "it was done before the page showed the act before it"
        deliver_until(lambda: Lan.load(path).network.names == ("One",))
