"""A database of schema version 1, as the program of its time made it, with a run in it."""

from __future__ import annotations

from sqlalchemy import Engine, text

SQL = """
CREATE TABLE about (key TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE runs (run TEXT PRIMARY KEY, task TEXT NOT NULL, plan TEXT NOT NULL, seed INTEGER
    NOT NULL, version TEXT NOT NULL, data_fingerprint TEXT NOT NULL, created TEXT NOT NULL);
CREATE TABLE sessions (session TEXT PRIMARY KEY, run TEXT NOT NULL REFERENCES runs (run),
    repetition INTEGER NOT NULL, position INTEGER NOT NULL, protocol TEXT NOT NULL,
    n INTEGER, k INTEGER, automaton TEXT NOT NULL, fingerprint TEXT NOT NULL, memo INTEGER NOT NULL,
    assumptions TEXT NOT NULL, created TEXT NOT NULL, ending TEXT, cause TEXT,
    UNIQUE (run, repetition, position));
CREATE TABLE agents (session TEXT NOT NULL REFERENCES sessions (session), name TEXT NOT NULL,
    role TEXT NOT NULL, description TEXT NOT NULL, PRIMARY KEY (session, name));
CREATE TABLE data (session TEXT PRIMARY KEY REFERENCES sessions (session), instance TEXT NOT NULL,
    x TEXT NOT NULL);
CREATE TABLE tags (tag TEXT PRIMARY KEY);
CREATE TABLE messages (session TEXT NOT NULL REFERENCES sessions (session), number INTEGER NOT NULL,
    sender TEXT NOT NULL, tag TEXT NOT NULL REFERENCES tags (tag), prediction TEXT NOT NULL,
    explanation TEXT NOT NULL, receiver TEXT NOT NULL, created TEXT NOT NULL,
    PRIMARY KEY (session, number));
CREATE TABLE contexts (session TEXT NOT NULL, number INTEGER NOT NULL, addition TEXT NOT NULL,
    PRIMARY KEY (session, number));
CREATE TABLE judgements (session TEXT NOT NULL, number INTEGER NOT NULL, place INTEGER NOT NULL,
    relation TEXT NOT NULL, left_digest TEXT NOT NULL, right_digest TEXT NOT NULL,
    outcome TEXT NOT NULL, asked INTEGER NOT NULL, seconds FLOAT NOT NULL, detail TEXT NOT NULL,
    PRIMARY KEY (session, number, place));
CREATE VIEW sent AS SELECT session, sender FROM messages;
CREATE VIEW intelligibility AS SELECT session, sender FROM sent;
INSERT INTO about VALUES ('schema_version', '1');
INSERT INTO tags VALUES ('INIT'), ('RATIFY'), ('REFUTE'), ('REVISE'), ('REJECT'), ('TERM');
INSERT INTO runs VALUES ('drug-1', 'drug', '{}', 7, '0', 'f', 't0');
INSERT INTO sessions VALUES ('drug-1/1/1', 'drug-1', 1, 1, 'interact', 10, 3, 'interact', 'f', 1,
    'reflexive', 't1', 'late', 'why'), ('drug-1/1/2', 'drug-1', 1, 2, 'pxp', NULL, 2, 'pxp', 'f', 0,
    '', 't2', NULL, NULL);
INSERT INTO agents SELECT session, 'm', 'initiator', 'a machine' FROM sessions;
INSERT INTO agents SELECT session, 'h', 'responder', 'a human' FROM sessions;
INSERT INTO data SELECT session, 'aspirin', 'CC' FROM sessions;
INSERT INTO messages SELECT session, 1, 'm', 'INIT', 'y', 'e', 'h', 't3' FROM sessions;
INSERT INTO messages SELECT session, 2, 'h', 'REFUTE', 'z', 'e', 'm', 't4' FROM sessions;
INSERT INTO contexts SELECT session, number, 'c' FROM messages;
INSERT INTO judgements VALUES ('drug-1/1/1', 2, 1, 'MATCH', 'l', 'r', 'no', 1, 0.25, ''),
    ('drug-1/1/1', 3, 1, 'AGREE', 'l', 'r', 'late', 1, 0.5, 'slow')
"""


def make(engine: Engine) -> None:
    with engine.begin() as connection:
        for statement in SQL.split(";\n"):
            connection.execute(text(statement))
