"""The section of `docs/findings.md` on networks of LLM agents, from a run of the checks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from string import Template

from proofs import update_claims, updates
from proofs.explore import explore
from proofs.pipeline import Pipeline
from proofs.verdicts import Result, Status, Verdict
from pxp_fsm.updating import AGENT, PIPELINE

_TEMPLATE = Path(__file__).with_name("network_findings_page.md")


def section() -> str:
    """The section as Markdown."""
    results = [result for table in (AGENT, PIPELINE) for result in updates.checked(table)]
    agent, pipeline = (explore(model) for model in updates.models().values())
    words = {
        "claims": "\n".join(_claims(results)),
        "race": _told(_without(results, "no-stale-commit").verdict),
        "loop": _told(_generous()),
        "agent_size": f"{agent.states} states and {agent.transitions} transitions",
        "pipeline_size": f"{pipeline.states} states and {pipeline.transitions} transitions",
        "bounds": f"{updates.BOUNDS.iterations} iterations and {updates.BOUNDS.retries} retries",
    }
    return Template(_TEMPLATE.read_text("utf-8")).substitute(words)


def _generous() -> Verdict:
    """What happens where agreement gives retries back, and no proposal has a hole."""
    model = updates.models()[PIPELINE]
    if not isinstance(model, Pipeline):
        raise AssertionError("the pipeline's model is one")
    generous = replace(
        model, count=update_claims.resets_on_agreement, assumed=frozenset({"complete"})
    )
    claim = next(one for one in update_claims.CLAIMS if one.name == "unattended-ends")
    return updates.check(claim, generous).verdict


def _without(results: list[Result], name: str) -> Result:
    return next(one for one in results if one.expected is Status.FAILS and one.name == name)


def _claims(results: list[Result]) -> Iterator[str]:
    """A row a claim: how far it holds, what it needs, and what happens without."""
    yield "| claim | name | holds | without | then, for instance |"
    yield "|---|---|---|---|---|"
    claims = {(claim.table, claim.name): claim for claim in update_claims.CLAIMS}
    for built, changed in zip(results[::2], results[1::2], strict=True):
        claim = claims[built.subject, built.name]
        yield (
            f"| {claim.title} | `{claim.table}.{claim.name}` | {built.verdict.detail} | "
            f"{claim.without} | {_told(changed.verdict)} |"
        )


def _told(verdict: Verdict) -> str:
    """The trace, as the labels of its rows; what repeats for ever is said."""
    trace = verdict.trace
    if trace is None:
        return verdict.detail
    if not trace.steps:
        return "at once"
    labels = [update_claims.label_of(step) for step in trace.steps]
    if not verdict.cycle:
        return ", ".join(labels)
    return f"{', '.join(labels)} … (the last {verdict.cycle} for ever)"
