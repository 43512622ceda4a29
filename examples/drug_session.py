"""One molecule, one session: the predictor and a chemist's answer, offline.

The chemist's last step to atenolol opens an epoxide. The machine learns from what it is told; its
weights afterwards are those of reactions, never of molecules.
"""

import asyncio

from backends.databases.proxy import Proxy
from backends.models import Retrosynthesis
from guards import Derived, Reactants, SameReaction
from pxp_fsm.agent import Agent
from pxp_fsm.messages import Answer, Instance
from pxp_fsm.rules import Interact
from pxp_fsm.session import Session

ATENOLOL = Instance("atenolol", "CC(C)NCC(O)COc1ccc(CC(N)=O)cc1")
CHEMIST = Answer(
    "CC(C)N.NC(=O)Cc1ccc(OCC2CO2)cc1",
    "Isopropylamine opens the terminal epoxide at its free carbon and gives the amino alcohol.",
)


def main() -> None:
    machine = Retrosynthesis()
    match, agree = Reactants(), SameReaction()
    session = Session(
        "atenolol",
        ATENOLOL,
        Agent("m", machine, Derived(), match, agree),
        Agent("h", Proxy({ATENOLOL.key: CHEMIST}), Derived(revises=False), match, agree),
        Interact(n=10, k=3),
    )
    asyncio.run(session.run())
    for message in session.history:
        print(f"{message.number} {message.sender} {message.tag}: {message.answer.prediction}")
        print(f"    {message.answer.explanation}")
    print(f"ended: {session.ending}")
    for name, weight in sorted(machine.weights.items()):
        print(f"learned: {name} {weight:+.2f}")


if __name__ == "__main__":
    main()
