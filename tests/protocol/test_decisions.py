"""What is decided against the papers' procedures, transcribed here line by line.

arXiv 2410.20600: Procedure 1 (INTERACT) and Procedure 2 (AGENT); arXiv 2301.01819 as cited there.
"""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction
from importlib import resources
from itertools import pairwise, product
from typing import Any

import numpy as np
import pytest

from pxp_fsm.automata.automaton import Automaton, happening
from pxp_fsm.automata.tables import builtin, parse_automaton
from pxp_fsm.errors import UsageError
from pxp_fsm.protocol.decisions import Category, Guard, category, concluded, initiator_speaks
from pxp_fsm.protocol.messages import Answer, Message
from pxp_fsm.protocol.rules import Ending, Interact, Pxp, derive
from tests.oracles import decisions
from tests.proofs.text_tables import table

TAG = {Guard.RAT: "RATIFY", Guard.REF: "REFUTE", Guard.REV: "REVISE", Guard.REJ: "REJECT"}
ANSWERS = tuple(TAG.values())


def procedure_2(match: bool, agree: bool, changed: bool, j: int, k: int) -> str:
    """Lines 13 to 34 of Procedure 2, for j >= 2."""
    cat_a = match and agree
    cat_b = match and not agree
    cat_c = not match and agree
    cat_d = not match and not agree
    if cat_a:
        return "RATIFY"
    if cat_b or cat_c:
        return "REVISE" if changed else "REFUTE"
    assert cat_d
    if j > k:
        return "REJECT"
    return "REVISE" if changed else "REFUTE"


def test_interact_guards_are_procedure_2() -> None:
    cases = 0
    for match, agree, changed in product((True, False), repeat=3):
        for j, k in product(range(2, 13), range(1, 13)):
            found = category(match, agree)
            expected = procedure_2(match, agree, changed, j, k)
            assert TAG[decisions.interact_guard(found, changed, j, k)] == expected
            assert TAG[Interact(12, k).guard(found, changed, j)] == expected
            depends = expected != procedure_2(match, agree, not changed, j, k)
            assert decisions.interact_depends_on_change(found, j, k) is depends
            assert Interact(12, k).depends_on_revision(found, j) is depends
            cases += 1
    assert cases == 8 * 11 * 12


@pytest.mark.parametrize(
    ("match", "agree", "name"),
    [(True, True, "A"), (True, False, "B"), (False, True, "C"), (False, False, "D")],
)
def test_categories(match: bool, agree: bool, name: str) -> None:
    assert category(match, agree) == name


def test_pxp_guards_are_as_cited() -> None:
    """A is ratified, D rejected without learning; B and C learn and revise iff reconciled."""
    expected = {
        ("A", False): "RATIFY",
        ("A", True): "RATIFY",
        ("B", False): "REFUTE",
        ("B", True): "REVISE",
        ("C", False): "REFUTE",
        ("C", True): "REVISE",
        ("D", False): "REJECT",
        ("D", True): "REJECT",
    }
    for (found, reconciled), tag in expected.items():
        assert TAG[decisions.pxp_guard(Category(found), reconciled)] == tag
        assert TAG[Pxp().guard(Category(found), reconciled, 2)] == tag
        assert decisions.pxp_depends_on_learning(Category(found)) is (found in "BC")


def procedure_1(tags: list[str], n: int) -> int:
    """How many messages lines 9 to 25 of Procedure 1 let through, when the answers are `tags`."""
    answers = iter(tags)
    sent = 0
    j = 1
    l_m = l_h = "INIT"
    done = j > n
    while not done:
        l_m = next(answers)
        sent += 1
        j = j + 1
        stop = (l_m == "RATIFY" and l_h == "RATIFY") or (l_m == "REJECT")
        done = (j > n) or stop
        if not done:
            l_h = next(answers)
            sent += 1
            j = j + 1
            stop = (l_m == "RATIFY" and l_h == "RATIFY") or (l_h == "REJECT")
            done = (j > n) or stop
    return sent


def messages(tags: list[str]) -> list[Message]:
    names = ("m", "h")
    return [
        Message("s", j, names[(j + 1) % 2], tag, Answer("", ""), names[j % 2])
        for j, tag in enumerate(tags, start=1)
    ]


