"""A server with any number of experts and a quick machine, as a process that can be killed.

`python -m tests.web.expert_server DATABASE PORT EXPERTS CASES`: the experts are e1, e2, ...
"""

from __future__ import annotations

import sys
from contextlib import suppress

from backends.databases import SqlBlackboard
from pxp_fsm import web
from tests.web.experts import hosted_run

NAMES = ("sparrow", "trout", "dog", "bat")


def main(database: str, port: int, experts: int, cases: int) -> None:
    """Serve until the process is ended."""
    with SqlBlackboard(database) as board:
        names = ",".join(NAMES[:cases])
        runs = [
            hosted_run(board, f"e{number}", instances=names) for number in range(1, experts + 1)
        ]

        def ready(opening: web.OpenSite) -> None:
            for name, link in opening.links.items():
                print(f"{name or 'researcher'}: {link}")
            print("ready", flush=True)

        with suppress(KeyboardInterrupt):
            web.serve(web.expert_site(board, runs), port, ready)


if __name__ == "__main__":
    main(sys.argv[1], *map(int, sys.argv[2:]))
