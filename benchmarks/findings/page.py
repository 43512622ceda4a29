"""The page `docs/findings.md` and its pictures, written from a run of every check.

`python -m findings.page [FOLDER]` (or `make findings`) writes them anew; a test
holds the page in the repository to what the run gives.
"""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from string import Template

from findings import languages
from proofs.check import answer
from proofs.claims.catalogue import CLAIMS, Claim
from proofs.claims.checking import Bounds, ClaimChecker
from proofs.core.explore import Trace, explore
from proofs.core.properties import longest_run
from proofs.core.results import Result, Status, Verdict
from proofs.requests import Request
from proofs.sessions.model import AGENTS, SessionModel, SessionState, tag_of
from proofs.sessions.relational import Theory
from proofs.sessions.replay import replay
from pxp_fsm.analysis.counterexamples import bounds_of, chart
from pxp_fsm.diagrams import Diagram, sequence_chart, write
from pxp_fsm.plugins.easylan import proofs as networks
from pxp_fsm.plugins.easylan.decisions import AGENT, PIPELINE
from pxp_fsm.plugins.easylan.proofs import Pipeline
from pxp_fsm.protocol.relations import EQUIVALENCE, Assumption
from pxp_fsm.protocol.rules import Pxp

_NETWORKS_TEMPLATE = Path(__file__).with_name("networks_page.md")


def section() -> str:
    """The section as Markdown."""
    results = [result for table in (AGENT, PIPELINE) for result in networks.checked(table)]
    agent, pipeline = (explore(model) for model in networks.models().values())
    words = {
        "claims": str(_network_claims(results)),
        "race": _told(_network_without(results, "no-stale-commit").verdict),
        "loop": _told(_generous()),
        "agent_size": f"{agent.states} states and {agent.transitions} transitions",
        "pipeline_size": f"{pipeline.states} states and {pipeline.transitions} transitions",
        "bounds": f"{networks.BOUNDS.iterations} iterations and {networks.BOUNDS.retries} retries",
    }
    return Template(_NETWORKS_TEMPLATE.read_text("utf-8")).substitute(words)


def _generous() -> Verdict:
    """What happens where agreement gives retries back, and no proposal has a hole."""
    model = networks.models()[PIPELINE]
    if not isinstance(model, Pipeline):
        raise AssertionError("the pipeline's model is one")
    generous = replace(model, count=networks.resets_on_agreement, assumed=frozenset({"complete"}))
    claim = next(stated for stated in networks.CLAIMS if stated.name == "unattended-ends")
    return networks.check(claim, generous).verdict


def _network_without(results: list[Result], name: str) -> Result:
    return next(
        result for result in results if result.expected is Status.FAILS and result.name == name
    )


def _network_claims(results: list[Result]) -> int:
    """How many claims there are, each of which holds for all bounds and fails without its guard."""
    for built, changed in zip(results[::2], results[1::2], strict=True):
        if (built.verdict.detail, changed.verdict.status) != ("for all bounds", Status.FAILS):
            raise AssertionError(f"the page says otherwise of {built.name}")
    return len(results) // 2


def _told(verdict: Verdict) -> str:
    """The trace, as the labels of its rows; what repeats for ever is said."""
    trace = verdict.trace
    if trace is None:
        return verdict.detail
    labels = [networks.label_of(step) for step in trace.steps]
    if not verdict.cycle:
        return ", ".join(labels)
    return f"{', '.join(labels)} … (the last {verdict.cycle} for ever)"


PAGE = "findings.md"
PICTURES = "pictures/findings"

_TEMPLATE = Path(__file__).with_name("page.md")
_DRAWN = {
    "ends-agreed": ("interact.ends-agreed", "equivalence"),
    "never-ultra": ("interact.never-ultra", "noisy"),
    "refuted-never": ("interact.refuted-never", "tolerance"),
    "pxp-terminates": ("pxp.terminates", "equivalence"),
    "no-alternation": ("pxp(k).no-alternation", "noisy"),
}
"""The counterexamples that are drawn: file name, claim, assumptions."""


@dataclass(frozen=True)
class Findings:
    """The page as text, and its pictures by file name."""

    page: str
    pictures: Mapping[str, Diagram]

    def write(self, folder: Path) -> None:
        """Write page and pictures into `folder`."""
        (folder / PICTURES).mkdir(parents=True, exist_ok=True)
        (folder / PAGE).write_text(self.page, "utf-8")
        for name, diagram in self.pictures.items():
            write(diagram, folder / PICTURES / f"{name}.svg")


def find() -> Findings:
    """Check everything and tell what came of it."""
    lines = tuple(answer(Request()))
    words = {
        "claims": "\n".join(_claims(lines)),
        "unconditional": "\n".join(_unconditional(lines)),
        **languages.words(),
        "longest": _longest_lengths(),
        "longest_tags": ", ".join(map(tag_of, _longest(1).steps)),
        "verdicts": str(len(lines)),
        "unexpected": str(sum(not line.as_expected for line in lines)),
    }
    drawn = {name: _line(lines, *claim) for name, claim in _DRAWN.items()}
    for name, line in drawn.items():
        words[name.replace("-", "_")] = _shown(line)
        words[f"{name.replace('-', '_')}_bounds"] = bounds_of(_model(line))
    filled = Template(_TEMPLATE.read_text("utf-8")).substitute(words)
    page = _filled(f"{filled.strip()}\n\n{section().strip()}")
    return Findings(page, dict(_pictures(drawn)))


