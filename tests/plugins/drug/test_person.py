"""A person at the terminal: a real pseudo-terminal, the real command."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from backends.databases import SqlBlackboard, StoredSession
from tests.command_line import pxp
from tests.terminals import Terminal

NEW = ["--instances", "paracetamol", "--human"]
OTHER = "CC(=O)Cl.Nc1ccc(O)cc1"
RIGHT = "CC(=O)OC(C)=O.Nc1ccc(O)cc1"


class Desk(Terminal):
    """A terminal with a run in it."""

    def __init__(self, folder: Path, *options: str, task: str = "drug") -> None:
        self.folder = folder
        super().__init__(folder, "run", task, *options, "--output", "out")

    def stored(self) -> StoredSession:
        with SqlBlackboard(str(self.folder / "out" / "blackboard.sqlite"), create=False) as board:
            return board.session(board.sessions()[0].session)


@pytest.fixture
def desks(tmp_path: Path) -> Iterator[list[Desk]]:
    made: list[Desk] = []
    yield made
    for desk in made:
        desk.kill()


def sat(desks: list[Desk], folder: Path, *options: str, task: str = "drug") -> Desk:
    desk = Desk(folder, *options, task=task)
    desks.append(desk)
    return desk


@pytest.mark.deep
def test_a_person_names_the_tag_themselves(desks: list[Desk], tmp_path: Path) -> None:
    desk = sat(desks, tmp_path, *NEW, "terminal")
    shown = desk.sees("Your answer (theirs, edit):")
    assert "CC(=O)Nc1ccc(O)cc1" in shown
    assert "INIT" in shown
    for instruction in ("as SMILES, joined by dots", "Pictures are files", "theirs to send"):
        assert instruction in shown
    target, theirs = re.findall(r"(?:its picture:|drawn in) (\S+\.png)", shown)
    assert target != theirs
    for picture in (target, theirs):
        assert (tmp_path / picture).read_bytes().startswith(b"\x89PNG")
    desk.types("edit")
    desk.sees("Your prediction:")
    desk.types("C1CC")  # no molecule: refused with the reason, and cleared
    desk.sees("not a valid SMILES")
    desk.sees("Your prediction:")
    desk.types(RIGHT)
    desk.sees("Your explanation")
    desk.types("acylation of the aniline", "by acetic anhydride", "")
    shown = desk.sees("Your tag:")
    assert re.search(r"REJECT\s+not now: only after message 3", shown)
    desk.types("REJECT")
    desk.waits_for("the answer must be one of: RATIFY, REFUTE, REVISE")
    desk.types("refute")
    desk.sees("as it would be sent")
    shown = desk.sees("send or edit?")
    assert "acylation of the aniline" in shown
    assert "by acetic anhydride" in shown
    desk.types("why")
    why = " ".join(desk.sees("send or edit?").split())
    assert re.search(r"These reactants have rank \d+ of \d+\. .* patent", why), why
    assert len(desk.stored().events) == 1  # nothing is sent before a last look
    desk.types("edit")
    desk.sees("Your prediction:")
    desk.types("")  # what was typed is still there
    desk.sees("Your explanation")
    desk.types("")
    desk.types("")
    desk.sees("Your tag:")
    desk.types("RATIFY")
    desk.sees("send or edit?")
    desk.types("send")
    desk.waits_for("is over:", "Your answer")
    second = desk.stored().events[1].carried
    assert (second.sender, second.tag, second.answer.prediction) == ("h", "RATIFY", RIGHT)
    assert second.answer.explanation == "acylation of the aniline\nby acetic anhydride"
    human = dict(desk.stored().record.agents)["h"]
    assert human == "person at the terminal guards=person MATCH=person AGREE=person"
    assert desk.stored().record.assumptions == ()


@pytest.mark.deep
def test_a_person_answers_match_and_agree_and_the_automaton_names_the_tag(
    desks: list[Desk], tmp_path: Path
) -> None:
    desk = sat(desks, tmp_path, *NEW, "terminal:relations")
    desk.sees("Your answer")
    desk.types("edit")
    desk.sees("Your prediction:")
    desk.types(OTHER)
    desk.sees("Your explanation")
    desk.types("acylation", "")
    desk.sees("Is it the same prediction?")
    desk.sees("yes, no or unsure?")
    desk.types("perhaps")
    desk.waits_for("the answer must be one of: yes, no, unsure")
    desk.types("yes")
    desk.sees("Is it the same explanation")
    desk.sees("yes, no or unsure?")
    desk.types("unsure")
    shown = desk.sees("send or edit?")
    assert "REFUTE" in shown  # category B, and the answer is the one just given
    desk.types("send")
    desk.sees("Your answer (theirs, mine, edit):")
    entry = desk.stored().events[1]
    assert entry.carried.tag == "REFUTE"
    said = [(j.relation, j.outcome.value) for j in entry.judgements if j.asked]
    assert said == [("MATCH", "yes"), ("AGREE", "unsure")]
    human = dict(desk.stored().record.agents)["h"]
    assert human == ("person at the terminal guards=derived MATCH=person AGREE=person")


@pytest.mark.deep
@pytest.mark.parametrize("key", ["\x03", "\x04"], ids=["ctrl-c", "ctrl-d"])
def test_whoever_leaves_finds_what_they_had_typed(
    desks: list[Desk], tmp_path: Path, key: str
) -> None:
    desk = sat(desks, tmp_path, *NEW, "terminal")
    desk.sees("Your answer")
    desk.types("edit")
    desk.sees("Your prediction:")
    desk.types(RIGHT)
    desk.sees("Your explanation")
    desk.types("acylation of")
    if key == "\x03":
        desk.types_on("the phe")
    assert desk.leaves(key) == 130
    assert len(desk.stored().events) == 1
    again = sat(desks, tmp_path, "drug-1")
    shown = again.sees("is here again:")
    assert "INIT" in shown  # the conversation stands above, and does not scroll it away
    again.sees("Your prediction:")
    again.types("")
    again.sees("Your explanation")
    again.types("", "")
    again.sees("Your tag:")
    again.types("RATIFY")
    again.sees("send or edit?")
    again.types("send")
    again.waits_for("is over:", "Your answer")
    kept = "acylation of\nthe phe" if key == "\x03" else "acylation of"
    assert again.stored().events[1].carried.answer.explanation == kept
    assert list((tmp_path / "out" / "drafts").iterdir()) == []


def test_without_a_terminal_nothing_is_begun(tmp_path: Path) -> None:
    done = pxp("run", "drug", *NEW, "terminal", "--output", "out", cwd=tmp_path)
    assert done.returncode == 2
    assert "requires a terminal as input and output" in done.stderr
    assert not (tmp_path / "out").exists()


@pytest.mark.deep
def test_a_person_is_told_which_findings_there_are_and_how_to_say_none(
    desks: list[Desk], tmp_path: Path
) -> None:
    desk = sat(desks, tmp_path, "--instances", "1", "--human", "terminal", task="rad")
    shown = desk.sees("Your answer")
    desk.types("edit")
    desk.sees("Your prediction:")
    assert "any of: Atelectasis" in shown
    assert "; or none" in shown
    desk.types("Rib fracture")
    desk.waits_for("'Rib fracture' is not one")
    desk.types("none")
    desk.waits_for("Your explanation")
    assert desk.leaves("\x03") == 130


@pytest.mark.deep
def test_a_person_takes_their_answer_and_then_keeps_their_own(
    desks: list[Desk], tmp_path: Path
) -> None:
    desk = sat(desks, tmp_path, *NEW, "terminal")
    for word, tag in (("theirs", "REFUTE"), ("mine", "RATIFY")):
        desk.sees("Your answer (theirs")
        desk.types(word)
        desk.sees("Your tag:")
        desk.types(tag)
        desk.sees("send or edit?")
        desk.types("send")
    desk.waits_for("is over:", "Your answer")
    first, second, _, fourth = (entry.carried for entry in desk.stored().events[:4])
    assert (second.sender, second.tag, second.answer) == ("h", "REFUTE", first.answer)
    assert (fourth.sender, fourth.tag, fourth.answer) == ("h", "RATIFY", second.answer)


@pytest.mark.deep
def test_what_was_refused_comes_back_with_up_and_is_kept_by_who_leaves(
    desks: list[Desk], tmp_path: Path
) -> None:
    desk = sat(desks, tmp_path, *NEW, "terminal")
    desk.sees("Your answer")
    desk.types("edit")
    desk.sees("Your prediction:")
    desk.types(RIGHT[:-1])  # the ring is open
    desk.sees("not a valid SMILES")
    desk.sees("Your prediction:")
    desk.types_on("\x1b[A")
    desk.types("1")
    desk.sees("Your explanation")
    assert desk.leaves("\x03") == 130
    again = sat(desks, tmp_path, "drug-1")
    again.waits_for(f"Your prediction: {RIGHT}")
    again.types_on("\x01\x0b")
    again.types("C1CC")
    again.waits_for("not a valid SMILES")
    assert again.leaves("\x03") == 130
    once_more = sat(desks, tmp_path, "drug-1")
    once_more.sees("Your prediction: C1CC")
