"""Database views for researchers: Δ = {D, M, C}, intelligibility, and Table 1 of the papers.

Plain SQL that SQLite and PostgreSQL read alike. In each pair the name comes first.
"""

from __future__ import annotations

import re

from backends.databases.records import CONCLUDED
from backends.databases.schema import ERASED

_CONCLUDED = ", ".join(f"'{ending}'" for ending in CONCLUDED)

CAUSE = f"CASE WHEN s.cause_digest IS NULL THEN s.cause ELSE COALESCE(causes.text, '{ERASED}') END"
"""Why a session `s` ended, where its text is among `causes`."""
_MESSAGE = "events.kind IN ('exchange', 'send', 'lose')"

VIEWS = {
    # M: the messages, with their texts: of a system's message the prediction is what it carries, as
    # JSON, and it has no explanation.
    "messages": f"""
    SELECT events.session, events.number, events.member AS sender, events.label AS tag,
           COALESCE(payloads.text, '{ERASED}') AS prediction,
           CASE WHEN events.explanation_digest IS NOT NULL
                THEN COALESCE(explanations.text, '{ERASED}') END AS explanation,
           events.partner AS receiver, events.created, events.chain
    FROM events
    JOIN texts AS payloads ON payloads.digest = events.payload_digest
    LEFT JOIN texts AS explanations ON explanations.digest = events.explanation_digest
    WHERE {_MESSAGE}
    """,  # noqa: S608 - our own words
    # C: what each message added to the context.
    "contexts": f"""
    SELECT events.session, events.number,
           CASE WHEN events.addition_digest IS NULL THEN events.addition
                ELSE COALESCE(texts.text, '{ERASED}') END AS addition
    FROM events LEFT JOIN texts ON texts.digest = events.addition_digest
    WHERE {_MESSAGE}
    """,  # noqa: S608 - our own words
    # D: what each session is about.
    "data": f"""
    SELECT sessions.session, sessions.instance, COALESCE(texts.text, '{ERASED}') AS x
    FROM sessions JOIN texts ON texts.digest = sessions.x_digest
    """,  # noqa: S608 - our own words
    "agents": """
    SELECT session, initiator AS name, 'initiator' AS role, initiator_description AS description
    FROM sessions
    UNION ALL
    SELECT session, responder, 'responder', responder_description FROM sessions
    WHERE responder <> ''
    UNION ALL
    SELECT members.session, members.name, 'further', members.description
    FROM members JOIN sessions ON sessions.session = members.session
    WHERE members.place > 2 AND sessions.channel = ''
    """,
    # What a run's calls to models took, by what they were for. Calls that the call cache answered
    # cost nothing; dollars are those of every attempt, one that is not settled in full, and empty
    # where a price is not known.
    "costs": """
    SELECT run, purpose, model, SUM(calls) AS calls, SUM(cached) AS cached, SUM(failed) AS failed,
           SUM(retries) AS retries, SUM(sent) AS sent, SUM(received) AS received,
           SUM(cache_read) AS cache_read, SUM(cache_written) AS cache_written,
           CASE WHEN SUM(attempts) = 0
             THEN CASE WHEN COUNT(dollars) = COUNT(*) THEN SUM(dollars) END
             ELSE CASE WHEN SUM(CASE WHEN dollars IS NULL THEN attempts ELSE 0 END) = 0
               THEN SUM(CASE WHEN attempts = 1 THEN dollars ELSE 0.0 END) END
           END AS dollars,
           SUM(seconds) AS seconds, SUM(attempts) AS attempts, SUM(unsettled) AS unsettled
    FROM (
      SELECT run, purpose, model, 1 AS calls, cached,
             CASE WHEN reply_digest IS NULL THEN 1 ELSE 0 END AS failed, retries,
             CASE WHEN cached = 1 THEN 0 ELSE sent END AS sent,
             CASE WHEN cached = 1 THEN 0 ELSE received END AS received,
             CASE WHEN cached = 1 THEN 0 ELSE cache_read END AS cache_read,
             CASE WHEN cached = 1 THEN 0 ELSE cache_written END AS cache_written,
             dollars, seconds, 0 AS attempts, 0 AS unsettled
      FROM calls
      UNION ALL
      SELECT reservations.run, purpose, model, 0, 0, 0, 0, 0, 0, 0, 0,
             CASE WHEN settlements.number IS NULL THEN reserved ELSE settlements.dollars END,
             0.0, 1, CASE WHEN settlements.number IS NULL THEN 1 ELSE 0 END
      FROM reservations
      LEFT JOIN settlements ON settlements.run = reservations.run
        AND settlements.reservation = reservations.number
    ) AS parts
    GROUP BY run, purpose, model
    """,
    # The tags under which each agent sent predictions and explanations; INIT and TERM are left out.
    "sent": """
    SELECT agents.session, agents.name AS agent,
           SUM(CASE WHEN events.label = 'RATIFY' THEN 1 ELSE 0 END) AS ratify,
           SUM(CASE WHEN events.label = 'REFUTE' THEN 1 ELSE 0 END) AS refute,
           SUM(CASE WHEN events.label = 'REVISE' THEN 1 ELSE 0 END) AS revise,
           SUM(CASE WHEN events.label = 'REJECT' THEN 1 ELSE 0 END) AS reject
    FROM agents
    LEFT JOIN events ON events.session = agents.session AND events.member = agents.name
      AND events.explanation_digest IS NOT NULL
    GROUP BY agents.session, agents.name
    """,
    # Definitions 1 and 2, and the variant of section 4.2, for each agent of each session.
    "intelligibility": """
    SELECT session, agent,
           CASE WHEN ratify + revise > 0 AND reject = 0 THEN 1 ELSE 0 END AS one_way,
           CASE WHEN ratify + revise > 0 THEN 1 ELSE 0 END AS one_way_any,
           CASE WHEN ratify + revise > 0 AND refute + reject = 0 THEN 1 ELSE 0 END AS strong,
           CASE WHEN revise > 0 AND refute + reject = 0 THEN 1 ELSE 0 END AS ultra_strong
    FROM sent
    """,
    "two_way_intelligibility": """
    SELECT session, MIN(one_way) AS two_way FROM intelligibility GROUP BY session
    """,
    # The same for what each agent sent to each other: of two agents both say the same.
    "directions": """
    SELECT session, agent, partner, ratify, refute, revise, reject,
           CASE WHEN ratify + revise > 0 AND reject = 0 THEN 1 ELSE 0 END AS one_way,
           CASE WHEN ratify + revise > 0 THEN 1 ELSE 0 END AS one_way_any,
           CASE WHEN ratify + revise > 0 AND refute + reject = 0 THEN 1 ELSE 0 END AS strong,
           CASE WHEN revise > 0 AND refute + reject = 0 THEN 1 ELSE 0 END AS ultra_strong
    FROM (
      SELECT session, member AS agent, partner,
             SUM(CASE WHEN label = 'RATIFY' THEN 1 ELSE 0 END) AS ratify,
             SUM(CASE WHEN label = 'REFUTE' THEN 1 ELSE 0 END) AS refute,
             SUM(CASE WHEN label = 'REVISE' THEN 1 ELSE 0 END) AS revise,
             SUM(CASE WHEN label = 'REJECT' THEN 1 ELSE 0 END) AS reject
      FROM events WHERE explanation_digest IS NOT NULL
      GROUP BY session, member, partner
    ) AS told
    """,
    # Remark 6 of arXiv 2301.01819 for each agent of a session, over those that it talked to.
    "agent_intelligibility": """
    SELECT opened.session, opened.agent,
           MIN(COALESCE(directions.one_way, 0)) AS strong,
           CASE WHEN MIN(COALESCE(directions.one_way, 0)) = 1 AND SUM(directions.revise) > 0
                THEN 1 ELSE 0 END AS ultra_strong
    FROM (
      SELECT session, member AS agent, partner FROM events
      WHERE explanation_digest IS NOT NULL
      UNION
      SELECT session, partner, member FROM events WHERE explanation_digest IS NOT NULL
    ) AS opened
    LEFT JOIN directions ON directions.session = opened.session
      AND directions.agent = opened.agent AND directions.partner = opened.partner
    GROUP BY opened.session, opened.agent
    """,
    # Each definition by itself: the (session, agent) pairs that are in the class.
    "one_way": "SELECT session, agent FROM intelligibility WHERE one_way = 1",
    "one_way_any": "SELECT session, agent FROM intelligibility WHERE one_way_any = 1",
    "strong": "SELECT session, agent FROM intelligibility WHERE strong = 1",
    "ultra_strong": "SELECT session, agent FROM intelligibility WHERE ultra_strong = 1",
    "two_way": "SELECT session FROM two_way_intelligibility WHERE two_way = 1",
    # Remark 6 of arXiv 2301.01819: of a system over all of its sessions, here those of a run.
    "system_intelligibility": """
    SELECT sessions.run, intelligibility.agent,
           MIN(intelligibility.one_way) AS strong,
           CASE WHEN MIN(intelligibility.one_way) = 1 AND SUM(sent.revise) > 0
                THEN 1 ELSE 0 END AS ultra_strong
    FROM sessions
    JOIN intelligibility ON intelligibility.session = sessions.session
    JOIN sent ON sent.session = sessions.session AND sent.agent = intelligibility.agent
    GROUP BY sessions.run, intelligibility.agent
    """,
    # Table 1: sessions that the protocol itself ended, counted by repetition. The machine is the
    # initiator, the human the responder, whatever their names; sessions of more have neither.
    "table1": f"""
    SELECT sessions.run, sessions.repetition, COUNT(*) AS total,
           SUM(human.one_way) AS one_way_human, SUM(machine.one_way) AS one_way_machine,
           SUM(CASE WHEN human.one_way + machine.one_way = 2 THEN 1 ELSE 0 END) AS two_way,
           SUM(human.strong) AS strong_human, SUM(machine.strong) AS strong_machine,
           SUM(human.ultra_strong) AS ultra_strong_human,
           SUM(machine.ultra_strong) AS ultra_strong_machine
    FROM sessions
    JOIN intelligibility AS human
      ON human.session = sessions.session AND human.agent = sessions.responder
    JOIN intelligibility AS machine
      ON machine.session = sessions.session AND machine.agent = sessions.initiator
    WHERE sessions.ending IN ({_CONCLUDED})
      AND NOT EXISTS (SELECT 1 FROM members WHERE members.session = sessions.session)
    GROUP BY sessions.run, sessions.repetition
    """,  # noqa: S608 - our own words
}
"""The text of each view, in an order in which they can be made."""


def inlined(query: str, *names: str) -> str:
    """`query` with the views `names`, and those under them, as part of it.

    A view of the database can be replaced by whoever owns it; what is published is computed from
    the tables alone.
    """
    needed = set(names)
    for name, text in reversed(VIEWS.items()):
        if name in needed:
            needed |= {other for other in VIEWS if re.search(rf"(?:FROM|JOIN) {other}\b", text)}
    parts = [f"{name} AS NOT MATERIALIZED ({VIEWS[name]})" for name in VIEWS if name in needed]
    return f"WITH {', '.join(parts)} {query}"
