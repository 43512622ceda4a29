"""Write what is true of panels, from explorations: `python -m findings.panels DOCS`.

It takes some minutes, and at most four gigabytes.
"""

from __future__ import annotations

import json
import random
import sys
from collections import Counter
from collections.abc import Iterator
from itertools import groupby, pairwise
from pathlib import Path
from typing import Any

import pxp_fsm as pxp
from backends.databases import Origin
from proofs.core.explore import explore
from proofs.core.properties import complete_words, terminates
from pxp_fsm.automata.actions import Exchange
from pxp_fsm.diagrams import SequenceChart, sequence_chart, write
from pxp_fsm.experiments import runs
from pxp_fsm.plugins.panels.answers import Lasso, PanelAnswers, answers, completed
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


def rule_of(explored: PanelAnswers) -> str:
    """The rule that is added to a panel, as the tables name it."""
    panel = explored.model.panel
    if panel.limit is not None:
        return f"limit {panel.limit}"
    rules = ("call", "alone", "commit", "reopen")
    return next((name for name in rules if getattr(panel, name)), "none")


def length_of(explored: PanelAnswers, run: tuple[str, ...] | None) -> str:
    """Of a shortest run its messages; a dash where there is none, ? where that is not known."""
    return str(len(run)) if run else ("–" if explored.is_whole else "?")


def cells_of(explored: PanelAnswers) -> tuple[str, ...]:
    """Whether sessions end, and have the replies of two; what can go wrong; states."""
    ends = "?" if explored.ends is None else str(explored.longest) if explored.ends else "no"
    replies = "no" if explored.replies else ("yes" if explored.is_whole else "?")
    runs = explored.stale, explored.closed_apart, explored.rejected_alike
    asked = 0 if explored.model.reduced else 3 if explored.model.agents == 3 else 1
    lengths = [length_of(explored, run) for run in runs[:asked]] + ["·"] * (3 - asked)
    return ends, replies, *lengths, f"{explored.states:,}{'' if explored.is_whole else '+'}"


def table(explored: list[PanelAnswers]) -> Iterator[str]:
    """A row for each number of agents and rule; in each cell a value for each schedule."""
    yield "| N | rule | ends within | replies of two | stale | apart | alike | states |"
    yield "|--:|---|---|---|---|---|---|--:|"
    by_panel = groupby(explored, key=lambda each: (each.model.agents, rule_of(each)))
    for (agents, rule), results in by_panel:
        columns = zip(*map(cells_of, results), strict=True)
        cells = (column[0] if len({*column}) == 1 else "/".join(column) for column in columns)
        yield f"| {agents} | {rule} | {' | '.join(cells)} |"


def progress(explored: PanelAnswers) -> None:
    """Say on standard error what an exploration has found."""
    who = f"{explored.model.agents} {explored.model.panel.schedule} {rule_of(explored)}"
    print(who, *cells_of(explored), f"{explored.seconds:.1f} s", file=sys.stderr, flush=True)


def by_rule(k: int = 1) -> Iterator[PanelAnswers]:
    for rules in RULES:
        for schedule in Scheduling:
            model = PanelModel(pxp.Panel(pxp.Pxp(k=k), schedule, **rules))
            endless = schedule is Scheduling.ROUND_ROBIN and rules in ({}, {"reopen": True})
            answered = answers(model, 3 * MOST if endless else MOST)  # its lasso is further away
            answered = completed(answered, WHOLE)
            progress(answered)
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


def endless_of_four() -> str:
    """After how many messages sessions of four come round, under the rules that bound nothing."""
    told = []
    unbounded: tuple[dict[str, Any], ...] = ({}, {"commit": True}, {"reopen": True})
    for rules in unbounded:
        for schedule in (Scheduling.FIFO, Scheduling.ROUND_ROBIN):
            run = endless(PanelModel(pxp.Panel(pxp.Pxp(k=1), schedule, **rules), 4))
            rule = next((f"`{name}`" for name in rules), "no rule")
            if run is not None:
                told.append(f"{len(run[0])} by {schedule} with {rule}")
    return ", ".join(told)


