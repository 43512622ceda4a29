"""What walks through the studio in a browser do again and again."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pxp_fsm.plugins.easylan.lan import Lan
from pxp_fsm.plugins.easylan.model.network import LanAgent, Network
from tests.web.browsers import PATIENCE, server


@contextmanager
def served(path: Path, *arguments: str) -> Iterator[str]:
    """The address of the studio of the network in a file."""
    with server("serve", str(path), *arguments, cwd=path.parent) as (address, _process):
        yield address


def wait(page: Any, text: str) -> None:
    page.wait_for_function("text => document.body.innerText.includes(text)", arg=text)


def wait_until(page: Any, path: Path, holds: Any) -> Network:
    """The network in a file, once something holds of it and the page shows that version."""
    network = until_file(page, path, holds)
    wait(page, f"Log: version {Lan.load(path).version}")
    return network


def until_file(page: Any, path: Path, holds: Callable[[Network], bool]) -> Network:
    """The network in a file, once something holds of it."""
    until(page, lambda: holds(Lan.load(path).network))
    return Lan.load(path).network


def until(page: Any, holds: Callable[[], bool]) -> None:
    """Wait until something holds that the page does not show."""
    ends = time.monotonic() + PATIENCE / 1000
    while not holds():
        assert time.monotonic() < ends, "it did not come to that"
        page.wait_for_timeout(50)


def middle(page: Any, name: str) -> tuple[float, float]:
    box = page.locator(f'[data-agent="{name}"] ellipse').bounding_box()
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def drag(page: Any, name: str, to: tuple[float, float]) -> None:
    page.mouse.move(*middle(page, name))
    page.mouse.down()
    page.mouse.move(*[(a + b) / 2 for a, b in zip(middle(page, name), to, strict=True)])
    page.mouse.move(*to)
    page.mouse.up()


def button(page: Any, name: str, exact: bool = True) -> Any:
    return page.get_by_role("button", name=name, exact=exact)


def agents(*names: str, edges: Iterable[tuple[str, str]] = ()) -> Network:
    found = tuple(LanAgent(name, f"do {name}", "text") for name in names)
    return Network("a task", found, frozenset(edges))
