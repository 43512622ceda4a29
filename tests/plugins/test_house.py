"""Importing a plug-in and asking for the help of its commands is light."""

from __future__ import annotations

import pytest

from tests.house.test_house import check_help, check_import


@pytest.mark.parametrize("package", ["pxp_fsm.plugins.odds", "pxp_fsm.plugins.easylan"])
def test_importing_a_plug_in_loads_nothing_heavy(package: str) -> None:
    check_import(package)


@pytest.mark.parametrize("name", ["odds", "lan train"])
def test_the_help_of_its_commands_loads_nothing_heavy(name: str) -> None:
    check_help(name)
