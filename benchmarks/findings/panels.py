"""Write what is true of panels, from explorations: `python -m findings.panels DOCS`.

It takes some minutes, and at most four gigabytes.
"""

from __future__ import annotations

import json
import random
import sys
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pxp_fsm as pxp
from backends.databases import Origin
from proofs.core.explore import explore
from proofs.core.properties import complete_words, terminates
from pxp_fsm.automata.actions import Exchange
from pxp_fsm.diagrams import SequenceChart, sequence_chart, write
from pxp_fsm.experiments import runs
from pxp_fsm.plugins.panels.answers import Lasso, PanelAnswers, answers, completed, table
from pxp_fsm.plugins.panels.exploration import (
    REPLIES,
    AssumedRelations,
    ChannelModel,
    PanelModel,
)
from pxp_fsm.plugins.panels.panel import Scheduling
from pxp_fsm.plugins.panels.results import panel_sessions

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
MANY = 210_000
"""As many states as are looked at where that is known to be all."""
WHOLE = 40_000_000
"""As many states as are looked at of a whole model that is compiled."""
TRIES = 1_000
"""As many sessions of four are drawn until one comes round."""
PACKED = 8_000_000
"""As many states as are looked at of a reduced model that is compiled."""


def by_rule(k: int = 1) -> Iterator[PanelAnswers]:
    for rules in RULES:
        for schedule in Scheduling:
            model = PanelModel(pxp.Panel(pxp.Pxp(k=k), schedule, **rules))
            endless = schedule is Scheduling.ROUND_ROBIN and rules in ({}, {"reopen": True})
            answered = answers(model, 3 * MOST if endless else MOST)  # its lasso is further away
            answered = completed(answered, WHOLE)
            print(*list(table([answered]))[2:], file=sys.stderr, flush=True)
            yield answered


def endless(model: PanelModel) -> tuple[list[str], list[str]] | None:
    """A session that comes round, where everybody answers a board as it did before: stem, cycle.

    What is answered is drawn for each board, mostly so that somebody changes.
    """
    for seed in range(TRIES):
        (state,) = model.initial()
        met, messages = dict[Any, int](), list[str]()
        while state not in met:
            met[state] = len(messages)
            steps = sorted(model.successors(state), key=repr)
            if not steps:
                break
            drawn = random.Random(f"{seed} {state!r}")
            moving = [step for step in steps if step.facts[0]]
            step = drawn.choice(moving if moving and drawn.random() < 0.8 else steps)
            messages.append(str(step.action))
            state = step.target
        else:
            return messages[: met[state]], messages[met[state] :]
    return None


def endless_of_four() -> Iterator[str]:
    """Sessions of four without an end, under the rules that bound nothing."""
    yield "| schedule | rule | messages before the cycle | the cycle |"
    yield "|---|---|--:|---|"
    unbounded: tuple[dict[str, Any], ...] = ({}, {"commit": True}, {"reopen": True})
    for rules in unbounded:
        for schedule in (Scheduling.FIFO, Scheduling.ROUND_ROBIN):
            run = endless(PanelModel(pxp.Panel(pxp.Pxp(k=1), schedule, **rules), 4))
            stem, cycle = ("none found", ["none found"]) if run is None else (len(run[0]), run[1])
            yield f"| {schedule} | {next(iter(rules), 'none')} | {stem} | {', '.join(cycle)} |"


def of_many(agents: int) -> Iterator[PanelAnswers]:
    for rules in ({"call": True}, {"alone": True}, {"limit": 0}):
        for schedule in Scheduling:
            panel, free = pxp.Panel(pxp.Pxp(k=1), schedule, **rules), schedule == Scheduling.FREE
            model = PanelModel(panel, agents, reduced=free)
            answered = answers(
                model, PACKED if free else MANY if agents == 4 or panel.alone else MOST
            )
            print(*list(table([answered]))[2:], file=sys.stderr, flush=True)
            yield answered


def longest(agents: int, k: int, **rules: Any) -> int | None:
    """The most messages of a session in which any agent may hang up whenever it may."""
    panel = pxp.Panel(pxp.Pxp(k=k), "free", **rules)
    model = PanelModel(panel, agents, free_term=True, reduced=True)
    large = agents > 4 if panel.alone else agents > 2 and panel.limit == 1
    return answers(model, MOST if large else PACKED).longest


