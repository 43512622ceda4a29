"""The Python of README, word by word, for mypy; `test_pages.py` compares it."""

import pxp_fsm as pxp


@pxp.respondent
def expert(question: pxp.Question) -> pxp.Answer:
    return pxp.Answer("mammal", "It breathes air.")


m = pxp.Agent(expert, match=pxp.exact, agree=pxp.normalised_text)
h = pxp.Agent(expert, match=pxp.exact, agree=pxp.normalised_text)
session = pxp.Session(pxp.Interact(n=10, k=3), {"m": m, "h": h}, instance="What is a whale?")
print(session.run_sync().ending)
[message.tag for message in session.history]
pxp.classify(session.history)["m"]
system = pxp.System.load("examples/own_protocol/buyer.toml", "examples/own_protocol/seller.toml")
for result in pxp.check(system, "AG EF ended", "F ended"):
    print(result.status, result.name)
