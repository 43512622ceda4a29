"""Panels mean the same to the package and to the naive second implementation."""

from __future__ import annotations

import pytest

import pxp_fsm as pxp
from pxp_fsm.errors import UsageError
from pxp_fsm.plugins.panels import PanelLayout
from tests.oracles import panels as naive
from tests.plugins.panels.random_panels import differences, random_panel, said_in
from tests.sampling import swept

SAMPLE = range(12)


def test_a_sample_of_random_panels_means_the_same() -> None:
    assert [said for seed in SAMPLE for said in differences(seed)] == []


@pytest.mark.deep
@pytest.mark.parametrize("part", range(8))
def test_many_random_panels_mean_the_same(part: int) -> None:
    assert [said for seed in range(part, swept(2_000), 8) for said in differences(seed)] == []


@pytest.mark.deep
def test_the_random_panels_reach_each_tag_verdict_and_ending() -> None:
    tags, endings, verdicts = set(), set(), set()
    for seed in range(150):
        one = random_panel(seed)
        session = one.run()
        tags |= {message.tag for message in session.history}
        endings.add(session.ending)
        judged = naive.alike_of([])
        verdicts |= naive.verdicts(one.rules, said_in(session.events), judged, 2)
    assert tags == {"INIT", "RATIFY", "REFUTE", "REVISE", "REJECT", "TERM"}
    assert {str(one) for one in endings} >= {
        "ratified",
        "rejected",
        "bound",
        "term",
        "limit",
        "finished",
    }
    assert verdicts == {"consensus", "agreement", "split", "impasse", "oscillation"}


def test_a_slip_in_the_semantics_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    right = PanelLayout.learns

    def wrong(self: PanelLayout, *where: object) -> bool:
        return not right(self, *where)  # type: ignore[arg-type]

    monkeypatch.setattr(PanelLayout, "learns", wrong)
    assert any(list(differences(seed)) for seed in range(20))


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"schedule": "lifo"}, "schedule is one of free, fifo, round-robin"),
        ({"stop": "peace"}, "stop names verdicts"),
        ({"stop": "impasse:0"}, "at least one answer"),
        ({"stop": "split:3"}, "is no verdict"),
        ({"limit": -1}, "0 or more"),
        ({"call": 1}, "True or False"),
        ({"seed": "x"}, "a whole number"),
    ],
)
def test_what_is_no_option_of_a_panel_is_refused(options: dict[str, object], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        pxp.Panel(pxp.Interact(), **options)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("channels", "said"),
    [
        ([("a", "b")], "c talks to nobody"),
        ([("a", "b"), ("b", "a"), ("b", "c")], "named twice"),
        ([("a", "a"), ("b", "c")], "joins two of the agents"),
        ([("a", "d"), ("b", "c")], "joins two of the agents"),
    ],
)
def test_channels_that_no_panel_has_are_refused(channels: list[tuple[str, str]], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        pxp.Panel(pxp.Interact(), channels=channels).links("abc")


def test_agents_of_a_panel_do_not_hang_up() -> None:
    with pytest.raises(UsageError, match="do not hang up"):
        pxp.Panel(pxp.Pxp(hang_up=lambda received, own: True))
    with pytest.raises(UsageError, match="follows Interact or Pxp"):
        pxp.Panel("interact")  # type: ignore[arg-type]
