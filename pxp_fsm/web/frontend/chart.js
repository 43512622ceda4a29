// The sequence chart of a trace: one line a step, from top to bottom; one arrow a message.
import { memo } from "react";
import { counted, html } from "./html.js";

const ROW = 30, TOP = 44, LEFT = 42;

/** The messages of a trace, by number from 1 in the order of sending: from and to whom, the step in
 * which each was sent, the steps in which it was received, and the one (`gone`) with which it was no
 * longer on its way; null where there is none. */
export function messagesOf(moves) {
  const found = [];
  const sent = (move, step, more) => {
    const { member: from, partner: to, label } = move;
    found.push({ number: found.length + 1, from, to, label, sent: step, received: [], gone: null, lost: false, ...more });
    return found.at(-1);
  };
  const waiting = new Map();
  moves.forEach((move, step) => {
    const link = `${move.member}>${move.partner}`;
    const queue = waiting.get(link) ?? waiting.set(link, []).get(link);
    if (move.kind === "exchange") sent(move, step, { received: [step], gone: step });
    if (move.kind === "lose") sent(move, step, { gone: step, lost: true });
    if (move.kind === "send") queue.push(sent(move, step));
    if (move.kind === "deliver" || move.kind === "duplicate") {
      const message = queue.find(({ label }) => label === move.label) ?? sent(move, null);
      message.received.push(step);
      if (move.kind === "duplicate") return;
      message.gone = step;
      queue.splice(0, queue.length, ...queue.filter((other) => other !== message));
    }
  });
  return found;
}

/** The messages that are on their way before step `position`, the oldest first. */
export const onTheWay = (messages, position) => messages.filter(({ sent, gone }) =>
  sent !== null && sent < position && (gone === null || gone >= position));

