"""Conformance testing: test suites derived from a table, for any running implementation."""

from typing import TYPE_CHECKING

from pxp_fsm.lazy import attach

if TYPE_CHECKING:
    from pxp_fsm.plugins.conformance.at_channel import AtChannel as AtChannel
    from pxp_fsm.plugins.conformance.endpoints import AgentEnd as AgentEnd
    from pxp_fsm.plugins.conformance.endpoints import EndpointAct as EndpointAct
    from pxp_fsm.plugins.conformance.endpoints import TableEnd as TableEnd
    from pxp_fsm.plugins.conformance.functions import assert_conforms as assert_conforms
    from pxp_fsm.plugins.conformance.functions import tested_agent as tested_agent
    from pxp_fsm.plugins.conformance.ioco import conform_ioco as conform_ioco
    from pxp_fsm.plugins.conformance.learning import learn as learn
    from pxp_fsm.plugins.conformance.mealy import as_mealy as as_mealy
    from pxp_fsm.plugins.conformance.planning import coverage_lines as coverage_lines
    from pxp_fsm.plugins.conformance.project_checks import ProjectCheck as ProjectCheck
    from pxp_fsm.plugins.conformance.project_checks import checks_in as checks_in
    from pxp_fsm.plugins.conformance.session_agent import InSession as InSession
    from pxp_fsm.plugins.conformance.session_agent import counted as counted
    from pxp_fsm.plugins.conformance.stateful import Wrong as Wrong
    from pxp_fsm.plugins.conformance.stateful import drive as drive
    from pxp_fsm.plugins.conformance.stateful import state_machine as state_machine
    from pxp_fsm.plugins.conformance.suspension import as_transitions as as_transitions
    from pxp_fsm.plugins.conformance.testing import conform as conform
    from pxp_fsm.plugins.conformance.trace_learning import RecordedTrace as RecordedTrace
    from pxp_fsm.plugins.conformance.trace_learning import learn_traces as learn_traces
    from pxp_fsm.plugins.conformance.traces import assert_allowed as assert_allowed

__getattr__, __dir__ = attach(
    globals(),
    {
        "pxp_fsm.plugins.conformance.at_channel": "AtChannel",
        "pxp_fsm.plugins.conformance.endpoints": "AgentEnd EndpointAct TableEnd",
        "pxp_fsm.plugins.conformance.functions": "assert_conforms tested_agent",
        "pxp_fsm.plugins.conformance.ioco": "conform_ioco",
        "pxp_fsm.plugins.conformance.learning": "learn",
        "pxp_fsm.plugins.conformance.mealy": "as_mealy",
        "pxp_fsm.plugins.conformance.planning": "coverage_lines",
        "pxp_fsm.plugins.conformance.project_checks": "ProjectCheck checks_in",
        "pxp_fsm.plugins.conformance.session_agent": "InSession counted",
        "pxp_fsm.plugins.conformance.stateful": "Wrong drive state_machine",
        "pxp_fsm.plugins.conformance.suspension": "as_transitions",
        "pxp_fsm.plugins.conformance.testing": "conform",
        "pxp_fsm.plugins.conformance.trace_learning": "RecordedTrace learn_traces",
        "pxp_fsm.plugins.conformance.traces": "assert_allowed",
    },
)
