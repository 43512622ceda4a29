"""A classification of one's own: a table of texts or pictures with their labels, in a folder.

The columns are `text` or `picture`, then `label` (one of a closed list), `labels` (several, joined
by commas, or none) or `answer` (any text), and `explanation`; a row may have an `id` and a `set`.
Beside the table may be `terms.txt`, the key terms by which explanations agree.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from guards.labels import LONGEST, NONE, format_labels, label_set
from guards.terms import Term, has_words, typical_terms
from pxp_fsm.documents import text_of
from pxp_fsm.errors import DataError, FileError, counted, quoted, require_extra
from pxp_fsm.protocol.messages import Answer
from pxp_fsm.tasks.labels.pictures import image_in, reference
from pxp_fsm.tasks.own_data import RowForm, existing_table, read_data, read_records
from pxp_fsm.tasks.task import DataRow, DataSet, PredictionKind

TERMS = "terms.txt"
"""The file of key terms beside a table."""

_MOST = 100
"""Labels of a table."""

_MOST_TERMS = 2_000

_TEXT, _PICTURE = "text", "picture"
_COLUMNS: Mapping[str, tuple[str, ...]] = {
    "key": ("id",),
    "x": (_TEXT, _PICTURE),
    "prediction": tuple(map(str, PredictionKind)),
    "explanation": ("explanation",),
    "set": ("set",),
}
"""The columns of the table, by what the rows of every task have."""

_LABEL = re.compile(r"\w[\w ()/'+.-]{0,59}")
"""A label: it stands in the text of prompts, where nothing may steer a reader."""

_DEALT = (
    *("sessions", "examples", "test", "validation", "sessions", "test"),
    *("validation", "sessions", "examples", "test", "validation", "sessions"),
)
"""How the rows of a table that names no set are dealt: of 12 rows 4, 2, 3 and 3."""


def load_labels(folder: Path) -> DataSet:
    """The data in `folder`, or in the table that it is.

    Raises `FileError` with every fault of its rows, and `DataError` where there is no table.
    """
    table = existing_table(folder)
    names, written = _columns(table)
    kind, pictures = PredictionKind(names["prediction"]), names["x"] == _PICTURE
    if pictures:
        require_extra("pictures", "a table of pictures", {"PIL": "pillow"})
    form = RowForm(
        x=_picture if pictures else _plain_text,
        prediction=_READ[kind],
        names={name: written[column] for name, column in names.items()},
        empty=f"where no label fits, write {NONE}"
        if kind is PredictionKind.LABELS
        else "fill it in",
        draw=_dealt,
    )
    data = replace(read_data(table, form), kind=kind, pictures=pictures)
    if kind is not PredictionKind.TEXT:
        data = with_labels(table, data)
    terms = _terms(table.parent / TERMS)
    known = (row.answer for row in (*data.sessions, *data.validation, *data.examples))
    return replace(data, terms=typical_terms(known) if terms is None else terms)


def _columns(table: Path) -> tuple[Mapping[str, str], Mapping[str, str]]:
    """The names of the table's columns, as they are known and as they are written.

    Raises `DataError` where one is missing, unknown, or there in two ways.
    """
    records = read_records(table)
    if not records:
        raise DataError(f"{table}: there is no row; write one per instance (pxp help labels)")
    headings = dict.fromkeys(name for _, record in records for name in record)
    written = {name.strip().casefold(): name for name in headings}
    known = [name for names in _COLUMNS.values() for name in names]
    unknown = [name for plain, name in written.items() if plain not in known]
    if unknown:
        raise DataError.at(
            table,
            1,
            f"column {quoted(unknown[0])} is unknown; the columns are {', '.join(known)}: rename "
            f"it, or remove it",
        )
    chosen = {}
    for name, columns in _COLUMNS.items():
        there = [column for column in columns if column in written]
        if len(there) > 1:
            raise DataError.at(
                table, 1, f"columns {' and '.join(there)} cannot both be there; remove one"
            )
        if not there and name not in ("key", "set"):
            raise DataError.at(
                table,
                1,
                f"column {' or '.join(columns)} is missing; there are {', '.join(headings)}",
            )
        chosen[name] = there[0] if there else columns[0]
    return chosen, {column: written.get(column, column) for column in chosen.values()}


def _plain_text(text: str, _folder: Path) -> str:
    return text


def _picture(text: str, folder: Path) -> str:
    return reference(image_in(folder.absolute(), text))


def own_labels(text: str, known: Sequence[str] = ()) -> str:
    """The set of labels that stands in a table, spelled as those `known`; raises `DataError`."""
    own = [part.strip() for part in text.split(",") if part.strip().casefold() not in ("", NONE)]
    for label in own:
        if _LABEL.fullmatch(label) is None:
            raise DataError(
                f"a label is up to 60 letters, digits, spaces and ()/'+.-, and labels are joined "
                f"by commas, not {quoted(label)}"
            )
    return format_labels(label_set(text, (*own, *known)))


def _several(text: str, _x: str) -> str:
    return own_labels(text)


def _single(text: str, _x: str) -> str:
    if "," in text:
        raise DataError(
            f"{quoted(text)} are several; name the column labels where a row has several"
        )
    if text.strip().casefold() == NONE:
        raise DataError(f"{NONE} is no label; name the column labels where a row may have none")
    return own_labels(text)


def free_text(text: str) -> str:
    """An answer as a message carries it, on one line; raises `DataError`."""
    answer = " ".join(text.split())
    if not answer:
        raise DataError("the answer is empty; write one")
    if len(answer) > LONGEST:
        raise DataError(f"an answer has at most {LONGEST} characters; this one {len(answer)}")
    if not answer.isprintable():
        raise DataError(f"an answer holds printable characters alone, unlike {quoted(answer)}")
    return answer


def _free(text: str, _x: str) -> str:
    return free_text(text)


_READ: Mapping[PredictionKind, Callable[[str, str], str]] = {
    PredictionKind.LABELS: _several,
    PredictionKind.LABEL: _single,
    PredictionKind.TEXT: _free,
}
"""How a prediction of each kind is read from a table."""


def with_labels(where: Path, data: DataSet) -> DataSet:
    """The data with the closed list of their labels, each spelled in one way.

    Raises `DataError`, which names `where`, for a list that nothing can be asked of.
    """
    rows = (*data.sessions, *data.validation, *data.test, *data.examples)
    every = (label for row in rows for label in row.answer.prediction.split(", ") if label != NONE)
    labels = sorted({label.casefold(): label for label in every}.values())
    if not labels:
        raise DataError(f"{where}: every prediction is {NONE}; no row has a label to ask about")
    if data.kind is PredictionKind.LABEL and len(labels) == 1:
        raise DataError(f"{where}: every row has the label {labels[0]}; two are needed at least")
    if len(labels) > _MOST:
        raise DataError(
            f"{where}: there are {len(labels)} different labels, and at most {_MOST} can be asked "
            f"about; where answers are free text, name the column {PredictionKind.TEXT}"
        )

    def spelled(answer: Answer) -> Answer:
        return replace(answer, prediction=format_labels(label_set(answer.prediction, labels)))

    return replace(with_answers(data, spelled), labels=tuple(labels))


def with_answers(data: DataSet, change: Callable[[Answer], Answer]) -> DataSet:
    """The data with every row's answer changed."""
    sessions, validation, test, examples = (
        tuple(replace(row, answer=change(row.answer)) for row in rows)
        for rows in (data.sessions, data.validation, data.test, data.examples)
    )
    return replace(data, sessions=sessions, validation=validation, test=test, examples=examples)


