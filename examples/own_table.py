"""A protocol of one's own: load a table, run two machines over a channel, draw the automaton."""

from pathlib import Path

from pxp_fsm.automaton import one_hot
from pxp_fsm.channel import Channel
from pxp_fsm.diagrams import render, state_diagram
from pxp_fsm.errors import Refused
from pxp_fsm.machine import Machine
from pxp_fsm.messages import Answer, Message
from pxp_fsm.tables import load_automaton

NOTHING = Answer("", "")


def main() -> None:
    table = load_automaton(Path(__file__).parent / "asking.toml")
    print(f"{table.title}: {len(table.states)} states, {len(table.transitions)} transitions")

    client, server = Machine(table), Machine(table)
    channel = Channel("talk", {"client": client, "server": server})
    channel.carry(Message("talk", 1, "client", "ASK", NOTHING, "server"))
    guards = one_hot("TAKEN", table.guards_of(server.state))
    channel.carry(Message("talk", 2, "server", "DENY", NOTHING, "client"), guards)
    print(f"after ASK and DENY: client {client.state}, server {server.state}")

    try:
        channel.carry(Message("talk", 3, "client", "GRANT", NOTHING, "server"))
    except Refused as refusal:
        print(refusal)

    print(render(state_diagram(table, marked=client.state), "mermaid").decode())


if __name__ == "__main__":
    main()
