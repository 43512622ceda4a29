// The sequence chart of a trace: one line a step, from top to bottom.
import { html } from "./html.js";

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
  const apart = Math.max(120, Math.min(220, 640 / Math.max(1, names.length)));
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
      ? `${moves.length} step${moves.length === 1 ? "" : "s"}` +
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
      ${moves.map((move, step) => visible[step] && html`<g key=${step}
          className=${step < position ? "step" : "step later"} onClick=${() => onStep(step + 1)}>
        <rect className="hit" x="0" y=${y[step] - 20} width=${width} height=${ROW} />
        <text className="number" x="6" y=${y[step] + 4}>${step + 1}</text>
        <${Step} ...${{ move, step, x, y, shown, sentIn, width }} />
      </g>`)}
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

function Step({ move, step, x, y, shown, sentIn, width }) {
  const { kind, member, partner, label, guard } = move;
  const down = y[step];
  if (kind === "external") {
    return html`<g className="note"><line x1="30" x2=${width} y1=${down} y2=${down} />
      <text x=${width / 2} y=${down - 5} textAnchor="middle">event ${label}</text></g>`;
  }
  if (kind === "choose" || kind === "decide") {
    const text = kind === "choose" ? `${guard} / ${label}` : `${guard} / ! ${label}`;
    return shown(member) && html`<g className="note"><circle cx=${x(member)} cy=${down} r="4" />
      <text x=${x(member) + 9} y=${down + 4}>${text}</text></g>`;
  }
  if (!shown(member) || !shown(partner)) {
    const one = shown(member) ? member : partner;
    return html`<g className="note"><circle cx=${x(one)} cy=${down} r="4" />
      <text x=${x(one) + 9} y=${down + 4}>${move.text}</text></g>`;
  }
  const from = x(member), to = x(partner);
  if (kind === "exchange") {
    return html`<${Arrow} ...${{ from, to, y1: down, y2: down, label, kind }} />`;
  }
  if (kind === "send" || kind === "lose") {
    const part = from + (to - from) * (kind === "lose" ? 0.45 : 0.3);
    return html`<${Arrow} from=${from} to=${part} y1=${down} y2=${down}
      label=${kind === "lose" ? `${label} ✕ lost` : `${label} sent`} kind=${kind} />`;
  }
  const sent = sentIn.get(step);
  return html`<${Arrow} from=${sent === undefined ? from : from + (to - from) * 0.3} to=${to}
    y1=${sent === undefined ? down : y[sent]} y2=${down}
    label=${`${label} received${kind === "duplicate" ? ", a copy stays" : ""}`} kind="deliver" />`;
}

export function shortened(text, length) {
  const letters = [...text];
  return letters.length > length ? `${letters.slice(0, length - 1).join("")}…` : text;
}
