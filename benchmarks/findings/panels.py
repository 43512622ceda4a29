"""Write what is true of panels, from explorations: `python -m findings.panels DOCS`.

It takes some minutes, and at most a gigabyte.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pxp_fsm as pxp
from proofs.core.explore import explore
from proofs.core.properties import complete_words
from pxp_fsm.plugins.panels.answers import Lasso, PanelAnswers, answers, table
from pxp_fsm.plugins.panels.exploration import AssumedRelations, PanelModel
from pxp_fsm.plugins.panels.panel import Scheduling

RULES: tuple[dict[str, Any], ...] = (
    {},
    {"call": True},
    {"alone": True},
    {"commit": True},
    {"reopen": True},
    {"limit": 0},
    {"limit": 1},
)
MOST = 20_000


def by_rule(k: int = 1) -> Iterator[PanelAnswers]:
    for rules in RULES:
        for schedule in Scheduling:
            model = PanelModel(pxp.Panel(pxp.Pxp(k=k), schedule, **rules))
            found = answers(model, MOST)
            print(*list(table([found]))[2:], file=sys.stderr, flush=True)
            yield found


def of_four() -> Iterator[PanelAnswers]:
    for rules in ({"call": True}, {"alone": True}, {"limit": 0}):
        for schedule in Scheduling:
            model = PanelModel(pxp.Panel(pxp.Pxp(k=1), schedule, **rules), agents=4)
            found = answers(model, MOST)
            print(*list(table([found]))[2:], file=sys.stderr, flush=True)
            yield found


def longest(agents: int, k: int, schedule: str = "free", **rules: Any) -> int | None:
    """The most messages of a session in which any agent may hang up whenever it may."""
    model = PanelModel(pxp.Panel(pxp.Pxp(k=k), schedule, **rules), agents, free_term=True)
    return answers(model, MOST).longest


def words(agents: int, n: int, k: int, schedule: str) -> int:
    """How many sequences of labels complete sessions of INTERACT have, answers being free."""
    panel = pxp.Panel(pxp.Interact(n=n, k=k), schedule)
    model = PanelModel(panel, agents, AssumedRelations.NOISY, (1, 1))
    return len(complete_words(explore(model)))


def shown(run: tuple[str, ...] | None) -> str:
    return "none was found in the states looked at" if run is None else ", ".join(run)


def shown_lasso(lasso: Lasso | None) -> str:
    if lasso is None:
        return "none was found"
    told = ", ".join((*lasso.stem, *lasso.cycle))
    fair = "everybody who owes a message speaks in it again and again"
    return (
        f"{told} (the last {len(lasso.cycle)} for ever). Who changes: {', '.join(lasso.changing)}; "
        f"{fair if lasso.is_fair else 'unfair: somebody owes a message for ever'}"
    )


def page() -> Iterator[str]:
    found = list(by_rule())
    free = next(one for one in found if one.model.panel.schedule == "free")
    fifo = next(one for one in found if one.model.panel.schedule == "fifo")
    yield "# What is true of panels"
    yield ""
    yield (
        "`make findings` writes this page. A [panel](panels.md) is explored as a system: what an "
        "agent predicts first, and what it predicts when it has learned, is free; MATCH and AGREE "
        "are an equivalence on two predictions and two explanations; TERM is sent by the default "
        "policy. What a panel does is decided there by the functions that sessions run on. An "
        "exploration that was cut looked at the first 20,000 states: what it found is real, and "
        "what it did not find is not known."
    )
    yield ""
    yield "## Use `call`, or `alone`"
    yield ""
    yield (
        "**Give each agent one open channel at a time (`call`).** Then every session ends, the "
        "replies are those of two, and what is proved of two holds of each channel while it is "
        "open. Where channels have to be open at the same time, let an agent LEARN only while no "
        "other channel of its is open (`alone`), which gives the same. INTERACT needs neither. "
        "What no rule but `limit=0` prevents is that a RATIFY in a channel that is closed goes "
        "stale: ask for fresh RATIFYs (`consensus`), not for closed channels. `commit` and "
        "`reopen` bound nothing."
    )
    yield ""
    yield "PXP(1) among three, by schedule and added rule:"
    yield ""
    yield from table(found)
    yield ""
    yield (
        "The replies of two are RATIFY to RATIFY, RATIFY to REVISE and REJECT to REJECT, TERM "
        "aside; the column names the tags that are answered otherwise too."
    )
    yield ""
    yield "Among four:"
    yield ""
    yield from table(list(of_four()))
    yield ""
    yield from bounds()
    yield ""
    yield "## PXP(k) bounds no panel"
    yield ""
    yield "A waverer between two others revises for ever, without a self-loop on a tag:"
    yield ""
    yield f"- free: {shown_lasso(free.lasso)}."
    yield f"- fifo: {shown_lasso(fifo.lasso)}."
    yield ""
    yield f"A triangle in which nobody is stubborn: {shown_lasso(fifo.all_change)}."
    yield ""
    idle = any(one.idle_cycle for one in found)
    yield (
        f"A cycle in which nobody changes a pair was found: {'yes' if idle else 'no'}. That there "
        f"is none follows: without a change the replies in a channel depend on two pairs alone, so "
        f"that from some message on they are self-loops, of which PXP(k) takes at most k."
    )
    yield ""
    yield from faults(found, free)
    yield from interact()


def faults(found: list[PanelAnswers], free: PanelAnswers) -> Iterator[str]:
    yield "## What can go wrong"
    yield ""
    yield f"- A RATIFY goes stale: {shown(free.stale)}."
    for (received, answer), run in sorted(free.replies.items()):
        yield f"- {received} is answered by {answer}: {shown(run)}."
    apart = min(filter(None, (one.closed_apart for one in found)), key=len, default=None)
    alike = min(filter(None, (one.rejected_alike for one in found)), key=len, default=None)
    yield f"- All channels are closed by mutual RATIFY, without agreement: {shown(apart)}."
    yield f"- All agree, although a channel was closed by REJECT: {shown(alike)}."
    yield ""
    yield "## Consensus needs fresh RATIFYs"
    yield ""
    unstable = [one.unstable for one in found if one.unstable]
    plain = min(filter(None, (one.unstable_unless_fresh for one in found)), key=len, default=None)
    yield (
        f"Where it is not asked that RATIFYs are fresh, a consensus need not last: {shown(plain)}."
    )
    yield ""
    yield (
        f"With fresh RATIFYs it lasted in every state that was looked at: "
        f"{'yes' if not unstable else 'no: ' + shown(unstable[0])}. The proof: in a consensus both "
        f"ends of each channel have sent RATIFY last, and neither has changed since. With an "
        f"equivalence the pair that an agent received is the other's current pair, which is in "
        f"category A with its own; so it answers with RATIFY or TERM, and neither changes a pair. "
        f"By induction nobody ever changes again. Between other relations the judgement may differ "
        f"when it is asked again, unless it is remembered (`memo`, the default)."
    )
    yield ""


def bounds() -> Iterator[str]:
    yield "## How long"
    yield ""
    yield (
        "The most messages of a session, where any agent may hang up whenever neither end has "
        "changed (free schedule):"
    )
    yield ""
    yield "| agents | k | call | alone | limit 0 | limit 1 |"
    yield "|--:|--:|--:|--:|--:|--:|"
    for agents, k in ((2, 1), (2, 2), (2, 3), (3, 1), (3, 2)):
        cells = [
            longest(agents, k, **rules)
            for rules in ({"call": True}, {"alone": True}, {"limit": 0}, {"limit": 1})
        ]
        yield f"| {agents} | {k} | {' | '.join('cut' if c is None else str(c) for c in cells)} |"
    yield ""
    yield (
        "With `call` that is (2k + 5) · N(N - 1)/2: channels are open one after the other for each "
        "agent, each is a session of two, and the bound of two holds of each. With `limit=0` it is "
        "(k + 3) · N(N - 1)/2. *cut* means that an exploration looked at its first 20,000 states "
        "and saw no end."
    )


def interact() -> Iterator[str]:
    yield "## INTERACT keeps what is true of two"
    yield ""
    yield (
        "A reply of INTERACT is about the pair that the message carries and the agent's latest "
        "message *in that channel*; its bound, its k and its stop rule count there. So a channel's "
        "next message depends on the channel's own messages and on the agent's fresh answer, which "
        "two agents' sessions leave free as well: **each channel of a panel is a session of two "
        "with free answers**, under any schedule and for any number of agents. Whatever is proved "
        "of two for free answers ([proofs](proofs.md)) holds of each channel, and a panel ends "
        "within n · N(N - 1)/2 messages. This is argued by hand; what follows of it is counted:"
    )
    yield ""
    yield "| n, k | two agents | three, fifo | three, round-robin | three, free |"
    yield "|---|--:|--:|--:|--:|"
    for n, k, with_free in ((2, 1, True), (3, 1, False)):
        cells = [words(2, n, k, "fifo"), words(3, n, k, "fifo"), words(3, n, k, "round-robin")]
        told = [f"{cell:,}" for cell in cells] + [
            f"{words(3, n, k, 'free'):,}" if with_free else "not counted"
        ]
        yield f"| {n}, {k} | {' | '.join(told)} |"
    yield ""
    yield (
        "These are the sequences of labels of complete sessions, judges being noisy: under fifo "
        "and round-robin the number for two to the power of the number of channels, under free all "
        "shuffles of them."
    )


def main() -> None:
    target = Path(sys.argv[1]) / "findings-panels.md"
    target.write_text("\n".join(page()) + "\n", "utf-8")


if __name__ == "__main__":
    main()
