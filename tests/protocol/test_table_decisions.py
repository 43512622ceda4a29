"""The tables decide as the papers' decision functions do, on every case of large domains."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from functools import reduce
from itertools import pairwise, product

import pytest

import pxp_fsm as pxp
from pxp_fsm.automata.automaton import Automaton
from pxp_fsm.automata.serialization import to_toml
from pxp_fsm.automata.tables import builtin, parse_automaton
from pxp_fsm.errors import UsageError
from pxp_fsm.protocol.decisions import Category, Guard, category
from pxp_fsm.protocol.messages import Answer, Tag
from pxp_fsm.protocol.rules import Comparison, Interact, Pxp, Rules, derive
from tests.oracles import decisions

TRUTH = (False, True)
NUMBERS = range(1, 41)


def test_interact_names_the_same_guard_in_25600_decisions() -> None:
    table = builtin("interact").rules
    seen = Counter[str]()
    for sent, k in product(range(40), NUMBERS):
        for match, agree, same_y, same_e in product(TRUTH, repeat=4):
            values = (50, k, sent, "INIT", False, match, agree, same_y, same_e)
            guard = table.decide("DECIDE", values)
            found, changed = category(match, agree), not (same_y and same_e)
            assert guard == decisions.interact_guard(found, changed, sent + 1, k)
            seen[guard] += 1
    assert seen.total() == 25_600
    assert set(seen) == {*map(str, Guard)}


@pytest.mark.parametrize("revises", TRUTH)
def test_the_same_is_asked_in_the_same_order(revises: bool) -> None:
    protocols: list[Rules] = [*(Interact(30, k) for k in range(1, 12)), Pxp(), Pxp(2)]
    asked = 0
    for by_table, number in product(protocols, range(2, 28)):
        left: list[list[bool]] = [[]]
        while left:
            answers = left.pop()
            found = derive(by_table, number, answers, revises=revises)
            assert found == decisions.derived(by_table, number, answers, revises=revises)
            if isinstance(found, Comparison):
                asked += 1
                left += [[*answers, answer] for answer in TRUTH]
    assert asked > (2_000 if revises else 900)


@pytest.mark.deep
def test_interact_stops_alike_in_87025_cases() -> None:
    tags = (Tag.INIT, Tag.RATIFY, Tag.REFUTE, Tag.REVISE, Tag.REJECT)
    functions = 0
    for n, sent in product(range(1, 60), repeat=2):
        by_table = Interact(n, 3)
        for previous, tag in product(tags, repeat=2):
            stopped = decisions.stops(tag, previous)
            assert by_table.closes(sent, tag, previous) is decisions.done(sent, n, stopped)
            functions += 1
    assert functions == 87_025


def test_pxp_names_the_same_guard_and_carries_the_same_pair() -> None:
    by_table = Pxp()
    for found, revises, number in product(Category, TRUTH, range(2, 40)):
        assert by_table.guard(found, revises, number) == decisions.pxp_guard(found, revises)
        asks = by_table.depends_on_revision(found, number)
        assert asks is decisions.pxp_depends_on_learning(found)
    carried = {guard: str(by_table.carries(guard)) for guard in Guard}
    assert carried == {"RAT": "own", "REF": "new", "REV": "new", "REJ": "own"}
    assert {str(Interact().carries(guard)) for guard in Guard} == {"new"}


def test_pxp_k_forbids_alike_in_all_histories_of_five_answers() -> None:
    """TERM in place of what has answered itself k times, whatever came before."""
    tags = (Tag.RATIFY, Tag.REFUTE, Tag.REVISE, Tag.REJECT)
    for k, length in product((1, 2, 3), range(6)):
        rules = Pxp(k)
        for said in product(tags, repeat=length):
            history = (Tag.INIT, *said)
            registers = reduce(rules.remembers, history, rules.first)
            for tag in (*tags, Tag.TERM):
                loops = sum(pair == (tag, tag) for pair in pairwise(history))
                again = decisions.repeats(history[-1], tag)
                over = again and decisions.exhausted(loops, k)
                assert rules.forbids(registers, tag) is over
    assert not Pxp().forbids(Pxp().first, Tag.RATIFY)


def test_pxp_k_is_pxp_whose_guards_give_way_to_full() -> None:
    """The machines of PXP(k) follow PXP's table: its rows are those of PXP(k) but for FULL, and
    where one of PXP's guards is true, PXP(k) has it or FULL."""
    pxp_table, limited = builtin("pxp"), builtin("pxp_k")
    plain = [replace(row, row=0) for row in pxp_table.transitions]
    assert [replace(row, row=0) for row in limited.transitions if row.guard != "FULL"] == plain
    (full,) = (row for row in limited.transitions if row.guard == "FULL")
    term = pxp_table.sends("DECIDE", Tag.TERM)
    assert term is not None
    assert (full.label, full.target, full.carry) == (term.label, term.target, term.carry)
    seen = Counter[str]()
    for k, last, counts in product(
        (1, 2, 3), ("INIT", *_TAGS.values()), product(range(4), repeat=4)
    ):
        for answers in product(TRUTH, repeat=4):
            own = limited.rules.decide("DECIDE", (k, last, *counts, *answers))
            plain_guard = pxp_table.rules.decide("DECIDE", answers)
            tag = _TAGS[plain_guard]
            used = counts[[*_TAGS.values()].index(tag)]
            due = "FULL" if last == tag and used >= k else plain_guard
            assert own == due
            seen[own] += 1
    assert seen.total() == 61_440
    assert set(seen) == {*map(str, Guard), "FULL"}


