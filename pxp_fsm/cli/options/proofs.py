"""Options of the commands that verify: `pxp check`, `language`, `odds`, `conform`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from pxp_fsm import defaults
from pxp_fsm.analysis.requests import Request
from pxp_fsm.cli.options import common
from pxp_fsm.options import option


@dataclass(frozen=True, kw_only=True)
class Check(Request):
    """Check TABLEs: interact and pxp with every claim about them, or tables of your own.

    One table is joined with itself, two tables with each other. More tables form a system in which
    rows name their partners; NAME=TABLE names a member. HOLDS means for all n and k, with a
    certificate; HOLDS UP TO means for the n and k that were explored. Some claims state that a
    property fails: such a failure is the expected verdict. Exit code 1: a verdict is not the
    expected one. Exit code 4: a verdict is unknown.
    """

    as_json: bool = common.as_json()
    junit: Path | None = option("Also write JUnit XML.", None, metavar="FILE", path="any")
    sarif: Path | None = option("Also write SARIF.", None, metavar="FILE", path="any")
    itf: Path | None = option(
        "Write each trace as ITF JSON into this folder.", None, metavar="DIR", path="folder"
    )


@dataclass(frozen=True, kw_only=True)
class Language:
    """Count, list, compare and draw the complete tag sequences of LANGUAGE.

    LANGUAGE is one of: interact or pxp, optionally with bounds and relations
    (interact(4,2)/tolerance, interact(any,3), pxp(2)); published, the authors' code, with 5 rounds
    or the number given (published(9)/noisy); a class (strong:human, two_way); the name of
    relations, next to a protocol; a DATABASE (or the published code's tags.txt), for the sessions
    recorded in it.
    """

    what: str = option(argument=True, metavar="LANGUAGE")
    n: str | None = option(
        "The bound n of INTERACT, or any.", None, metavar="N", default=str(defaults.N)
    )
    k: int | None = option(
        "The bound k of INTERACT or PXP(k).",
        None,
        metavar="K",
        default=f"{defaults.K}; PXP: none",
        least=1,
        most=1000,
    )
    relations: str | None = option(
        "The assumptions on MATCH and AGREE: equivalence, tolerance, noisy, 'without symmetric', "
        "deterministic+shared, …",
        None,
        metavar="NAME",
        default="each of the first three, or noisy",
    )
    classes: tuple[str, ...] = option(
        "Keep only the sequences of this class; the same as --and CLASS.",
        (),
        name="class",
        metavar="CLASS",
    )
    within: tuple[str, ...] = option(
        "Intersect with this language; repeatable.", (), name="and", metavar="LANGUAGE"
    )
    minus: tuple[str, ...] = option("Subtract this language; repeatable.", (), metavar="LANGUAGE")
    compare: str | None = option(
        "Report whether one language includes the other, with shortest witnesses.",
        None,
        metavar="LANGUAGE",
    )
    limit: int | None = option(
        "Print the first N sequences, the shortest first, instead of counts.",
        None,
        name="list",
        least=1,
        most=100_000,
    )
    run: str | None = option("Use only this run of DATABASE.", None, metavar="RUN")
    draw: Path | None = common.drawing("Draw the minimal automaton")
    as_json: bool = common.as_json()


@dataclass(frozen=True, kw_only=True)
class Odds:
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
    sensitivities: bool = option("Print how strongly each result depends on each parameter.", False)
    lengths: bool = option("Print the probability of each length.", False)
    seed: int = common.seed("The seed of the random samples.")
    prism: Path | None = option("Write the chain in the PRISM language, for Storm or PRISM.", None)
    as_json: bool = common.as_json()


@dataclass(frozen=True, kw_only=True)
class Conform:
    """Test PROGRAM (its command line, such as 'python -m mine', or a URL) against a table.

    PROGRAM reads one JSON message per line and replies to each with one: pxp help conformance. A
    URL is sent each message by POST. A program that decides by itself what it sends is tested by
    uioco: it may do what the table allows. The test suite is complete: a program that passes it,
    and has at most the given number of extra states, conforms to the table. For a program that
    differs, the shortest failing sequence is printed.

    PROGRAM runs without a shell and without a sandbox. Exit code 1: it differs. Exit code 4: it did
    not reply in time, or did not reply the same twice.
    """

    program: str = option(argument=True)
    table: str = option("A built-in automaton, or a table file.", "interact", metavar="TABLE")
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
    draw: Path | None = common.drawing("Draw the table with the path to the difference")
