"""Options of `pxp conform`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from pxp_fsm.cli.options import common
from pxp_fsm.errors import UsageError
from pxp_fsm.lazy_dataclasses import dataclass
from pxp_fsm.options import option
from pxp_fsm.registry import load


@dataclass(frozen=True, kw_only=True)
class ConformOptions:
    """Test PROGRAM (its command line, such as 'python -m mine', or a URL) against TABLE.

    TABLE is a built-in automaton or a file; without it, interact. PROGRAM reads one JSON message
    per line and replies to each with one: pxp help conformance. A URL is sent each message by POST.
    A program that decides by itself what it sends is tested by uioco: it may do what the table
    allows. The test suite is complete: a program that passes it, and has at most the given number
    of extra states, conforms to the table. For a program that differs, the shortest failing
    sequence is printed.

    PROGRAM runs without a shell and without a sandbox. Exit code 1: it differs. Exit code 4: it did
    not reply in time, or did not reply the same twice.
    """

    program: str = option(argument=True)
    table: str = option("", "interact", argument=True, metavar="[TABLE]")
    extra: int = option(
        "The number of states that the program may have beyond those of the table; each "
        "multiplies the number of tests.",
        1,
        name="extra-states",
        least=0,
    )
    repetitions: int = option(
        "How often each input is repeated, for a program that decides by itself and does not "
        "always answer alike.",
        1,
        least=1,
    )
    timeout: float = option("The seconds allowed for each reply.", 5.0, metavar="S", above=0)
    reset: str = option(
        "How to reset the program: by a message, or by a restart.",
        "message",
        choices=("message", "restart"),
    )
    as_json: bool = common.as_json()
    output: Path | None = common.drawing("Draw the table with the path to the difference")


@dataclass(frozen=True, kw_only=True)
class TraceOptions:
    """Options by which `pxp import` learns a table from recordings."""

    traces: bool = option(
        "Learn a table from traces in PATH...: JSON lines (.jsonl), databases, logs of Inspect, "
        "OpenTelemetry spans (pxp help conformance).",
        False,
    )
    agent: str | None = option(
        "With --traces: the agent of recorded sessions whose table is learned.",
        None,
        metavar="NAME",
    )
    mapping: Path | None = common.mapping()

    def imported(self, paths: Sequence[Path], output: Path | None) -> Iterator[str] | None:
        """What was learned, a line each; None without --traces."""
        if not self.traces:
            for name in ("agent", "mapping"):
                if getattr(self, name) is not None:
                    raise UsageError("this requires --traces", name)
            return None
        learned: Iterator[str] = load("pxp_fsm.plugins.conformance.cli.imports:import_traces")(
            paths, self.agent, self.mapping, output
        )
        return learned
