"""Runs of panels: what a plan says of one, a fork that leaves an agent or a turn out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from backends.databases import SessionRecord
from pxp_fsm.errors import UsageError, quoted
from pxp_fsm.experiments.members import agent_names
from pxp_fsm.experiments.plans import Plan
from pxp_fsm.experiments.run_kinds import RunKind
from pxp_fsm.plugins.panels.audit import PanelRules
from pxp_fsm.plugins.panels.panel import Panel
from pxp_fsm.plugins.panels.policy import PanelPolicy
from pxp_fsm.plugins.panels.report import gather_panel
from pxp_fsm.plugins.panels.results import panel_outcomes
from pxp_fsm.plugins.panels.verdicts import overview_of
from pxp_fsm.protocol.messages import Overview
from pxp_fsm.sessions.events import Event


def panel_of(plan: Plan) -> Panel:
    """The panel that a plan's sessions follow; raises `UsageError` where its rules are none."""
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


def forked(plan: Plan, names: Sequence[str], number: int, without: str | None, skip: bool) -> Plan:
    """`plan` without an agent after message `number`, or with the turn after it passed."""
    if without is not None and without not in names:
        raise UsageError(
            f"the panel has no agent {quoted(without)}; there are: {', '.join(names)}", "without"
        )
    changes = [f"without:{without}@{number}"] if without is not None else []
    changes += [f"skip:{number}"] if skip else []
    return replace(plan, added=",".join([*filter(None, [plan.added]), *changes]))


def panel_overview(plan: Plan, session: str, events: Sequence[Event]) -> Overview:
    """What everybody may see of a session of a plan after `events`."""
    return overview_of(plan.talks(), agent_names(plan), events, session)


def panel_policy(plan: Plan) -> PanelPolicy:
    """The policy of a session of a plan."""
    return PanelPolicy(plan.talks(), agent_names(plan))


def panel_rules(plan: Plan, record: SessionRecord) -> PanelRules:
    """What the audit follows a stored session of a plan by."""
    return PanelRules(plan.talks(), record)


PANELS = RunKind(
    subject=panel_of,
    forked=forked,
    outcomes=panel_outcomes,
    report=gather_panel,
    overview=panel_overview,
    policy=panel_policy,
    audited=panel_rules,
)
"""What the toolkit asks of a run whose plan names several agents."""
