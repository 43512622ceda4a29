// The sequence chart of a trace: one line a step, from top to bottom.
import { memo } from "react";
import { counted, html } from "./html.js";

const ROW = 30, TOP = 44, LEFT = 42;

/** The step in which each message that is put into a buffer is taken from it, by sending step. */
function deliveries(moves) {
  const waiting = new Map(), found = new Map();
  moves.forEach((move, step) => {
    const link = `${move.member}>${move.partner}`;
    const queue = waiting.get(link) ?? waiting.set(link, []).get(link);
    if (move.kind === "send") queue.push({ step, label: move.label });
    if (move.kind === "deliver" || move.kind === "duplicate") {
      const place = queue.findIndex((one) => one.label === move.label);
      const sent = queue[place];
      if (sent === undefined) return;
      if (move.kind === "deliver") queue.splice(place, 1);
      found.set(step, sent.step);
    }
  });
  return found;
}

function Arrow({ from, to, y1, y2, label, kind }) {
  const back = to < from, tip = back ? 1 : -1;
  const middle = (from + to) / 2;
  return html`<g className=${`message ${kind}`}>
    <line x1=${from} y1=${y1} x2=${to + tip} y2=${y2} markerEnd="url(#tip)" />
    <text x=${middle} y=${(y1 + y2) / 2 - 5} textAnchor="middle">${label}</text>
  </g>`;
}

export function Chart({ names, moves, position, cycle, deadlock, onStep }) {
  const apart = names.length > 2 ? 118 : 180;
  const x = (name) => LEFT + 60 + names.indexOf(name) * apart;
  const shown = (name) => names.includes(name);
  const sentIn = deliveries(moves);
  const visible = moves.map((move) =>
    move.kind === "external" || shown(move.member) || (move.partner && shown(move.partner)));
  const y = [];
  let rows = 0;
  visible.forEach((one) => y.push(TOP + (one ? ++rows : rows) * ROW));
  const hidden = visible.filter((one) => !one).length;
  const lost = deadlock?.unreceived.filter(([a, b]) => shown(a) && shown(b)) ?? [];
  const atEnd = position === moves.length && lost.length;
  const height = TOP + (rows + 1) * ROW + (atEnd ? lost.length * ROW : 0);
  const width = LEFT + 120 + (names.length - 1) * apart;
  const here = position ? y[position - 1] : TOP;
  const begin = cycle ? moves.length - cycle : -1;
  return html`<figure className="chart">
    <figcaption>${moves.length
      ? counted(moves.length, "step") +
        (cycle ? `, the last ${cycle} for ever` : "") +
        (hidden ? `, ${hidden} of hidden members left out` : "")
      : "No step yet: take a move"}</figcaption>
    <div className="scroll" tabIndex="0" role="group" aria-label="sequence chart">
    <svg width=${width} height=${height} role="img"
      aria-label=${moves.map((move, step) => `${step + 1}: ${move.text}`).join("; ") || "empty"}>
      <defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="9" markerHeight="9"
        markerUnits="userSpaceOnUse" orient="auto"><path d="M0,0.5 L8,4 L0,7.5 z" className="tip" /></marker></defs>
      ${names.map((name) => html`<g key=${name} className="lifeline">
        <line x1=${x(name)} y1="30" x2=${x(name)} y2=${height} />
        <rect x=${x(name) - 52} y="4" width="104" height="26" rx="4" />
        <text x=${x(name)} y="22" textAnchor="middle">${shortened(name, 15)}<title>${name}</title></text>
      </g>`)}
      <line className="here" x1="0" x2=${width} y1=${here + 8} y2=${here + 8} />
      ${moves.map((move, step) => visible[step] && html`<${Line} key=${step} ...${{ move, step, width, onStep }}
        later=${step >= position} down=${y[step]} sent=${sentIn.has(step) ? y[sentIn.get(step)] : null}
        from=${shown(move.member) ? x(move.member) : null}
        to=${shown(move.partner) ? x(move.partner) : null} />`)}
      ${begin >= 0 && html`<g className="loop">
        <path d=${`M28,${(y[begin] ?? here) - 14} h-8 V${y.at(-1) + 4} h8`} fill="none" />
        <title>these steps repeat for ever</title></g>`}
      ${atEnd ? lost.map(([sender, receiver, tag], number) => {
        const down = TOP + (rows + 1 + number) * ROW;
        return html`<${Arrow} key=${number} from=${x(sender)} to=${x(receiver)} y1=${down} y2=${down}
          label=${`${tag} ✕ not received`} kind="refused" />`;
      }) : null}
    </svg>
    </div>
  </figure>`;
}

const Line = memo(function Line(props) {
  const { move, step, width, down, later, onStep } = props;
  return html`<g className=${later ? "step later" : "step"} onClick=${() => onStep(step + 1)}>
    <rect className="hit" x="0" y=${down - 20} width=${width} height=${ROW} />
    <text className="number" x="6" y=${down + 4}>${step + 1}</text>
    ${picture(move, props)}
  </g>`;
});

function picture(move, { width, down, sent, from, to }) {
  const { kind, label, guard } = move;
  if (kind === "external") {
    return html`<g className="note"><line x1="30" x2=${width} y1=${down} y2=${down} />
      <text x=${width / 2} y=${down - 5} textAnchor="middle">event ${label}</text></g>`;
  }
  const alone = { choose: `${guard} / ${label}`, decide: `${guard} / ! ${label}` }[kind];
  if (alone || from === null || to === null) {
    const place = from ?? to;
    return html`<g className="note"><circle cx=${place} cy=${down} r="4" />
      <text x=${place + 9} y=${down + 4}>${alone ?? move.text}</text></g>`;
  }
  if (kind === "exchange") {
    return html`<${Arrow} ...${{ from, to, y1: down, y2: down, label, kind }} />`;
  }
  if (kind === "send" || kind === "lose") {
    const part = from + (to - from) * (kind === "lose" ? 0.45 : 0.3);
    return html`<${Arrow} from=${from} to=${part} y1=${down} y2=${down}
      label=${kind === "lose" ? `${label} ✕ lost` : `${label} sent`} kind=${kind} />`;
  }
  return html`<${Arrow} from=${sent === null ? from : from + (to - from) * 0.3} to=${to}
    y1=${sent ?? down} y2=${down}
    label=${`${label} received${kind === "duplicate" ? ", a copy stays" : ""}`} kind="deliver" />`;
}

export function shortened(text, length) {
  const letters = [...text];
  return letters.length > length ? `${letters.slice(0, length - 1).join("")}…` : text;
}
