"""Soundness of a network before it runs or is saved: its faults, as messages for its editor.

Source: EasyLAN (Pan, Yu, Li, Shi), section 4.2.2; names of agents are texts that people and models
write, so what could steer a terminal or hide in a list is refused too.
"""

from __future__ import annotations

from collections.abc import Iterator

from pxp_fsm.errors import DataError, Fault, quoted
from pxp_fsm.plugins.easylan.model.network import Edge, LanAgent, Network
from pxp_fsm.protocol.messages import text_problem

LONGEST_NAME = 80
MOST_AGENTS = 500
MOST_EDGES = 1_000


class Unsound(DataError):
    """A network that cannot be saved or run; `faults` holds every reason."""

    def __init__(self, faults: tuple[Fault, ...]) -> None:
        self.faults = faults
        super().__init__("; ".join(fault.message for fault in faults))


def check_network(network: Network) -> None:
    """Raise `Unsound` where the network has a fault."""
    found = tuple(faults_of(network))
    if found:
        raise Unsound(found)


def faults_of(network: Network) -> Iterator[Fault]:
    """Every fault: no agent, an empty text, a name twice, an edge to nobody, a cycle."""
    if not network.task.strip():
        yield Fault(("task",), "the task is empty; say what the network is for")
    large = size_faults(len(network.agents), len(network.edges))
    if large:
        yield from large
        return
    if not network.agents:
        yield Fault(("agents",), "there is no agent; a network has at least one")
    known = set(network.names)
    for index, agent in enumerate(network.agents):
        if agent.name in network.names[:index]:
            yield Fault(
                ("agents", index, "name"), f"two agents are named {quoted(agent.name)}; rename one"
            )
        yield from _agent_faults(agent, index)
        yield from _required_faults(network, agent, index)
    sound = True
    for index, edge in enumerate(sorted(network.edges)):
        for end in edge:
            if end not in known:
                sound = False
                yield Fault(
                    ("edges", index), f"an edge has the end {quoted(end)}, which does not exist"
                )
    if sound:
        cycle = cycle_of(network.edges)
        if cycle:
            way = " → ".join((*cycle, cycle[0]))
            yield Fault(("edges",), f"the network would have a cycle: {way}")


def size_faults(agents: int, edges: int) -> list[Fault]:
    """What there is more of than a network may have, which is then not looked at further."""
    counts = (("agents", agents, MOST_AGENTS), ("edges", edges, MOST_EDGES))
    return [
        Fault((what,), f"there are {count:,} {what}; a network has at most {most:,}")
        for what, count, most in counts
        if count > most
    ]


def cycle_of(edges: frozenset[Edge]) -> tuple[str, ...]:
    """The agents of a cycle, in its order; empty where there is none."""
    import networkx as nx

    graph: nx.DiGraph[str] = nx.DiGraph()
    graph.add_edges_from(sorted(edges))
    if nx.is_directed_acyclic_graph(graph):
        return ()
    return tuple(one for one, _other in nx.find_cycle(graph))


def name_problem(name: str) -> str | None:
    """Why `name` cannot be an agent's, or None."""
    if not name.strip():
        return "an agent's name is empty; give it one"
    if name != name.strip() or not name.isprintable() or len(name) > LONGEST_NAME:
        return (
            f"{quoted(name)} is not a valid agent name: a name is printable, without "
            f"spaces at its ends, and has at most {LONGEST_NAME} characters"
        )
    return None


def _agent_faults(agent: LanAgent, index: int) -> Iterator[Fault]:
    problem = name_problem(agent.name)
    if problem is not None:
        yield Fault(("agents", index, "name"), problem)
    for key, text, what in (
        ("task", agent.task, "task"),
        ("output", agent.output, "output description"),
    ):
        if not text.strip():
            yield Fault(
                ("agents", index, key), f"the {what} of {quoted(agent.name)} is empty; write one"
            )
    for path, knowledge in (
        (("knowledge",), agent.knowledge),
        (("control", "knowledge"), agent.control.knowledge),
    ):
        for place, text in enumerate(knowledge):
            if not text.strip():
                yield Fault(
                    ("agents", index, *path, place),
                    f"a piece of knowledge of {quoted(agent.name)} is empty; drop it",
                )
    texts = (agent.name, agent.task, agent.output, *agent.knowledge, *agent.control.knowledge)
    wrong = next(filter(None, map(text_problem, texts)), None)
    if wrong is not None:
        yield Fault(("agents", index), f"{quoted(agent.name)}: {wrong}")


def _required_faults(network: Network, agent: LanAgent, index: int) -> Iterator[Fault]:
    before = network.predecessors(agent.name)
    for place, name in enumerate(agent.control.required):
        if name not in before:
            yield Fault(
                ("agents", index, "control", "required", place),
                f"{quoted(agent.name)} requires {quoted(name)}, which is none of its predecessors; "
                f"connect them, or require another",
            )
