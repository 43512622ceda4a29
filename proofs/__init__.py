"""Verification of the tables that sessions run on."""

from typing import TYPE_CHECKING

from pxp_fsm.lazy import attach

if TYPE_CHECKING:
    from proofs.check import known_properties as known_properties
    from proofs.check import prove as prove
    from proofs.claims.certificates import certify as certify
    from proofs.claims.system_certificates import certify_system as certify_system
    from proofs.claims.theorems import amalgamates as amalgamates
    from proofs.core.explore import Model as Model
    from proofs.core.explore import Space as Space
    from proofs.core.explore import Step as Step
    from proofs.core.explore import Trace as Trace
    from proofs.core.explore import explore as explore
    from proofs.core.results import Bound as Bound
    from proofs.core.results import Result as Result
    from proofs.core.results import Status as Status
    from proofs.core.results import Verdict as Verdict
    from proofs.monitor import EventMonitor as EventMonitor
    from proofs.requests import NamedProperty as NamedProperty
    from proofs.requests import Request as Request
    from proofs.sessions.model import SessionModel as SessionModel
    from proofs.sessions.relational import Theory as Theory
    from proofs.subjects import Checkable as Checkable
    from pxp_fsm.protocol.relations import EQUIVALENCE as EQUIVALENCE
    from pxp_fsm.protocol.relations import TOLERANCE as TOLERANCE
    from pxp_fsm.protocol.relations import Assumption as Assumption

__getattr__, __dir__ = attach(
    globals(),
    {
        "proofs.check": "known_properties prove",
        "proofs.claims.certificates": "certify",
        "proofs.claims.system_certificates": "certify_system",
        "proofs.claims.theorems": "amalgamates",
        "proofs.core.explore": "Model Space Step Trace explore",
        "proofs.core.results": "Bound Result Status Verdict",
        "proofs.monitor": "EventMonitor",
        "proofs.requests": "NamedProperty Request",
        "proofs.sessions.model": "SessionModel",
        "proofs.sessions.relational": "Theory",
        "proofs.subjects": "Checkable",
        "pxp_fsm.protocol.relations": "EQUIVALENCE TOLERANCE Assumption",
    },
)

__distribution__ = "pxp-fsm"