/** `selected` is the number of a message, `onSelect` is told another one, or null. */
export function Chart({ names, moves, position, cycle, deadlock, onStep, messages = messagesOf(moves), selected = null, onSelect = null }) {
  const apart = names.length > 2 ? 118 : 180;
  const x = (name) => LEFT + 60 + names.indexOf(name) * apart;
  const shown = (name) => names.includes(name);
  const visible = moves.map((move) =>
    move.kind === "external" || shown(move.member) || (move.partner && shown(move.partner)));
  const y = [];
  let rows = 0;
  visible.forEach((one) => y.push(TOP + (one ? ++rows : rows) * ROW));
  const hidden = visible.filter((one) => !one).length;
  const unreceived = position === moves.length ? deadlock?.unreceived ?? [] : [];
  // a message that is on its way and that nobody receives is the one that was sent
  const atEnd = onTheWay(messages, moves.length), refused = new Set(), offered = [];
  for (const [sender, receiver, tag] of unreceived) {
    const message = atEnd.find(({ number, from, to, label }) =>
      from === sender && to === receiver && label === tag && !refused.has(number));
    if (message) refused.add(message.number);
    else if (shown(sender) && shown(receiver)) offered.push([sender, receiver, tag]);
  }
  const height = TOP + (rows + 1) * ROW + offered.length * ROW;
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
    <svg width=${width} style=${{ minWidth: `${width * 0.62}px` }} viewBox=${`0 0 ${width} ${height}`} role="img"
      aria-label=${moves.map((move, step) => `${step + 1}: ${move.text}`).join("; ") || "empty"}>
      <defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="9" markerHeight="9"
        markerUnits="userSpaceOnUse" orient="auto"><path d="M0,0.5 L8,4 L0,7.5 z" className="tip" /></marker></defs>
      ${begin >= 0 && html`<g className="loop">
        <rect x="22" y=${(y[begin] ?? here) - 20} width=${width - 26} height=${y.at(-1) - (y[begin] ?? here) + 27} rx="4" />
        <text x=${width - 8} y=${(y[begin] ?? here) - 8} textAnchor="end">for ever</text></g>`}
      ${names.map((name) => html`<g key=${name} className="lifeline">
        <line x1=${x(name)} y1="30" x2=${x(name)} y2=${height} />
        <rect x=${x(name) - 52} y="4" width="104" height="26" rx="4" />
        <text x=${x(name)} y="22" textAnchor="middle">${shortened(name, 15)}<title>${name}</title></text>
      </g>`)}
      <line className="here" x1="0" x2=${width} y1=${here + 8} y2=${here + 8} />
      ${moves.map((move, step) => visible[step] && html`<${Step} key=${step} ...${{ move, step, width, onStep }}
        later=${step >= position} down=${y[step]}
        from=${shown(move.member) ? x(move.member) : null} to=${shown(move.partner) ? x(move.partner) : null} />`)}
      ${messages.map((message) => shown(message.from) && shown(message.to) && html`<${Message} key=${message.number}
        message=${message} from=${x(message.from)} to=${x(message.to)} down=${message.sent === null ? null : y[message.sent]}
        ends=${message.received.map((step) => y[step]).join()} later=${(message.sent ?? message.received[0]) >= position}
        refused=${refused.has(message.number)} selected=${message.number === selected} ...${{ onSelect, onStep }} />`)}
      ${offered.map(([sender, receiver, tag], number) => html`<${Arrow} key=${number} kind="refused"
        from=${x(sender)} to=${x(receiver)} y1=${TOP + (rows + 1 + number) * ROW} label=${`${tag} ✕ not received`} />`)}
    </svg>
    </div>
  </figure>`;
}

function Arrow({ from, to, y1, y2 = y1, label, kind, at = 0.5, tip = true }) {
  const end = tip ? to + (to < from ? 1 : -1) : to;
  return html`<g className=${`message ${kind}`}>
    <line className="wide" x1=${from} y1=${y1} x2=${end} y2=${y2} />
    <line x1=${from} y1=${y1} x2=${end} y2=${y2} markerEnd=${tip ? "url(#tip)" : undefined} />
    ${!tip && html`<text x=${end} y=${y2 + 4} textAnchor="middle" className="cross">${kind.includes("waiting") ? "●" : "✕"}</text>`}
    <text x=${from + (to - from) * at} y=${y1 + (y2 - y1) * at - 5} textAnchor="middle">${label}</text>
  </g>`;
}

/** A message from its sender to its receiver; one that is on its way or lost ends between them. */
const Message = memo(/** @param {any} props */ function Message({ message, from, to, down, ends, later, refused, selected, onSelect, onStep }) {
  const { number, label, sent, received, gone, lost } = message;
  const taken = ends.split(",").filter(Boolean).map(Number);
  const waits = gone === null && !lost;
  const kind = lost ? "lose" : refused ? "refused" : waits && !taken.length ? "waiting" : "";
  const text = lost ? `${label} lost` : refused ? `${label} not received` : kind ? `${label} on its way` : label;
  const direct = sent !== null && received[0] === sent;
  const press = () => {
    onSelect?.(selected ? null : number);
    if (direct) onStep(sent + 1);
  };
  const part = from + (to - from) * (lost ? 0.5 : 0.78);
  return html`<g id=${`message-${number}`} className=${"one" + (selected ? " selected" : "") + (later ? " later" : "")} onClick=${press}>
    <title>message #${number}: ${message.from} → ${message.to} ${label}</title>
    ${kind && !taken.length
      ? html`<${Arrow} ...${{ from, to: part, y1: down, y2: down + (lost ? 0 : ROW * 0.5), label: text, kind, at: lost ? 0.5 : 0.5, tip: false }} />`
      : taken.map((end, place) => html`<${Arrow} key=${place} ...${{ from, to, y1: down ?? end, y2: end, kind,
          label: place ? `${label}, the copy` : text, at: end === down || down === null ? 0.5 : place ? 0.7 : 0.3 }} />`)}
  </g>`;
});

const Step = memo(/** @param {any} props */ function Step({ move, step, width, down, later, onStep, from, to }) {
  const { kind, label, guard } = move;
  const alone = { choose: `${guard} / ${label}`, decide: `${guard} / ! ${label}` }[kind];
  const place = from ?? to;
  const end = { send: from, lose: from, deliver: to, duplicate: to }[kind];
  return html`<g className=${later ? "step later" : "step"} onClick=${() => onStep(step + 1)}>
    <rect className="hit" x="0" y=${down - 20} width=${width} height=${ROW} />
    <text className="number" x="6" y=${down + 4}>${step + 1}</text>
    ${kind === "external"
      ? html`<g className="note"><line x1="30" x2=${width} y1=${down} y2=${down} />
          <text x=${width / 2} y=${down - 5} textAnchor="middle">event ${label}</text></g>`
      : alone || from === null || to === null
        ? html`<g className="note"><circle cx=${place} cy=${down} r="4" />
            <text x=${place + 9} y=${down + 4}>${alone ?? move.text}</text></g>`
        : end && html`<circle className="end" cx=${end} cy=${down} r="2.5" />`}
  </g>`;
});

/** The messages of a trace as a list: the same objects as the arrows of the chart. */
export function Messages({ messages, selected, onSelect }) {
  const seen = messages.find(({ number }) => number === selected);
  if (!messages.length) return null;
  return html`<section aria-labelledby="messages-title"><details className="messages">
    <summary><h2 id="messages-title">Messages (${messages.length})</h2>${seen ? html` <span className="muted">#${seen.number} ${seen.label}</span>` : null}</summary>
    <ol>${messages.map((message) => html`<li key=${message.number}><button type="button"
      aria-pressed=${message.number === selected} onClick=${() => onSelect(message.number === selected ? null : message.number)}>
      <span className="id">#${message.number}</span> ${message.label} <span className="muted">${message.from} → ${message.to},${" "}
        ${way(message)}</span></button></li>`)}</ol></details></section>`;
}

function way({ sent, received, gone, lost }) {
  const told = [sent === null ? "sent before" : `sent in step ${sent + 1}`];
  if (lost) told.push("lost");
  received.forEach((step) => told.push(step === sent ? "received with it" : `received in step ${step + 1}`));
  if (gone === null) told.push(received.length ? "a copy is on its way" : "on its way");
  return told.join(", ");
}

export function shortened(text, length) {
  const letters = [...text];
  return letters.length > length ? `${letters.slice(0, length - 1).join("")}…` : text;
}
