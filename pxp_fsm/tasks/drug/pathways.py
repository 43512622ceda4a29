"""DRUG with pathways: steps back to materials that can be bought, by a list that the user names."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass, replace
from pathlib import Path

from backends.models.local.retrosynthesis import Retrosynthesis
from guards.relations.chemistry import InvalidSmiles, canonical_smiles
from guards.relations.pathways import ARROW, Part, Pathway, pathway, read_pathway
from pxp_fsm.artifacts import package_fingerprint
from pxp_fsm.errors import DataError, FileError, NoAnswer, UsageError, quoted
from pxp_fsm.prompting.problem import Problem
from pxp_fsm.protocol.messages import Answer, Instance, Message, Question, Tag
from pxp_fsm.tasks.csv_records import read, records
from pxp_fsm.tasks.drug.molecules import drawing
from pxp_fsm.tasks.task import DataSet, Row

QUERY = (
    "By which steps, and by which reactions, is this molecule made from materials that can be "
    "bought?"
)
COLUMN = "smiles"
"""The column of a table of materials (.csv)."""

MOST_TOLD = 40
"""Materials of the longest list that is told to who is asked."""

_DEEPEST, _TRIED, _MOST_RANKED = 5, 3, 40
"""Steps in a row of the machine's pathways, candidates that it tries for a molecule, and molecules
that it takes apart for one pathway."""

_SHOWN_FAULTS = 20


def read_materials(path: Path) -> frozenset[str]:
    """The canonical SMILES of the molecules in a list: a SMILES a line, or a CSV with `smiles`.

    What follows a SMILES on its line is its name; lines that begin with "#" are remarks. Raises
    `FileError`, which names each faulty line.
    """
    found: set[str] = set()
    faults = []
    for line, written in _listed(path):
        try:
            found.update(canonical_smiles(written).split("."))
        except InvalidSmiles as error:
            faults.append(str(DataError.at(path, line, str(error))))
    if not found and not faults:
        faults.append(f"{path}: it lists no molecule")
    if faults:
        more = len(faults) - _SHOWN_FAULTS
        rest = [f"{path}: and {more:,} more faults"] if more > 0 else []
        raise FileError([*faults[:_SHOWN_FAULTS], *rest])
    return frozenset(found)


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
        found = read_pathway(prediction)
        if found.target != canonical_smiles(x):
            raise DataError(f"its first step makes {quoted(found.target)}, not the target")
    else:
        canonical_smiles(prediction)
    return prediction


def with_pathways(data: DataSet, materials: Path, part: str | None) -> DataSet:
    """`data` with pathways as predictions, and MATCH on `part` of them (`Part`; None: the whole).

    The reactants of one step are a pathway of one step. Raises `FileError` where the list cannot be
    read, and where a pathway does not lead back to it.
    """
    bought = read_materials(materials)
    faults: list[str] = []

    def of(rows: tuple[Row, ...]) -> tuple[Row, ...]:
        found = []
        for row in rows:
            text = row.answer.prediction
            if ARROW not in text:
                text = f"{text}{ARROW}{row.instance.x}"
            way = read_pathway(text).back_to(bought)
            missing = sorted(way.materials - bought)
            if missing:
                said = f"{materials} does not list {', '.join(map(quoted, missing))}"
                faults.append(f"{row.instance.key}: {said}")
            found.append(replace(row, answer=replace(row.answer, prediction=str(way))))
        return tuple(found)

    sessions, validation, test = map(of, (data.sessions, data.validation, data.test))
    if faults:
        more = len(faults) - _SHOWN_FAULTS
        rest = [f"and {more:,} more pathways end elsewhere"] if more > 0 else []
        raise FileError([*faults[:_SHOWN_FAULTS], *rest])
    compared = Part.WHOLE if part is None else Part(part)
    return replace(
        data,
        sessions=sessions,
        validation=validation,
        test=test,
        materials=bought,
        compared=compared,
    )


def refuse_pathways(data: DataSet) -> None:
    """Raise `UsageError` where a prediction is a pathway, and no list of materials is named."""
    rows = (*data.sessions, *data.validation, *data.test)
    found = next((row for row in rows if ARROW in row.answer.prediction), None)
    if found is not None:
        raise UsageError(
            f"the prediction of {found.instance.key} is a pathway; name the list of what can be "
            f"bought",
            "materials",
        )


def problem_of(data: DataSet) -> Problem:
    """The question for a pathway back to the materials of `data`."""
    bought, part = data.materials, Part(data.compared)

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
        for one in reactants:
            if not isinstance(one, str):
                raise DataError(f"a reactant must be a SMILES text, not {quoted(one)}")
        yield product, reactants


def _as_json(text: str) -> object:
    steps = read_pathway(text).steps
    return [{"product": step.product, "reactants": list(step.reactants)} for step in steps]


@dataclass(frozen=True, slots=True)
class _Route:
    """Steps found for a molecule, with what explains each; `open` ends cannot be bought."""

    steps: tuple[tuple[str, str, str], ...]
    open: int


class PathwayFinder:
    """Predicts a pathway back to `purchasable` molecules, step by step as `steps` predicts one.

    Fills `Respondent` and `Learner` of `pxp_fsm.protocol.interfaces`. For each molecule that cannot
    be bought the best candidates are tried in their order; the first whose reactants all lead back
    to what can be bought is taken, or else the one with the fewest that do not, which are then ends
    of the pathway. Each step of a pathway that it is told is a lesson.
    """

    def __init__(self, steps: Retrosynthesis, purchasable: Set[str]) -> None:
        self._steps = steps
        self._purchasable = purchasable

    @property
    def name(self) -> str:
        """With a fingerprint of the search and of the list."""
        listed = hashlib.sha256("\n".join(sorted(self._purchasable)).encode()).hexdigest()
        here = package_fingerprint("pxp_fsm.tasks.drug", ("pathways.py",), listed)
        return f"{self._steps.name}, pathways {here}"

    def copy(self) -> PathwayFinder:
        """The same with what it has learned, to learn on from apart."""
        return PathwayFinder(self._steps.copy(), self._purchasable)

    def predict(self, smiles: str) -> str:
        """The pathway that it predicts for the molecule `smiles`; raises `NoAnswer`."""
        return str(self._find(smiles)[0])

    def _find(self, smiles: str) -> tuple[Pathway, Sequence[tuple[str, str, str]]]:
        steps = _Search(self._steps, self._purchasable).route(canonical_smiles(smiles)).steps
        return pathway((product, [reactants]) for product, reactants, _ in steps), steps

    async def answer(self, question: Question) -> Answer:
        """The pathway, with an explanation of each step; raises `NoAnswer`."""
        found, steps = self._find(question.instance.x)
        why = {product: said for product, _, said in steps}
        said = [why[step.product] for step in found.steps]
        if len(said) > 1:
            said = [f"Step {number}: {one}" for number, one in enumerate(said, start=1)]
        return Answer(str(found), " ".join(said))

    def why_not(self, smiles: str, prediction: str) -> str:
        """Why the step that makes `smiles` is not that of `prediction`; raises `NoAnswer`."""
        step = read_pathway(prediction).steps[0]
        return self._steps.why_not(smiles, ".".join(step.reactants))

    def learn(self, instance: Instance, message: Message) -> None:
        """Learn each step of the pathway in `message`; REJECT, TERM and what is none teach nothing.

        A step teaches about its own product.
        """
        if message.tag in (Tag.REJECT, Tag.TERM):
            return
        try:
            told = read_pathway(message.answer.prediction)
        except DataError:
            return
        for step in told.steps:
            one = Answer(".".join(step.reactants), message.answer.explanation)
            self._steps.learn(Instance(step.product, step.product), replace(message, answer=one))


class _Search:
    """One search, depth first, for a pathway."""

    def __init__(self, steps: Retrosynthesis, purchasable: Set[str]) -> None:
        self._steps = steps
        self._purchasable = purchasable
        self._left = _MOST_RANKED

    def route(self, smiles: str, above: tuple[str, ...] = ()) -> _Route:
        """The route to `smiles`, on the way to the molecules `above`; raises `NoAnswer`."""
        self._left -= 1
        best: _Route | None = None
        for candidate in self._steps.rank(smiles, _TRIED):
            reactants = candidate.reactants.split(".")
            if not {smiles, *above}.isdisjoint(reactants):
                continue
            route = self._back(smiles, reactants, above)
            step = (smiles, candidate.reactants, self._steps.explain(candidate))
            if best is None or route.open < best.open:
                best = _Route((step, *route.steps), route.open)
            if not best.open:
                break
        if best is None:
            raise NoAnswer(f"every step back from {smiles[:80]!r} leads in a circle")
        return best

    def _back(self, smiles: str, reactants: Sequence[str], above: tuple[str, ...]) -> _Route:
        """The routes to all `reactants` of one step; an end where one cannot be bought is open."""
        steps: dict[str, tuple[str, str, str]] = {}
        ends = 0
        for one in sorted(set(reactants) - self._purchasable):
            route = self._further(one, (*above, smiles))
            if route is None or route.open:
                ends += 1
            else:
                steps |= {step[0]: step for step in route.steps if step[0] not in steps}
        return _Route(tuple(steps.values()), ends)

    def _further(self, smiles: str, above: tuple[str, ...]) -> _Route | None:
        """The route to a reactant; None where there is none, or the search has an end."""
        if len(above) >= _DEEPEST or self._left <= 0:
            return None
        try:
            return self.route(smiles, above)
        except NoAnswer:
            return None
