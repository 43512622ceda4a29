"""A table as a deterministic automaton in DOT, as AALpy and the automata wiki read it.

Letters are actions (`!ASK`, `server?ANSWER`, an event by its label; `[FREE] !GRANT` under a guard).
End states accept; of a table that goes on for ever all states do.
"""

from __future__ import annotations

from pxp_fsm.automata.automaton import Automaton
from pxp_fsm.plugins.exports.aldebaran import label_of


def to_aalpy(automaton: Automaton) -> str:
    """`automaton` as DOT for `aalpy.utils.load_automaton_from_file(path, "dfa")`."""
    automaton = automaton.without_rules()  # guards are free, as in every check of a system
    numbers = {state.name: number for number, state in enumerate(automaton.states)}
    accepting = automaton.final or numbers.keys()
    lines = ["digraph table {"]
    for name, number in numbers.items():
        shape = ', shape="doublecircle"' if name in accepting else ""
        lines.append(f'  s{number} [label="{name}"{shape}];')
    lines += [
        f'  s{numbers[row.source]} -> s{numbers[row.target]} [label="{label_of(row)}"];'
        for row in automaton.transitions
    ]
    start = numbers[automaton.initial]
    return "\n".join(
        [*lines, '  __start0 [label="", shape="none"];', f"  __start0 -> s{start};", "}", ""]
    )
