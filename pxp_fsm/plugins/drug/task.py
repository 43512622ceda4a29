"""DRUG: retrosynthesis (arXiv 2410.20600, section 4.1): its data, agents and accuracy."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cache
from itertools import pairwise
from pathlib import Path

from backends.databases.blackboard import Proxy
from pxp_fsm.errors import DataError, NoAnswer, UsageError, quoted, require_extra
from pxp_fsm.plugins.drug import pathways
from pxp_fsm.plugins.drug.data import bundled, published
from pxp_fsm.plugins.drug.molecules import drawing
from pxp_fsm.plugins.drug.pathway_relations import PathwayPart, SamePathway, read_pathway
from pxp_fsm.plugins.drug.pathway_search import PathwayFinder
from pxp_fsm.plugins.drug.pathways import checked, with_pathways
from pxp_fsm.plugins.drug.relations import (
    RDKIT,
    Reactants,
    SameReaction,
    canonical_reactants,
    canonical_smiles,
)
from pxp_fsm.plugins.drug.retrosynthesis import Precedent, Retrosynthesis, precedents_of
from pxp_fsm.plugins.drug.retrosynthesis.counting import drawn
from pxp_fsm.prompting.prompts import Problem
from pxp_fsm.protocol.interfaces import Respondent
from pxp_fsm.protocol.messages import Answer, Instance, Tag
from pxp_fsm.protocol.situation import Derived
from pxp_fsm.sessions.agent import Agent
from pxp_fsm.tasks.own_data import RowForm, read_data, table_of
from pxp_fsm.tasks.task import MACHINE, DataRow, DataSet, Recorded, Task

QUERY = "Which reactants make this molecule in one step, and by which reaction?"


def from_text(text: str) -> str:
    """SMILES joined by ".", as a message carries them: canonical; raises `DataError`."""
    return canonical_smiles(text.strip())


def from_json(value: object) -> str:
    """A list of SMILES as a message carries them; raises `DataError`."""
    if not isinstance(value, Sequence) or isinstance(value, str) or not value:
        raise DataError(
            f"the reactants must be a list of SMILES, at least one, not {quoted(value)}"
        )
    for smiles in value:
        if not isinstance(smiles, str):
            raise DataError(f"a reactant must be a SMILES text, not {quoted(smiles)}")
    return canonical_smiles(".".join(value))


PROBLEM = Problem(
    name="drug",
    query=QUERY,
    prediction={
        "type": "array",
        "items": {"type": "string", "description": "the SMILES of one reactant"},
        "description": "the reactants",
    },
    from_json=from_json,
    from_text=from_text,
    drawing=drawing,
    to_json=lambda text: text.split("."),
    smiles=True,
    form="A prediction is the reactants as SMILES, joined by dots: CCO.CC(=O)O",
)


FORM = RowForm(lambda text, _folder: canonical_smiles(text), checked)

_TOP = (1, 5, 10)

Machine = Retrosynthesis | PathwayFinder


def load(folder: Path | None) -> DataSet:
    """Reactions of one's own or the authors' from `folder`, or the bundled molecules.

    Raises `UsageError` without RDKit: no command about molecules works without it.
    """
    require_extra("drug", "DRUG", RDKIT)
    if folder is None:
        return bundled()
    return published(folder) if table_of(folder) is None else read_data(folder, FORM)


def problem_of(data: DataSet) -> Problem:
    """The question for reactants, or for pathways where the data have materials.

    Raises `UsageError` where predictions are pathways, and they have none.
    """
    if data.materials:
        return pathways.problem_of(data)
    pathways.refuse_pathways(data)
    return PROBLEM


FEW = 20
"""How many precedents the machine begins with where the data do not say."""


def untaught(data: DataSet) -> Machine:
    """The machine as it is before any session; `data.draw` decides which precedents are few."""
    few = few_of(data)
    if few is not None:
        return Retrosynthesis.beginning_with(few, data.draw)
    steps = Retrosynthesis(same_product=data.precedents == "all")
    return PathwayFinder(steps, data.materials) if data.materials else steps


def few_of(data: DataSet) -> int | None:
    """With how many precedents the machine begins; None where it has all of them.

    Raises `UsageError` for few where predictions are pathways: they are searched with all.
    """
    few = data.precedents.startswith("few:")
    if data.materials:
        if few:
            raise UsageError(
                "pathways are searched with all precedents: others or all", "precedents"
            )
        return None
    if few:
        return int(data.precedents.removeprefix("few:"))
    return None if data.precedents else FEW


def agents(data: DataSet, memo: bool) -> tuple[Agent, Agent]:
    """A machine that has learned nothing yet, and the database proxy as the human."""
    match = SamePathway(PathwayPart(data.compared)) if data.materials else Reactants()
    answers = {row.instance.key: row.answer for row in data.sessions}
    query = problem_of(data).query
    machine = Agent(untaught(data), match=match, agree=SameReaction(), query=query, memo=memo)
    return machine, replace(machine, respondent=Proxy(answers), guards=Derived(revises=False))


def accuracy(data: DataSet) -> Sequence[str]:
    """How often the untaught machine is right about the session rows, as a line."""
    machine = untaught(data)
    if isinstance(machine, PathwayFinder):
        return _accuracy_of_pathways(machine, data)
    ranks = [rank_of(machine, row) for row in data.sessions]
    shares = (sum(rank <= top for rank in ranks) / len(ranks) for top in _TOP)
    parts = (f"top {top} {share:.0%}" for top, share in zip(_TOP, shares, strict=True))
    told = "The untaught machine names the right reactants of these"
    return [f"{told} {len(ranks)} molecules: {', '.join(parts)}."]


def _accuracy_of_pathways(machine: PathwayFinder, data: DataSet) -> Sequence[str]:
    predictions = [first_prediction(machine, row.instance.x) for row in data.sessions]
    ways = [read_pathway(prediction) for prediction in predictions if prediction is not None]
    bought = sum(way.materials <= data.materials for way in ways)
    right = [
        sum(
            prediction is not None and _same(prediction, row.answer.prediction, part)
            for prediction, row in zip(predictions, data.sessions, strict=True)
        )
        for part in PathwayPart
    ]
    parts = ", ".join(f"{part} {many}" for part, many in zip(PathwayPart, right, strict=True))
    return [
        f"Pathways of the untaught machine for these {len(predictions)} molecules: {bought} lead "
        f"back to what can be bought. Right by {parts}."
    ]


def first_prediction(machine: Machine, x: str) -> str | None:
    """What `machine` predicts of the molecule `x`; None where it has no answer."""
    try:
        return machine.predict(x)
    except NoAnswer:
        return None


_PATENTS = 35
"""How many reactions from patents show whether what is learned of drugs holds there."""


def from_patents() -> tuple[str, tuple[DataRow, ...]]:
    """Reactions of the precedents that a named reaction derives, always the same ones."""
    rows = tuple(
        DataRow(
            Instance(f"{lesson.patent}/{number}", lesson.product),
            Answer(lesson.reactants, lesson.patent),
        )
        for number, lesson in enumerate(drawn(_PATENTS, "elsewhere"))
    )
    return "reactions from patents", rows


def learned(data: DataSet, sessions: Iterable[Recorded]) -> Sequence[str]:
    """What the machine's answers owe to lessons, as a line to print."""
    part = PathwayPart(data.compared) if data.materials else None
    machine = cache(lambda draw: untaught(replace(data, draw=draw)))
    xs = {row.instance.key: row.instance.x for row in data.sessions}
    revisions = taken = firsts = changed = 0
    for draw, key, messages in sessions:
        own = [message for message in messages if message.sender == MACHINE]
        firsts += bool(own)
        if own and own[0].answer.prediction != machine(draw).predict(xs[key]):
            changed += 1
        for before, message in pairwise(messages):
            if message.sender == MACHINE and message.tag == Tag.REVISE:
                revisions += 1
                taken += _same(before.answer.prediction, message.answer.prediction, part)
    noun = "reactants" if part is None else "pathway"
    return [
        f"Revisions of the machine: {revisions}, of which {taken} took up the human's {noun}. "
        f"Lessons of earlier sessions changed {changed} of its {firsts} first answers."
    ]


