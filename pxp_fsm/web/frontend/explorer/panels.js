// What stands beside the pictures: moves, channels, verdicts, a formula.
import { memo, useEffect, useRef } from "react";
import { shortened } from "../chart.js";
import { Fold, counted, html } from "../html.js";

const LONG = 240;
const MARKS = { HOLDS: "✓", "HOLDS UP TO": "✓", FAILS: "✕", VACUOUS: "–", UNKNOWN: "?" };

export function Moves({ system, state, shown, waiting, onMove }) {
  const names = system.members.map((member) => member.name);
  const seen = (member) => shown.includes(names[member]);
  const moves = state.moves
    .map((move, number) => ({ move, number }))
    .filter(({ move }) => !move.rows.length || move.rows.some(([member]) => seen(member)));
  const hidden = state.moves.length - moves.length;
  const blocked = state.blocked.filter(({ member }) => seen(member));
  return html`<section aria-labelledby="moves-title">
    <h2 id="moves-title">What can happen</h2>
    ${state.deadlock && html`<div className="alert" role="alert"><strong>Deadlock.</strong>
      <ul>${state.deadlock.sentences.map((sentence) => html`<li key=${sentence}>${sentence}</li>`)}</ul></div>`}
    ${state.beyond ? html`<p className="alert"><strong>Beyond this file.</strong> What can happen here is not in
      it; start <code>pxp serve</code>.</p>` : null}
    ${!state.moves.length && state.ended && html`<p className="good">Every member is in an end state.</p>`}
    <${Fold} as="ol" className="moves" most=${12} what="move">${moves.map(({ move, number }) => html`<li key=${number}>
      <button type="button" className="move" onClick=${() => onMove(number)}>
        ${number < 9 ? html`<kbd>${number + 1}</kbd>` : html`<span className="kbd" />`}
        <span>${described(move)}</span>${idOf(move, waiting)}
      </button></li>`)}<//>
    ${hidden ? html`<p className="muted">${hidden} more of hidden members</p>` : null}
    ${blocked.length ? html`<details><summary><h3>What cannot happen, and why (${blocked.length})</h3></summary>
      <ul className="blocked">${blocked.map(({ member, row, reasons }) => {
        const one = system.members[member].rows[row];
        return html`<li key=${`${member}-${row}`}>
          <span className="cause">${names[member]} ${one.guard ? `${one.guard} / ` : ""}${one.action}</span>
          ${reasons.map((reason) => html`<span key=${reason} className="reason">${reason}</span>`)}
        </li>`;
      })}</ul></details>` : null}
  </section>`;
}

