"""What the gateway adds to the toolkit."""

from pxp_fsm.registry import Entry, Plugin, SubjectKind

_HERE = "pxp_fsm.plugins.gateway"

PLUGIN = Plugin(
    name="gateway",
    about="a checked policy before an MCP server or an A2A agent",
    tables={"gateway_calls": f"{_HERE}:tables/gateway_calls.toml"},
    checks=(f"{_HERE}.checks:POLICIES",),
    sessions={"gateway_calls": f"{_HERE}.calls:call_sheet"},
    kinds={
        "policy": SubjectKind(
            "a policy",
            {
                "check": Entry(
                    "what is proved of it",
                    f"{_HERE}.cli.check:check",
                    f"{_HERE}.cli.options:CheckPolicy",
                ),
                "serve": Entry(
                    "a gateway before an MCP server or an A2A agent",
                    f"{_HERE}.cli.serve:serve",
                    f"{_HERE}.cli.options:ServePolicy",
                ),
            },
            keys=("lines", "otherwise", "tables", "fields", "idempotent", "secret", "people"),
        )
    },
)