def of_alone() -> str:
    """The states of the reduced models of two, three and four agents under `alone`."""
    panel = pxp.Panel(pxp.Pxp(k=1), "free", alone=True)
    models = (PanelModel(panel, agents, reduced=True) for agents in (2, 3, 4))
    two, three, four = (f"{answers(model, PACKED).states:,}" for model in models)
    return f"{two}, {three} and {four}"


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
    loops = "" if answers_itself(lasso) else "; no tag answers itself in it, so that no k bounds it"
    return (
        f"{told} (the last {len(lasso.cycle)} for ever). Who changes: {', '.join(lasso.changing)}; "
        f"{fair if lasso.is_fair else 'unfair: somebody owes a message for ever'}{loops}"
    )


def answers_itself(lasso: Lasso) -> bool:
    """Whether a tag is answered by the same tag in the cycle."""
    by_ends: dict[frozenset[str], list[str]] = {}
    for message in (*lasso.cycle, *lasso.cycle):
        ends, tag = message.split()
        by_ends.setdefault(frozenset(ends.split(">")), []).append(tag)
    return any(
        answered_tag == other for tags in by_ends.values() for answered_tag, other in pairwise(tags)
    )


def lasso_chart(lasso: Lasso) -> SequenceChart:
    """An endless run as a sequence chart: its beginning, and the cycle once."""
    messages = []
    for number, words in enumerate((*lasso.stem, *lasso.cycle), 1):
        ends, tag = words.split()
        sender, receiver = ends.split(">")
        messages.append(pxp.Message("", number, sender, tag, pxp.Answer("", ""), receiver))
    again = len(lasso.stem) + 1
    note = f"messages {again} to {len(messages)} come again for ever"
    title = "A triangle in which nobody is stubborn, PXP(1), fifo"
    return sequence_chart(messages, title=title, note=note, texts=False)


