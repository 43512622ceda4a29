-- Each verdict but oscillation, 0 or 1, after a number of the events of a session.
-- In braces are the places of the two names of each channel.
WITH channel(one, other) AS (VALUES {links}),
said AS (
  SELECT number, member, partner, label, payload_digest AS y, explanation_digest AS e,
         LAG(payload_digest) OVER (PARTITION BY member ORDER BY number) AS y_before,
         LAG(explanation_digest) OVER (PARTITION BY member ORDER BY number) AS e_before
  FROM events
  WHERE session = :session AND number <= :upto AND explanation_digest IS NOT NULL
),
changes AS (
  SELECT number, member FROM said
  WHERE y_before IS NOT NULL AND (y <> y_before OR e <> e_before)
),
present AS (
  SELECT member, y, e FROM said
  WHERE number = (SELECT MAX(number) FROM said AS mine WHERE mine.member = said.member)
),
agent AS (SELECT one AS name FROM channel UNION SELECT other FROM channel),
judged AS (
  SELECT relation, left_digest AS one, right_digest AS other, number, place, outcome
  FROM judgements WHERE session = :session AND number <= :upto
    AND relation IN ('MATCH', 'AGREE')
  UNION ALL
  SELECT relation, right_digest, left_digest, number, place, outcome
  FROM judgements WHERE session = :session AND number <= :upto
    AND relation IN ('MATCH', 'AGREE')
),
holds AS (
  SELECT relation, one, other FROM judged
  WHERE outcome = 'yes' AND NOT EXISTS (
    SELECT 1 FROM judged AS later
    WHERE later.relation = judged.relation AND later.one = judged.one
      AND later.other = judged.other
      AND (later.number > judged.number
           OR (later.number = judged.number AND later.place > judged.place)))
),
apart AS (
  SELECT 1 AS found FROM present AS a JOIN present AS b ON a.member < b.member
  WHERE (a.y <> b.y AND NOT EXISTS (
           SELECT 1 FROM holds WHERE relation = 'MATCH' AND one = a.y AND other = b.y))
     OR (a.e <> b.e AND NOT EXISTS (
           SELECT 1 FROM holds WHERE relation = 'AGREE' AND one = a.e AND other = b.e))
),
agreed AS (
  SELECT CASE WHEN (SELECT COUNT(*) FROM present) = (SELECT COUNT(*) FROM agent)
               AND NOT EXISTS (SELECT 1 FROM apart) THEN 1 ELSE 0 END AS holds
),
talk AS (
  SELECT channel.one, channel.other, said.number, said.member, said.label,
         ROW_NUMBER() OVER (
           PARTITION BY channel.one, channel.other ORDER BY said.number DESC) AS back,
         COUNT(*) OVER (PARTITION BY channel.one, channel.other) AS many
  FROM channel JOIN said
    ON (said.member = channel.one AND said.partner = channel.other)
    OR (said.member = channel.other AND said.partner = channel.one)
  WHERE said.number >= (
    SELECT MAX(first.number) FROM said AS first WHERE first.label = 'INIT'
      AND ((first.member = channel.one AND first.partner = channel.other)
        OR (first.member = channel.other AND first.partner = channel.one)))
),
over AS (
  SELECT channel.one, channel.other, MAX(talk.number) AS latest,
         CASE WHEN MAX(talk.many) IS NULL THEN 'waits'
              WHEN :n IS NULL AND SUM(CASE WHEN label = 'TERM' THEN 1 ELSE 0 END) > 0
                THEN 'closed'
              WHEN :n IS NOT NULL AND (MAX(talk.many) >= :n
                OR SUM(CASE WHEN label = 'REJECT' THEN 1 ELSE 0 END) > 0
                OR SUM(CASE WHEN label = 'RATIFY' AND back <= 2 THEN 1 ELSE 0 END) = 2)
                THEN 'closed'
              ELSE 'open' END AS status
  FROM channel LEFT JOIN talk
    ON talk.one = channel.one AND talk.other = channel.other
  GROUP BY channel.one, channel.other
),
standing AS (
  SELECT one, other,
         CASE WHEN status = 'closed' AND :reopen = 1 AND EXISTS (
                SELECT 1 FROM changes WHERE changes.number > over.latest
                  AND changes.member IN (over.one, over.other))
              THEN 'waits' ELSE status END AS status
  FROM over
),
ratified AS (
  SELECT last.one, last.other, last.member FROM talk AS last
  WHERE last.label = 'RATIFY'
    AND last.number = (
      SELECT MAX(mine.number) FROM talk AS mine
      WHERE mine.one = last.one AND mine.other = last.other AND mine.member = last.member
        AND mine.label <> 'TERM')
    AND NOT EXISTS (
      SELECT 1 FROM changes WHERE changes.number > last.number
        AND changes.member IN (last.one, last.other))
),
agreeing AS (
  SELECT CASE WHEN (SELECT COUNT(*) FROM ratified) = 2 * (SELECT COUNT(*) FROM channel)
              THEN (SELECT holds FROM agreed) ELSE 0 END AS holds
),
recent AS (
  SELECT one, other, member, label, number, many FROM talk
  WHERE back <= :window AND label <> 'INIT'
),
restless AS (
  SELECT standing.one, standing.other FROM standing
  WHERE status = 'open' AND (
    (SELECT COUNT(*) FROM recent
     WHERE recent.one = standing.one AND recent.other = standing.other) < :window
    OR EXISTS (
      SELECT 1 FROM recent
      WHERE recent.one = standing.one AND recent.other = standing.other
      GROUP BY recent.member HAVING COUNT(DISTINCT recent.label) > 1)
    OR EXISTS (
      SELECT 1 FROM changes WHERE changes.member IN (standing.one, standing.other)
        AND changes.number >= (
          SELECT MIN(number) FROM recent
          WHERE recent.one = standing.one AND recent.other = standing.other)))
)
SELECT agreeing.holds AS consensus, agreed.holds AS agreement,
       CASE WHEN agreed.holds = 0
             AND NOT EXISTS (SELECT 1 FROM standing WHERE status <> 'closed')
            THEN 1 ELSE 0 END AS split,
       CASE WHEN agreeing.holds = 0
             AND NOT EXISTS (SELECT 1 FROM standing WHERE status = 'waits')
             AND EXISTS (SELECT 1 FROM standing WHERE status = 'open')
             AND NOT EXISTS (SELECT 1 FROM restless)
            THEN 1 ELSE 0 END AS impasse
FROM agreeing, agreed
