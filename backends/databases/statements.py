"""The statements that the blackboard writes with, made once: making one costs more than running it.

`named` is the name of the run or session that a statement is about.
"""

from __future__ import annotations

from sqlalchemy import BindParameter, Text, bindparam, func, insert, select, text, update

from backends.databases.schema import calls, entries, judgements, runs, sessions

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
LATEST_CALL = select(func.coalesce(func.max(calls.c.number), 0)).where(calls.c.run == _NAMED)
ADD_CALL = insert(calls)
