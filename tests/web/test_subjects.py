"""What a page explores: tables by their rules, as far as these are known and can be shown."""

from __future__ import annotations

from pathlib import Path

import pytest

from pxp_fsm.web import subjects
from pxp_fsm.web.subjects import subject_in
from pxp_fsm.web.verdicts import standard_results
from pxp_fsm.web.views import Views

COUNTER = """format = 1
name = "counter"
title = "A counter"
initial = "IDLE"
final = ["IDLE"]
states = [{ name = "IDLE" }]
rows = [{ from = "IDLE", to = "IDLE", receive = "ADD", do = { sum = "sum + msg.size" } }]
[registers]
sum = { init = 0 }
[payloads.ADD]
type = "object"
required = ["size"]
properties = { size = { type = "integer", minimum = 1, maximum = 2 } }
"""
ADDER = """format = 1
name = "adder"
title = "An adder"
initial = "IDLE"
final = ["IDLE"]
states = [{ name = "IDLE" }]
[[rows]]
from = "IDLE"
to = "IDLE"
send = "ADD"
when = "sent < most"
do = { sent = "sent + 1" }
[registers]
sent = { init = 0 }
[parameters]
most = { min = 0 }
"""
PAIR = """format = 1
name = "pair"
members = [{ name = "c", table = "counter.toml" }, { name = "a", table = "adder.toml" }]
"""


@pytest.mark.deep
def test_a_page_shows_registers_and_what_messages_carry(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the parameters of a system file; without, or where it is too large, as it is written."""
    for name, text in (("counter", COUNTER), ("adder", ADDER), ("free", PAIR)):
        (tmp_path / f"{name}.toml").write_text(text, "utf-8")
    (tmp_path / "pair.toml").write_text(f"{PAIR}[parameters]\nmost = 2\n", "utf-8")
    subject = subject_in([str(tmp_path / "pair.toml")], None)
    views = Views(subject.system())
    first = views.state(views.start)
    assert first.at == ("IDLE[sum=0]", "IDLE[sent=0]")
    assert [move.text for move in first.moves] == ["a>c ADD[size=1]", "a>c ADD[size=2]"]
    results = {one.name: one for one in standard_results(subject, ["G c.sum<=3", "G c.sum<=4"])}
    assert results["G c.sum<=3"].choices == (1, 1)
    assert results["G c.sum<=4"].status == "HOLDS"
    free = subject_in([str(tmp_path / "free.toml")], None)
    assert free.system().members[1].automaton.states[0].name == "IDLE"
    monkeypatch.setattr(subjects, "MOST_SHOWN", 3)
    assert subject.system() == subject.written()
    (failing,) = (one for one in standard_results(subject, ["G c.sum<=3"]) if "sum" in one.name)
    assert failing.choices == (0, 0)
