-- How often the whole state was there before, with a change in between.
-- In braces are the places of the two names of each channel.
WITH channel(one, other) AS (VALUES {links}),
ends AS (
  SELECT one, other, one AS name FROM channel UNION ALL SELECT one, other, other FROM channel
),
-- a message of no answer, or after the last that counts, is none of the panel's
told AS MATERIALIZED (
  SELECT number, member, partner, label, payload_digest AS y, explanation_digest AS e,
         LAG(payload_digest) OVER (PARTITION BY member ORDER BY number) AS y_before,
         LAG(explanation_digest) OVER (PARTITION BY member ORDER BY number) AS e_before
  FROM events
  WHERE session = :session AND number <= :upto AND explanation_digest IS NOT NULL
),
said AS MATERIALIZED (
  SELECT channel.one, channel.other, told.number, told.member, told.label, told.y, told.e,
         CASE WHEN y_before IS NOT NULL AND (y <> y_before OR e <> e_before)
              THEN 1 ELSE 0 END AS changed,
         CASE WHEN label = LAG(label) OVER (
                PARTITION BY channel.one, channel.other ORDER BY told.number)
                AND label NOT IN ('INIT', 'TERM')
              THEN 1 ELSE 0 END AS looped
  FROM told JOIN channel
    ON (told.member = channel.one AND told.partner = channel.other)
    OR (told.member = channel.other AND told.partner = channel.one)
),
changes AS MATERIALIZED (SELECT number, member FROM said WHERE changed = 1),
-- each place in the session: before the first message, and after each
place AS MATERIALIZED (SELECT 0 AS i UNION SELECT number FROM said),
-- the conversation of a channel at a place: from its latest INIT on
talk AS MATERIALIZED (
  SELECT place.i, said.*,
         ROW_NUMBER() OVER (
           PARTITION BY place.i, said.one, said.other ORDER BY said.number DESC) AS back
  FROM place JOIN said ON said.number <= place.i
  WHERE said.number >= (
    SELECT MAX(first.number) FROM said AS first
    WHERE first.one = said.one AND first.other = said.other
      AND first.label = 'INIT' AND first.number <= place.i)
),
over AS MATERIALIZED (
  SELECT place.i, channel.one, channel.other, MAX(talk.number) AS latest,
         COUNT(talk.number) AS many,
         CASE WHEN COUNT(talk.number) = 0 THEN 'waits'
              WHEN :n IS NULL AND SUM(CASE WHEN talk.label = 'TERM' THEN 1 ELSE 0 END) > 0
                THEN 'closed'
              WHEN :n IS NOT NULL AND (COUNT(talk.number) >= :n
                OR SUM(CASE WHEN talk.label = 'REJECT' THEN 1 ELSE 0 END) > 0
                OR SUM(CASE WHEN talk.label = 'RATIFY' AND back <= 2 THEN 1 ELSE 0 END) = 2)
                THEN 'closed'
              ELSE 'open' END AS status
  FROM place CROSS JOIN channel LEFT JOIN talk
    ON talk.i = place.i AND talk.one = channel.one AND talk.other = channel.other
  GROUP BY place.i, channel.one, channel.other
),
-- the first change of an end since a channel was closed: it opens it again
again AS MATERIALIZED (
  SELECT over.i, over.one, over.other, MIN(changes.number) AS number
  FROM over JOIN changes
    ON changes.number > over.latest AND changes.number <= over.i
    AND changes.member IN (over.one, over.other)
  WHERE :reopen = 1 AND over.status = 'closed'
  GROUP BY over.i, over.one, over.other
),
standing AS MATERIALIZED (
  SELECT over.i, over.one, over.other, over.many,
         CASE WHEN again.number IS NULL THEN over.status ELSE 'waits' END AS status,
         COALESCE(changes.member, '') AS opener,
         COALESCE(again.number, over.latest, 0) AS since
  FROM over
  LEFT JOIN again
    ON again.i = over.i AND again.one = over.one AND again.other = over.other
  LEFT JOIN changes ON changes.number = again.number
),
queued AS MATERIALIZED (
  SELECT standing.*,
         CASE WHEN :queues = 0 OR status = 'closed' THEN 0
              ELSE DENSE_RANK() OVER (
                PARTITION BY i, CASE WHEN status = 'closed' THEN 1 ELSE 0 END
                ORDER BY since) END AS rank
  FROM standing
),
-- the latest message of each end of a channel, TERM left out, and who has changed since
latest AS MATERIALIZED (
  SELECT place.i, ends.one, ends.other, ends.name, MAX(talk.number) AS number
  FROM place CROSS JOIN ends LEFT JOIN talk
    ON talk.i = place.i AND talk.one = ends.one AND talk.other = ends.other
    AND talk.member = ends.name AND talk.label <> 'TERM'
  GROUP BY place.i, ends.one, ends.other, ends.name
),
end_state AS MATERIALIZED (
  SELECT latest.i, latest.one, latest.other, latest.name,
         COALESCE(said.label, '') || '/'
         || CASE WHEN EXISTS (SELECT 1 FROM changes WHERE changes.member = latest.one
                AND changes.number > latest.number AND changes.number <= latest.i)
            THEN '1' ELSE '0' END
         || CASE WHEN EXISTS (SELECT 1 FROM changes WHERE changes.member = latest.other
                AND changes.number > latest.number AND changes.number <= latest.i)
            THEN '1' ELSE '0' END
         || CASE WHEN :n IS NOT NULL AND standing.status = 'open'
            THEN '/' || COALESCE(said.y, '') || '/' || COALESCE(said.e, '') ELSE '' END AS state
  FROM latest
  JOIN standing
    ON standing.i = latest.i AND standing.one = latest.one AND standing.other = latest.other
  LEFT JOIN said ON said.number = latest.number
),
channel_state AS MATERIALIZED (
  SELECT queued.i, queued.one, queued.other,
         status || '/' || opener || '/' || rank || '/' || COALESCE(last.member, '')
         || CASE WHEN :n IS NOT NULL AND status = 'open' THEN '/' || many ELSE '' END
         || CASE WHEN :n IS NULL AND status = 'open' THEN '/' || last.y || '/' || last.e
            ELSE '' END
         || CASE WHEN :n IS NULL AND :k IS NOT NULL AND status = 'open' THEN (
              SELECT '/' || SUM(CASE WHEN label = 'RATIFY' THEN looped ELSE 0 END)
                  || '/' || SUM(CASE WHEN label = 'REFUTE' THEN looped ELSE 0 END)
                  || '/' || SUM(CASE WHEN label = 'REVISE' THEN looped ELSE 0 END)
                  || '/' || SUM(CASE WHEN label = 'REJECT' THEN looped ELSE 0 END)
              FROM talk WHERE talk.i = queued.i AND talk.one = queued.one
                AND talk.other = queued.other) ELSE '' END AS state
  FROM queued LEFT JOIN talk AS last
    ON last.i = queued.i AND last.one = queued.one AND last.other = queued.other
    AND last.back = 1
),
agent AS (SELECT DISTINCT name FROM ends),
agent_state AS MATERIALIZED (
  SELECT place.i, agent.name,
         (SELECT said.y || '/' || said.e FROM said
          WHERE said.member = agent.name AND said.number <= place.i
          ORDER BY said.number DESC LIMIT 1) AS pair,
         (SELECT COUNT(*) FROM changes
          WHERE changes.member = agent.name AND changes.number <= place.i) AS version
  FROM place CROSS JOIN agent
),
changed AS MATERIALIZED (
  SELECT i, SUM(version) AS many FROM agent_state GROUP BY i
)
SELECT COUNT(*) FROM place AS was JOIN changed AS before ON before.i = was.i
JOIN changed AS now ON now.i = :upto AND now.many > before.many
WHERE NOT EXISTS (
    SELECT 1 FROM channel_state AS a JOIN channel_state AS b
      ON b.i = :upto AND b.one = a.one AND b.other = a.other
    WHERE a.i = was.i AND a.state <> b.state)
  AND NOT EXISTS (
    SELECT 1 FROM end_state AS a JOIN end_state AS b
      ON b.i = :upto AND b.one = a.one AND b.other = a.other AND b.name = a.name
    WHERE a.i = was.i AND a.state <> b.state)
  AND NOT EXISTS (
    SELECT 1 FROM agent_state AS a JOIN agent_state AS b ON b.i = :upto AND b.name = a.name
    WHERE a.i = was.i AND (COALESCE(a.pair, '') <> COALESCE(b.pair, '')
      OR (a.version < :limit AND a.version <> b.version)
      OR (b.version < :limit AND a.version <> b.version)))
  AND (:turns = 0 OR EXISTS (
    SELECT 1 FROM said AS a JOIN said AS b ON b.number = :upto AND b.member = a.member
    WHERE a.number = was.i))
