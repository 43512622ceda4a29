"""Verdicts, classes and persuasion are the same in SQL and in Python, from the blackboard alone."""

from __future__ import annotations

import random
from collections.abc import Iterable

import pytest
from sqlalchemy import text

import pxp_fsm as pxp
from tests.plugins.panels.random_panels import MOST, Scripted, random_panel
from tests.sampling import swept


def stored(seed: int, board: object) -> pxp.Session:
    one = random_panel(seed)
    agents = {
        name: pxp.Agent(Scripted(answers), match=match, agree=agree)
        for name, answers in one.answers.items()
        for match, agree in [one.relations[name]]
    }
    session = pxp.Session(
        one.panel,
        agents,
        instance="x",
        name=f"r{seed}/1",
        blackboard=board,  # type: ignore[arg-type]
        limit=MOST,
    )
    return session.run_sync()


def differences(seeds: Iterable[int]) -> list[object]:
    found: list[object] = []
    with pxp.open_blackboard(":memory:") as board:
        for seed in seeds:
            one, session, chance = random_panel(seed), stored(seed, board), random.Random(seed)
            events, rules = session.events, one.rules
            with board.engine.connect() as connection:
                for upto in {len(events), chance.randint(1, len(events))}:
                    window = chance.randint(1, 4)
                    there = pxp.panels.stored_verdicts(
                        board, session.name, one.panel, rules.names, window=window, upto=upto
                    )
                    here = pxp.panels.verdicts_of(one.panel, rules.names, events[:upto], window)
                    if there != here:
                        found.append((seed, upto, window, there, here))
                told = {
                    (agent, partner): tuple(name for name, held in row.items() if held)
                    for agent, partner, *_ in connection.execute(
                        text("SELECT agent, partner FROM directions WHERE session = :s"),
                        {"s": session.name},
                    )
                    for row in connection.execute(
                        text(
                            "SELECT one_way, one_way_any, strong, ultra_strong FROM directions "
                            "WHERE session = :s AND agent = :a AND partner = :p"
                        ),
                        {"s": session.name, "a": agent, "p": partner},
                    ).mappings()
                }
                if told != pxp.panels.directions(session.history):
                    found.append((seed, told))
                of_agents = {
                    agent: tuple(name for name, held in zip(CLASSES, both, strict=True) if held)
                    for agent, *both in connection.execute(
                        text(
                            "SELECT agent, strong, ultra_strong FROM agent_intelligibility "
                            "WHERE session = :s"
                        ),
                        {"s": session.name},
                    )
                }
                if of_agents != pxp.panels.agent_classes(session.history):
                    found.append((seed, of_agents))
    return found


CLASSES = ("strong", "ultra_strong")


def test_a_sample_of_verdicts_and_classes_is_the_same_in_sql_and_in_python() -> None:
    assert differences(range(6)) == []


@pytest.mark.deep
def test_verdicts_and_classes_are_the_same_in_sql_and_in_python() -> None:
    assert differences(range(6, swept(1_000))) == []


def test_an_agent_is_persuaded_by_who_told_it_the_prediction_that_it_takes_over() -> None:
    whale, fish = pxp.Answer("mammal", "It breathes."), pxp.Answer("fish", "It swims.")
    sent = [
        ("a", "INIT", whale, "b"),
        ("a", "INIT", whale, "c"),
        ("b", "INIT", fish, "c"),
        ("c", "REFUTE", fish, "b"),
        ("b", "REVISE", whale, "a"),
        ("c", "REVISE", whale, "a"),
    ]
    messages = [pxp.Message("s", number, *message) for number, message in enumerate(sent, 1)]
    events = [pxp.Event.of_message(message) for message in messages]
    assert pxp.panels.persuasions(events) == ((5, "b", "a"), (6, "c", "a"))
    right = pxp.panels.first_correct("abcd", events, lambda prediction: prediction == "mammal")
    assert right == {"a": 1, "b": 5, "c": 6, "d": None}
