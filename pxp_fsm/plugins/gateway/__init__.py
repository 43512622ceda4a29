"""The gateway: a checked policy between an MCP client and an MCP server."""

from pxp_fsm.plugins.gateway.gateway import Gateway, Traffic
from pxp_fsm.plugins.gateway.policy import POLICY, Policy, load_policy

__all__ = ["POLICY", "Gateway", "Policy", "Traffic", "load_policy"]
