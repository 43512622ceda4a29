"""Published schemas are those of the readers, which read what they allow and nothing else."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from backends.databases.session_documents import RECORDED_SESSION
from pxp_fsm.automata.system_files import SYSTEM
from pxp_fsm.automata.table_files import TABLE
from pxp_fsm.errors import Fault, FileError
from pxp_fsm.experiments.files import EXPERIMENT
from pxp_fsm.options import Option, option
from pxp_fsm.plugins.easylan.experiments.tasks import NETWORK_TASK
from pxp_fsm.plugins.easylan.model.files import NETWORK
from pxp_fsm.plugins.gateway.policy import POLICY
from pxp_fsm.plugins.studies.files import STUDY
from pxp_fsm.schemas import FileKind, Tagged, read_value, value_schema, write_value
from tests.file_faults import ROOT

PUBLISHED: dict[str, FileKind[Any]] = {
    "backends/databases/session.schema.json": RECORDED_SESSION,
    "pxp_fsm/automata/data/schema.json": TABLE,
    "pxp_fsm/automata/data/system.schema.json": SYSTEM,
    "pxp_fsm/experiments/experiment.schema.json": EXPERIMENT,
    "pxp_fsm/plugins/easylan/experiments/task.schema.json": NETWORK_TASK,
    "pxp_fsm/plugins/easylan/model/schema.json": NETWORK,
    "pxp_fsm/plugins/gateway/policy.schema.json": POLICY,
    "pxp_fsm/plugins/studies/study.schema.json": STUDY,
}


def published(schema: Mapping[str, Any]) -> str:
    """A JSON Schema as the text of its file."""
    return json.dumps(schema, indent=1, ensure_ascii=False) + "\n"


@pytest.mark.parametrize("name", PUBLISHED)
def test_a_published_schema_is_that_of_its_reader(name: str) -> None:
    schema = PUBLISHED[name].schema()
    Draft202012Validator.check_schema(schema)
    assert (ROOT / name).read_text("utf-8") == published(schema)


@dataclass(frozen=True)
class Leaf:
    word: Annotated[str, Option(least=1, pattern="^[a-z]*$")]
    either: int | tuple[str, ...] | None = None
    none: int | None = option("A number.", None, least=2, most=9)


@dataclass(frozen=True)
class Branch:
    one_of: ClassVar[tuple[str, ...]] = ("left", "right")

    leaves: Annotated[tuple[Leaf, ...], Option(least=1, most=3)]
    left: float = 0.0
    right: bool = False
    pairs: Mapping[Annotated[str, Option(pattern="^[a-z]")], tuple[int, str | None]] = option(
        "Pairs.", {}, key="table.pairs"
    )


@dataclass(frozen=True)
class Stone:
    size: Literal["small", "large"]


Thing = Annotated[Leaf | Branch | Stone, Tagged("do", {Leaf: "l", Branch: "b", Stone: "s"})]


@dataclass(frozen=True)
class Garden:
    things: tuple[Thing, ...]
    first: Leaf
    anything: Any = None


DOCUMENT: dict[str, Any] = {
    "things": [
        {"do": "l", "word": "a", "either": ["x"]},
        {
            "do": "b",
            "leaves": [{"word": "b", "none": 3}],
            "left": 2,
            "table": {"pairs": {"p": [1, None], "q": [2, "t"]}},
        },
        {"do": "s", "size": "small"},
    ],
    "first": {"word": "c"},
    "anything": {"a": [1]},
}
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False).filter(lambda one: not one.is_integer())
    | st.text()
    | st.sampled_from(["l", "b", "s", "small"]),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(st.sampled_from(["word", "left", "right", "do", "x"]), inner, max_size=2)
    ),
    max_leaves=4,
)


def places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Every container of a document with each of its keys."""
    for key, one in list(value.items() if isinstance(value, dict) else enumerate(value)):
        yield value, key
        if isinstance(one, dict | list):
            yield from places(one)


@settings(max_examples=300, deadline=None)
@given(st.data(), VALUES, st.booleans())
def test_a_document_has_no_fault_where_and_only_where_its_schema_takes_it(
    data: st.DataObject, value: Any, is_removed: bool
) -> None:
    document = copy.deepcopy(DOCUMENT)
    inside, key = data.draw(st.sampled_from(list(places(document))))
    if is_removed:
        del inside[key]
    else:
        inside[key] = value
    valid = Draft202012Validator(value_schema(Garden)).is_valid(document)
    found, faults = read_value(Garden, document)
    assert bool(faults) is not valid
    if valid:
        assert read_value(Garden, json.loads(json.dumps(write_value(Garden, found)))) == (found, ())
    else:
        assert all(_leads_somewhere(document, fault) for fault in faults)


def _leads_somewhere(document: Any, fault: Fault) -> bool:
    """Whether the way to a fault is one of the document."""
    for part in fault.path:
        there = isinstance(document, dict | list)
        assert there
        document = document[part]
    return True


def test_a_value_is_what_its_document_says() -> None:
    garden, faults = read_value(Garden, DOCUMENT)
    assert faults == ()
    assert garden == Garden(
        (
            Leaf("a", ("x",)),
            Branch((Leaf("b", none=3),), left=2.0, pairs={"p": (1, None), "q": (2, "t")}),
            Stone("small"),
        ),
        Leaf("c"),
        {"a": [1]},
    )
    assert write_value(Garden, garden) == DOCUMENT


@pytest.mark.parametrize(("old", "new"), [("1", "1.0"), ("1", "true"), ("1", "2"), ("1", '"1"')])
def test_another_format_is_refused(old: str, new: str) -> None:
    kind = FileKind(Stone, "a stone", "A stone")
    assert kind.parse('format = 1\nsize = "small"\n', "s.toml").value == Stone("small")
    with pytest.raises(FileError, match=r"s\.toml, line 1: format: .* is not one that this vers"):
        kind.parse(f'format = {new}\nsize = "small"\n', "s.toml")
    assert old != new


def test_every_fault_is_told_in_the_order_of_lines() -> None:
    text = 'format = 1\nfirst = { word = "A", wood = 1 }\nthings = [{ do = "x" },\n { do = "s" }]\n'
    with pytest.raises(FileError) as raised:
        FileKind(Garden, "a garden", "A garden").parse(text, "g.toml")
    assert [(fault.line, fault.path) for fault in raised.value.faults] == [
        (2, ("first", "word")),
        (2, ("first", "wood")),
        (3, ("things", 0, "do")),
        (4, ("things", 1)),
    ]


def test_a_plan_is_written_as_it_is_read() -> None:
    text = (
        'format = 1\ntask = "drug"\nk = "unbounded"\nprotocol = "pxp"\ninstances = ["a", "b"]\n'
        '[agents]\nmachine = "openai:x"\nvotes = 3\n[learning]\nkeep = "better"\n'
    )
    file = EXPERIMENT.parse(text, "e.toml")
    assert EXPERIMENT.write(file.value) == file.raw


if __name__ == "__main__":
    for name, kind in PUBLISHED.items():
        Path(name).write_text(published(kind.schema()), "utf-8")
