"""Conformance testing: test suites derived from a table, for any running implementation."""

from typing import TYPE_CHECKING

from pxp_fsm.doors import door

if TYPE_CHECKING:
    from proofs.conformance.at_channel import AtChannel as AtChannel
    from proofs.conformance.endpoints import Act as Act
    from proofs.conformance.endpoints import AgentEnd as AgentEnd
    from proofs.conformance.endpoints import TableEnd as TableEnd
    from proofs.conformance.ioco import conform_ioco as conform_ioco
    from proofs.conformance.learning import learn as learn
    from proofs.conformance.mealy import as_mealy as as_mealy
    from proofs.conformance.planning import coverage_lines as coverage_lines
    from proofs.conformance.session_agent import InSession as InSession
    from proofs.conformance.session_agent import counted as counted
    from proofs.conformance.stateful import Wrong as Wrong
    from proofs.conformance.stateful import drive as drive
    from proofs.conformance.stateful import state_machine as state_machine
    from proofs.conformance.suspension import as_transitions as as_transitions
    from proofs.conformance.testing import conform as conform

__getattr__, __dir__ = door(globals())
