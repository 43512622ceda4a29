// Results so far: Table 1, and how many sessions are intelligible when they are cut after each message.
import { html } from "../html.js";

const WIDTH = 420, HEIGHT = 150, LEFT = 32, BOTTOM = 24, TOP = 8;
const NAMES = { human: "one-way, expert", machine: "one-way, machine", "two-way": "two-way" };
const DASHES = { human: "none", machine: "6 3", "two-way": "2 3" };

const lengthOf = ({ curves }) => Math.max(...Object.values(curves).map((one) => one.length), 2);

/** Sessions that are over stay as they are for the rest of the axis. */
const lasting = (counts, longest) => Array.from({ length: longest }, (_, place) => counts[place] ?? counts.at(-1));

function Curves({ curves, total, name, longest }) {
  const x = (number) => LEFT + ((number - 1) / (longest - 1)) * (WIDTH - LEFT - 8);
  const y = (count) => HEIGHT - BOTTOM - (count / Math.max(total, 1)) * (HEIGHT - BOTTOM - TOP);
  const told = Object.entries(curves).map(([kind, counts]) => `${NAMES[kind]}: ${counts.join(", ")}`).join("; ");
  return html`<figure className="curves"><svg viewBox=${`0 0 ${WIDTH} ${HEIGHT}`} role="img"
      aria-label=${`intelligible sessions of ${name} by message. ${told}`}>
      <line x1=${LEFT} y1=${y(0)} x2=${WIDTH - 8} y2=${y(0)} /><line x1=${LEFT} y1=${y(0)} x2=${LEFT} y2=${TOP} />
      <text x=${LEFT - 4} y=${y(0)} textAnchor="end">0</text><text x=${LEFT - 4} y=${y(total) + 8} textAnchor="end">${total}</text>
      <text x=${LEFT} y=${HEIGHT - 6}>message 1</text><text x=${WIDTH - 8} y=${HEIGHT - 6} textAnchor="end">${longest}</text>
      ${Object.entries(curves).map(([kind, counts]) => html`<polyline key=${kind} className=${kind} strokeDasharray=${DASHES[kind]}
        points=${lasting(counts, longest).map((count, place) => `${x(place + 1)},${y(count)}`).join(" ")} />`)}</svg>
    <figcaption>${Object.entries(NAMES).filter(([kind]) => kind in curves).map(([kind, text]) => html`<span key=${kind}>
      <svg viewBox="0 0 24 8" className="key" aria-hidden="true"><polyline className=${kind} strokeDasharray=${DASHES[kind]} points="0,4 24,4" /></svg>
      ${" "}${text}</span>`)}</figcaption></figure>`;
}

export function Table({ headings, rows, label, title }) {
  return html`<div className="scroll" tabIndex="0" role="group" aria-label=${label}>
    <table><caption>${title}</caption>
    <thead><tr>${headings.map((text, place) => html`<th scope="col" key=${place}>${text}</th>`)}</tr></thead>
    <tbody>${rows.map((row) => html`<tr key=${row[0]}><th scope="row">${row[0]}</th>
      ${row.slice(1).map((text, place) => html`<td key=${place}>${text}</td>`)}</tr>`)}</tbody></table></div>`;
}

/** How two runs or arms differ, or why that is not told. */
export function Differences({ found, title }) {
  if (found.trouble) return html`<p className="muted" role="status">${found.trouble}</p>`;
  return html`<${Table} headings=${found.headings} rows=${found.table} label="differences" title=${title} />
    ${found.notes.map((text) => html`<p className="muted" key=${text}>${text}</p>`)}`;
}

/** Table 1 and the curves of the sessions that are over; nothing where there is none. The curves have
 * the axes of those of `beside`, too, with which they are compared. */
export function Results({ results, name, title, beside = [] }) {
  const all = [results, ...beside].filter((one) => one.total > 0);
  return results.total > 0 && html`
    <${Table} headings=${results.headings} rows=${results.table} label=${`results of ${name} so far`} title=${title} />
    <${Curves} curves=${results.curves} name=${name} total=${Math.max(...all.map((one) => one.total))}
      longest=${Math.max(...all.map(lengthOf))} />`;
}
