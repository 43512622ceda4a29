"""Version 2: texts stored once, entries chained, nothing changeable.

Names, numbers, texts and times stay as they were; the chain is computed over what is there. What
was changed before the upgrade can therefore not be found.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from alembic import op
from sqlalchemy import Connection, text

from backends.databases import chain

revision = "2"
down_revision = "1"

_OLD = ("judgements", "contexts", "messages", "data", "agents", "sessions", "runs", "tags", "about")

_TABLES = """
CREATE TABLE texts (digest TEXT NOT NULL, text TEXT NOT NULL, PRIMARY KEY (digest)) {keyed};
CREATE TABLE tags (tag TEXT NOT NULL, PRIMARY KEY (tag));
CREATE TABLE runs (
    ordinal {counted}, run TEXT NOT NULL, task TEXT NOT NULL, plan TEXT NOT NULL,
    seed BIGINT NOT NULL, version TEXT NOT NULL, data_fingerprint TEXT NOT NULL,
    created TEXT NOT NULL, opening TEXT NOT NULL, opened INTEGER NOT NULL, head TEXT NOT NULL,
    PRIMARY KEY (ordinal), UNIQUE (run));
CREATE TABLE sessions (
    session TEXT NOT NULL, run TEXT NOT NULL, ordinal INTEGER NOT NULL,
    repetition INTEGER NOT NULL, position INTEGER NOT NULL, instance TEXT NOT NULL,
    x_digest TEXT NOT NULL, protocol TEXT NOT NULL, n INTEGER, k INTEGER, automaton TEXT NOT NULL,
    fingerprint TEXT NOT NULL, memo INTEGER NOT NULL, assumptions TEXT NOT NULL,
    initiator TEXT NOT NULL, initiator_description TEXT NOT NULL, responder TEXT NOT NULL,
    responder_description TEXT NOT NULL, created TEXT NOT NULL, opening TEXT NOT NULL,
    ending TEXT, cause TEXT, length INTEGER, seal TEXT,
    PRIMARY KEY (session), UNIQUE (run, ordinal), UNIQUE (run, repetition, position),
    CONSTRAINT two_agents CHECK (initiator <> responder),
    CONSTRAINT ending_is_whole CHECK ((ending IS NULL) = (cause IS NULL)
        AND (ending IS NULL) = (length IS NULL) AND (ending IS NULL) = (seal IS NULL)),
    FOREIGN KEY(run) REFERENCES runs (run), FOREIGN KEY(x_digest) REFERENCES texts (digest));
CREATE TABLE entries (
    session TEXT NOT NULL, number INTEGER NOT NULL, sender TEXT NOT NULL, tag TEXT NOT NULL,
    prediction_digest TEXT NOT NULL, explanation_digest TEXT NOT NULL, receiver TEXT NOT NULL,
    addition TEXT NOT NULL, created TEXT NOT NULL, chain TEXT NOT NULL,
    PRIMARY KEY (session, number), CONSTRAINT first_is_1 CHECK (number >= 1),
    CONSTRAINT sender_is_not_receiver CHECK (sender <> receiver),
    FOREIGN KEY(session) REFERENCES sessions (session), FOREIGN KEY(tag) REFERENCES tags (tag),
    FOREIGN KEY(prediction_digest) REFERENCES texts (digest),
    FOREIGN KEY(explanation_digest) REFERENCES texts (digest)) {keyed};
CREATE TABLE judgements (
    session TEXT NOT NULL, number INTEGER NOT NULL, place INTEGER NOT NULL,
    relation TEXT NOT NULL, left_digest TEXT NOT NULL, right_digest TEXT NOT NULL,
    outcome TEXT NOT NULL, asked INTEGER NOT NULL, seconds {real} NOT NULL,
    detail TEXT NOT NULL, PRIMARY KEY (session, number, place),
    CONSTRAINT outcome_is_known CHECK (outcome IN ('yes', 'no', 'unsure', 'late', 'broken')),
    FOREIGN KEY(session) REFERENCES sessions (session)) {keyed}