def _dealt(rows: Sequence[DataRow]) -> Sequence[str]:
    """The set of each row of a table that names none; each label is in all sets, if it can be.

    It is the same for every run, so that runs can be compared.
    """
    places = list(range(len(rows)))
    random.Random("sets").shuffle(places)
    places.sort(key=lambda place: rows[place].answer.prediction)
    names = {place: _DEALT[turn % len(_DEALT)] for turn, place in enumerate(places)}
    return [names[place] for place in range(len(rows))]


def _terms(path: Path) -> tuple[Term, ...] | None:
    """The key terms in the file `path`, one a line, with its wordings joined by commas.

    None where there is no such file; raises `FileError`.
    """
    if not path.is_file():
        return None
    faults, terms = [], dict[Term, int]()
    for number, line in enumerate(text_of(path, "a list of key terms").splitlines(), start=1):
        wordings = tuple(part.strip() for part in line.split(",") if part.strip())
        if not wordings:
            continue
        empty = [wording for wording in wordings if not has_words(wording)]
        if empty:
            faults.append(f"{path}, line {number}: {quoted(empty[0])} has no word; write one")
        terms.setdefault(wordings, number)
    if not terms:
        faults.append(f"{path}: there is no term; write one a line, or remove the file")
    if len(terms) > _MOST_TERMS:
        faults.append(f"{path}: {counted(len(terms), 'term')}; there may be {_MOST_TERMS:,}")
    if faults:
        raise FileError(faults[:20])
    return tuple(terms)
