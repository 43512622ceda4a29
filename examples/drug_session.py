"""One molecule, one session: the predictor and a chemist's answer, offline.

The chemist's last step to atenolol opens an epoxide. What the chemist sends is a precedent for the
machine from then on; it takes up the reactants only where it derives them itself.
"""

import pxp_fsm as pxp

ATENOLOL = pxp.Instance("atenolol", "CC(C)NCC(O)COc1ccc(CC(N)=O)cc1")
CHEMIST = pxp.Answer(
    "CC(C)N.NC(=O)Cc1ccc(OCC2CO2)cc1",
    "Isopropylamine opens the terminal epoxide at its free carbon and gives the amino alcohol.",
)


def main() -> None:
    machine = pxp.drug.Retrosynthesis()
    match, agree = pxp.drug.Reactants(), pxp.drug.SameReaction()
    chemist = pxp.databases.Proxy({ATENOLOL.key: CHEMIST})
    members = {
        "m": pxp.Agent(machine, match=match, agree=agree),
        "h": pxp.Agent(chemist, match=match, agree=agree, guards=pxp.Derived(revises=False)),
    }
    session = pxp.Session(pxp.Interact(n=10, k=3), members, instance=ATENOLOL)
    session.run_sync()
    for message in session.history:
        print(f"{message.number} {message.sender} {message.tag}: {message.answer.prediction}")
        print(f"    {message.answer.explanation}")
    print(f"ended: {session.ending}")
    for lesson in machine.lessons:
        print(f"learned: {lesson.reactants} gives {lesson.product}")


if __name__ == "__main__":
    main()
