// A state diagram as the library laid it out, and a member's automaton in it.
import { memo } from "react";
import { html } from "./html.js";
import { Zoom } from "./zoom.js";

const LINE = 11.5;

const numbers = (text) => text.split(",").filter(Boolean).map(Number);

/** A layout of states and arrows. What depends on the state at hand is given by functions:
 * `ofArrow` gives the class of an arrow, `ofLine` and `ofState` what a text and a state have;
 * `at` is the name of the present state.
 * @param {any} props */
export function Drawing({ layout, id, label, at = null, ofArrow = () => "", ofLine = () => ({}), ofState = () => ({}), role = "img" }) {
  const marker = `arrow-${id}`;
  const drawn = { x: layout.x - 4, y: layout.y - 4, width: layout.width + 8, height: layout.height + 8 };
  const focus = layout.states.find(({ name }) => name === at) ?? null;
  return html`<${Zoom} ...${{ drawn, label, role, focus }}>
    <defs>
      <marker id=${marker} viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8"
        markerUnits="userSpaceOnUse" orient="auto"><path d="M0,0.5 L8,4 L0,7.5 z" className="tip" /></marker>
    </defs>
    ${layout.arrows.map((arrow, number) => html`<g key=${number} className=${`arrow ${ofArrow(arrow)}`}>
      <path d=${arrow.path} markerEnd=${`url(#${marker})`} fill="none" />
      ${arrow.lines.map((line, index) => html`<text key=${index} x=${arrow.x} textAnchor="middle" className="row"
        y=${arrow.y + (index - (arrow.lines.length - 1) / 2) * LINE + 3.5} ...${ofLine(arrow, line)}>${line.text}</text>`)}
    </g>`)}
    ${layout.states.map((state, number) => html`<g key=${state.name} className="state" ...${ofState(state, number)}>
      <title>${state.about || state.name}</title>
      <ellipse cx=${state.x} cy=${state.y} rx=${state.width / 2} ry=${state.height / 2} />
      ${state.final && html`<ellipse cx=${state.x} cy=${state.y} rx=${state.width / 2 - 4}
        ry=${state.height / 2 - 4} className="inner" />`}
      <text x=${state.x} y=${state.y + 4} textAnchor="middle">${state.name}</text>
    </g>`)}
  <//>`;
}

/** `possible` and `latest` are numbers of rows, joined by commas, so that equal ones are the same. */
export const Automaton = memo(/** @param {any} props */ function Automaton(props) {
  const { member, place, at, settled, before, onRow } = props;
  const possible = new Set(numbers(props.possible));
  const moved = numbers(props.latest).map((row) => member.rows[row]);
  const label =
    `automaton of ${member.name}: in ${at}` + (settled ? `, has settled ${settled}` : "") +
    (before && before !== at ? `, came from ${before}` : "");
  const ofArrow = ({ source, target }) =>
    source && moved.some((row) => row.source === source && row.target === target) ? "passed" : "";
  const ofLine = (arrow, line) => {
    const open = member.rows.flatMap((row, number) =>
      possible.has(number) && row.row === line.row && row.source === arrow.source && row.target === arrow.target
        ? [number] : []);
    return open.length ? { className: "row possible", onClick: () => onRow(place, open) } : {};
  };
  const ofState = (state) => (state.name === at ? { className: "state current" } : {});
  return html`<figure className="automaton">
    <figcaption>
      <strong>${member.name}</strong> <span className="muted">${member.title}</span>
      <span className="now">${at}${settled ? ` · ${settled}` : ""}</span>
      ${member.layout.note && html`<span className="muted">${member.layout.note}</span>`}
    </figcaption>
    <${Drawing} layout=${member.layout} id=${member.name} ...${{ label, at, ofArrow, ofLine, ofState }} />
  </figure>`;
});
