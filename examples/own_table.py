"""Your own protocol: load a table, check it, run it between two members, draw it."""

from pathlib import Path

import pxp_fsm as pxp

FILE = Path(__file__).parent / "asking.toml"


def main() -> None:
    table = pxp.load_automaton(FILE)
    print(f"{table.title}: {len(table.states)} states, {len(table.transitions)} transitions")
    for result in pxp.check(table):
        print(result)

    def client(turn: pxp.Turn) -> str:
        return "BYE" if turn.received else "ASK"

    def server(turn: pxp.Turn) -> str | None:
        return "TAKEN" if turn.guards else None

    system = pxp.System.load(f"client={FILE}", f"server={FILE}")
    session = pxp.Session(system, {"client": client, "server": server}).run_sync()
    for event in session.events:
        print(event.action)
    print(f"{session.ending}: {session.states}")

    def forward(_turn: pxp.Turn) -> str:
        return "GRANT"

    try:
        pxp.Session(system, {"client": forward, "server": server}).run_sync()
    except TypeError as refusal:
        print(refusal)

    print(f"Drawn: {pxp.draw(table, 'asking.svg')}")


if __name__ == "__main__":
    main()
