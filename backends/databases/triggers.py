"""Database triggers that forbid changing or removing stored rows, for every client.

The rules stand once, and are written in the words of each database. They keep honest programs
from mistakes; who owns the database can drop them, which `verify` reports.
"""

from __future__ import annotations

from collections.abc import Iterator

from sqlalchemy import PrimaryKeyConstraint, UniqueConstraint

from backends.databases.schema import CLOSING, EXCHANGED, SHAPES, events

APPEND_ONLY = ("blackboard_version", *SHAPES)
"""Tables whose rows are never removed."""

MAY_CHANGE: dict[str, set[str]] = {
    "blackboard_version": {"version_num"},
    "sessions": set(CLOSING),
    "heads": {"number", "chain"},
    "erasures": {"texts", "prompts", "chain"},
}
"""The columns of a table that may change."""

FINAL = {
    "sessions": "(OLD.ending IS NOT NULL OR EXISTS "
    "(SELECT 1 FROM erasures WHERE session = OLD.session))",
    "erasures": "OLD.texts IS NOT NULL",
}
"""When a row changes no more."""

ERASABLE = {table: {"text": "NULL", "salt": "''"} for table in ("texts", "prompts")}
"""What may become empty, and how, while an erasure is recorded and not done."""
_ERASING = "EXISTS (SELECT 1 FROM erasures WHERE texts IS NULL)"

KEYS: dict[str, list[tuple[str, ...]]] = {
    table.name: [
        tuple(column.name for column in constraint.columns)
        for constraint in table.constraints
        if isinstance(constraint, PrimaryKeyConstraint | UniqueConstraint)
        and "ordinal" not in constraint.columns
    ]
    for table in EXCHANGED
    if table is not events
}
"""What may not be given again: SQLite's INSERT OR REPLACE would remove a row unseen.

An event is the next one of its session in any case.
"""

_OVER = (
    "(SELECT ending FROM sessions WHERE session = NEW.session) IS NOT NULL",
    "the session has ended already",
)
_GONE = (
    "EXISTS (SELECT 1 FROM erasures WHERE session = NEW.session)",
    "the session was erased",
)
_SESSION = "FROM sessions WHERE session = NEW.session"
ORDER = {
    "events": (
        _OVER,
        _GONE,
        (
            "NEW.number <> "
            "(SELECT COALESCE(MAX(number), 0) + 1 FROM events WHERE session = NEW.session)",
            "the events of a session are numbered without a gap",
        ),
        (
            f"(SELECT channel {_SESSION}) = '' AND NOT EXISTS (SELECT 1 {_SESSION} AND "  # noqa: S608
            "((initiator = NEW.member AND responder = NEW.partner) OR "
            "(initiator = NEW.partner AND responder = NEW.member))) AND (SELECT COUNT(*) FROM "
            "members WHERE session = NEW.session AND name IN (NEW.member, NEW.partner)) < 2",
            "sender and receiver are not the two agents of the session",
        ),
        (
            f"(SELECT channel {_SESSION}) <> '' AND NEW.member <> '' AND NOT EXISTS "  # noqa: S608
            "(SELECT 1 FROM members WHERE session = NEW.session AND name = NEW.member)",
            "the session has no member of that name",
        ),
    ),
    "calls": (_GONE,),
    "settlements": (
        (
            "(NEW.dollars IS NULL) <> (SELECT reserved IS NULL FROM reservations "
            "WHERE run = NEW.run AND number = NEW.reservation)",
            "what an attempt cost is known where its price is",
        ),
    ),
}
"""By table: what must not be true of a new row, and what is said then."""


def triggers(dialect: str, columns: dict[str, list[str]]) -> Iterator[tuple[str, str, str]]:
    """Every trigger as (its name, its table, the statement that makes it).

    `columns` are those of each table; `dialect` is `sqlite` or `postgresql`.
    """
    sqlite = dialect == "sqlite"
    for table in APPEND_ONLY:
        kept = [name for name in columns[table] if name not in MAY_CHANGE.get(table, set())]
        changed = _changed(table, kept, dialect)
        refusal = f"{table}: what is stored is never changed"
        gone = f"{table}: what is stored is never removed"
        if sqlite:
            yield _sqlite(f"{table}_unchanged", table, "UPDATE", [(changed, refusal)])
            yield _sqlite(f"{table}_kept", table, "DELETE", [("1", gone)])
            if table in KEYS:
                yield _sqlite(f"{table}_once", table, "INSERT", [(_given(table), gone)])
        else:
            yield from _postgresql(f"{table}_unchanged", table, "UPDATE", [(changed, refusal)])
            yield from _postgresql(f"{table}_kept", table, "DELETE", [("TRUE", gone)])
            yield from _postgresql(f"{table}_whole", table, "TRUNCATE", [("TRUE", gone)])
    for table, rules in ORDER.items():
        if sqlite:
            yield _sqlite(f"{table}_in_order", table, "INSERT", list(rules))
        else:
            yield from _postgresql(f"{table}_in_order", table, "INSERT", list(rules))


def _changed(table: str, kept: list[str], dialect: str) -> str:
    same, other = (
        ("IS", "IS NOT") if dialect == "sqlite" else ("IS NOT DISTINCT FROM", "IS DISTINCT FROM")
    )
    empty = ERASABLE.get(table, {})
    if table not in MAY_CHANGE and not empty:
        return "1" if dialect == "sqlite" else "TRUE"
    parts = [f"NEW.{name} {other} OLD.{name}" for name in kept if name not in empty]
    if empty:
        erased = " AND ".join(f"NEW.{name} {same} {value}" for name, value in empty.items())
        parts.append(f"NOT ({erased} AND {_ERASING})")
    if table in FINAL:
        parts.append(FINAL[table])
    return " OR ".join(parts) or "1 = 0"


def _given(table: str) -> str:
    """Whether a new row's key is taken; of texts, by another text (the same one is no matter)."""
    differs = " AND text IS NOT NEW.text" if table == "texts" else ""
    return " OR ".join(
        f"EXISTS (SELECT 1 FROM {table} WHERE "  # noqa: S608 - our own names
        f"{' AND '.join(f'{name} = NEW.{name}' for name in sorted(key))}{differs})"
        for key in sorted(KEYS[table])
    )


def _sqlite(
    name: str, table: str, event: str, rules: list[tuple[str, str]]
) -> tuple[str, str, str]:
    body = " ".join(f"SELECT RAISE(ABORT, '{refusal}') WHERE {wrong};" for wrong, refusal in rules)
    return name, table, f"CREATE TRIGGER {name} BEFORE {event} ON {table} BEGIN {body} END"


def _postgresql(
    name: str, table: str, event: str, rules: list[tuple[str, str]]
) -> Iterator[tuple[str, str, str]]:
    checks = " ".join(
        f"IF {wrong} THEN RAISE EXCEPTION '{refusal}' USING ERRCODE = 'check_violation'; END IF;"
        for wrong, refusal in rules
    )
    if name == "events_in_order":
        checks = f"PERFORM 1 FROM sessions WHERE session = NEW.session FOR UPDATE; {checks}"
    answer = {"DELETE": "OLD", "TRUNCATE": "NULL"}.get(event, "NEW")
    level = "STATEMENT" if event == "TRUNCATE" else "ROW"
    yield (
        name,
        table,
        f"CREATE FUNCTION {name}() RETURNS trigger LANGUAGE plpgsql AS "
        f"$$ BEGIN {checks} RETURN {answer}; END $$; "
        f"CREATE TRIGGER {name} BEFORE {event} ON {table} "
        f"FOR EACH {level} EXECUTE FUNCTION {name}()",
    )
