"""The gateway: a checked policy before an MCP server or an A2A agent."""

from typing import TYPE_CHECKING

from pxp_fsm.lazy import attach

if TYPE_CHECKING:
    from pxp_fsm.plugins.gateway.gateway import Gateway as Gateway
    from pxp_fsm.plugins.gateway.gateway import Traffic as Traffic
    from pxp_fsm.plugins.gateway.policy import GatewayPolicy as GatewayPolicy
    from pxp_fsm.plugins.gateway.policy import load_policy as load_policy

__getattr__, __dir__ = attach(
    globals(),
    {
        "pxp_fsm.plugins.gateway.gateway": "Gateway Traffic",
        "pxp_fsm.plugins.gateway.policy": "GatewayPolicy load_policy",
    },
)
