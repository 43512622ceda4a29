"""INTERACT sessions over explicit values as Promela, so that SPIN explores the same states.

The state vector is that of `proofs.sessions.explicit`, written out: how many messages there were,
the latest prediction and explanation of each agent and its latest tag, what each has sent, whether
the session is over. What happens at a message stands in arrays, filled from the model's controls; a
few lines of C look it up. Each fresh pair is a choice of its own, so SPIN has the same transitions
too.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import product
from typing import TypeVar

from proofs.sessions.explicit import OUTCOMES, PackedSessions
from proofs.sessions.model import SentSoFar, SessionState
from pxp_fsm.errors import UsageError
from pxp_fsm.protocol.decisions import initiator_speaks
from pxp_fsm.protocol.messages import Tag

At = TypeVar("At", bound=tuple[int, ...])

TAGS = ("", *Tag)
"""How tags are numbered; 0 is none yet."""

SENT = tuple(SentSoFar(*bits) for bits in product((False, True), repeat=4))
"""How the four bits on an agent's tags are numbered."""

OPTIONS = (
    *("-O3", "-march=native", "-DSAFETY", "-DNOREDUCE", "-DNOBOUNDCHECK"),
    *("-DNOFAIR", "-DNOCOMP", "-DBFS"),
)
"""How to compile SPIN's verifier so that it is fastest here: breadth first, nothing reduced."""

VECTOR = """\
byte number;               /* messages so far */
bool over;
byte y[2], e[2];           /* the latest pair of the initiator (0) and of the responder (1) */
byte tag[2];               /* the latest tag of each */
byte sent[2] = {empty};         /* four bits each on all its tags so far */
"""

MESSAGE = """\
static void message(int y, int e)
{
  int number = now.number + 1, me = RESPONDER[number], peer = 1 - me, answered = now.tag[peer];
  int own_y = now.tag[me] ? now.y[me] : y, own_e = now.tag[me] ? now.e[me] : e;
  int outcome = (now.y[peer] == own_y) << 3 | (now.e[peer] == own_e) << 2
              | (y == own_y) << 1 | (e == own_e);
  int tag = TAG[number][outcome];
  now.over = OVER[number][tag][answered];
  now.sent[me] = SENT[tag][now.sent[me]];
  now.number = number; now.tag[me] = tag; now.y[me] = y; now.e[me] = e;
}
"""


def promela(model: PackedSessions) -> str:
    """`model` in Promela, with exactly its states and transitions.

    Raises `UsageError` where a number does not fit into Promela's byte, and where what a message
    does depends on more than the state vector shows (as with a table that is not INTERACT's).
    """
    if model.values > 255 or model.rules.n > 255:
        raise UsageError(f"{model.name}: Promela's byte holds numbers up to 255")
    choices = "\n".join(
        f"  :: d_step {{ !over -> c_code {{ message({y}, {e}); }} }}"
        for y, e in product(range(model.values), repeat=2)
    )
    arrays = "\n".join(_arrays(model))
    vector = VECTOR.format(empty=SENT.index(SentSoFar()))
    return (
        f"/* {model.name} */\n{vector}\nc_code {{\n{arrays}\n\n{MESSAGE}}}\n\n"
        f"active proctype session()\n{{\nend:\n  do\n{choices}\n  od\n}}\n"
    )


def _arrays(model: PackedSessions) -> Iterator[str]:
    tag: dict[tuple[int, int], int] = {}
    over: dict[tuple[int, int, int], int] = {}
    sent: dict[tuple[int, int], int] = {}
    for state, outcome, target in _messages(model):
        if target.over == "stuck":
            raise UsageError(f"{model.name}: sessions get stuck, which Promela's model leaves out")
        me = 0 if initiator_speaks(target.sent) else 1
        named, answered = TAGS.index(target.tags[me]), TAGS.index(state.tags[1 - me])
        _put(tag, (target.sent, outcome), named)
        _put(over, (target.sent, named, answered), int(bool(target.over)))
        _put(sent, (named, SENT.index(state.history[me])), SENT.index(target.history[me]))
    n, tags = model.rules.n, range(len(TAGS))
    who = [int(not initiator_speaks(number)) for number in range(n + 1)]
    yield _array("RESPONDER", [n + 1], who)
    cells = [tag.get(at, 0) for at in product(range(n + 1), range(len(OUTCOMES)))]
    yield _array("TAG", [n + 1, len(OUTCOMES)], cells)
    cells = [over.get(at, 0) for at in product(range(n + 1), tags, tags)]
    yield _array("OVER", [n + 1, len(TAGS), len(TAGS)], cells)
    cells = [sent.get(at, 0) for at in product(tags, range(len(SENT)))]
    yield _array("SENT", [len(TAGS), len(SENT)], cells)


def _messages(model: PackedSessions) -> Iterator[tuple[SessionState, int, SessionState]]:
    """Every message of the controls: from where, with which outcome, to where."""
    for state, steps in zip(model.controls.states, model.controls.steps, strict=True):
        for outcome, step in enumerate(steps):
            yield state, outcome, step.target


def _put(cells: dict[At, int], at: At, value: int) -> None:
    if cells.setdefault(at, value) != value:
        raise UsageError("what a message does depends on more than the state vector shows")


def _array(name: str, sizes: list[int], cells: Iterable[int]) -> str:
    brackets = "".join(f"[{size}]" for size in sizes)
    return f"static const unsigned char {name}{brackets} = {{{', '.join(map(str, cells))}}};"
