"""Plans of DRUG: the rows that they choose, and what is known of them."""

from __future__ import annotations

from dataclasses import replace

from pxp_fsm.experiments import plan_data
from pxp_fsm.experiments.plans import Plan
from pxp_fsm.plugins.drug.task import accuracy, known_rows
from pxp_fsm.protocol.messages import Answer, Instance
from pxp_fsm.tasks.task import DataRow, DataSet


def test_the_accuracy_is_that_of_the_rows_that_are_chosen() -> None:
    row = DataRow(Instance("", "CC(=O)Nc1ccccc1"), Answer("CC(=O)Cl.Nc1ccccc1", ""))
    every = (replace(row, instance=replace(row.instance, key=f"i{i}")) for i in range(5))
    data = plan_data.choose(
        Plan("drug", instances="2"), DataSet("made up", tuple(every), precedents="others")
    )
    assert len(data.sessions) == 2
    (known,), (line,) = known_rows(data), accuracy(data)
    assert known.startswith("Of 2 molecules, ")
    assert "right reactants of these 2 molecules: top 1 " in line
