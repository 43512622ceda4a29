"""Tables as a researcher might write them; line numbers matter to the tests that use them."""

from __future__ import annotations

import pytest

from pxp_fsm.automata.tables import parse_automaton
from pxp_fsm.errors import TableError

TABLE = """\
format = 1
name = "mine"
title = "Mine"
initial = "A"
final = ["C"]
states = [
  { name = "A", guards = ["G", "H"], exclusive = true, complete = true },
  { name = "B" },
  # a comment between two states
  { name = "C" },
]
rows = [
  { from = "A", to = "B", guard = "G", send = "ASK" },
  { from = "A", to = "C", guard = "H", send = "BYE" },
  { from = "B", to = "C", receive = ["ASK", "BYE"] },  # line 15
]
[guards]
G = "go on"
H = "halt"
"""

ROWS_APART = """\
format = 1
name = "mine"
title = "Mine"
initial = "A"
final = ["C"]
guards.G = "go on"   # a dotted key
guards."H" = "halt"

[[states]]
name = "A"
guards = [
  "G",   # the first
  "H",
]
exclusive = true
complete = true

[[states]]
name = "B"
[[states]]
name = "C"

[[rows]]
from = "A"
to = "B"
guard = "G"
send = "ASK"

[[rows]]   # halting
from = "A"
to = "C"
guard = "H"
send = "BYE"

[[rows]]
from = [
  "B",
]
to = "C"
receive = ["ASK", "BYE"]
"""

CLIENT = """\
format = 1
name = "client"
title = "Client of an alternating-bit service"
peer = "server"
initial = "ZERO"
final = ["ZERO"]
states = [{ name = "ZERO" }, { name = "ZERO_SENT" }, { name = "ONE" }, { name = "ONE_SENT" }]
rows = [
  { from = "ZERO", to = "ZERO_SENT", send = "ASK0" },
  { from = "ZERO_SENT", to = "ZERO_SENT", event = "TIMEOUT" },
  { from = "ZERO_SENT", to = "ONE", receive = "REPLY0" },
  { from = "ONE", to = "ONE_SENT", send = "ASK1" },
  { from = "ONE_SENT", to = "ZERO", receive = "REPLY1" },
]
"""


def problems(text: str, filename: str = "mine.toml") -> tuple[str, ...]:
    with pytest.raises(TableError) as caught:
        parse_automaton(text, filename)
    assert str(caught.value) == "\n".join(caught.value.problems)
    return caught.value.problems
