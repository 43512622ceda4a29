"""What our plug-ins add to the one door, and the registry of them."""

from __future__ import annotations

from typing import Any

import pytest

import pxp_fsm as pxp
from tests.house.test_face import check_example, check_room

NAMES = ["Panel", "language", "odds"]
ROOMS = ["conformance", "drug", "exports", "networks", "panels", "rad", "scribble", "studies"]


def test_the_names_that_plug_ins_add_are_these() -> None:
    added = {name for plugin in pxp.registry.plugins() for name in plugin.names}
    assert sorted(added) == sorted([*NAMES, *ROOMS])
    assert added <= {*pxp.__all__}


@pytest.mark.parametrize("name", ROOMS)
def test_every_room_has_its_names(name: str) -> None:
    check_room(name)


@pytest.mark.parametrize("name", [*NAMES, "run"])
def test_every_name_has_an_example_that_works(name: str) -> None:
    """That of `run` is a run of DRUG."""
    check_example(name)


def test_a_language_shows_itself_in_a_notebook() -> None:
    svg = str(pxp.language(pxp.Interact(n=4))._repr_svg_())
    assert svg.lstrip().startswith("<?xml")
    assert "</svg>" in svg


def test_what_has_no_language_is_told_with_what_to_give() -> None:
    call: Any = pxp
    with pytest.raises(pxp.PXPError, match="language takes"):
        call.language(3)