def why_not(machine: Respondent, instance: Instance, prediction: str) -> str | None:
    """Rank and precedents of `prediction`, where `machine` is the task's own."""
    if not isinstance(machine, Machine):
        return None
    return machine.why_not(instance.x, prediction)


def _same(prediction: str, other: str, part: PathwayPart | None) -> bool:
    """Whether MATCH holds of two predictions; `part` is None of reactants."""
    if part is not None:
        return read_pathway(prediction).part(part) == read_pathway(other).part(part)
    return canonical_reactants(prediction) == canonical_reactants(other)


def published_reactions(row: DataRow) -> tuple[Precedent, ...]:
    """The machine's precedents whose product is the molecule of `row`."""
    return precedents_of(canonical_smiles(row.instance.x))


def known_rows(data: DataSet) -> Sequence[str]:
    """Of how many session rows the machine has precedents, as a line."""
    few = few_of(data)
    if few is not None:
        return [f"The machine begins with {few} precedents, drawn anew for each repetition."]
    known = sum(bool(published_reactions(row)) for row in data.sessions)
    those = "those count as well" if data.precedents == "all" else "those are left out"
    return [
        f"Of {len(data.sessions)} molecules, {known} are among the machine's precedents; {those}."
    ]


def rank_of(machine: Retrosynthesis, row: DataRow, among: int = 10) -> float:
    """The rank, from 1, of the row's reactants as `machine` ranks them; infinite where absent."""
    right = canonical_reactants(row.answer.prediction)
    try:
        candidates = machine.rank(row.instance.x, among)
    except NoAnswer:
        return float("inf")
    for place, candidate in enumerate(candidates, start=1):
        if canonical_reactants(candidate.reactants) == right:
            return place
    return float("inf")


DRUG = Task(
    name="drug",
    about="retrosynthesis of drug molecules",
    load=load,
    agents=agents,
    accuracy=accuracy,
    known_rows=known_rows,
    problem=PROBLEM,
    problem_of=problem_of,
    pathways=with_pathways,
    precedents=f"few:{FEW}",
    has_likelihood=True,
    elsewhere=from_patents,
    learned=learned,
    why_not=why_not,
    role_notes={
        "human": ("The human is a database (an oracle agent: it never REVISEs).",),
        "judge": (
            "AGREE is an approximation: it reads the class of reaction out of the explanations.",
        ),
        "machine": (
            "Repetitions differ by the order of instances and by the few precedents that the "
            "machine begins with, both drawn from the seed; nothing else is random.",
        ),
    },
)
