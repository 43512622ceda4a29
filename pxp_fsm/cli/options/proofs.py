"""What the commands take that prove: `pxp check`, `language`, `odds`, `conform`."""

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

    One table is joined with itself, two with each other; more are a system, in which rows name
    their partners, and NAME=TABLE names a member. HOLDS is for all n and k, by a certificate;
    HOLDS UP TO is for the n and k explored. Some claims say that something fails:
    the verdict that is expected is success. Exit code 1 where a verdict is not the expected one, 4
    where one is unknown.
    """

    as_json: bool = common.as_json()
    junit: Path | None = option("JUnit XML too.", None, metavar="FILE", path="any")
    sarif: Path | None = option("SARIF too.", None, metavar="FILE", path="any")
    itf: Path | None = option(
        "Each trace as ITF JSON, into this folder.", None, metavar="DIR", path="folder"
    )
    certificates: Path | None = option(
        "Write the certificates of what is proved for all n and k into this folder.",
        None,
        metavar="DIR",
        path="folder",
    )


@dataclass(frozen=True, kw_only=True)
class Language:
    """Count, list, compare and draw the complete tag sequences of LANGUAGE.

    LANGUAGE is interact or pxp, with its own bounds and relations if need be
    (interact(4,2)/tolerance, interact(any,3), pxp(2)); published, the authors' code, of 5 rounds
    or so many (published(9)/noisy); a class (strong:human, two_way); the name of relations, beside
    a protocol; or a DATABASE (or the published code's tags.txt), for the sessions recorded in it.
    """

    what: str = option(argument=True, metavar="LANGUAGE")
    n: str | None = option(
        "INTERACT's bound on messages, or any.", None, metavar="N", default=str(defaults.N)
    )
    k: int | None = option(
        "INTERACT's k, or that of PXP(k).",
        None,
        metavar="K",
        default=f"{defaults.K}; PXP: none",
        least=1,
        most=1000,
    )
    relations: str | None = option(
        "What is assumed of MATCH and AGREE: equivalence, tolerance, noisy, 'without symmetric', "
        "deterministic+shared and the like.",
        None,
        metavar="NAME",
        default="each of the first three; else noisy",
    )
    classes: tuple[str, ...] = option("The same as --and CLASS.", (), name="class", metavar="CLASS")
    within: tuple[str, ...] = option("Only what is in it too.", (), name="and", metavar="LANGUAGE")
    minus: tuple[str, ...] = option("Without what is in it.", (), metavar="LANGUAGE")
    compare: str | None = option(
        "Whether one includes the other, with shortest witnesses.", None, metavar="LANGUAGE"
    )
    limit: int | None = option(
        "Print the first N sequences, the shortest first, in place of counts.",
        None,
        name="list",
        least=1,
        most=100_000,
    )
    run: str | None = option("Of a DATABASE: this run alone.", None, metavar="RUN")
    draw: Path | None = common.drawing("The minimal automaton as a drawing")
    as_json: bool = common.as_json()


@dataclass(frozen=True, kw_only=True)
class Odds:
    """The odds of a session of PROTOCOL: its classes, its ends, its length.

    At each message an agent finds category A, B, C or D, and revises, with the probabilities given,
    whatever went before. Numbers such as 2/5 and 0.4 are exact; what is left out is 0.
    """

    protocol: str = option(argument=True)
    machine: tuple[str, ...] = option(
        "What the initiator does; RATIFY:A=1 is what it does in answer to RATIFY. Repeatable.",
        (),
        metavar="A=P,B=P,C=P,D=P,revise=P",
    )
    human: tuple[str, ...] = option("The same of the responder. Repeatable.", (), metavar="A=P,...")
    source: tuple[str, str] | None = option(
        "Estimate both from a run, and test how well that explains it.",
        None,
        name="from",
        metavar="DATABASE RUN",
    )
    by_tag: bool = option("With --from: what agents do may depend on the tag they answer.", False)
    published: str | None = option(
        "What explains a published column best, such as 'RAD 2025'; nothing else is printed.",
        None,
        metavar="TITLE|all",
    )
    n: str | None = option("The most messages.", None, metavar="N|inf", default=str(defaults.N))
    k: int | None = option(
        "REJECT is allowed after message k.", None, metavar="K", default=str(defaults.K)
    )
    exactly: bool | None = option("Rationals, or floats.", None, name="exact/--float")
    free: str | None = option(
        "Leave a parameter open, such as human.A.", None, metavar="AGENT.NAME"
    )
    targets: tuple[str, ...] = option(
        "Where the free parameter makes an outcome as probable as that. Repeatable.",
        (),
        name="target",
        metavar="OUTCOME=P",
    )
    sensitivities: bool = option("How strongly each result depends on each parameter.", False)
    lengths: bool = option("How probable each length is.", False)
    seed: int = common.seed("Of what is drawn.")
    prism: Path | None = option("Write the chain in the PRISM language, for Storm or PRISM.", None)
    as_json: bool = common.as_json("Everything as JSON on standard output.")


@dataclass(frozen=True, kw_only=True)
class Conform:
    """Test PROGRAM (its command line, such as 'python -m mine') against a table.

    It reads one JSON message per line and answers each with one (docs/conformance.md). The tests
    are complete: a program of at most so many states that passes them does what the table says,
    always. Of one that differs the shortest sequence that shows it is printed.

    PROGRAM is run as it is, without a shell and without protection from it. Exit code 1 where it
    differs, 4 where it says nothing in time or not the same twice.
    """

    program: str = option(argument=True)
    table: str = option(
        "A built-in automaton, or the file of a table.", "interact", metavar="TABLE"
    )
    extra: int = option(
        "How many states more than the table the program may have; each multiplies the tests.",
        1,
        name="extra-states",
        least=0,
    )
    timeout: float = option(
        "Seconds in which each line is to be answered.", 5.0, metavar="S", above=0
    )
    reset: str = option(
        "Whether the program is told to start anew, or started anew.",
        "message",
        choices=("message", "restart"),
    )
    as_json: bool = common.as_json("The result as JSON on standard output.")
    draw: Path | None = common.drawing("Draw the table with the way to the difference")
