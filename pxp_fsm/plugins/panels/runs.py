"""Runs of panels: what a plan says of one, and who sits in its sessions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from backends.databases import SessionRecord
from pxp_fsm.errors import UsageError, quoted
from pxp_fsm.experiments.members import agent_names
from pxp_fsm.experiments.plans import Plan, models_named
from pxp_fsm.experiments.run_kinds import RunKind
from pxp_fsm.plugins.panels.audit import PanelRules
from pxp_fsm.plugins.panels.panel import Panel
from pxp_fsm.plugins.panels.policy import PanelPolicy
from pxp_fsm.plugins.panels.report import gather_panel
from pxp_fsm.plugins.panels.results import ending_of, panel_outcomes
from pxp_fsm.plugins.panels.verdicts import overview_of
from pxp_fsm.protocol.messages import Overview
from pxp_fsm.sessions.events import Event
from pxp_fsm.tasks.task import HUMAN, Task


def panel_of(plan: Plan) -> Panel:
    """The panel that a plan's sessions follow.

    Raises `UsageError` where its rules are none, or not everybody can sit in a panel.
    """
    names = agent_names(plan)
    machines = [name for name in names if name != HUMAN]
    if len(models_named(plan.machine_model, plan.agents)) not in (0, 1, len(machines)):
        raise UsageError(
            f"a panel of {len(names)} agents has {len(machines)} machines here; name one model for "
            f"all of them, or one for each: {quoted(plan.machine)}",
            "machine",
        )
    if plan.assistants:
        raise UsageError(
            "assistants are in sessions of two; a panel has machines, models and a person",
            next(iter(plan.assistants)),
        )
    rules: dict[str, Any] = {}
    for rule in filter(None, (plan.added or "").split(",")):
        name, _, most = rule.strip().partition(":")
        if name in ("without", "skip"):
            who, _, number = most.rpartition("@")
            if not (number.isascii() and number.isdigit()) or (name == "skip") == bool(who):
                raise UsageError(
                    f"{quoted(rule)} says nothing; write without:AGENT@MESSAGE or skip:MESSAGE",
                    "added",
                )
            key = "without" if who else "skips"
            told = (who, int(number)) if who else int(number)
            rules[key] = (*rules.get(key, ()), told)
            continue
        limits = name == "limit" and most.isascii() and most.isdigit()
        if not limits and (most or name not in ("call", "alone", "commit", "reopen")):
            raise UsageError(
                f"a panel's rules are call, alone, commit, reopen, limit:N, "
                f"without:AGENT@MESSAGE and skip:MESSAGE, not {quoted(rule)}",
                "added",
            )
        rules[name] = int(most) if limits else True
    return Panel(plan.rules(), plan.schedule or "fifo", plan.stop or "", seed=plan.seed, **rules)


def panel_overview(plan: Plan, session: str, events: Sequence[Event]) -> Overview:
    """What everybody may see of a session of a plan after `events`."""
    return overview_of(plan.talks(), agent_names(plan), events, session)


def panel_policy(plan: Plan) -> PanelPolicy:
    """The policy of a session of a plan."""
    return PanelPolicy(plan.talks(), agent_names(plan))


def panel_rules(plan: Plan, record: SessionRecord) -> PanelRules:
    """What the audit follows a stored session of a plan by."""
    return PanelRules(plan.talks(), record)


def panel_remarks(plan: Plan, task: Task) -> Iterator[str]:
    """What is said where a run begins: whether its machines differ, and what is proved of it."""
    precedents = plan.precedents or ("others" if plan.materials else task.precedents)
    if plan.goes_without_model:
        few = precedents.startswith("few:")
        yield (
            "Each machine draws precedents of its own"
            if few
            else "The machines begin alike; they differ by what they are told"
        )
    yield "Proved is what two agents do; pxp help panels says what of it holds of several"


PANELS = RunKind(
    about="a panel",
    subject=panel_of,
    outcomes=panel_outcomes,
    report=gather_panel,
    remarks=panel_remarks,
    ending=ending_of,
    overview=panel_overview,
    policy=panel_policy,
    audited=panel_rules,
)
"""What the toolkit asks of a run whose plan names several agents."""