def sequences(length: int) -> Iterator[list[str]]:
    yield from (["INIT", *tags] for tags in product(ANSWERS, repeat=length - 1))


def test_stop_and_done_are_procedure_1() -> None:
    """Every tag sequence of six messages, for every bound up to its length."""
    for tags in sequences(6):
        for n in range(1, 7):
            sent = procedure_1(tags, n)
            rules = Interact(n, 1)
            history = messages(tags)
            endings = [rules.ending(history[:j]) for j in range(1, sent + 1)]
            assert endings[:-1] == [None] * (sent - 1)
            last = tags[sent - 1]
            if last == "REJECT":
                assert endings[-1] is Ending.REJECTED
            elif tags[max(0, sent - 2) : sent] == ["RATIFY", "RATIFY"]:
                assert endings[-1] is Ending.RATIFIED
            else:
                assert endings[-1] is Ending.BOUND
                assert sent == n


@pytest.mark.parametrize("n", range(1, 13))
def test_the_bound_is_reached_at_n_and_no_earlier(n: int) -> None:
    tags = ["INIT", *["REFUTE"] * 12]
    assert procedure_1(tags, n) == n
    assert [decisions.done(sent, n, False) for sent in range(1, n + 1)] == [
        *[False] * (n - 1),
        True,
    ]
    assert all(decisions.done(sent, n, True) for sent in range(1, n + 1))


def test_the_initiator_has_the_odd_messages() -> None:
    assert [j for j in range(1, 13) if initiator_speaks(j)] == [1, 3, 5, 7, 9, 11]


def test_pxp_says_term_where_it_has_answered_in_kind() -> None:
    """By default: a RATIFY or a REJECT came that one has oneself sent before it."""
    for received, own in product(("INIT", *ANSWERS), repeat=2):
        expected = received == own and received in ("RATIFY", "REJECT")
        assert concluded(received, own) is expected
        assert Pxp().says_term(messages(["INIT", own, received])) is expected
    assert not Pxp().says_term(messages(["INIT"]))


@pytest.mark.parametrize("k", [1, 2, 3, None])
def test_pxp_k_takes_each_self_loop_k_times(k: int | None) -> None:
    rules = Pxp(k)
    for tags in sequences(6):
        history = messages(tags)
        for answer in ANSWERS:
            loops = sum(pair == (answer, answer) for pair in pairwise(tags))
            over = k is not None and tags[-1] == answer and loops >= k
            assert rules.says_term(history, answer) is over


def test_pxp_ends_by_term_alone_and_hangs_up_where_asked() -> None:
    for tags in sequences(4):
        assert Pxp().ending(messages(tags)) is None
        assert Pxp().ending(messages([*tags, "TERM"])) is Ending.TERM
        assert not Pxp().hangs_up(messages(tags))
    rules = Pxp(hang_up=lambda sent, answered: (sent, answered) == ("REFUTE", "INIT"))
    assert rules.hangs_up(messages(["INIT", "REFUTE"]))
    assert not rules.hangs_up(messages(["INIT"]))
    assert not rules.hangs_up(messages(["INIT", "REVISE"]))
    assert (rules.automaton.name, Pxp().automaton.name) == ("pxp_hang_up", "pxp")


def test_the_schedule_can_close_interact_wherever_an_agent_may_be() -> None:
    interact = builtin("interact")
    assert {s: interact.step(s, happening("CLOSE")).target for s in ("WAIT", "DECIDE")} == {
        "WAIT": "END",
        "DECIDE": "END",
    }


@pytest.mark.parametrize(("n", "k"), [(0, 1), (-1, 1), (1, 0), (1, -3)])
def test_bounds_below_one_are_refused(n: int, k: int) -> None:
    with pytest.raises(UsageError, match="at least 1"):
        Interact(n, k)
    with pytest.raises(UsageError):
        Pxp(min(n, k))


def variant(old: str, new: str, of: str = "interact") -> Automaton:
    """A built-in table with one word of it replaced."""
    text = resources.files("pxp_fsm.automata").joinpath("data", f"{of}.toml").read_text("utf-8")
    assert old in text
    return parse_automaton(text.replace(old, new))


