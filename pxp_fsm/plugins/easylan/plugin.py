"""What EasyLAN adds to the toolkit."""

from pxp_fsm.registry import Entry, Plugin

_HERE = "pxp_fsm.plugins.easylan"

PLUGIN = Plugin(
    name="easylan",
    about="EasyLAN: networks of LLM agents, trained from few examples",
    names={"networks": _HERE},
    lists={
        "networks": Entry(
            "tasks of networks of LLM agents: pxp lan new TASK",
            f"{_HERE}.experiments.tasks:meanings",
        )
    },
    tables={
        "lan_agent": f"{_HERE}:tables/lan_agent.toml",
        "lan_pipeline": f"{_HERE}:tables/lan_pipeline.toml",
    },
    checks=(f"{_HERE}.proofs.checking:NETWORKS",),
    commands={
        "lan": Entry(
            "run and train networks of LLM agents",
            f"{_HERE}.cli.commands:lan",
            section="Run sessions",
        )
    },
)
