"""The tables of studies are proved, and every status has a page that offers what the table has."""

from __future__ import annotations

from dataclasses import replace

import pytest

from proofs.core.results import Status
from proofs.systems import check_formulas, check_standard
from pxp_fsm.automata.automaton import Kind
from pxp_fsm.automata.system import Member, System
from pxp_fsm.plugins.studies.lifecycles import (
    IN_TIME,
    PARTICIPANT,
    participation,
    prove,
    system_file,
)
from pxp_fsm.plugins.studies.status import ON_WHOM
from pxp_fsm.plugins.studies.views import PAGES, STAYS

TABLE = {one.name: one.automaton for one in participation().members}


@pytest.mark.deep
def test_everything_that_is_said_of_the_lifecycles_is_proved() -> None:
    results = list(prove())
    assert {one.name for one in results} >= {one.formula for one in system_file().properties}
    assert [one.name for one in results if one.status is not Status.HOLDS] == []
    assert len(results) == 6 + 4 + len(system_file().properties) + len(IN_TIME)


def test_the_lifecycles_never_stand_still() -> None:
    wanted = ["no-deadlock", "no-unspecified-reception", "end-reachable-from-everywhere"]
    results = list(check_standard(participation(), wanted))
    assert [one.status for one in results] == [Status.HOLDS] * 3


def test_every_status_has_a_page_and_every_page_a_status() -> None:
    assert set(PAGES) == {state.name for state in TABLE[PARTICIPANT].states}


@pytest.mark.parametrize("status", PAGES)
def test_a_page_offers_what_the_table_lets_its_participant_do(status: str) -> None:
    rows = TABLE[PARTICIPANT].leaving(status)
    sent = {row.label for row in rows if row.kind is Kind.SEND} - {"ANSWER"}
    assert set(PAGES[status].offers) == sent
    assert (status not in STAYS) is any(row.label == "WITHDRAW" for row in rows)


def test_it_is_known_who_is_waited_for_wherever_somebody_is() -> None:
    others = {"INVITED", "DONE", "LAPSED", "DECLINED", "ERASED", "ANONYMISED"}
    assert set(ON_WHOM) == set(PAGES) - others


def without(member: str, *, label: str, source: str = "") -> System:
    """The system where a table misses the rows of a label (that leave one state)."""
    table = TABLE[member]
    kept = tuple(
        row for row in table.transitions if row.label != label or (source and row.source != source)
    )
    assert len(kept) < len(table.transitions)
    changed = replace(table, transitions=kept)
    members = (
        Member(one.name, changed) if one.name == member else one for one in participation().members
    )
    return System(tuple(members))


BROKEN = [
    ("participant", "GONE", "ANSWERING"),
    ("participant", "GONE", "WAITING"),
    ("participant", "WITHDRAW", "WAITING"),
    ("participant", "CLOSE", "WAITING"),
    ("guide", "CLOSE", "AT_WORK"),
    ("guide", "LAPSE", "GREETING"),
    ("partner", "LAPSE", "THINKING"),
    ("study", "WITHDRAW", "HOLDING"),
]


@pytest.mark.deep
@pytest.mark.parametrize(("member", "label", "source"), BROKEN)
def test_a_row_that_is_forgotten_is_found(member: str, label: str, source: str) -> None:
    system = without(member, label=label, source=source)
    formulas = [one.formula for one in system_file().properties]
    results = [*check_standard(system), *check_formulas(system, formulas)]
    assert any(one.status is Status.FAILS for one in results)
