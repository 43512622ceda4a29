"""A sample of the changes of what runs is noticed; all of them: `make mutants`."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import Callable
from itertools import chain
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import pxp_fsm as pxp
from pxp_fsm.automata import automaton, system
from pxp_fsm.automata.tables import builtin
from pxp_fsm.protocol import relations, rules
from pxp_fsm.sessions import agent, machine, policy
from tests.proofs.mutant_trials import NOTHING, Cost, lines_run, runs
from tests.proofs.mutation_page import EQUIVALENT, by_module, finished, kind, page, surviving
from tests.proofs.source_changes import changed, function_of, installed
from tests.proofs.source_mutants import MODULES, mutants
from tests.sampling import swept

ROOT = Path(__file__).parents[2]
SAMPLE = swept(90)


ALL = tuple(chain.from_iterable(MODULES.values()))
SAMPLED = pytest.mark.parametrize(
    ("modules", "every"),
    [((machine, rules), 1), pytest.param(ALL, 5, marks=pytest.mark.deep)],
    ids=["two modules", "all"],
)


@SAMPLED
def test_every_module_has_mutants_and_each_mutant_is_one_change(
    modules: tuple[ModuleType, ...], every: int
) -> None:
    found = mutants(*modules, every=every)
    assert {mutant.module for mutant in found} == set(modules)
    assert len({mutant.key for mutant in found}) == len(found) > 100 * len(modules) // every


@pytest.mark.deep
def test_what_is_called_equivalent_is_a_mutant() -> None:
    files = {name.partition(" ")[0] for name in EQUIVALENT}
    modules = [one for one in ALL if f"{one.__name__.replace('.', '/')}.py" in files]
    assert set(EQUIVALENT) <= set(map(str, mutants(*modules)))


INTERACT = builtin("interact")


@pytest.mark.parametrize(
    ("module", "name", "old", "new", "seen"),
    [
        (
            rules,
            "derive",
            "left.pop(0)",
            "not left.pop(0)",
            lambda: rules.derive(rules.Interact(), 2, [True, True]),
        ),
        (rules, "Interact.revises", "not holds", "holds", lambda: pxp.Interact().revises(True)),
        (rules, "Pxp.name", "'pxp'", "'other'", lambda: pxp.Pxp().name),
        (
            automaton,
            "Automaton.fingerprint",
            "'⊤'",
            "'?'",
            lambda: function_of(automaton, "Automaton.fingerprint")(INTERACT),
        ),
        (
            policy,
            "pair",
            "parse_channel(channel)",
            "parse_channel('fifo:1')",
            lambda: policy.pair.__wrapped__(("m", "h"), INTERACT, "sync"),
        ),
        (
            system,
            "System.channel_of",
            "self.members[receiver].name",
            "'noticed'",
            lambda: function_of(system, "System.channel_of").__code__,
        ),
        (
            machine,
            "Machine.send",
            "partner: str=''",
            "partner: str='h'",
            lambda: function_of(machine, "Machine.send").__defaults__,
        ),
        (
            rules,
            "derive",
            "revises: bool=True",
            "revises: bool=False",
            lambda: function_of(rules, "derive").__kwdefaults__,
        ),
        (
            relations,
            "awaited",
            "if inspect",
            "if not inspect",
            lambda: asyncio.run(relations.awaited("said")),
        ),
        (
            agent,
            "Seat._clock_stopped",
            "clock is None or",
            "",
            lambda: function_of(agent, "Seat._clock_stopped").__code__,
        ),
    ],
)
def test_a_change_is_in_place_wherever_the_function_is_held(
    module: Any, name: str, old: str, new: str, seen: Callable[[], object]
) -> None:
    """Under properties, caches, context managers and `super()`, and in defaults."""

    def outcome() -> object:
        try:
            return seen()
        except (IndexError, TypeError, ValueError) as error:
            return repr(error)

    before = outcome()
    with changed(module, name, old, new):
        assert outcome() != before
    assert outcome() == before


@SAMPLED
def test_every_mutant_can_be_put_in_place(modules: tuple[ModuleType, ...], every: int) -> None:
    for mutant in mutants(*modules, every=every)[:: 100 // every]:
        with installed(mutant.module, mutant.name, mutant.function):
            pass


def test_what_runs_a_line_of_a_change_is_what_tries_it() -> None:
    found = {m for m in mutants(rules) if m.name == "derive" and "def derive" not in m.change}
    file = "pxp_fsm/protocol/rules.py"
    with lines_run({str(rules.__file__): file}) as ran:
        rules.derive(rules.Interact(), 2, [True])
    cost = Cost(0, {name: frozenset(lines) for name, lines in ran.items()})
    tried = {mutant for mutant in found if runs(cost, mutant)}
    assert not any(mutant.change.startswith("`return Guard(question)`") for mutant in tried)
    assert len(tried) > 5
    with lines_run({str(rules.__file__): file}) as ran:
        rules.derive(rules.Interact(), 2, [True, True])
    cost = Cost(0, {name: frozenset(lines) for name, lines in ran.items()})
    assert any(runs(cost, mutant) for mutant in found - tried)


@pytest.mark.deep
def test_a_sample_is_noticed_or_changes_nothing() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.proofs.mutation_page", "--sample", str(SAMPLE)],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    found = [line.split(" | ") for line in done.stdout.splitlines()]
    assert len(found) == SAMPLE, done.stderr
    assert [line for line in found if line[0] == "survives"] == []
    assert sum(line[0] == "equivalent" for line in found) < SAMPLE / 10


def test_the_page_counts_what_was_tried() -> None:
    first, second = mutants(machine)[:2]
    found = [(first, "sessions-agree-with-model"), (second, NOTHING)]
    table = by_module(found, [first, second])
    assert "2 of 2 were tried" in page(table)
    assert kind(second, NOTHING) == ("equivalent" if str(second) in EQUIVALENT else "survives")
    assert (second.name in surviving(found, table)) == (str(second) not in EQUIVALENT)


@pytest.mark.deep
def test_the_table_keeps_the_row_of_a_module_that_is_not_tried_again() -> None:
    every = mutants(rules, agent)
    before = by_module([(mutant, "a test") for mutant in every if mutant.module is rules], every)
    (tried,) = [mutant for mutant in every if mutant.module is agent][:1]
    after = by_module([(tried, "a test")], every, before)
    (row,) = [line for line in before.splitlines() if "rules.py` |" in line]
    assert row in after.splitlines()
    assert finished(after) == finished(before)
    there = sum(mutant.module is rules for mutant in every)
    assert f"{there + 1:,} of {len(every):,} were tried" in page(after)
    rest = [mutant for mutant in every if mutant.module is not rules or mutant.name == "derive"]
    assert row not in by_module([(tried, "a test")], rest, before)  # the module has changed since
