"""DRUG with pathways: steps back to materials that can be bought, by a list that the user names."""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from dataclasses import replace
from pathlib import Path

from pxp_fsm.errors import DataError, FileError, UsageError, quoted
from pxp_fsm.plugins.drug.molecules import drawing
from pxp_fsm.plugins.drug.pathway_relations import ARROW, PathwayPart, pathway, read_pathway
from pxp_fsm.plugins.drug.relations import InvalidSmiles, canonical_smiles
from pxp_fsm.prompting.prompts import Problem
from pxp_fsm.tasks.own_data import read, records
from pxp_fsm.tasks.task import DataRow, DataSet

QUERY = (
    "By which steps, and by which reactions, is this molecule made from materials that can be "
    "bought?"
)
COLUMN = "smiles"
"""The column of a table of materials (.csv)."""

MOST_TOLD = 40
"""Materials of the longest list that is told to who is asked."""


def read_materials(path: Path) -> frozenset[str]:
    """The canonical SMILES of the molecules in a list: a SMILES a line, or a CSV with `smiles`.

    What follows a SMILES on its line is its name; lines that begin with "#" are remarks. Raises
    `FileError`, which names each faulty line.
    """
    materials: set[str] = set()
    faults = []
    for line, written in _listed(path):
        try:
            materials.update(canonical_smiles(written).split("."))
        except InvalidSmiles as error:
            faults.append(str(DataError.at(path, line, str(error))))
    if not materials and not faults:
        faults.append(f"{path}: it lists no molecule")
    if faults:
        raise FileError(faults)
    return frozenset(materials)


def _listed(path: Path) -> Iterator[tuple[int, str]]:
    text = read(path)
    if path.suffix == ".csv":
        yield from ((line, row[COLUMN]) for line, row in records(text, path, (COLUMN,)))
        return
    for line, written in enumerate(text.splitlines(), start=1):
        if written.strip() and not written.startswith("#"):
            yield line, written.split()[0]


def checked(prediction: str, x: str) -> str:
    """The prediction of a row about `x`, reactants of one step or a pathway, as it is written.

    Raises `DataError` where it is neither, or makes another molecule.
    """
    if ARROW in prediction:
        way = read_pathway(prediction)
        if way.target != canonical_smiles(x):
            raise DataError(f"its first step makes {quoted(way.target)}, not the target")
    else:
        canonical_smiles(prediction)
    return prediction


def with_pathways(data: DataSet, materials: Path, part: str | None) -> DataSet:
    """`data` with pathways as predictions, and MATCH on a `PathwayPart` of them (None: the whole).

    The reactants of one step are a pathway of one step. Raises `FileError` where the list cannot be
    read, and where a pathway does not lead back to it.
    """
    bought = read_materials(materials)
    faults: list[str] = []

    def of(rows: tuple[DataRow, ...]) -> tuple[DataRow, ...]:
        with_ways = []
        for row in rows:
            text = row.answer.prediction
            if ARROW not in text:
                text = f"{text}{ARROW}{row.instance.x}"
            way = read_pathway(text).back_to(bought)
            missing = sorted(way.materials - bought)
            if missing:
                reason = f"{materials} does not list {', '.join(map(quoted, missing))}"
                faults.append(f"{row.instance.key}: {reason}")
            with_ways.append(replace(row, answer=replace(row.answer, prediction=str(way))))
        return tuple(with_ways)

    sets = (data.sessions, data.validation, data.test, data.examples)
    sessions, validation, test, examples = map(of, sets)
    if faults:
        raise FileError(faults)
    compared = PathwayPart.WHOLE if part is None else PathwayPart(part)
    return replace(
        data,
        sessions=sessions,
        validation=validation,
        test=test,
        examples=examples,
        materials=bought,
        compared=compared,
    )


def refuse_pathways(data: DataSet) -> None:
    """Raise `UsageError` where a prediction is a pathway, and no list of materials is named."""
    rows = (*data.sessions, *data.validation, *data.test, *data.examples)
    pathway_row = next((row for row in rows if ARROW in row.answer.prediction), None)
    if pathway_row is not None:
        raise UsageError(
            f"the prediction of {pathway_row.instance.key} is a pathway; name the list of what can "
            f"be bought",
            "materials",
        )


def problem_of(data: DataSet) -> Problem:
    """The question for a pathway back to the materials of `data`."""
    bought, part = data.materials, PathwayPart(data.compared)

    def from_text(text: str) -> str:
        """A pathway as a message carries it; raises `DataError`."""
        return str(read_pathway(text).back_to(bought))

    def from_json(value: object) -> str:
        """A list of steps as a message carries it; raises `DataError`."""
        return str(pathway(_steps(value)).back_to(bought))

    def normal(text: str) -> str:
        return read_pathway(text).part(part)

    molecule = {"type": "string", "description": "the SMILES of one molecule"}
    step = {
        "type": "object",
        "properties": {
            "product": molecule,
            "reactants": {"type": "array", "items": molecule, "description": "what it is made of"},
        },
        "required": ["product", "reactants"],
        "additionalProperties": False,
    }
    return Problem(
        name="drug",
        query=QUERY,
        prediction={
            "type": "array",
            "items": step,
            "description": "the steps of the pathway; the first makes the target",
        },
        from_json=from_json,
        from_text=from_text,
        normal=normal,
        drawing=drawing,
        to_json=_as_json,
        smiles=True,
        form=_form(bought),
    )


def _form(bought: Set[str]) -> str:
    which = f"{len(bought):,} molecules, which are not told here"
    if len(bought) <= MOST_TOLD:
        which = ", ".join(sorted(bought))
    return (
        f"A prediction is the steps of a pathway as SMILES, the one that makes the target first, "
        f"joined by semicolons: CC(=O)O.CCO{ARROW}CCOC(C)=O; CC#N.O{ARROW}CC(=O)O. It leads back "
        f"to what can be bought: {which}."
    )


def _steps(value: object) -> Iterator[tuple[str, Sequence[str]]]:
    if not isinstance(value, list) or not value:
        raise DataError(f"the pathway must be a list of steps, at least one, not {quoted(value)}")
    for step in value:
        if not isinstance(step, dict) or set(step) != {"product", "reactants"}:
            raise DataError(f"a step must have a product and its reactants, not {quoted(step)}")
        product, reactants = step["product"], step["reactants"]
        if not isinstance(product, str):
            raise DataError(f"a product must be a SMILES text, not {quoted(product)}")
        if not isinstance(reactants, list) or not reactants:
            raise DataError(f"reactants must be a list of SMILES, not {quoted(reactants)}")
        for reactant in reactants:
            if not isinstance(reactant, str):
                raise DataError(f"a reactant must be a SMILES text, not {quoted(reactant)}")
        yield product, reactants


def _as_json(text: str) -> object:
    steps = read_pathway(text).steps
    return [{"product": step.product, "reactants": list(step.reactants)} for step in steps]
