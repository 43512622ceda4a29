"""The machine that begins with few precedents: what it learns, under control and without."""

from __future__ import annotations

import asyncio
import math
from dataclasses import replace
from statistics import median

import pytest

import pxp_fsm as pxp
from backends.databases import SqlBlackboard
from pxp_fsm.errors import UsageError
from pxp_fsm.experiments import accuracy, runs
from pxp_fsm.experiments.outcomes import outcomes_of
from pxp_fsm.experiments.plan_data import read_plan
from pxp_fsm.experiments.plans import Plan
from pxp_fsm.plugins.drug.data import bundled
from pxp_fsm.plugins.drug.retrosynthesis import Retrosynthesis, learning, precedents
from pxp_fsm.plugins.drug.retrosynthesis.counting import PRIOR, drawn
from pxp_fsm.plugins.drug.retrosynthesis.disconnections import canonical_set
from pxp_fsm.plugins.drug.retrosynthesis.learning import likeness
from pxp_fsm.plugins.drug.retrosynthesis.predictor import UNDERIVED
from pxp_fsm.protocol.interfaces import CopyableLearner, Likelihood
from pxp_fsm.protocol.messages import Answer, Instance, Message, Question, Tag
from pxp_fsm.sessions.learning import Gate, Keep, Weighing
from tests.sampling import WHOLE

ANILIDE = "CC(=O)Nc1ccccc1"
SEEDS = 20 if WHOLE else 5


def told(x: str, reactants: str) -> tuple[Instance, Message]:
    return Instance("x", x), Message("s", 2, "h", Tag.REFUTE, Answer(reactants, ""), "m")


class Contrary:
    """A human who is always wrong, and consistent: the machine's own best other candidate."""

    name = "contrary"

    def __init__(self, seed: int) -> None:
        self._untaught = Retrosynthesis.beginning_with(20, f"{seed}/1")
        self._right = {
            row.instance.key: canonical_set(row.answer.prediction) for row in bundled().sessions
        }

    async def answer(self, question: Question) -> Answer:
        heard = canonical_set(question.history[0].answer.prediction)
        wrong = next(
            candidate
            for candidate in self._untaught.rank(question.instance.x, 1_000)
            if canonical_set(candidate.reactants) not in (heard, self._right[question.instance.key])
        )
        return Answer(wrong.reactants, self._untaught.explain(wrong))


def results(seed: int, human: Contrary | None = None, *, gated: bool) -> tuple[int, int, int, int]:
    """Two-way sessions, revisions of the machine; right test answers before and after."""
    with SqlBlackboard(":memory:") as board:
        made = Plan("drug", seed=seed)
        if gated:
            made = replace(made, learn="likelihood", gate="context")
        run = runs.run(made, board, human=human)
        two_way = sum(outcomes_of(board, run.name).of("two-way").values())
        revised = sum(
            event.carried.tag == Tag.REVISE and event.carried.sender == "m"
            for record in board.sessions()
            for event in board.events(record.session)
        )
        ((before, after),) = accuracy.gains(board, run.name, made, *read_plan(made))
    return two_way, revised, before, after


def test_the_same_draw_begins_with_the_same_precedents() -> None:
    few, more, other = drawn(5, "0/1"), drawn(8, "0/1"), drawn(8, "0/2")
    assert more[:5] == few
    assert set(more) != set(other)
    for example in more:
        assert example.steps
        assert example.patent.startswith("US")


def test_scores_are_the_logarithms_of_counts() -> None:
    """Against the formula itself: (count + prior), with what the example lifts by likeness."""
    machine = Retrosynthesis(examples=())
    plain = {c.reactants: c for c in machine.rank(ANILIDE, 1_000)}
    product, reactants = "CC(=O)Nc1ccc(C)cc1", "CC(=O)Cl.Cc1ccc(N)cc1"
    machine.learn(*told(product, reactants))
    (lesson,) = machine.lessons
    for candidate in machine.rank(ANILIDE, 1_000):
        shared = [n for n in candidate.named if n.template.id in lesson.steps]
        before = plain[candidate.reactants].score
        if not shared:
            assert candidate.score == pytest.approx(before)
        elif len(candidate.named) == 1:
            count = 1 / len(lesson.steps)
            like = likeness(ANILIDE, product) * likeness(candidate.reactants, reactants)
            rise = math.log((count + PRIOR) / PRIOR) + 3.0 * like
            assert candidate.score == pytest.approx(before + rise)


