// A member's automaton as the server laid it out, with the present state and what is possible.
import { memo } from "react";
import { html } from "./html.js";

const LINE = 11.5;

const numbers = (text) => text.split(",").filter(Boolean).map(Number);

/** `possible` and `latest` are numbers of rows, joined by commas, so that equal ones are the same. */
export const Automaton = memo(function Automaton(props) {
  const { member, place, at, settled, before, onRow } = props;
  const possible = new Set(numbers(props.possible)), latest = numbers(props.latest);
  const { layout } = member;
  const marker = `arrow-${member.name}`;
  const moved = latest.map((row) => member.rows[row]);
  const passed = (arrow) => moved.some((r) => r.source === arrow.source && r.target === arrow.target);
  const label =
    `${member.name}: in ${at}` + (settled ? `, has settled ${settled}` : "") +
    (before && before !== at ? `, came from ${before}` : "");
  return html`<figure className="automaton">
    <figcaption>
      <strong>${member.name}</strong> <span className="muted">${member.title}</span>
      <span className="now">${at}${settled ? ` · ${settled}` : ""}</span>
    </figcaption>
    <div className="scroll" tabIndex="0" role="group" aria-label=${`automaton of ${label}`}>
    <svg viewBox=${`${layout.x - 4} ${layout.y - 4} ${layout.width + 8} ${layout.height + 8}`} width=${layout.width + 8}
      height=${layout.height + 8} role="img" aria-label=${label}
      style=${{ minWidth: `min(${layout.width + 8}px, ${Math.max(420, layout.width * 0.7)}px)` }}>
      <defs>
        <marker id=${marker} viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8"
          markerUnits="userSpaceOnUse" orient="auto"><path d="M0,0.5 L8,4 L0,7.5 z" className="tip" /></marker>
      </defs>
      ${layout.arrows.map((arrow, number) => html`<g key=${number}
          className=${"arrow" + (arrow.source && passed(arrow) ? " passed" : "")}>
        <path d=${arrow.path} markerEnd=${`url(#${marker})`} fill="none" />
        ${arrow.lines.map((line, index) => {
          const rows = member.rows.flatMap((row, number) =>
            row.row === line.row && row.source === arrow.source && row.target === arrow.target
              ? [number] : []);
          const open = rows.filter((row) => possible.has(row));
          const y = arrow.y + (index - (arrow.lines.length - 1) / 2) * LINE + 3.5;
          return html`<text key=${index} x=${arrow.x} y=${y} textAnchor="middle"
            className=${open.length ? "row possible" : "row"}
            onClick=${open.length ? () => onRow(place, open) : undefined}>${line.text}</text>`;
        })}
      </g>`)}
      ${layout.states.map((state) => html`<g key=${state.name}
          className=${"state" + (state.name === at ? " current" : "")}>
        <title>${state.about || state.name}</title>
        <ellipse cx=${state.x} cy=${state.y} rx=${state.width / 2} ry=${state.height / 2} />
        ${state.final && html`<ellipse cx=${state.x} cy=${state.y} rx=${state.width / 2 - 4}
          ry=${state.height / 2 - 4} className="inner" />`}
        <text x=${state.x} y=${state.y + 4} textAnchor="middle">${state.name}</text>
      </g>`)}
    </svg>
    </div>
  </figure>`;
});
