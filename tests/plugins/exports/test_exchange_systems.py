"""Systems in the languages of other checkers: the same states, and the same verdicts of theirs."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import HealthCheck, Phase, assume, given, settings
from hypothesis import strategies as st

from proofs.core.explore import Step, explore
from proofs.core.limits import Effort
from proofs.core.results import Status
from proofs.export.commands import (
    Add,
    All,
    AtLeast,
    CommandSystem,
    Copy,
    Is,
    Negation,
    Set,
    Some,
    Test,
)
from proofs.logic import parse
from proofs.logic.formulas import Formula, atoms
from proofs.systems import Composition, Member, System, check, parse_channel, system_of
from proofs.systems.propositions import Noting, vocabulary
from proofs.systems.reachability import reach
from pxp_fsm.automata.automaton import Automaton, Kind
from pxp_fsm.automata.tables import BUILTIN, builtin, parse_automaton
from pxp_fsm.errors import UsageError
from pxp_fsm.plugins.exports import to_prism, to_promela, to_smv, to_tla
from pxp_fsm.plugins.exports.network import network
from tests.oracles.model_checkers import (
    Found,
    needs_nusmv,
    needs_spin,
    needs_storm,
    needs_tlc,
    nusmv,
    spin,
    storm,
    tlc,
)
from tests.proofs.random_tables import tables
from tests.proofs.text_tables import table

CHANNELS = (
    *("sync", "fifo:1", "fifo:2", "lossy:1", "duplicating:2", "reordering:2"),
    "lossy+duplicating+reordering:2",
)
OWN = "duplicating:1,b:a=lossy+reordering:2"
"""A channel with another one for a link."""

Values = tuple[int, ...]


class Interpreted:
    """A network as a model: its variables' values, and what its commands do to them."""

    def __init__(self, net: CommandSystem) -> None:
        self.net = net
        self.name = net.composition.name
        self._place = {variable: place for place, variable in enumerate(net.variables)}

    def initial(self) -> Iterable[Values]:
        yield tuple(variable.initial for variable in self.net.variables)

    def successors(self, state: Values) -> Iterator[Step[Values]]:
        for command in self.net.commands:
            if all(self.holds(test, state) for test in command.tests):
                after = list(state)
                for update in command.updates:
                    place = self._place[update.variable]
                    match update:
                        case Set(_, value):
                            after[place] = value
                        case Copy(_, source):
                            after[place] = state[self._place[source]]
                        case Add(_, number):
                            after[place] += number
                    assert 0 <= after[place] < len(update.variable.domain.values)
                yield Step(command.label, tuple(after))

    def propositions(self, state: Values) -> frozenset[str]:
        return frozenset(n for n, t in self.net.propositions.items() if self.holds(t, state))

    def holds(self, test: Test, state: Values) -> bool:
        match test:
            case Is(variable, value):
                return state[self._place[variable]] == value
            case AtLeast(variables, least):
                return sum(state[self._place[variable]] for variable in variables) >= least
            case Negation(of):
                return not self.holds(of, state)
            case All(of):
                return all(self.holds(one, state) for one in of)
            case Some(of):
                return any(self.holds(one, state) for one in of)


def joined(table: Automaton, channel: str) -> Composition:
    return Composition(system_of([("a", table), ("b", table)]).over(parse_channel(channel)))


@st.composite
def systems(draw: st.DrawFn, most: int = 3000) -> Composition:
    """A random table joined with itself over some channel; small enough for every tool."""
    table, channel = draw(tables(closed=True)), draw(st.sampled_from((*CHANNELS, OWN)))
    assume(channel != OWN or any(row.kind is Kind.SEND for row in table.transitions))
    found = joined(table, channel)
    assume(not reach(found, Effort(most), compiled=False).cut)
    return found


@settings(max_examples=30, suppress_health_check=list(HealthCheck))
@given(systems(most=300), st.data())
def test_the_commands_are_the_steps_of_the_system(system: Composition, data: st.DataObject) -> None:
    walk_side_by_side(system, data)


@pytest.mark.deep
@settings(max_examples=30, suppress_health_check=list(HealthCheck))
@given(systems(), st.data())
def test_the_commands_are_the_steps_of_larger_systems(
    system: Composition, data: st.DataObject
) -> None:
    walk_side_by_side(system, data)