def test_molecules_that_are_prepared_together_are_like_others_as_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Also where no more are remembered than those that were prepared last."""
    molecules = [ANILIDE, "CC(=O)Nc1ccc(C)cc1", "CC(=O)Cl.Cc1ccc(N)cc1", "C", "F/C=C/F"]
    pairs = [(one, other) for one in molecules for other in molecules]
    monkeypatch.setattr(learning, "_ENVIRONMENTS", {})
    alone = [likeness.__wrapped__(*pair) for pair in pairs]
    monkeypatch.setattr(learning, "_REMEMBERED", 3)
    for most in (5, 3):
        learning.prepare([*molecules[:most], molecules[0]])
        assert [likeness.__wrapped__(*pair) for pair in pairs] == alone
    learning.prepare(["CCO"])
    assert set(learning._ENVIRONMENTS) == {"CCO"}


def test_the_likelihoods_of_all_candidates_sum_to_one() -> None:
    for machine in (Retrosynthesis(), Retrosynthesis.beginning_with(20, "0/1")):
        assert isinstance(machine, CopyableLearner)
        assert isinstance(machine, Likelihood)
        question = Question("?", Instance("x", ANILIDE))
        found = [
            asyncio.run(machine.log_likelihood(question, candidate.reactants))
            for candidate in machine.rank(ANILIDE, 1_000)
        ]
        assert math.fsum(map(math.exp, found)) == pytest.approx(1, abs=1e-6)
        assert asyncio.run(machine.log_likelihood(question, "CCO")) == UNDERIVED
        nothing = Question("?", Instance("x", "C"))
        assert asyncio.run(machine.log_likelihood(nothing, "CCO")) == UNDERIVED


@pytest.mark.parametrize("every", [499, pytest.param(25, marks=pytest.mark.deep)])
def test_every_precedent_is_left_out_for_its_own_product(every: int) -> None:
    """Whatever the installed version of RDKit writes: 335 of them it writes otherwise today."""
    known = precedents.builtin()
    for number in range(0, len(known), every):
        written = canonical_set(known.products[number])
        assert written is not None
        if every > 1 or written != (known.products[number],):
            assert number in known.of_product(".".join(written))


def test_molecules_of_one_composition_are_not_one_molecule() -> None:
    known = precedents.builtin()
    assert not known.of_product("CCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCC")
    for number in range(0, len(known), 977):
        for other in known.of_product(known.products[number]):
            assert canonical_set(known.products[other]) == canonical_set(known.products[number])


@pytest.mark.parametrize(
    ("before", "after", "rise", "kept"),
    [
        (5, 5, 0.01, True),
        (5, 6, 0.01, True),
        (5, 4, 0.5, False),
        (5, 6, -0.01, False),
        (5, 5, 0.0, False),
    ],
)
def test_a_lesson_is_kept_by_likelihood(before: int, after: int, rise: float, kept: bool) -> None:
    rows = [(Instance("x", ANILIDE), "CC(=O)Cl.Nc1ccccc1")]
    gate = Gate(Keep.LIKELIHOOD, rows=rows)
    assert gate.weigh(Weighing(before, after, 10, 0, rise, 3)) is kept


def test_a_machine_without_likelihoods_cannot_be_weighed_by_them() -> None:
    class Deaf:
        name = "deaf"

        async def answer(self, question: Question) -> Answer:
            return Answer("C", "")

    gate = Gate(Keep.LIKELIHOOD, rows=[(Instance("x", ANILIDE), "C")])
    with pytest.raises(UsageError, match=r"does not say how likely .*; keep better or equal"):
        gate.check(Deaf())


def test_few_precedents_are_no_pathways_and_a_wrong_number_is_refused() -> None:
    with pytest.raises(UsageError, match="few:N"):
        read_plan(Plan("drug", precedents="few:0"))
    with pytest.raises(UsageError, match="few:N"):
        read_plan(Plan("drug", precedents="few"))
    assert read_plan(Plan("drug", precedents="few:7"))[1].precedents == "few:7"


def test_one_repetition_learns_and_the_next_begins_anew() -> None:
    """A stored decision says what the lesson changed, and a repetition has its own precedents."""
    with pxp.open_blackboard(":memory:") as board:
        run = pxp.run(
            pxp.Plan(
                "drug", instances="4", repetitions=2, learn="likelihood", gate="context",
                validation=12,
            ),
            board,
        )  # fmt: skip
        assert len({record.agents[0][1] for record in board.sessions(run.name)}) == 1
        first, second = (
            {
                board.events(record.session)[0].carried.answer
                for record in board.sessions(run.name)
                if record.repetition == repetition
            }
            for repetition in (1, 2)
        )
        assert first - second
        weighed = [
            judgement.detail
            for record in board.sessions(run.name)
            for event in board.events(record.session)
            for judgement in event.judgements
            if judgement.relation == "LEARN" and judgement.detail
        ]
        assert weighed
        assert all('"rise": ' in detail and '"concerned": ' in detail for detail in weighed)


@pytest.mark.deep
def test_sessions_help_and_the_gate_controls() -> None:
    """Over several seeds: what a newcomer's first table shows, and what a wrong human cannot do."""
    controlled = [results(seed, gated=True) for seed in range(SEEDS)]
    uncontrolled = [results(seed, gated=False) for seed in range(SEEDS)]
    assert median(two_way for two_way, *_ in controlled) >= 12
    assert median(two_way for two_way, *_ in uncontrolled) == 15
    assert min(revised for _, revised, *_ in controlled) >= 4
    assert sum(after > before for *_, before, after in controlled) >= 0.75 * SEEDS
    misled = [results(seed, Contrary(seed), gated=True) for seed in range(SEEDS)]
    followed = [results(seed, Contrary(seed), gated=False) for seed in range(SEEDS)]
    assert max(two_way for two_way, *_ in misled) <= 8
    assert median(after - before for *_, before, after in misled) >= 0
    assert median(two_way for two_way, *_ in followed) >= 18
    assert sum(after - before for *_, before, after in followed) < 0
