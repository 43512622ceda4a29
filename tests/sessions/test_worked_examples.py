"""The worked examples of arXiv 2301.01819, section 3.4.1, as real sessions of PXP."""

from __future__ import annotations

import pytest

from guards import ScriptedGuards
from pxp_fsm.protocol.intelligibility import DEFINITIONS, holds_for, two_way
from pxp_fsm.protocol.messages import Tag
from pxp_fsm.protocol.rules import Ending, Pxp, TermPolicy
from tests.sessions.agents import agent, run, tags

GUARDS = {"RATIFY": "RAT", "REFUTE": "REF", "REVISE": "REV", "REJECT": "REJ"}


def after(sent: str, answered: str) -> TermPolicy:
    """Hang up right after a `sent` that answered `answered`."""
    return lambda latest, previous: (latest, previous) == (sent, answered)


def in_answer_to(tag: str) -> TermPolicy:
    """TERM in place of any answer to `tag`."""
    return lambda received, _own: received == tag


EXAMPLES = [
    ("INIT_m REFUTE_h TERM_h", Pxp(hang_up=after("REFUTE", "INIT")), ""),
    ("INIT_m REJECT_h TERM_h", Pxp(hang_up=after("REJECT", "INIT")), ""),
    ("INIT_m REFUTE_h REFUTE_m TERM_h", Pxp(k=1), ""),
    ("INIT_m REFUTE_h REFUTE_m REFUTE_h REFUTE_m TERM_h", Pxp(k=3), ""),
    ("INIT_m REVISE_h RATIFY_m TERM_h", Pxp(term=in_answer_to("RATIFY")), "h m two-way"),
    (
        "INIT_m REFUTE_h REVISE_m RATIFY_h TERM_h",
        Pxp(hang_up=after("RATIFY", "REVISE")),
        "h m two-way",
    ),
]


@pytest.mark.parametrize(("sequence", "rules", "classes"), EXAMPLES, ids=[e[0] for e in EXAMPLES])
def test_a_worked_example_is_a_session_of_its_class(
    sequence: str, rules: Pxp, classes: str
) -> None:
    """One-way for an agent is named by the agent; both together are two-way."""
    said = [word.split("_") for word in sequence.split()]
    scripts = {
        name: ScriptedGuards(
            [GUARDS[tag] for tag, who in said if who == name and tag in GUARDS] + ["REF"]
        )
        for name in "mh"
    }
    m, h = (agent(guards=scripts[name]) for name in "mh")
    ended = run(m, h, rules)
    assert [(x.tag, x.sender) for x in ended.history] == [(Tag(t), who) for t, who in said]
    assert tags(ended)[-1] == "TERM"
    assert (ended.ending, ended.states) == (Ending.TERM, {"m": "END", "h": "END"})
    found = [who for who in "hm" if holds_for(DEFINITIONS["one_way"], ended.history, who)]
    assert [*found, *(["two-way"] if two_way(ended.history, "m", "h") else [])] == classes.split()


def test_three_of_them_take_an_agent_that_hangs_up() -> None:
    hanging = [sequence for sequence, rules, _ in EXAMPLES if rules.hang_up is not None]
    assert len(hanging) == 3
    assert all(word.split()[-1][-1] == word.split()[-2][-1] for word in hanging)