def of_many(agents: int) -> Iterator[PanelAnswers]:
    for rules in ({"call": True}, {"alone": True}, {"limit": 0}):
        for schedule in Scheduling:
            panel, free = pxp.Panel(pxp.Pxp(k=1), schedule, **rules), schedule == Scheduling.FREE
            model = PanelModel(panel, agents, reduced=free)
            answered = answers(
                model, PACKED if free else MANY if agents == 4 or panel.alone else MOST
            )
            progress(answered)
            yield answered


def longest(agents: int, k: int, **rules: Any) -> int | None:
    """The most messages of a session in which any agent may hang up whenever it may."""
    panel = pxp.Panel(pxp.Pxp(k=k), "free", **rules)
    model = PanelModel(panel, agents, free_term=True, reduced=True)
    return answers(model, MOST if panel.alone and agents > 4 else PACKED).longest


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
    fair = "fair" if lasso.is_fair else "unfair: somebody owes a message for ever"
    loops = "" if answers_itself(lasso) else "; no tag answers itself in it"
    return (
        f"{told} (the last {len(lasso.cycle)} for ever; {fair}; {', '.join(lasso.changing)} "
        f"change{'' if len(lasso.changing) > 1 else 's'}{loops})"
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
    yield "# What is true of panels"
    yield ""
    yield (
        "`make findings` writes this page. A [panel](panels.md) is explored as a system, by the "
        "functions that sessions run on: what an agent predicts first, and when it has learned, is "
        "free; MATCH and AGREE are an equivalence on two predictions and two explanations; TERM "
        "is sent by the default policy."
    )
    yield ""
    yield "## Use `call`, or `alone`"
    yield ""
    yield (
        "**Give each agent one open channel at a time (`call`).** Then every session ends, and "
        "what is proved of two holds of each channel while it is open. Where channels have to be "
        "open at the same time, `alone` gives the same. INTERACT needs neither. What no rule but "
        "`limit=0` prevents is that a RATIFY in a closed channel goes stale: ask for fresh RATIFYs "
        "(`consensus`), not for closed channels. `commit` and `reopen` bound nothing."
    )
    yield ""
    yield (
        "PXP(1) among N agents. A cell with three values has them for the schedules "
        "free/fifo/round-robin. *Stale*, *apart* and *alike*: the messages of a shortest session "
        "in which a RATIFY goes stale, all channels are closed by mutual RATIFY without agreement, "
        "or all agree although a channel was closed by REJECT; – where that is prevented. + marks "
        "an exploration that was cut: what it found is real, and what it did not find (?) is not "
        "known. · is not asked. Four and five under free are *reduced*: agents are exchanged, "
        "either end of a channel may begin, closed channels are forgotten, and one order stands "
        "for all of independent messages in different channels."
    )
    yield ""
    yield from table([*every_answer, *of_many(4), *of_many(5)])
    yield ""
    ends_fair = all(explored.fair for explored in every_answer if explored.ends is False)
    broken = ", ".join(sorted({received for received, _ in free.replies}))
    yield (
        "The replies of two are RATIFY to RATIFY, RATIFY to REVISE and REJECT to REJECT, TERM "
        f"aside; where the table says no, {broken} are answered otherwise too. "
        f"{'Each' if ends_fair else 'Not each'} rule and schedule without an end has "
        "an endless session that is fair: everybody who owes a message speaks again and again."
    )
    yield ""
    yield (
        "What is said below of one channel bounds four under `limit=1` by 54 messages, five by 90, "
        "and five under `alone` by 70. Sessions of four without an end come round after this many "
        f"messages: {endless_of_four()}."
    )
    yield ""
    yield from of_any_number()
    yield ""
    yield from bounds()
    yield ""
    yield "## PXP(k) bounds no panel"
    yield ""
    yield "Agents revise for ever, without a self-loop on a tag, which k would bound:"
    yield ""
    yield f"- free: {shown_lasso(free.lasso)}."
    if fifo.all_change is not None:
        fair = "fair" if fifo.all_change.is_fair else "unfair"
        yield f"- fifo, {fair}: the triangle below, in which nobody is stubborn."
        write(lasso_chart(fifo.all_change), pictures / "panel-lasso.svg")
    yield ""
    idle = any(explored.idle_cycle for explored in every_answer)
    yield (
        f"A cycle in which nobody changes a pair was found: {'yes' if idle else 'no'}. There is "
        f"none: without a change the replies in a channel depend on two pairs alone, so that from "
        f"some message on they are self-loops, of which PXP(k) takes at most k."
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


def faults(every_answer: list[PanelAnswers], free: PanelAnswers) -> Iterator[str]:
    yield "## What can go wrong"
    yield ""
    yield f"- A RATIFY goes stale: {shown(free.stale)}."
    by_start: dict[tuple[str, ...], dict[str, list[str]]] = {}
    for (received, answer), run in sorted(free.replies.items()):
        by_start.setdefault(run[:-2], {}).setdefault(received, []).append(answer)
        if run[-2] != f"c>b {received}":
            raise AssertionError("the page says otherwise of what is answered")
    for start, answered in by_start.items():
        told = "; ".join(f"{received} by {', '.join(tags)}" for received, tags in answered.items())
        yield f"- After {', '.join(start)} and a tag by c, b may answer otherwise: {told}."
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
    for what, session in (
        ("All channels are closed by mutual RATIFY, without agreement", apart),
        ("All agree, although a channel was closed by REJECT", alike),
    ):
        told = f"after {len(session)} messages of three agents" if session else shown(session)
        yield f"- {what}: {told}."
    one_explanation = PanelModel(pxp.Panel(pxp.Pxp(k=1), "free"), values=(2, 1))
    plain = answers(one_explanation, MOST).unstable_unless_fresh
    told = f"{plain[-1]} breaks one after {len(plain) - 1} messages" if plain else shown(plain)
    yield f"- A consensus of RATIFYs that need not be fresh does not last: {told}."
    yield ""
    unstable = [explored.unstable for explored in every_answer if explored.unstable]
    yield (
        f"A consensus of fresh RATIFYs lasted in every state that was looked at: "
        f"{'yes' if not unstable else 'no: ' + shown(unstable[0])}. The proof: both ends of each "
        f"channel have sent RATIFY last, and neither has changed since. With an equivalence the "
        f"pair that an agent received is the other's current pair, in category A with its own; so "
        f"it answers with RATIFY or TERM, and by induction no pair ever changes. With other "
        f"relations the judgement may differ when it is asked again, unless it is remembered "
        f"(`memo`, the default)."
    )
    yield ""


def bounds() -> Iterator[str]:
    """How long sessions are.

    The bound of `limit=c` is argued by hand. With an equivalence, two tags in a row differ only
    where an end has changed: elsewhere since its latest message there, or with the first or the
    second of the two messages. So a change counts once in each other channel of its agent, and
    twice in its own: an agent with d channels makes at most c(d + 1) such differences, and all N of
    a complete panel c · N². Equal tags in a row are self-loops, of which a channel has at most k
    for each of four tags; INIT, the first reply and TERM come to them.
    """
    yield "## How long"
    yield ""
    told = []
    for rules in ({"call": True}, {"alone": True}, {"limit": 0}):
        sizes = ((2, 1), (2, 2), (2, 3), (3, 1), (3, 2), (4, 1), (5, 1))
        most = "/".join(str(longest(agents, k, **rules) or "?") for agents, k in sizes)
        told.append(f"{most} with `{next(iter(rules))}{'=0' if 'limit' in rules else ''}`")
    yield (
        "A session has at most (2k + 5) · N(N - 1)/2 messages with `call` and `alone`, (k + 3) · "
        "N(N - 1)/2 with `limit=0`, and (4k + 3) · N(N - 1)/2 + c · N² with `limit=c`, c > 0, "
        "which no session that was explored attains. Longest are, where any agent may hang up "
        "whenever neither end has changed (free, reduced), for two agents and k = 1, 2 and 3, "
        f"three and k = 1 and 2, four and five and k = 1: {', '.join(told)}."
    )


def replies(
    panel: pxp.Panel,
    relations: AssumedRelations = AssumedRelations.EQUIVALENCE,
    values: tuple[int, int] = (2, 2),
) -> tuple[int | None, set[tuple[str, str]]]:
    """Of one channel among any number of others: the longest run, and what answers what."""
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
    return None if bound is None else bound.steps, answered


def of_any_number() -> Iterator[str]:
    yield "## Any number of agents"
    yield ""
    yield (
        "One channel is explored, and between its messages either end may change its pair "
        "elsewhere whenever the panel's rules let it, as often as it may, and hang up whenever "
        "neither end has changed. No channel of a panel of any number of agents, under any "
        "schedule, does more than that."
    )
    yield ""
    yield "| rule | most messages of a channel, k = 1/2/… | what answers RATIFY, REVISE, REJECT |"
    yield "|---|--:|---|"
    equal = AssumedRelations.EQUIVALENCE, (2, 2)
    tolerant, noisy = (AssumedRelations.TOLERANCE, (3, 3)), (AssumedRelations.NOISY, (2, 1))
    several: tuple[tuple[Any, int, dict[str, Any]], ...] = (
        *((equal, 3, {rule: True}) for rule in ("call", "alone")),
        *((equal, 2, {"limit": c}) for c in range(3)),
        (equal, 1, {"limit": 3}),
        (equal, 1, {}),
        (equal, 1, {"commit": True}),
        *((other, 1, {rule: True}) for other in (tolerant, noisy) for rule in ("call", "alone")),
    )
    rows: dict[tuple[AssumedRelations, str], list[str]] = {}
    for (relations, values), most_k, rules in several:
        bounds, told = list[str](), set[str]()
        for k in range(1, most_k + 1):
            most, answered = replies(pxp.Panel(pxp.Pxp(k=k), **rules), relations, values)
            bounds.append(str(most or "endless"))
            as_two = all(REPLIES[received] == tag for received, tag in answered)
            every = "each of four tags" if len(answered) == 12 else "more"
            told.add("as between two" if as_two else every)
        row = f"{'/'.join(bounds)} | {', '.join(sorted(told))}"
        name = ", ".join(f"limit {v}" if n == "limit" else n for n, v in rules.items()) or "none"
        rows.setdefault((relations, row), []).append(name)
    for (relations, row), names in rows.items():
        name = " or ".join(names)
        name += "" if relations is AssumedRelations.EQUIVALENCE else f", {relations}"
        yield f"| {name} | {row} |"
    yield ""
    yield (
        "*Tolerance*: MATCH and AGREE hold of neighbours too, of three predictions and three "
        "explanations, and so are not transitive. *Noisy*: each of their answers is free; then no "
        "two agents are bounded either. With `call` and with `alone` every channel is a session "
        "of two, for every N: it has at most 2k + 5 messages, and the replies are those of two."
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
        "somebody persuades | split |"
    )
    yield "|---|---|---|--:|--:|"
    pxp_3: dict[str, Any] = {"protocol": "pxp", "n": None, "k": 3}
    settings: tuple[tuple[str, str, str, dict[str, Any]], ...] = (
        ("drug", "few:20", "always", {}),
        ("drug", "few:20", "always", pxp_3),
        ("drug", "few:20", "better", {}),
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
            sessions, splits = 0, 0
            for session in panel_sessions(board, board.run(run.name)):
                sessions += bool(session.persuaded)
                splits += "split" in session.verdicts
        protocol = "PXP(3)" if more else "INTERACT(10, 3)"
        yield f"| {task}, {precedents} | {protocol} | {learn} | {sessions} | {splits} |"
    yield ""
    yield (
        "An agent is persuaded where a message of it carries what another told it, and its message "
        "before did not. In a default run (`drug`, INTERACT, every lesson kept) nobody is: a "
        "machine has learned from the opener's INIT before its own first message. By PXP a machine "
        "LEARNs only where one of MATCH and AGREE holds without the other, and most routes differ "
        "in both. Where a lesson counts only if it improves the machine's validation (`--set "
        "learning.keep=better`), persuasion is visible, and the panel no better: all channels of "
        "the sessions with persuasion are closed by RATIFY, and the panel is split."
    )


def how_known() -> Iterator[str]:
    """Of each statement how it is known for any number of agents."""
    yield "## What is mechanised, and what argued"
    yield ""
    yield (
        "Explored whole is what the tables say. For any number of agents the model of one channel "
        "shows that the replies of two survive under `call`, `alone` and `limit=0` alone, and the "
        "bounds for the k and c of its table. Argued by hand are that channels of INTERACT are "
        "such, the labels, the formula of `limit=c` (in `benchmarks/findings/panels.py`), that a "
        "consensus of fresh RATIFYs lasts, that every cycle changes a pair, and that what goes "
        "wrong among three does so among more: the others wait, or close their channels first. The "
        "tests compare reduced models with whole ones of two and three."
    )


def reached() -> Iterator[str]:
    yield (
        "Three machines, each with 20 precedents of its own, on 20 molecules in 5 repetitions; "
        "beside them one machine and the task's human, a database of the published routes."
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
        "By INTERACT an agent learns from what it hears before it answers: **all agree, and most "
        "of the time on the opener's route, another than the published one**. PXP lets each say "
        "its own first: less is agreed, and in more sessions somebody holds the published route."
    )


def broken() -> Iterator[str]:
    yield (
        "**What breaks an impasse?** INTERACT(20, 20), `stop=impasse:4`, 20 molecules in 3 "
        "repetitions; of each setting the first 20 sessions in an impasse are carried on from "
        "before the first answer of its window: with that turn passed, without the agent whose "
        "turn it was, and with that agent giving in (it sends what it was told)."
    )
    yield ""
    yield "| the machines | impasses | consensus: turn passed | without the agent | giving in |"
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
            cells = [str(gone[how]) for how in ("skip", "without", "gives in")]
            yield f"| {about} | {len(stuck)} of {len(sessions)} | {' | '.join(cells)} |"
    yield ""
    yield (
        "Passing the turn changes nothing that anybody knows, and another's answer is gone with "
        "the agent's next message. Leaving an agent out helps where the two others agree."
    )


def interact() -> Iterator[str]:
    yield "## INTERACT keeps what is true of two"
    yield ""
    told = []
    for n in (2, 3):
        two = words(2, n, 1, "fifo")
        if {words(3, n, 1, "fifo"), words(3, n, 1, "round-robin")} != {two**3}:
            raise AssertionError("the page says otherwise of the labels of three agents")
        told.append(f"{two:,}³ = {two**3:,}")
    cubes, free = " and ".join(told), words(3, 2, 1, "free")
    yield (
        "A reply of INTERACT is about the pair that the message carries and the agent's latest "
        "message *in that channel*; its bound, its k and its stop rule count there. So **each "
        "channel of a panel is a session of two with free answers**, under any schedule and for "
        "any number of agents: whatever is proved of two for free answers ([proofs](proofs.md)) "
        "holds of it, and a panel ends within n · N(N - 1)/2 messages. The model of one channel "
        "among any number of others has the label sequences of two agents: 13 for n = 3 and k = 1, "
        f"36 for n = 4 and k = 2, judges being noisy. Whole sessions of three have {cubes} for n = "
        "2 and 3 and k = 1 by fifo and round-robin, a factor for each channel, and under free all "
        f"shuffles of them, {free:,} for n = 2."
    )


def main() -> None:
    docs = Path(sys.argv[1])
    lines = page(docs / "pictures")
    (docs / "findings-panels.md").write_text("\n".join(lines) + "\n", "utf-8")


if __name__ == "__main__":
    main()
