// Results so far: Table 1, and how many sessions are intelligible when they are cut after each message.
import { html } from "../html.js";

const WIDTH = 420, HEIGHT = 150, LEFT = 32, BOTTOM = 24, TOP = 8;
const NAMES = { human: "one-way, expert", machine: "one-way, machine", "two-way": "two-way" };
const DASHES = { human: "none", machine: "6 3", "two-way": "2 3" };

function Curves({ curves, total, name }) {
  const longest = Math.max(...Object.values(curves).map((one) => one.length), 2);
  const x = (number) => LEFT + ((number - 1) / (longest - 1)) * (WIDTH - LEFT - 8);
  const y = (count) => HEIGHT - BOTTOM - (count / Math.max(total, 1)) * (HEIGHT - BOTTOM - TOP);
  const told = Object.entries(curves).map(([kind, counts]) => `${NAMES[kind]}: ${counts.join(", ")}`).join("; ");
  return html`<figure className="curves"><svg viewBox=${`0 0 ${WIDTH} ${HEIGHT}`} role="img"
      aria-label=${`intelligible sessions of ${name} by message. ${told}`}>
      <line x1=${LEFT} y1=${y(0)} x2=${WIDTH - 8} y2=${y(0)} /><line x1=${LEFT} y1=${y(0)} x2=${LEFT} y2=${TOP} />
      <text x=${LEFT - 4} y=${y(0)} textAnchor="end">0</text><text x=${LEFT - 4} y=${y(total) + 8} textAnchor="end">${total}</text>
      <text x=${LEFT} y=${HEIGHT - 6}>message 1</text><text x=${WIDTH - 8} y=${HEIGHT - 6} textAnchor="end">${longest}</text>
      ${Object.entries(curves).map(([kind, counts]) => html`<polyline key=${kind} className=${kind} strokeDasharray=${DASHES[kind]}
        points=${counts.map((count, place) => `${x(place + 1)},${y(count)}`).join(" ")} />`)}</svg>
    <figcaption>${Object.entries(NAMES).filter(([kind]) => kind in curves).map(([kind, text]) => html`<span key=${kind}>
      <svg viewBox="0 0 24 8" className="key" aria-hidden="true"><polyline className=${kind} strokeDasharray=${DASHES[kind]} points="0,4 24,4" /></svg>
      ${" "}${text}</span>`)}</figcaption></figure>`;
}

/** Table 1 and the curves of the sessions that are over; nothing where there is none. */
export function Results({ results, name, title }) {
  return results.total > 0 && html`<div className="scroll" tabIndex="0" role="group" aria-label=${`results of ${name} so far`}>
      <table><caption>${title}</caption>
      <thead><tr>${results.headings.map((text) => html`<th scope="col" key=${text}>${text}</th>`)}</tr></thead>
      <tbody>${results.table.map((row) => html`<tr key=${row[0]}><th scope="row">${row[0]}</th>
        ${row.slice(1).map((text, place) => html`<td key=${place}>${text}</td>`)}</tr>`)}</tbody></table></div>
    <${Curves} curves=${results.curves} total=${results.total} name=${name} />`;
}