def walk_side_by_side(system: Composition, data: st.DataObject) -> None:
    """The two graphs have the same labels and propositions, and the same steps lead alike."""
    wanted = data.draw(st.lists(st.sampled_from(sorted(vocabulary(system))), max_size=3))
    theirs, ours = Interpreted(network(system, wanted)), Noting(system, {*wanted, "ended"})
    pairs = dict(zip(ours.initial(), theirs.initial(), strict=True))
    left = list(pairs.items())
    while left:
        one, other = left.pop()
        assert ours.propositions(one) == theirs.propositions(other)
        steps = sorted(ours.successors(one), key=lambda step: step.label)
        commands = sorted(theirs.successors(other), key=lambda step: step.label)
        assert [step.label for step in steps] == [step.label for step in commands]
        assert theirs.holds(theirs.net.stuck, other) is (not steps)
        for step, command in zip(steps, commands, strict=True):
            if step.target not in pairs:
                pairs[step.target] = command.target
                left.append((step.target, command.target))
            assert pairs[step.target] == command.target
    assert len(set(pairs.values())) == len(pairs)


LINEAR = ("G", "F", "GF", "FG", "U", "R", "W", "M", "->", "&", "|", "!")
BRANCHING = ("AG", "EF", "AF", "EG", "EX", "AX", "AN", "EN", "AU", "EU", "AR", "ER", "&", "!")


