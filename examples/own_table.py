"""Your own protocol: load a table, check it, run two machines over a channel, draw it."""

from pathlib import Path

import pxp_fsm as pxp

NOTHING = pxp.Answer("", "")


def main() -> None:
    table = pxp.load_automaton(Path(__file__).parent / "asking.toml")
    print(f"{table.title}: {len(table.states)} states, {len(table.transitions)} transitions")
    for result in pxp.check(table):
        print(result)

    client, server = pxp.Machine(table), pxp.Machine(table)
    channel = pxp.Channel("talk", {"client": client, "server": server})
    channel.carry(pxp.Message("talk", 1, "client", "ASK", NOTHING, "server"))
    taken = {"FREE": False, "TAKEN": True}
    channel.carry(pxp.Message("talk", 2, "server", "DENY", NOTHING, "client"), taken)
    print(f"after ASK and DENY: client {client.state}, server {server.state}")

    try:
        channel.carry(pxp.Message("talk", 3, "client", "GRANT", NOTHING, "server"))
    except pxp.PXPError as refusal:
        print(refusal)

    print(f"Drawn: {pxp.draw(table, 'asking.svg')}")


if __name__ == "__main__":
    main()
