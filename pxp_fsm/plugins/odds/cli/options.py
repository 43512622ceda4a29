"""Options of `pxp odds`."""

from __future__ import annotations

from pathlib import Path

from pxp_fsm import defaults
from pxp_fsm.cli.options import common
from pxp_fsm.lazy_dataclasses import dataclass
from pxp_fsm.options import option


@dataclass(frozen=True, kw_only=True)
class OddsOptions:
    """Compute the probabilities of a session of PROTOCOL: its class, its ending, its length.

    At each message an agent finds category A, B, C or D, and revises, with the given probabilities,
    independently of earlier messages. Numbers such as 2/5 and 0.4 are exact; omitted ones are 0.
    Without any, categories are equally probable, and an agent revises half of the time.
    """

    protocol: str = option(argument=True)
    machine: tuple[str, ...] = option(
        "The behaviour of the initiator; RATIFY:A=1 is its behaviour in reply to RATIFY; "
        "repeatable.",
        (),
        metavar="A=P,B=P,C=P,D=P,revise=P",
    )
    human: tuple[str, ...] = option(
        "The behaviour of the responder; repeatable.", (), metavar="A=P,..."
    )
    source: tuple[str, str] | None = option(
        "Estimate both behaviours from a run, and test how well they fit it.",
        None,
        name="from",
        metavar="DATABASE RUN",
    )
    by_tag: bool = option(
        "With --from: let an agent's behaviour depend on the tag it replies to.", False
    )
    published: str | None = option(
        "Print only the best fit to a published column, such as 'RAD 2025'.",
        None,
        metavar="TITLE|all",
    )
    n: str | None = option(
        "The bound n on messages.", None, metavar="N|inf", default=str(defaults.N)
    )
    k: int | None = option(
        "REJECT is allowed after message k.", None, metavar="K", default=str(defaults.K)
    )
    exactly: bool | None = option(
        "Compute with rationals, or with floats.", None, name="exact/--float"
    )
    free: str | None = option(
        "The parameter to solve for, such as human.A.", None, metavar="AGENT.NAME"
    )
    targets: tuple[str, ...] = option(
        "Find the values of the free parameter that give OUTCOME this probability; repeatable.",
        (),
        name="target",
        metavar="OUTCOME=P",
    )
    also: tuple[str, ...] = option(
        "Also print the probability of each length, or how strongly each result depends on each "
        "parameter; repeatable.",
        (),
        choices=("lengths", "sensitivities"),
    )
    seed: int = common.seed("The seed of the random samples.")
    output: Path | None = option(
        "Write the chain in the PRISM language, for Storm or PRISM.", None, short="-o"
    )
    as_json: bool = common.as_json()
