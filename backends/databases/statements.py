"""The statements that the blackboard writes with, made once: making one costs more than running it.

`named` is the name of the run or session that a statement is about.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from sqlalchemy import BindParameter, Dialect, Text, bindparam, insert, select, text, update

from backends.databases.schema import entries, judgements, runs, sessions

_NAMED: BindParameter[str] = bindparam("named", type_=Text())
_r, _s, _e = runs.c, sessions.c, entries.c

RUN_OPENING = select(_r.opening).where(_r.run == _NAMED)
RUN_HEAD = select(_r.opening, _r.opened, _r.head).where(_r.run == _NAMED).with_for_update()
ADD_RUN = insert(runs)
COUNT_SESSION = (
    update(runs).where(_r.run == _NAMED).values(opened=bindparam("opened"), head=bindparam("head"))
)

SESSION = select(sessions).where(_s.session == _NAMED)
SESSION_OPENING = select(_s.opening).where(_s.session == _NAMED)
ENDING = select(_s.ending).where(_s.session == _NAMED).with_for_update()
ADD_SESSION = insert(sessions)
CLOSE = (
    update(sessions)
    .where(_s.session == _NAMED)
    .values({name: bindparam(name) for name in ("ending", "cause", "length", "seal")})
)

KEEP_TEXT = text("INSERT INTO texts (digest, text) VALUES (:digest, :text) ON CONFLICT DO NOTHING")
LATEST = select(_e.number, _e.chain).where(_e.session == _NAMED).order_by(_e.number.desc()).limit(1)
LINK = select(_e.chain).where(_e.session == _NAMED, _e.number == bindparam("at"))
ADD_ENTRY = insert(entries)
ADD_JUDGEMENT = insert(judgements)


@dataclass(frozen=True, slots=True)
class Direct:
    """The statements of every message, as the driver takes them: half the time of the others."""

    keep_text: str
    add_entry: str
    add_judgement: str


def direct(dialect: Dialect) -> Direct:
    """Those for `dialect`, with parameters by name."""
    style = "named" if dialect.name == "sqlite" else "pyformat"
    kind: Callable[..., Dialect] = type(dialect)
    named = kind(paramstyle=style)
    written = (str(made.compile(dialect=named)) for made in (KEEP_TEXT, ADD_ENTRY, ADD_JUDGEMENT))
    return Direct(*written)