def _filled(page: str) -> str:
    """`page` with its paragraphs filled anew; tables, lists, headings and pictures stay."""
    blocks = (
        block
        if block.startswith(("|", "#", "-", "!"))
        else textwrap.fill(block, 100, break_long_words=False, break_on_hyphens=False)
        for block in page.strip().split("\n\n")
    )
    return "\n\n".join(blocks) + "\n"


def _line(lines: Iterable[Result], claim: str, assumed: str) -> Result:
    return next(
        line
        for line in lines
        if (f"{line.subject}.{line.name}", line.assumptions) == (claim, assumed)
    )


def _shown(line: Result) -> str:
    trace = line.verdict.trace
    if trace is None:
        return line.verdict.detail
    tags = list(map(tag_of, trace.steps))
    if line.verdict.cycle:
        return f"{', '.join(tags)} … (the last {line.verdict.cycle} for ever)"
    return ", ".join(tags)


def _claims(lines: Iterable[Result]) -> Iterator[str]:
    """One row per claim with assumptions: where it holds, and how far."""
    yield "| claim | name | holds for | how far |"
    yield "|---|---|---|---|"
    for claim, own in _shown_claims(lines):
        if frozenset() not in claim.suffices:
            yield f"| {claim.title} | `{claim.id}` | {_where(claim)} | {_how_far(claim, own)} |"


def _unconditional(lines: Iterable[Result]) -> Iterator[str]:
    """One item per extent: the claims that hold for any relations, by name."""
    names: dict[str, list[str]] = {}
    for claim, own in _shown_claims(lines):
        if frozenset() in claim.suffices:
            names.setdefault(_how_far(claim, own), []).append(f"`{claim.id}`")
    for extent, ids in names.items():
        yield f"- {extent}: {', '.join(ids)}."


def _shown_claims(lines: Iterable[Result]) -> Iterator[tuple[Claim, Mapping[str, Result]]]:
    """The claims that the page has, each with its results by assumptions."""
    results = list(lines)
    for claim in CLAIMS:
        if claim.name.startswith("sequences") or (
            claim.protocol == "pxp(k)" and claim.name.startswith("replies")
        ):
            continue
        yield (
            claim,
            {
                line.assumptions: line
                for line in results
                if (line.subject, line.name) == (claim.protocol, claim.name)
            },
        )


def _where(claim: Claim) -> str:
    if not claim.suffices:
        return "**fails**, even for equivalence"
    sets = [", ".join(a.value for a in Assumption if a in assumed) for assumed in claim.suffices]
    return "; or ".join(sets)


def _how_far(claim: Claim, own: Mapping[str, Result]) -> str:
    """The least that was established where it holds, and for more assumptions."""
    statuses = {
        name: line.verdict for name, line in own.items() if line.verdict.status is not Status.FAILS
    }
    for_all = [n for n, verdict in statuses.items() if verdict.status is Status.HOLDS]
    bounded = [n for n, verdict in statuses.items() if verdict.status is Status.HOLDS_UP_TO]
    if not statuses:
        return "–"
    everywhere = {"interact": "all n and k", "pxp": "always", "pxp(k)": "all k"}[claim.protocol]
    if claim.exact or not bounded:
        return everywhere
    told = f"{bounded[0]}: up to {statuses[bounded[0]].detail}"
    if not for_all:
        return told
    return f"{everywhere} for {for_all[0]}; {told}"


def _longest(k: int) -> Trace[SessionState]:
    return longest_run(explore(SessionModel(Pxp(k), Theory(EQUIVALENCE), observes=False)))


def _longest_lengths() -> str:
    lengths = [f"{len(_longest(k).steps)} for k = {k}" for k in range(1, 6)]
    return ", ".join(lengths)


def _model(line: Result) -> SessionModel:
    """The sessions in which `line` was found."""
    return ClaimChecker(Bounds()).model(line.subject, line.assumptions)


def _pictures(drawn: Mapping[str, Result]) -> Iterator[tuple[str, Diagram]]:
    """The pictures; those of counterexamples are of the very results that the text is about."""
    yield from languages.pictures()
    for name, line in drawn.items():
        yield name, chart(line, _model(line))
    model = ClaimChecker(Bounds(5, 1)).model("pxp(k)", "equivalence")
    run = longest_run(explore(model))
    messages = replay(model, run)
    yield (
        "longest",
        sequence_chart(
            messages,
            texts=False,
            title="PXP(1): a longest session (equivalence)",
            note=f"{len(messages)} messages, TERM included: 2k + 5 with k = 1",
            states=dict(zip(AGENTS, run.steps[-1].target.at, strict=True)),
        ),
    )


def main() -> None:
    """Write the page into the folder that is given, by default `docs`."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path("docs")
    find().write(folder)


if __name__ == "__main__":
    main()