def page(pictures: Path) -> Iterator[str]:
    every_answer = list(by_rule())
    free = next(explored for explored in every_answer if explored.model.panel.schedule == "free")
    fifo = next(explored for explored in every_answer if explored.model.panel.schedule == "fifo")
    turns = next(
        explored for explored in every_answer if explored.model.panel.schedule == "round-robin"
    )
    yield "# What is true of panels"
    yield ""
    yield (
        "`make findings` writes this page. A [panel](panels.md) is explored as a system: what an "
        "agent predicts first, and what it predicts when it has learned, is free; MATCH and AGREE "
        "are an equivalence on two predictions and two explanations; TERM is sent by the default "
        "policy. What a panel does is decided there by the functions that sessions run on. An "
        "exploration that was cut looked at as many states as it says: what it found is real, and "
        "what it did not find is not known. *Reduced* is an exploration in which agents are "
        "exchanged and either end of a channel may begin, closed channels are forgotten, and of "
        "messages in different channels that do not depend on each other one order stands for "
        "all; it is asked for ends, lengths and replies."
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
    yield from table(every_answer)
    yield ""
    yield (
        "The replies of two are RATIFY to RATIFY, RATIFY to REVISE and REJECT to REJECT, TERM "
        "aside; the column names the tags that are answered otherwise too."
    )
    yield ""
    yield from of_more()
    yield (
        "Why some are cut: the channels go on side by side, six among four and ten among five. "
        "Under free the order in which messages of different channels come counts only where one "
        "depends on the other. With `call` and `limit=0` it hardly does, and five are explored "
        "whole. With `alone` who may LEARN depends on which channels are open: of two, three and "
        f"four agents there are {of_alone()} states, and of five, by this growth, some billions. "
        "Their bound is known all the same, 70: no channel under `alone` has more than 2k + 5 "
        "messages (below), and each session under `call` is one under `alone` too. Under fifo and "
        "round-robin nothing is reduced: who is listed first decides, and the queue orders all "
        "messages. What is found among three under free stands among more, where the others have "
        "yet to speak: a RATIFY goes stale as early, and the rules that bound nothing there bound "
        "nothing here. For any number of agents one channel among "
        "all others is explored instead:"
    )
    yield ""
    yield from of_any_number()
    yield ""
    yield from bounds()
    yield ""
    yield "## PXP(k) bounds no panel"
    yield ""
    yield "A waverer between two others revises for ever, without a self-loop on a tag:"
    yield ""
    yield f"- free: {shown_lasso(free.lasso)}."
    yield f"- fifo: {shown_lasso(fifo.lasso)}."
    yield f"- round-robin: {shown_lasso(turns.lasso)}."
    yield ""
    yield f"A triangle in which nobody is stubborn: {shown_lasso(fifo.all_change)}."
    if fifo.all_change is not None:
        write(lasso_chart(fifo.all_change), pictures / "panel-lasso.svg")
    yield ""
    idle = any(explored.idle_cycle for explored in every_answer)
    yield (
        f"A cycle in which nobody changes a pair was found: {'yes' if idle else 'no'}. That there "
        f"is none follows: without a change the replies in a channel depend on two pairs alone, so "
        f"that from some message on they are self-loops, of which PXP(k) takes at most k."
    )
    yield ""
    yield "![A triangle in which nobody is stubborn](pictures/panel-lasso.svg)"
    yield ""
    yield from faults(every_answer, free)
    yield from interact()
    yield ""
    yield from on_drug()
    yield ""
    yield from how_known()


def of_more() -> Iterator[str]:
    """The tables of four and of five agents."""
    for agents, number in ((4, "four"), (5, "five")):
        yield f"Among {number}:"
        yield ""
        yield from table(list(of_many(agents)))
        yield ""
    yield (
        "Four under `limit=1` are not explored whole: a state would have 94 bits, where the search "
        "has 62, and already three have 584,620 states, beside 12,089 with `alone`. Each of their "
        "channels has at most 9 messages, as each has among any number of agents (below): they end "
        "within 54, and five within 90. What "
        "bounds nothing among three bounds nothing among four, by fifo and round-robin too:"
    )
    yield ""
    yield from endless_of_four()
    yield ""


def faults(every_answer: list[PanelAnswers], free: PanelAnswers) -> Iterator[str]:
    yield "## What can go wrong"
    yield ""
    yield f"- A RATIFY goes stale: {shown(free.stale)}."
    for (received, answer), run in sorted(free.replies.items()):
        yield f"- {received} is answered by {answer}: {shown(run)}."
    apart = min(
        filter(None, (explored.closed_apart for explored in every_answer)),
        key=len,
        default=None,
    )
    alike = min(
        filter(None, (explored.rejected_alike for explored in every_answer)),
        key=len,
        default=None,
    )
    yield f"- All channels are closed by mutual RATIFY, without agreement: {shown(apart)}."
    yield f"- All agree, although a channel was closed by REJECT: {shown(alike)}."
    yield ""
    yield from prevented(every_answer)
    yield "## Consensus needs fresh RATIFYs"
    yield ""
    unstable = [explored.unstable for explored in every_answer if explored.unstable]
    one_explanation = PanelModel(pxp.Panel(pxp.Pxp(k=1), "free"), values=(2, 1))
    plain = answers(one_explanation, MOST).unstable_unless_fresh
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


def prevented(every_answer: list[PanelAnswers]) -> Iterator[str]:
    """Which rules prevent that a RATIFY goes stale, that ratified agents differ, and the other."""
    yield "Which rules prevent which, with the messages of a shortest session where none does:"
    yield ""
    yield "| schedule | rule | stale RATIFY | mutual RATIFY, apart | alike, though rejected |"
    yield "|---|---|---|---|---|"
    for explored in every_answer:
        if explored.model.reduced:
            continue
        none = "prevented" if explored.is_whole else "not found"
        runs = explored.stale, explored.closed_apart, explored.rejected_alike
        cells = [none if run is None else f"in {len(run)}" for run in runs]
        schedule, rule = next(iter(list(table([explored]))[2:])).split(" | ")[:2]
        yield f"{schedule} | {rule} | {' | '.join(cells)} |"
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
    for agents, k in ((2, 1), (2, 2), (2, 3), (3, 1), (3, 2), (4, 1), (5, 1)):
        cells = []
        for rules in ({"call": True}, {"alone": True}, {"limit": 0}, {"limit": 1}):
            if agents > 3 and rules == {"limit": 1}:
                cells.append("not tried")  # the first 20,000 states alone take minutes
            else:
                cells.append(str(longest(agents, k, **rules) or "cut"))
        yield f"| {agents} | {k} | {' | '.join(cells)} |"
    yield ""
    yield (
        "With `call` that is (2k + 5) · N(N - 1)/2: channels are open one after the other for each "
        "agent, each is a session of two, and the bound of two holds of each. Such a session is "
        "one under `alone` as well, where the same bound holds. With `limit=0` it is "
        "(k + 3) · N(N - 1)/2. With `limit=c` and c > 0 a session has at most (4k + 3) · "
        "N(N - 1)/2 + "
        "c · N² messages; the argument is above. No session that was explored attains it. *cut* "
        "means that an exploration (reduced) looked at its first 20,000 states and saw no end. "
        "With `alone` it is 70 among five all the same, as said above."
    )


def replies(
    panel: pxp.Panel,
    relations: AssumedRelations = AssumedRelations.EQUIVALENCE,
    values: tuple[int, int] = (2, 2),
) -> tuple[int, int | None, set[tuple[str, str]]]:
    """Of one channel among any number of others: states, longest run, and what answers what."""
    space = explore(ChannelModel(panel, relations, values))
    answered = set[tuple[str, str]]()
    for state, steps in space.steps.items():
        for step in steps:
            action = step.action
            if not isinstance(action, Exchange) or action.tag in ("INIT", "TERM"):
                continue
            received = state.talks[0].said["ba".index(action.sender)]
            if received in REPLIES:
                answered.add((received, action.tag))
    bound = terminates(space).bound
    return space.states, None if bound is None else bound.steps, answered


def of_any_number() -> Iterator[str]:
    yield "## Any number of agents"
    yield ""
    yield (
        "What is said here of all N is mechanised in this way: one channel is explored, and "
        "between its messages either end may have changed its pair elsewhere, whenever the panel's "
        "rules let it, as often as it may. Each channel of a panel of any number of agents, under "
        "any schedule, does no more than that. Any agent may hang up whenever neither end has "
        "changed; there are two predictions and two explanations."
    )
    yield ""
    yield "| rule | k | states | most messages of a channel | what answers RATIFY, REVISE, REJECT |"
    yield "|---|--:|--:|--:|---|"
    equal = AssumedRelations.EQUIVALENCE, (2, 2)
    tolerant, noisy = (AssumedRelations.TOLERANCE, (3, 3)), (AssumedRelations.NOISY, (2, 1))
    limits = ((1, 0), (2, 0), (1, 1), (2, 1), (1, 2), (2, 2), (1, 3))
    several: tuple[tuple[Any, int, dict[str, Any]], ...] = (
        *((equal, k, {rule: True}) for k in (1, 2, 3) for rule in ("call", "alone")),
        *((equal, k, {"limit": c}) for k, c in limits),
        (equal, 1, {}),
        (equal, 1, {"commit": True}),
        *((other, 1, {rule: True}) for other in (tolerant, noisy) for rule in ("call", "alone")),
    )
    for (relations, values), k, rules in several:
        states, most, answered = replies(pxp.Panel(pxp.Pxp(k=k), **rules), relations, values)
        name = ", ".join(f"limit {v}" if n == "limit" else n for n, v in rules.items()) or "none"
        name += "" if relations is AssumedRelations.EQUIVALENCE else f", {relations}"
        told = (
            "as between two" if all(REPLIES[a] == b for a, b in answered) else "each of four tags"
        )
        told = told if all(REPLIES[a] == b for a, b in answered) or len(answered) == 12 else "more"
        yield f"| {name} | {k} | {states:,} | {most or 'endless'} | {told} |"
    yield ""
    yield (
        "*Tolerance*: MATCH and AGREE hold of neighbours too, of three predictions and three "
        "explanations, and so are not transitive. *Noisy*: each of their answers is free; then no "
        "two agents are bounded either, and no rule of a panel makes up for that."
    )
    yield ""
    yield (
        "So with `call` and with `alone` every channel is a session of two, for every N: it has at "
        "most 2k + 5 messages, and the replies are those of two."
    )
    yield ""
    yield (
        "**`limit=c`, argued by hand.** With an equivalence, two tags in a row differ only where "
        "an end has "
        "changed: elsewhere since its latest message there, or with the first or the second of the "
        "two messages. So a change counts once in each other channel of its agent, and "
        "twice in its "
        "own: an agent with d channels makes at most c(d + 1) such differences, and all N of a "
        "complete panel c · N². Equal tags in a row are self-loops, of which a channel has at most "
        "k for each of four tags; INIT, the first reply and TERM come to them. That is (4k + 3) · "
        "N(N - 1)/2 + c · N² in all. The explored channels keep within 4k + 3 + 4c, as the "
        "argument says of one."
    )


def on_drug() -> Iterator[str]:
    """What the offline machines of DRUG do: counterfactuals of impasses, and what they reach."""
    yield "## On DRUG, offline"
    yield ""
    yield from reached()
    yield ""
    yield from persuaded()
    yield ""
    yield from broken()


def persuaded() -> Iterator[str]:
    """In how many sessions somebody persuades somebody, by protocol and what is kept."""
    yield "**Who persuades whom?** Three machines, 20 molecules or drawings, once each:"
    yield ""
    yield (
        "| task and what each machine begins with | protocol | lessons kept | sessions in which "
        "somebody persuades | times | consensus | split |"
    )
    yield "|---|---|---|--:|--:|--:|--:|"
    pxp_3: dict[str, Any] = {"protocol": "pxp", "n": None, "k": 3}
    settings: tuple[tuple[str, str, str, dict[str, Any]], ...] = (
        ("drug", "few:20", "always", {}),
        ("drug", "few:20", "always", pxp_3),
        ("drug", "few:20", "better", {}),
        ("drug", "few:60", "always", pxp_3),
        ("rad", "few:3", "always", {}),
        ("rad", "few:3", "better", {}),
    )
    for task, precedents, learn, more in settings:
        plan = pxp.Plan(
            task,
            instances="20",
            agents=3,
            precedents=precedents,
            learn=learn,
            **more,
        )
        with pxp.open_blackboard(":memory:") as board:
            run = pxp.run(plan, board)
            sessions, times, verdicts = 0, 0, Counter[str]()
            for session in panel_sessions(board, board.run(run.name)):
                sessions += bool(session.persuaded)
                times += sum(session.persuaded.values())
                verdicts.update(session.verdicts)
        protocol = "PXP(3)" if more else "INTERACT(10, 3)"
        yield (
            f"| {task}, {precedents} | {protocol} | {learn} | {sessions} | {times} | "
            f"{verdicts['consensus']} | {verdicts['split']} |"
        )
    yield ""
    yield (
        "**In a default run nobody persuades anybody**: DRUG by INTERACT, every lesson kept. An "
        "agent is persuaded where a message of it carries what another told it, and its message "
        "before did not. By INTERACT a machine has learned from the opener's INIT before its own "
        "first message, which carries that route already: it was persuaded, if at all, before "
        "anybody could see. By PXP each begins with its own, but a machine LEARNs only where one "
        "of MATCH and AGREE holds without the other; most routes differ in both, are rejected, "
        "and stay. **`--set learning.keep=better` makes persuasion visible**: a lesson counts only "
        "where it improves the machine's validation, and in each of the sessions above m2 takes "
        "over what m1 told it, m3 what m2 did, and m2 what m3 did. This is no better a panel: "
        "all their channels are closed by RATIFY, and the panel is split. More precedents of its "
        "own make PXP's machines revise."
    )


def how_known() -> Iterator[str]:
    """Of each question how it is answered for each number of agents."""
    yield "## What is explored, mechanised and argued"
    yield ""
    yield "| question | three | four | five | any number |"
    yield "|---|---|---|---|---|"
    rows = (
        (
            "INTERACT ends within n · N(N - 1)/2 messages",
            "explored whole (n = 3, k = 1, each schedule)",
            "as any number",
            "as any number",
            "mechanised for each channel (13 and 36 label sequences); that the channels of a "
            "panel are such: argued by hand",
        ),
        (
            "labels of INTERACT: a power, or its shuffles",
            "explored whole (n = 2; n = 3 by fifo and round-robin)",
            "-",
            "-",
            "argued by hand",
        ),
        (
            "PXP(k) bounds no panel, nor do `commit` and `reopen`",
            "cycles explored, each schedule",
            "cycles drawn, by fifo and round-robin (`reopen`: as any number)",
            "as any number",
            "argued by hand: the other channels close first, and two with an agent in common "
            "are left",
        ),
        (
            "every cycle changes a pair",
            "explored to a bound",
            "as any number",
            "as any number",
            "argued by hand",
        ),
        (
            "`call`: (2k + 5) · N(N - 1)/2, attained under free",
            "explored whole, each schedule",
            "explored whole, each schedule",
            "explored whole under free, to a bound by fifo and round-robin",
            "mechanised for each channel, k to 3; attained: explored to five",
        ),
        (
            "`alone`: the same bound",
            "explored whole, each schedule",
            "explored whole, each schedule",
            "explored whole by fifo and round-robin, to a bound under free",
            "mechanised for each channel, k to 3",
        ),
        (
            "`limit=0`: (k + 3) · N(N - 1)/2",
            "explored whole, each schedule",
            "explored whole, each schedule",
            "explored whole, each schedule",
            "mechanised for each channel, k = 1 and 2",
        ),
        (
            "`limit=c` ends",
            "explored whole for c = 1, each schedule",
            "not explored whole; within 54 for c = 1",
            "not explored; within 90 for c = 1",
            "mechanised for each channel (c = 1 and 2, k = 1 and 2; c = 3, k = 1); the formula: "
            "argued by hand",
        ),
        (
            "replies of two survive under `call` and `alone`, under no other rule but `limit=0`",
            "explored whole; the others by sessions that were found",
            "explored whole",
            "`call` explored whole under free, `alone` to a bound",
            "mechanised for each channel",
        ),
        (
            "a RATIFY goes stale, in 4 messages under free",
            "explored, shortest",
            "as among three: the others wait",
            "as among three: the others wait",
            "as among three: the others wait",
        ),
        (
            "closed by RATIFY apart; alike though rejected",
            "explored; to a bound without a rule that ends sessions",
            "under free as among three: the others wait, then agree or reject",
            "as among four",
            "argued by hand",
        ),
        (
            "a consensus of fresh RATIFYs lasts",
            "explored whole where the table says no cut, else to a bound",
            "as any number",
            "as any number",
            "argued by hand",
        ),
    )
    for row in rows:
        yield f"| {' | '.join(row)} |"
    yield ""
    yield (
        "Numbers of predictions and explanations are two each throughout, but where it is said. "
        "Renaming values is used everywhere; agents are exchanged only in the reduced model, under "
        "free with either opener, which the tests compare with whole models of two and three."
    )


def reached() -> Iterator[str]:
    yield (
        "Three machines, each with 20 precedents of its own, on 20 molecules in 5 repetitions; "
        "beside them one machine with 20 precedents and the human of the task, a database that "
        "knows the published route."
    )
    yield ""
    yield (
        "| protocol | consensus on the published route | on another | no consensus, somebody right "
        "| nobody right | right consensus where one machine and the human did not agree |"
    )
    yield "|---|--:|--:|--:|--:|--:|"
    with pxp.open_blackboard(":memory:") as board:
        run_of_two = pxp.run(pxp.Plan("drug", instances="20", repetitions=5), board)
        agreed = {
            (record.repetition, record.instance.key)
            for record in board.sessions(run_of_two.name)
            if record.ending == "ratified"
        }
        told: dict[str, dict[str, Any]] = {
            "INTERACT(10, 3)": {},
            "PXP(3)": {"protocol": "pxp", "n": None, "k": 3},
        }
        for name, more in told.items():
            plan = pxp.Plan("drug", instances="20", repetitions=5, agents=3, **more)
            run = pxp.run(plan, board)
            counts, alone, ever = Counter[str](), 0, 0
            for session in panel_sessions(board, board.run(run.name)):
                if session.right is None or session.first_right is None:
                    continue
                place = session.record.repetition, session.record.instance.key
                kind = "somebody" if any(session.right.values()) else "nobody"
                if "consensus" in session.verdicts:
                    kind = "right" if all(session.right.values()) else "other"
                counts[kind] += 1
                counts["only"] += kind == "right" and place not in agreed
                alone += session.first_right["m1"] is not None
                ever += any(number is not None for number in session.first_right.values())
            cells = [counts[each] for each in ("right", "other", "somebody", "nobody", "only")]
            yield f"| {name} | {' | '.join(map(str, cells))} |"
            if "PXP" in name:
                last = (
                    f"By PXP(3) some machine is right at some message of {ever} sessions, m1 of "
                    f"{alone}. One machine and the human agree in {len(agreed)} of 100 sessions."
                )
    yield ""
    yield last
    yield (
        "By INTERACT an agent learns from what it hears before it answers, and so the others take "
        "over the opener's route: **all agree, and most of the time on another route**. PXP lets "
        "each say its own first: less is agreed, and in more sessions somebody holds the published "
        "route."
    )


def broken() -> Iterator[str]:
    yield (
        "**Does removing the first message of an impasse's window break it?** INTERACT(20, 20), "
        "`stop=impasse:4`, 20 molecules in 3 repetitions; of each setting the first 20 "
        "sessions that "
        "ended in an impasse are carried on from before the first answer of the window: with that "
        "turn passed, without the agent whose turn it was, and with that agent giving in (it sends "
        "what it was told)."
    )
    yield ""
    yield "| the machines | impasses | turn passed | without the agent | giving in |"
    yield "|---|--:|--:|--:|--:|"
    settings = (("learn nothing", "never"), ("keep lessons that improve validation", "better"))
    for about, learn in settings:
        plan = pxp.Plan(
            "drug",
            instances="20",
            repetitions=3,
            agents=3,
            n=20,
            k=20,
            stop="impasse:4,consensus",
            learn=learn,
            gate="context",
        )
        with pxp.open_blackboard(":memory:") as board:
            run = pxp.run(plan, board)
            sessions = list(panel_sessions(board, board.run(run.name)))
            stuck = [session for session in sessions if "impasse" in session.verdicts]
            gone = Counter[str]()
            for session in stuck[:20]:
                events = board.events(session.record.session)
                names = tuple(name for name, _ in session.record.agents)
                start = pxp.panels.window_start(plan.talks(), names, events)
                if start is None:
                    continue
                first = events[start - 1].carried
                told = next(
                    event.carried.answer
                    for event in reversed(events[: start - 1])
                    if (event.carried.sender, event.carried.receiver)
                    == (first.receiver, first.sender)
                )
                given = {"prediction": told.prediction, "explanation": told.explanation}
                origin = Origin(session.record.session, start)
                for how, values, changes in (
                    ("skip", {}, [pxp.panels.TurnChange(skip=True)]),
                    ("without", {}, [pxp.panels.TurnChange(without=first.sender)]),
                    ("gives in", {"answer": json.dumps(given)}, []),
                ):
                    fork = runs.fork(origin, board, values, changes=changes)
                    fork.execute()
                    (after,) = panel_sessions(board, board.run(fork.name))
                    gone[how] += "consensus" in after.verdicts
            cells = [f"consensus in {gone[how]}" for how in ("skip", "without", "gives in")]
            yield f"| {about} | {len(stuck)} of {len(sessions)} | {' | '.join(cells)} |"
    yield ""
    yield (
        "Passing the turn changes the order and nothing that anybody knows, and an answer of "
        "another's is gone with the agent's next message: neither breaks an impasse of these "
        "machines. Leaving an agent out does, where the two others agree."
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
        "within n · N(N - 1)/2 messages. The model of one channel among any number of others "
        "(above) has the label sequences of two agents: 13 for n = 3 and k = 1, 36 for n = "
        "4 and k = "
        "2, judges being noisy. What follows of it for whole panels is counted:"
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
    docs = Path(sys.argv[1])
    lines = page(docs / "pictures")
    (docs / "findings-panels.md").write_text("\n".join(lines) + "\n", "utf-8")


if __name__ == "__main__":
    main()
