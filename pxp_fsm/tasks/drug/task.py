"""DRUG: one-step retrosynthesis (arXiv 2410.20600, section 4.1): its data, agents and accuracy."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

from backends.databases.proxy import Proxy
from backends.models.local.retrosynthesis import Precedent, Retrosynthesis, precedents_of
from guards.relations.chemistry import (
    RDKIT,
    Reactants,
    SameReaction,
    canonical_reactants,
    canonical_smiles,
)
from pxp_fsm.errors import DataError, NoAnswer, quoted, require_extra
from pxp_fsm.prompting.model import Image
from pxp_fsm.prompting.problem import Problem
from pxp_fsm.protocol.interfaces import Respondent
from pxp_fsm.protocol.messages import Instance, Tag
from pxp_fsm.protocol.situation import Derived
from pxp_fsm.sessions.agent import Agent
from pxp_fsm.tasks.drug.data import bundled, published
from pxp_fsm.tasks.own_data import Form, read_data, table_of
from pxp_fsm.tasks.task import MACHINE, DataSet, Recorded, Row, Task

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


def drawing(instance: Instance) -> Image:
    """The molecule drawn, 600 by 400 pixels."""
    from rdkit.Chem import MolFromSmiles
    from rdkit.Chem.Draw import rdMolDraw2D

    canvas = rdMolDraw2D.MolDraw2DCairo(600, 400)
    rdMolDraw2D.PrepareAndDrawMolecule(canvas, MolFromSmiles(canonical_smiles(instance.x)))
    canvas.FinishDrawing()
    return Image("image/png", canvas.GetDrawingText())


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


def _reactants(text: str) -> str:
    """Reactants as they are written; raises `DataError` where they are no SMILES."""
    canonical_reactants(text)
    return text


FORM = Form(lambda text, _folder: canonical_smiles(text), _reactants)

_TOP = (1, 5, 10)


def load(folder: Path | None) -> DataSet:
    """Reactions of one's own or the authors' from `folder`, or the bundled molecules.

    Raises `UsageError` without RDKit: no command about molecules works without it.
    """
    require_extra("drug", "DRUG", RDKIT)
    if folder is None:
        return bundled()
    return published(folder) if table_of(folder) is None else read_data(folder, FORM)


def agents(data: DataSet, memo: bool) -> tuple[Agent, Agent]:
    """A machine that has learned nothing yet, and the database proxy as the human."""
    match, agree = Reactants(), SameReaction()
    answers = {row.instance.key: row.answer for row in data.sessions}
    respondent = Retrosynthesis(same_product=data.same_product)
    machine = Agent(respondent, match=match, agree=agree, query=QUERY, memo=memo)
    return machine, replace(machine, respondent=Proxy(answers), guards=Derived(revises=False))


def accuracy(data: DataSet) -> Sequence[str]:
    """How often the untaught machine names the very reactants of a session row, as a line."""
    machine = Retrosynthesis(same_product=data.same_product)
    ranks = [rank_of(machine, row) for row in data.sessions]
    shares = (sum(rank <= top for rank in ranks) / len(ranks) for top in _TOP)
    parts = (f"top {top} {share:.0%}" for top, share in zip(_TOP, shares, strict=True))
    told = "The untaught machine names the right reactants of these"
    return [f"{told} {len(ranks)} molecules: {', '.join(parts)}."]


def learned(data: DataSet, sessions: Iterable[Recorded]) -> Sequence[str]:
    """What the machine's answers owe to lessons, as a line to print."""
    untaught = Retrosynthesis(same_product=data.same_product)
    xs = {row.instance.key: row.instance.x for row in data.sessions}
    revisions = taken = firsts = changed = 0
    for key, messages in sessions:
        said = [message for message in messages if message.sender == MACHINE]
        firsts += bool(said)
        if said and said[0].answer.prediction != untaught.rank(xs[key], 1)[0].reactants:
            changed += 1
        for before, message in pairwise(messages):
            if message.sender == MACHINE and message.tag == Tag.REVISE:
                revisions += 1
                taken += _same(before.answer.prediction, message.answer.prediction)
    return [
        f"Revisions of the machine: {revisions}, of which {taken} took up the human's reactants. "
        f"Lessons of earlier sessions changed {changed} of its {firsts} first answers."
    ]


def why_not(machine: Respondent, instance: Instance, prediction: str) -> str | None:
    """Rank and precedents of `prediction`, where `machine` is the task's own."""
    if not isinstance(machine, Retrosynthesis):
        return None
    return machine.why_not(instance.x, prediction)


def _same(one: str, other: str) -> bool:
    return canonical_reactants(one) == canonical_reactants(other)


def published_reactions(row: Row) -> tuple[Precedent, ...]:
    """The machine's precedents whose product is the molecule of `row`."""
    return precedents_of(canonical_smiles(row.instance.x))


def known_rows(data: DataSet) -> Sequence[str]:
    """Of how many session rows the machine has precedents, as a line."""
    known = sum(bool(published_reactions(row)) for row in data.sessions)
    those = "those count as well" if data.same_product else "those are left out"
    return [
        f"Of {len(data.sessions)} molecules, {known} are among the machine's precedents; {those}."
    ]


def rank_of(machine: Retrosynthesis, row: Row, among: int = 10) -> float:
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
    about="one-step retrosynthesis of drug molecules",
    load=load,
    agents=agents,
    accuracy=accuracy,
    known_rows=known_rows,
    problem=PROBLEM,
    has_precedents=True,
    learned=learned,
    why_not=why_not,
    role_notes={
        "human": ("The human is a database (an oracle agent: it never REVISEs).",),
        "judge": (
            "AGREE is an approximation: it reads the class of reaction out of the explanations.",
        ),
        "machine": (
            "Repetitions differ by the order of instances (drawn from the seed), and so by what "
            "the machine had learned before each; nothing else is random.",
        ),
    },
)
