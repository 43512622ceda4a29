// What stands beside the pictures: moves, channels, verdicts, a formula.
import { memo } from "react";
import { html } from "../html.js";

const MARKS = { HOLDS: "✓", "HOLDS UP TO": "✓", FAILS: "✕", VACUOUS: "–", UNKNOWN: "?" };

export function Moves({ system, state, shown, preview, onMove }) {
  const names = system.members.map((member) => member.name);
  const seen = (member) => shown.includes(names[member]);
  const moves = state.moves
    .map((move, number) => ({ move, number }))
    .filter(({ move }) => !move.rows.length || move.rows.some(([member]) => seen(member)));
  const hidden = state.moves.length - moves.length;
  const blocked = state.blocked.filter(({ member }) => seen(member));
  return html`<section aria-labelledby="moves-title">
    <h2 id="moves-title">What can happen</h2>
    ${state.deadlock && html`<p className="alert" role="alert"><strong>Deadlock.</strong> ${" "}
      ${state.deadlock.text}</p>`}
    ${state.beyond ? html`<p className="alert"><strong>Beyond this file.</strong> What can happen here is not in
      it; start <code>pxp serve</code>.</p>` : null}
    ${!state.moves.length && state.ended && html`<p className="good">Every member is in an end state.</p>`}
    <ol className="moves">${moves.map(({ move, number }) => html`<li key=${number}>
      <button type="button" className="move" onClick=${() => onMove(number)}>
        ${number < 9 ? html`<kbd>${number + 1}</kbd>` : html`<span className="kbd" />`}
        <span>${described(move)}</span>
      </button></li>`)}</ol>
    ${hidden ? html`<p className="muted">${hidden} more of hidden members</p>` : null}
    ${blocked.length ? html`<h3>What cannot happen, and why</h3>
      <ul className="blocked">${blocked.map(({ member, row, reasons }) => {
        const one = system.members[member].rows[row];
        return html`<li key=${`${member}-${row}`}>
          <span className="cause">${names[member]} ${one.guard ? `${one.guard} / ` : ""}${one.action}</span>
          ${reasons.map((reason) => html`<span key=${reason} className="reason">${reason}</span>`)}
        </li>`;
      })}</ul>` : null}
  </section>`;
}

export function described({ kind, member, partner, label, guard }) {
  switch (kind) {
    case "exchange": return `${member} → ${partner}: ${label}`;
    case "send": return `${member} sends ${label} to ${partner}`;
    case "lose": return `${member} sends ${label} to ${partner}, and it is lost`;
    case "deliver": return `${partner} receives ${label} from ${member}`;
    case "duplicate": return `${partner} receives ${label} from ${member}, and a copy stays`;
    case "choose": return `${member} settles ${guard}, and will send ${label}`;
    case "decide": return `${member} decides ${guard}: ${label}`;
    default: return `event from outside: ${label}`;
  }
}

export function Channels({ system, state, shown }) {
  if (!system.links.length) {
    return html`<section aria-labelledby="channel-title"><h2 id="channel-title">Channel</h2>
      <p className="muted">${system.channel}: sending and receiving are one step.</p></section>`;
  }
  return html`<section aria-labelledby="channel-title"><h2 id="channel-title">Channel ${system.channel}</h2>
    <table className="links"><thead><tr><th scope="col">link</th><th scope="col">on the way, oldest first</th>
      <th scope="col">room</th></tr></thead>
    <tbody>${system.links.map(([sender, receiver], link) =>
      (shown.includes(sender) || shown.includes(receiver)) && html`<tr key=${link}>
      <th scope="row">${sender} → ${receiver}</th>
      <td>${state.buffers[link].length
        ? state.buffers[link].map((tag, place) => html`<span className="tag" key=${place}>${tag}</span>`)
        : html`<span className="muted">nothing</span>`}</td>
      <td>${system.capacities[link] - state.buffers[link].length} of ${system.capacities[link]}</td></tr>`)}</tbody>
    </table></section>`;
}

/** `plainly`: what fails is marked as such, whether it was expected or not. */
export function Verdict({ result, onPlay, plainly = false }) {
  const mark = MARKS[result.status] ?? "?";
  const wrong = plainly ? result.status === "FAILS" : !result.as_expected;
  const kind = wrong || result.status === "UNKNOWN" ? "bad" : "good";
  return html`<li className="verdict">
    <span className=${`status ${kind}`}><span aria-hidden="true">${mark}</span> ${result.status}</span>
    <span className="what"><strong>${result.name}</strong>
      ${result.title !== result.name && html`<span className="muted"> ${result.title}</span>`}
      ${result.explanation && html`<span className="reason">${result.explanation}</span>`}</span>
    ${result.choices && html`<button type="button" onClick=${() => onPlay(result)}>
      Play <span className="unseen">the trace of ${result.name}</span></button>`}
  </li>`;
}

export const Verdicts = memo(function Verdicts({ results, done, trouble, onPlay }) {
  return html`<section aria-labelledby="verdicts-title"><h2 id="verdicts-title">Verdicts</h2>
    <ul className="verdicts">${results.map((result, number) =>
      html`<${Verdict} key=${number} result=${result} onPlay=${onPlay} />`)}</ul>
    ${trouble && html`<p className="alert">${trouble}</p>`}
    ${!done && html`<p className="muted">checking …</p>`}</section>`;
});

export function Formula({ formula, answer, parts, position, onFormula, onPlay, onStep }) {
  return html`<section aria-labelledby="formula-title"><h2 id="formula-title">Formula</h2>
    <label htmlFor="formula">Checked as you type, for example <code>F ended</code></label>
    <input id="formula" type="text" value=${formula} autoComplete="off" spellCheck="false"
      onChange=${(event) => onFormula(event.target.value)} />
    <div aria-live="polite">
      ${formula && !answer && html`<p className="muted">checking …</p>`}
      ${answer?.error && html`<p className="alert">${answer.error}</p>`}
      ${answer?.result && html`<ul className="verdicts"><${Verdict} result=${answer.result}
        onPlay=${onPlay} /></ul>`}
    </div>
    ${parts.error && html`<p className="muted">not colored: ${parts.error}</p>`}
    ${parts.rows?.length ? html`<div className="scroll" tabIndex="0" role="group" aria-label="parts of the formula">
      <table className="parts"><caption>Where each part holds, read as if the trace were the whole run</caption>
      <thead><tr><th scope="col">part</th>${parts.rows[0].values.map((_, place) => html`<th key=${place}
        scope="col" className=${place === position ? "here" : ""}><button type="button"
        aria-label=${`go to step ${place}`} onClick=${() => onStep(place)}>${place}</button></th>`)}</tr></thead>
      <tbody>${parts.rows.map((part, row) => html`<tr key=${row}><th scope="row"><code>${part.text}</code></th>
        ${part.values.map((value, place) => html`<td key=${place}
          className=${(value ? "yes" : "no") + (place === position ? " here" : "")}>
          <span aria-hidden="true">${value ? "✓" : "✕"}</span>
          <span className="unseen">${value ? "holds" : "fails"}</span></td>`)}</tr>`)}</tbody></table></div>` : null}
  </section>`;
}
