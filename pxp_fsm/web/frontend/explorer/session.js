// A stored session: what has happened, what is proved of it, and how it is carried on.
import { html } from "../html.js";

/** How many of the first steps of two traces are the same. */
export function alike(one, other) {
  let same = 0;
  while (same < one.length && same < other.length && one[same] === other[same]) same += 1;
  return same;
}

export function Session({ session, trouble, choices, position, onNow, setNotice }) {
  const same = alike(choices.slice(0, position), session.choices);
  const number = Math.min(same, session.happened);
  const command = `${session.fork[0]}${number}${session.fork[1]}`;
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(command);
      setNotice("The command is copied.");
    } catch {
      setNotice("The command cannot be copied; select it.");
    }
  };
  const away = same < position;
  return html`<section aria-labelledby="session-title"><h2 id="session-title">Session ${session.name}</h2>
    <p><strong className=${session.ending ? "" : "good"}>${session.ending ? `ended: ${session.ending}` : "not over, followed"}</strong>
      ${session.cause ? html` <span className="muted">${session.cause}</span>` : null}</p>
    ${trouble && html`<p className="alert" role="alert">${trouble}</p>`}
    ${session.origin && html`<p className="muted">It carries on ${session.origin}.</p>`}
    <p>${away ? `A try: it leaves what happened after message ${same}, of ${session.happened}.`
      : `After message ${number} of ${session.happened}.`}
      ${" "}${(away || position < session.choices.length) && html`<button type="button"
        onClick=${onNow}>To what happened last</button>`}</p>
    ${session.monitors.length ? html`<h3>Monitors, after message ${Math.min(same, session.happened)}</h3>
      <ul className="monitors">${session.monitors.map(({ formula, verdicts }) => {
        const verdict = verdicts[Math.min(same, verdicts.length - 1)];
        return html`<li key=${formula}><code>${formula}</code>
          <span className=${`status ${verdict === "false" ? "bad" : ""}`}>${verdict}</span></li>`;
      })}</ul>` : null}
    <h3>What is proved of it</h3>
    ${session.claims === null
      ? html`<p className="muted">What holds of its tables is under Verdicts.</p>`
      : html`<p>${session.claims.length
          ? session.claims.map((claim) => html`<span key=${claim} className="tag">${claim}</span>`)
          : "Nothing: there is no certificate of its table and rules."}</p>
        <p className="muted">Assumed of MATCH and AGREE: ${session.assumptions.join(", ") || "nothing (noisy)"}.</p>`}
    <h3>Carry it on from here</h3>
    <p className="command"><code>${command}</code> <button type="button" onClick=${copy}>Copy</button></p>
    <p className="muted">The stored session stays as it is; the new one says where it is from.</p>
  </section>`;
}