/** The number of the message that a move takes from its way. */
function idOf({ kind, member, partner, label }, waiting) {
  const message = (kind === "deliver" || kind === "duplicate") &&
    waiting.find((one) => one.from === member && one.to === partner && one.label === label);
  return message ? html` <span className="id">#${message.number}</span>` : null;
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

/** What is on the way; each message is the one of the chart, by its number. */
export function Channels({ system, state, shown, waiting, selected, onSelect }) {
  if (!system.links.length) {
    return html`<section aria-labelledby="channel-title"><h2 id="channel-title">Channel</h2>
      <p className="muted">${system.channel}: sending and receiving are one step.</p></section>`;
  }
  const links = [...system.links.keys()].filter((link) => system.links[link].some((end) => shown.includes(end)));
  const used = links.length > 6 ? links.filter((link) => state.buffers[link].length) : links;
  return html`<section aria-labelledby="channel-title"><h2 id="channel-title">Channel ${shortened(system.channel, 40)}</h2>
    <table className="links"><thead><tr><th scope="col">link</th><th scope="col">on the way, oldest first</th>
      <th scope="col">room</th></tr></thead>
    <tbody>${used.map((link) => {
      const [sender, receiver] = system.links[link];
      const left = waiting.filter(({ from, to }) => from === sender && to === receiver);
      return html`<tr key=${link}>
      <th scope="row">${sender} → ${receiver}</th>
      <td>${state.buffers[link].length ? state.buffers[link].map((tag, place) => {
          const number = left.splice(left.findIndex(({ label }) => label === tag), 1)[0]?.number;
          return html`<button type="button" className="tag" key=${place} aria-pressed=${number === selected}
            onClick=${() => onSelect(number === selected ? null : number)}>${tag}${" "}<span className="id">#${number}</span></button>`;
        }) : html`<span className="muted">nothing</span>`}</td>
      <td>${system.capacities[link] - state.buffers[link].length} of ${system.capacities[link]}</td></tr>`;
    })}</tbody></table>
    ${links.length > used.length ? html`<p className="muted">Nothing is on the other ${counted(links.length - used.length, "link")}.</p>` : null}
    </section>`;
}

function Explanation({ text }) {
  if (text.length < LONG) return text ? html`<span className="reason">${text}</span>` : null;
  return html`<details className="reason"><summary>${shortened(text, LONG / 2)}</summary>${text}</details>`;
}

/** `plainly`: what fails is marked as such, whether it was expected or not. */
export function Verdict({ result, onPlay, plainly = false, name = result.name }) {
  const mark = MARKS[result.status] ?? "?";
  const wrong = plainly ? result.status === "FAILS" : !result.as_expected;
  const kind = wrong || result.status === "UNKNOWN" ? "bad" : "good";
  return html`<li className="verdict">
    <span className=${`status ${kind}`}><span aria-hidden="true">${mark}</span> ${result.status}</span>
    <span className="what"><strong>${name}</strong>
      ${!name.includes(result.title) && html`<span className="muted"> ${result.title}</span>`}
      <${Explanation} text=${result.explanation} /></span>
    ${result.choices && html`<button type="button" onClick=${() => onPlay(result)}>
      Play <span className="unseen">the trace of ${name}</span></button>`}
  </li>`;
}

/** Each result with a name of its own among those on its subject; what is said twice is there once. */
function named(results) {
  const ways = [
    ({ name }) => name,
    ({ name, title }) => (title === name ? name : `${name} (${title})`),
    ({ name, title, assumptions }) => `${name} (${title}; ${assumptions})`,
  ];
  const alike = (one, other, way) => one.subject === other.subject && way(one) === way(other);
  const once = results.filter((result, place) =>
    results.findIndex((other) => alike(result, other, ways[2])) === place);
  return once.map((result) => ({
    result, name: (ways.find((way) => once.filter((other) => alike(result, other, way)).length === 1) ?? ways[2])(result),
  }));
}

export const Verdicts = memo(/** @param {any} props */ function Verdicts({ results, done, trouble, onPlay }) {
  const groups = Map.groupBy(named(results), ({ result }) => result.subject);
  return html`<section aria-labelledby="verdicts-title"><h2 id="verdicts-title">Verdicts</h2>
    ${[...groups].map(([subject, some]) => html`<div key=${subject} role="group" aria-label=${`verdicts on ${subject}`}>
      ${groups.size > 1 && html`<h3>${subject}</h3>`}
      <${Fold} className="verdicts" most=${12} what="verdict">${some.map(({ result, name }) =>
        html`<${Verdict} key=${name} ...${{ result, name, onPlay }} />`)}<//></div>`)}
    ${trouble && html`<p className="alert">${trouble}</p>`}
    ${!done && html`<p className="muted">checking …</p>`}</section>`;
});

export function Formula({ formula, answer, parts, position, onFormula, onPlay, onStep }) {
  const table = useRef(null);
  useEffect(() => { // the present step is in sight, without moving the page
    const place = table.current, step = place?.querySelector("th.here"), first = place?.querySelector("tbody th");
    if (!step) return;
    const room = first.offsetWidth, left = step.offsetLeft - room, right = step.offsetLeft + step.offsetWidth;
    if (left < place.scrollLeft) place.scrollLeft = left;
    else if (right > place.scrollLeft + place.clientWidth) place.scrollLeft = right - place.clientWidth;
  }, [parts, position]);
  return html`<section aria-labelledby="formula-title"><h2 id="formula-title">Formula</h2>
    <label htmlFor="formula">Checked as you type</label>
    <input id="formula" type="text" placeholder="for example F ended" value=${formula} autoComplete="off" spellCheck="false"
      onChange=${(event) => onFormula(event.target.value)} />
    <div aria-live="polite">
      ${formula && !answer && html`<p className="muted">checking …</p>`}
      ${answer?.error && html`<p className="alert">${answer.error}</p>`}
      ${answer?.result && html`<ul className="verdicts"><${Verdict} result=${answer.result}
        onPlay=${onPlay} /></ul>`}
    </div>
    ${parts.rows?.length ? html`<p className="words">${parts.rows[0].words}</p>` : null}
    ${parts.error && html`<p className="muted">not colored: ${parts.error}</p>`}
    ${parts.rows?.length ? html`<p className="muted" id="parts-title">Where each part holds, read as if the trace were the whole run</p>
      <div ref=${table} className="scroll" tabIndex="0" role="group" aria-label="parts of the formula">
      <table className="parts" aria-labelledby="parts-title">
      <thead><tr><th scope="col">part</th>${parts.rows[0].values.map((_, place) => html`<th key=${place}
        scope="col" className=${place === position ? "here" : ""}><button type="button"
        aria-label=${`go to step ${place}`} onClick=${() => onStep(place)}>${place}</button></th>`)}</tr></thead>
      <tbody>${parts.rows.map((part, row) => html`<tr key=${row}><th scope="row" title=${part.words}><code>${part.text}</code></th>
        ${part.values.map((value, place) => html`<td key=${place}
          className=${(value ? "yes" : "no") + (place === position ? " here" : "")}>
          <span aria-hidden="true">${value ? "✓" : "✕"}</span>
          <span className="unseen">${value ? "holds" : "fails"}</span></td>`)}</tr>`)}</tbody></table></div>` : null}
  </section>`;
}