def formulas(names: list[str], operators: tuple[str, ...]) -> st.SearchStrategy[str]:
    """Formulas over propositions, as people write them."""

    def larger(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
        return st.builds(_joined, st.sampled_from(operators), inner, inner)

    atom = st.sampled_from(names).map(lambda name: f'"{name}"')
    return st.recursive(atom, larger, max_leaves=4).filter(lambda text: len(text) < 200)


def _joined(operator: str, left: str, right: str) -> str:
    if len(operator) == 2 and operator[0] in "AE" and operator[1] in "UR":
        return f"{operator[0]}(({left}) {operator[1]} ({right}))"
    if operator in ("U", "R", "W", "M", "->", "&", "|"):
        return f"(({left}) {operator} ({right}))"
    if operator in ("GF", "FG"):
        return f"{operator[0]} {operator[1]} ({left})"
    return f"{operator} ({left})"


def _drawn(
    data: st.DataObject, system: Composition, operators: tuple[str, ...], number: int
) -> list[tuple[str, Formula]]:
    texts = formulas(sorted(vocabulary(system)), operators)
    drawn = data.draw(st.lists(texts, min_size=number, max_size=number))
    return [(text, parse(text)) for text in drawn]


def compared(
    system: Composition, told: list[tuple[str, Formula]], found: Found, *, states: bool = True
) -> None:
    """What a tool found is what we find."""
    noting = Noting(system, {name for _, formula in told for name in atoms(formula)})
    space = explore(noting)
    if states:
        assert found.states == space.states
    stuck = any(not steps and not system.ended(s.state) for s, steps in space.steps.items())
    ours = [check(system, formula).status is Status.HOLDS for _, formula in told]
    assert found.verdicts == [not stuck, *ours], [text for text, _ in told]


def by_spin(system: Composition, told: list[tuple[str, Formula]], folder: Path) -> None:
    compared(system, told, spin(to_promela(system, told).text, len(told), folder))


@needs_spin
def test_a_system_without_steps_is_read_too(tmp_path: Path) -> None:
    mute = table("mute", "[A] -> [A] receive X")
    system = Composition(System((Member("a", mute), Member("b", mute))))
    by_spin(system, [("G ended", parse("G ended"))], tmp_path)


def by_storm(system: Composition, told: list[tuple[str, Formula]], folder: Path) -> None:
    written = to_prism(system, told)
    compared(system, told, storm(written.text, written.beside[".props"], folder))


def by_nusmv(system: Composition, told: list[tuple[str, Formula]], folder: Path) -> None:
    compared(system, told, nusmv(to_smv(system, told).text, folder))


def by_tlc(system: Composition, told: list[tuple[str, Formula]], folder: Path) -> None:
    """A variable that changes with every step, where there must be one, makes more states."""
    written = to_tla(system, told)
    found = tlc(written.text, written.beside[".cfg"], len(told), folder)
    compared(system, told, found, states="tick" not in written.text)


Compare = Callable[[Composition, list[tuple[str, Formula]], Path], None]
SAID: dict[Compare, tuple[str, ...]] = {
    by_spin: (
        "F ended",
        "G (a.INIT -> b@DECIDE)",
        "!1.REJECT W (1.INIT | 2.INIT)",
        "G !b:REF",
        "X X a@WAIT",
        "G (ended -> N false)",
        "G (a.INIT -> X F b@DECIDE)",
    ),
    by_storm: (
        "F ended",
        "AG EF ended",
        "X X a@WAIT",
        "G (ended -> N false)",
        "E (G F a@WAIT)",
        "EF (a:REF & EF b:REF)",
    ),
    by_nusmv: (
        "F ended",
        "AG EF ended",
        "X X a@WAIT",
        "G (ended -> N false)",
        "AG (ended -> AN 1@END)",
        "G (ended -> O (1.INIT | 2.INIT) & H !(1.TERM & 2.TERM))",
        "G (1.REVISE -> (!1.INIT S 1.INIT) | 2.REFUTE T 2.REFUTE)",
    ),
    by_tlc: ("F ended", "G (a.INIT -> b@DECIDE)", "G F a@WAIT -> F b@WAIT"),
}
"""Formulas about the built-in tables, in each tool's part of the language."""


@pytest.mark.parametrize(
    "compare",
    [
        pytest.param(by_spin, marks=needs_spin),
        pytest.param(by_storm, marks=needs_storm),
        pytest.param(by_nusmv, marks=needs_nusmv),
        pytest.param(by_tlc, marks=[needs_tlc, pytest.mark.deep]),
    ],
)
def test_a_tool_says_of_pxp_what_we_say(compare: Compare, tmp_path: Path) -> None:
    told = [(text, parse(text)) for text in SAID[compare]]
    compare(joined(builtin("pxp"), "fifo:1"), told, tmp_path)


@pytest.mark.deep
@pytest.mark.parametrize(
    ("compare", "channels"),
    [
        pytest.param(by_spin, (OWN, *CHANNELS[2:5:2]), marks=needs_spin),
        pytest.param(by_storm, (OWN, *CHANNELS), marks=needs_storm),
        pytest.param(by_nusmv, (OWN, *CHANNELS), marks=needs_nusmv),
        pytest.param(by_tlc, CHANNELS[4:5], marks=needs_tlc),
    ],
)
@pytest.mark.parametrize("name", BUILTIN)
def test_a_tool_says_of_every_built_in_table_and_channel_what_we_say(
    compare: Compare, channels: tuple[str, ...], name: str, tmp_path: Path
) -> None:
    told = [(text, parse(text)) for text in SAID[compare]]
    for channel in channels:
        compare(joined(builtin(name), channel), told, tmp_path)


RANDOM = settings(
    suppress_health_check=list(HealthCheck),
    derandomize=True,
    phases=[Phase.generate],  # a tool is too slow to make a failing example small
)


def _in_a_folder(compare: Compare, system: Composition, told: list[tuple[str, Formula]]) -> None:
    with TemporaryDirectory() as folder:
        compare(system, told, Path(folder))


@needs_spin
@pytest.mark.deep
@settings(RANDOM, max_examples=5)
@given(systems(), st.data())
def test_spin_says_of_random_systems_what_we_say(system: Composition, data: st.DataObject) -> None:
    told = _drawn(data, system, LINEAR, 4)
    _in_a_folder(by_spin, system, told + _drawn(data, system, ("X", "N", "U", "&", "!"), 3))


@needs_storm
@pytest.mark.deep
@settings(RANDOM, max_examples=30)
@given(systems(), st.data())
def test_storm_says_of_random_systems_what_we_say(system: Composition, data: st.DataObject) -> None:
    told = _drawn(data, system, (*LINEAR, "X", "N"), 3)
    _in_a_folder(by_storm, system, told + _drawn(data, system, BRANCHING, 3))


@needs_nusmv
@pytest.mark.deep
@settings(RANDOM, max_examples=30)
@given(systems(), st.data())
def test_nusmv_says_of_random_systems_what_we_say(system: Composition, data: st.DataObject) -> None:
    told = _drawn(data, system, (*LINEAR, "X", "N"), 3)
    _in_a_folder(by_nusmv, system, told + _drawn(data, system, BRANCHING, 3))


@needs_tlc
@pytest.mark.deep
@settings(RANDOM, max_examples=3)
@given(systems(), st.data())
def test_tlc_says_of_random_systems_what_we_say(system: Composition, data: st.DataObject) -> None:
    _in_a_folder(by_tlc, system, _drawn(data, system, ("G", "F", "GF", "->", "&", "!"), 2))


@needs_spin
@pytest.mark.deep
def test_large_buffers_are_not_too_much_for_spins_formulas(tmp_path: Path) -> None:
    """What is long, as that something can happen, becomes a variable that adds no state."""
    text = 'F "a:b@has.RATIFY" | G !"b:a@full" | F ended'
    by_spin(joined(builtin("pxp"), "fifo:12"), [(text, parse(text))], tmp_path)


@pytest.mark.parametrize(
    ("write", "formula", "said"),
    [
        (to_promela, "AG EF ended", "Promela cannot say 'AG EF ended': it speaks of some run"),
        (
            to_promela,
            " | ".join(
                f"X X F G {one}" for one in ("a@IDLE", "a@WAIT", "b@IDLE", "b@WAIT", "ended")
            ),
            "it has more than 16 propositions and temporal parts; SMV can",
        ),
        (to_smv, "E (G F ended)", "it is neither LTL nor CTL"),
        (to_smv, "G !Y ended", "SMV has no Y and Z"),
        (to_promela, "X O ended", "Promela has no Y, Z, O, H, S and T"),
        (to_prism, "G O ended", "PRISM has no Y, Z, O, H, S and T"),
        (to_tla, "G O ended", "TLA+ has no Y, Z, O, H, S and T"),
        (to_tla, "EF ended", "it speaks of some run"),
        (to_tla, "a@IDLE U ended", "there is no U"),
        (to_tla, "X ended", "there is no X"),
        (to_prism, "F nowhere", "there is no 'nowhere'; there are 106 names like: 1.INIT, 1:RAT"),
    ],
)
def test_what_a_language_cannot_say_is_refused(
    write: Callable[..., object], formula: str, said: str
) -> None:
    with pytest.raises(UsageError, match=re.escape(said)):
        write(joined(builtin("pxp"), "sync"), [(formula, parse(formula))])


EVIL = (
    "*/ } -->\n# (* *) ]] \\ // ' \" $ ` \N{RIGHT-TO-LEFT OVERRIDE} active proctype evil() { skip }"
)
KEYWORDS = """
format = 1
name = "module"
title = '''EVIL'''
initial = "step"
final = ["system"]
states = [{ name = "step" }, { name = "system" }, { name = "A", about = '''EVIL''' }]
rows = [
  { from = "step", to = "A", send = "module" },
  { from = "step", to = "A", receive = "module" },
  { from = "A", to = "system", send = "endmodule" },
  { from = "A", to = "system", receive = "endmodule" },
]
"""


@pytest.mark.parametrize(
    "compare",
    [
        pytest.param(by_spin, marks=[needs_spin, pytest.mark.deep]),
        pytest.param(by_storm, marks=needs_storm),
        pytest.param(by_nusmv, marks=needs_nusmv),
        pytest.param(by_tlc, marks=[needs_tlc, pytest.mark.deep]),
    ],
)
def test_keywords_as_names_and_prose_that_would_break_out_of_a_comment(
    compare: Compare, tmp_path: Path
) -> None:
    """`d_step`, `at_A` and `is_ended` are what members d, at and is would make of their states."""
    evil = EVIL.replace("\\", "\\\\").replace("\n", "\\n").replace('"', '\\"')
    table = parse_automaton(KEYWORDS.replace("'''EVIL'''", f'"{evil}"'))
    members = [("d", table), ("at", table)]
    system = Composition(system_of(members).over(parse_channel("fifo:1")))
    text = "F (d@system & at.endmodule)"
    compare(system, [(text, parse(text))], tmp_path)