"""
_WORDS = {
    "sqlite": {"keyed": "WITHOUT ROWID", "counted": "INTEGER NOT NULL", "real": "DOUBLE"},
    "postgresql": {"keyed": "", "counted": "SERIAL NOT NULL", "real": "DOUBLE PRECISION"},
}

Rows = list[dict[str, Any]]


def upgrade() -> None:
    """Read everything, make the tables anew, and store it again."""
    connection = op.get_bind()
    old = {name: _read(connection, name) for name in _OLD}
    for name in _OLD:
        connection.execute(text(f"DROP TABLE {name}"))
    for statement in _TABLES.format(**_WORDS[connection.dialect.name]).split(";\n"):
        connection.execute(text(statement))
    _store(connection, "tags", old["tags"])
    for row in sorted(old["runs"], key=lambda row: (row["created"], row["run"])):
        _move(connection, row, old)


def _move(connection: Connection, run: dict[str, Any], old: dict[str, Rows]) -> None:
    opening = chain.of_run(run)
    sessions, entries, judgements = Rows(), Rows(), Rows()
    texts: dict[str, str] = {}
    head, ordinal = opening, 0
    about = {row["session"]: row for row in old["data"]}
    agents = {(row["session"], row["role"]): row for row in old["agents"]}
    added = {(row["session"], row["number"]): row["addition"] for row in old["contexts"]}
    said, judged = _by_session(old["messages"]), _by_session(old["judgements"])

    def keep(words: str) -> str:
        digest = chain.text_digest(words)
        texts[digest] = words
        return digest

    planned = [row for row in old["sessions"] if row["run"] == run["run"]]
    for row in sorted(planned, key=lambda row: (row["repetition"], row["position"])):
        name, ordinal = row["session"], ordinal + 1
        first, second = agents[name, "initiator"], agents[name, "responder"]
        session = {
            **row,
            "ordinal": ordinal,
            "instance": about[name]["instance"],
            "x_digest": keep(about[name]["x"]),
            "initiator": first["name"],
            "initiator_description": first["description"],
            "responder": second["name"],
            "responder_description": second["description"],
            "length": None,
            "seal": None,
        }
        link = session["opening"] = chain.of_session(opening, session)
        head = chain.joined(head, link)
        for message in said[name]:
            entry = {
                **{key: message[key] for key in ("sender", "tag", "receiver", "created")},
                "session": name,
                "number": message["number"],
                "addition": added[name, message["number"]],
                "prediction_digest": keep(message["prediction"]),
                "explanation_digest": keep(message["explanation"]),
            }
            why = [j for j in judged[name] if j["number"] == message["number"]]
            link = entry["chain"] = chain.of_entry(link, entry, why)
            entries.append(entry)
        if row["ending"] is not None:
            session["length"] = len(said[name])
            why = [j for j in judged[name] if j["number"] > session["length"]]
            session["seal"] = chain.of_closing(link, session, why)
        sessions.append(session)
        judgements += judged[name]
    known = set(connection.scalars(text("SELECT digest FROM texts")))
    new = [{"digest": digest, "text": texts[digest]} for digest in texts if digest not in known]
    _store(connection, "texts", new)
    _store(connection, "runs", [{**run, "opening": opening, "opened": ordinal, "head": head}])
    _store(connection, "sessions", sessions)
    _store(connection, "entries", entries)
    _store(connection, "judgements", judgements)


def _by_session(rows: Rows) -> defaultdict[str, Rows]:
    found = defaultdict[str, Rows](list)
    for row in sorted(rows, key=lambda row: (row["number"], row.get("place", 0))):
        found[row["session"]].append(row)
    return found


def _read(connection: Connection, table: str) -> Rows:
    found = connection.execute(text(f"SELECT * FROM {table}"))  # noqa: S608 - our own names
    return [dict(row) for row in found.mappings()]


def _store(connection: Connection, table: str, rows: Rows) -> None:
    if rows:
        names = list(rows[0])
        values = ", ".join(f":{name}" for name in names)
        statement = f"INSERT INTO {table} ({', '.join(names)}) VALUES ({values})"  # noqa: S608 - our own names
        connection.execute(text(statement), rows)
