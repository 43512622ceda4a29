"""What EasyLAN adds to the toolkit."""

from pxp_fsm.registry import Entry, Plugin, SubjectKind

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
    kinds={
        "network": SubjectKind(
            "a network",
            {
                "compare": Entry(
                    "the least editing that makes one of the other",
                    f"{_HERE}.cli.tasks:distance",
                    f"{_HERE}.cli.options:CompareNetworks",
                ),
                "run": Entry(
                    "on an input, whose output is printed",
                    f"{_HERE}.cli.network:run",
                    f"{_HERE}.cli.options:RunNetwork",
                ),
                "serve": Entry(
                    "the studio: edit, run and train it",
                    f"{_HERE}.cli.serve:serve",
                    f"{_HERE}.cli.options:ServeNetwork",
                ),
                "show": Entry(
                    "its agents, with its last run",
                    f"{_HERE}.cli.network:show",
                    f"{_HERE}.cli.options:ShowNetwork",
                ),
                "draw": Entry(
                    "its agents and the edges between them",
                    f"{_HERE}.cli.network:draw",
                    "pxp_fsm.cli.options.draw:DrawFile",
                ),
            },
            endings=(".lan.json",),
            keys=("version", "edges", "handled"),
            others=("lan train", "lan test", "lan edit", "lan history"),
        ),
        "network task": SubjectKind(
            "a task of networks",
            {
                "run": Entry(
                    "three ways of training on it, which are compared",
                    f"{_HERE}.cli.tasks:compare",
                    f"{_HERE}.cli.options:RunNetworkTask",
                ),
                "show": Entry(
                    "its criteria, and who decides them",
                    f"{_HERE}.cli.tasks:show",
                    f"{_HERE}.cli.options:ShowTask",
                ),
            },
            keys=("criteria", "examples", "output", "source"),
            names=f"{_HERE}.experiments.tasks:bundled_names",
            others=("lan new", "lan test"),
        ),
    },
    checks=(f"{_HERE}.proofs:NETWORKS",),
    purposes=("control", "execution", "gap", "reason", "weakness", "parameters", "part"),
    commands={
        "lan": Entry(
            "train and edit networks of LLM agents",
            f"{_HERE}.cli.commands:lan",
            section="Run sessions",
        )
    },
)
