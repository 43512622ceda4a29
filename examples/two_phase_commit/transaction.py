"""Members of two- and three-phase commit as functions of their turn, and a crash when you like."""

import asyncio
from pathlib import Path

import pxp_fsm as pxp

TWO, THREE = (
    pxp.System.load(Path(__file__).with_name(f"{name}_phase.toml")) for name in ("two", "three")
)


def dutiful(turn: pxp.Turn) -> str | None:
    """Says YES, and else what its table lets it say."""
    if turn.guards:
        return "CAN" if "CAN" in turn.guards else turn.guards[0]
    return next(iter(turn.tags), None)


def crashed(system: pxp.System, after: int) -> tuple[str, dict[str, str]]:
    """How a session ends, and where, in which the coordinator crashes after so many actions.

    It crashes as soon as its table lets it from then on, or not at all.
    """
    members = dict.fromkeys(system.places, dutiful)
    session = pxp.Session(system, members, events={"CRASH": None})

    async def carry() -> None:
        while session.ending is None:
            if len(session.events) >= after:
                try:
                    session.raise_event("CRASH")
                except pxp.PXPError:  # not possible here
                    pass
                else:
                    break
            await session.step()
        if session.ending is None:
            await session.run()

    asyncio.run(carry())
    return str(session.ending), session.states