def test_rules_take_variants_of_their_own_table_and_no_other() -> None:
    for make in (Interact, Pxp):
        taken = variant('"IDLE"', '"START"')
        assert make(table=taken).automaton is taken
        foreign = table("talk", "A -> A send INIT\nA -> A receive INIT\nA -> [B] event CLOSE")
        assert make(table=foreign).automaton is foreign
        for other in (
            table("talk", "A -> A send WORD\nA -> A receive WORD\nA -> [B] event CLOSE"),
            variant("REJ", "NEIN"),
            variant('"INIT"', '"HELLO"'),
        ):
            with pytest.raises(UsageError, match=f"protocol of its own, and {make.__name__}"):
                make(table=other)


def test_a_tag_that_answers_itself_is_a_self_loop_but_for_the_first_and_the_last() -> None:
    tags = ("INIT", *ANSWERS, "TERM", "OTHER")
    loops = {(a, b) for a, b in product(tags, repeat=2) if decisions.repeats(a, b)}
    assert loops == {(tag, tag) for tag in (*ANSWERS, "OTHER")}


def test_the_policy_for_term_is_told_both_latest_tags() -> None:
    told: list[tuple[str, str]] = []

    def policy(received: str, own: str) -> bool:
        told.append((received, own))
        return len(told) == 2

    rules = Pxp(term=policy)
    said = messages(["INIT", "REFUTE", "REVISE"])
    assert [rules.says_term(said[:length]) for length in (1, 2, 3)] == [False, True, False]
    assert told == [("INIT", ""), ("REFUTE", "INIT"), ("REVISE", "REFUTE")]


def test_variants_of_the_rules_may_tell_categories_b_and_c_apart() -> None:
    """The protocols' own do not: B is that the predictions match, C that the explanations do."""
    changes = {
        "interact": {
            'when = "else"': 'when = "match and not agree"',
            '"not (match and agree) and not rejects and changed"': '"agree and not match"',
            'when = "rejects"': 'when = "else"',
        },
        "pxp": {
            'when = "else"': 'when = "match and not agree"',
            '"match != agree and same_y and same_e"': '"agree and not match"',
        },
    }
    for make, name in ((Interact, "interact"), (Pxp, "pxp")):
        text = resources.files("pxp_fsm.automata").joinpath("data", f"{name}.toml").read_text()
        for old, new in changes[name].items():
            assert old in text
            text = text.replace(old, new)
        rules = make(table=parse_automaton(text))
        answers = product((True, False), repeat=2)
        found = [derive(rules, 2, [match, agree]) for match, agree in answers]
        assert found == [Guard.RAT, Guard.REF, Guard.REV, Guard.REJ]


@pytest.mark.parametrize("rules", [Interact(9, 3), Pxp(), Pxp(2)])
def test_who_never_revises_is_asked_for_the_category_alone(rules: Interact | Pxp) -> None:
    """What would be REV is REF, and nothing else changes."""
    for number, match, agree in product((2, 3, 4, 9), (True, False), (True, False)):
        found = derive(rules, number, [match, agree], revises=False)
        expected = {
            derive(rules, number, [match, agree, *revision])
            for revision in ([], [True, True], [True, False], [False])
        } & set(Guard)
        assert found in {Guard.REF if one is Guard.REV else one for one in expected}


@pytest.mark.parametrize(
    ("n", "k", "meaning"), [(0, 3, "n is the largest number"), (3, 0, "k is the message after")]
)
def test_a_bound_that_is_refused_is_called_by_its_name(n: int, k: int, meaning: str) -> None:
    with pytest.raises(UsageError, match=f"^{meaning}.* at least 1; it was 0$"):
        Interact(n, k)


def test_two_ratifies_in_a_row_are_an_end() -> None:
    assert Interact().ending(messages(["RATIFY", "RATIFY"])) is Ending.RATIFIED
    assert Interact().ending(messages(["RATIFY"])) is None


class Number(int):
    """An int that could compare as it likes."""


@pytest.mark.parametrize(
    "value", [True, 2.0, 2.5, "2", Fraction(2), Decimal(2), np.int64(2), Number(2)]
)
def test_a_bound_is_exactly_an_int(value: Any) -> None:
    for make in (lambda: Interact(value, 3), lambda: Interact(3, value), lambda: Pxp(value)):
        with pytest.raises(UsageError, match="a whole number"):
            make()