_TAGS = {"RAT": "RATIFY", "REF": "REFUTE", "REV": "REVISE", "REJ": "REJECT"}


def variant(*changes: tuple[str, str]) -> Automaton:
    text = to_toml(builtin("interact"))
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    return parse_automaton(text)


def test_a_changed_rule_changes_what_sessions_decide() -> None:
    """The patient agent of the specification's variants: it rejects only after 2*k messages."""
    patient = Interact(20, 3, table=variant(("j + 1 > k", "j + 1 > 2*k")))
    expected = {4: Guard.REF, 6: Guard.REF, 7: Guard.REJ}
    for number, guard in expected.items():
        assert patient.guard(Category.D, False, number) is guard
    assert Interact(20, 3).guard(Category.D, False, 4) is Guard.REJ


def test_a_session_follows_the_rules_of_its_table() -> None:
    def expert(question: pxp.Question) -> Answer:
        return Answer(question.query, f"{question.query} says so")

    agents = {
        name: pxp.Agent(expert, match=pxp.exact, agree=lambda one, other: False, query=name)
        for name in "mh"
    }
    often = variant(("stop or j >= n", "stop or j >= n or last == REFUTE and j >= 2"))
    for table, tags in (
        (None, ["INIT", "REFUTE", "REFUTE", "REJECT"]),
        (often, ["INIT", "REFUTE"]),
    ):
        session = pxp.Session(Interact(6, 3, table=table), agents, instance="x").run_sync()
        assert [message.tag for message in session.history] == tags
        assert set(session.states.values()) == {"END"}


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("j + 1 > k", "last == REFUTE and j + 1 > k", "guards that read of the registers j alone"),
        ('j = "j + 1"', 'j = "j + 2"', "registers that follow from the last two tags"),
        ("last == RATIFY", "stop", "registers that follow from the last two tags"),
        ("[parameters.n]", "[parameters.m]\nmin = 1\n\n[parameters.n]", "the parameters n and k"),
        ("[oracles.agree]", "[oracles.sure]\n\n[oracles.agree]", "oracles that are relations"),
    ],
)
def test_a_variant_whose_rules_need_more_is_run_as_a_system(
    old: str, new: str, problem: str
) -> None:
    with pytest.raises(UsageError, match=problem):
        Interact(table=variant((old, new)))
