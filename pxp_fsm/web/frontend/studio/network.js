// Region 1: the network's diagram, edited by clicks, drags and keys.
import { memo, useEffect, useMemo, useRef, useState } from "react";
import { shortened } from "../chart.js";
import { html } from "../html.js";

const ARROWS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
const FAR = 5, STATE = 11, NUDGE = 10, MARGIN = 26, CHARACTER = 5.6;

/** The ellipse of an agent as it is drawn: its middle and its size. */
function boxOf({ width, height }, { x, y }) {
  return { x, y, width, height };
}

const reach = (box, x, y) => Math.hypot((x - box.x) / (box.width / 2), (y - box.y) / (box.height / 2));
const inside = (box, x, y) => reach(box, x, y) <= 1.1;

/** Where the line from the middle of an ellipse towards a point leaves it. */
function border(box, { x, y }) {
  const far = reach(box, x, y) || 1;
  return { x: box.x + (x - box.x) / far, y: box.y + (y - box.y) / far };
}

function pathOf(from, to) {
  const start = border(from, to), end = border(to, from);
  return `M${start.x},${start.y} L${end.x},${end.y}`;
}

function extent(boxes) {
  if (!boxes.length) return { x: 0, y: 0, width: 200, height: 80 };
  const left = Math.min(...boxes.map((box) => box.x - box.width / 2)) - MARGIN;
  const right = Math.max(...boxes.map((box) => box.x + box.width / 2)) + MARGIN;
  const top = Math.min(...boxes.map((box) => box.y - box.height / 2)) - MARGIN;
  const bottom = Math.max(...boxes.map((box) => box.y + box.height / 2)) + MARGIN + STATE;
  return { x: left, y: top, width: right - left, height: bottom - top };
}

/** The agent that is nearest in a direction, one straight ahead before one aside; undefined: none. */
function nextTo(boxes, name, [right, down]) {
  const from = boxes.get(name);
  const ahead = [...boxes].map(([other, { x, y }]) => {
    const along = (x - from.x) * right + (y - from.y) * down;
    return { other, along, far: along + 2 * Math.abs((x - from.x) * down - (y - from.y) * right) };
  }).filter((one) => one.along > 1);
  return ahead.sort((one, other) => one.far - other.far)[0]?.other;
}

const WORDS = {
  waiting: "waiting", deciding: "deciding …", active: "active …", blocked: "inactive",
  done: "done ✓", failed: "failed ✕",
};

const Agent = memo(/** @param {any} props */ function Agent({ agent, x, y, state, selected, target, act }) {
  const box = boxOf(agent, { x, y });
  const label = `${agent.name}${state ? ` ${WORDS[state]}` : ""}: ${agent.task}`;
  return html`<g className=${`agent ${state ?? ""}${selected ? " selected" : ""}${target ? " target" : ""}`}
      role="button" tabIndex="0" aria-pressed=${selected} data-agent=${agent.name}
      onKeyDown=${(event) => {
        if (event.key === "Enter" || event.key === " ") {
          event.preventDefault();
          act.select({ agent: agent.name });
        }
      }}>
    <title>${label}</title>
    <ellipse cx=${box.x} cy=${box.y} rx=${box.width / 2} ry=${box.height / 2} />
    <text x=${box.x} y=${box.y + 4} textAnchor="middle">
      ${shortened(agent.name, Math.floor((box.width - 8) / CHARACTER))}</text>
    ${state && html`<text className="how" x=${box.x} y=${box.y + box.height / 2 + STATE} textAnchor="middle">
      ${WORDS[state]}</text>`}
  </g>`;
});

export function Network({ network, states, selected, act }) {
  const [drag, setDrag] = useState(null);
  const svg = useRef(null), held = useRef(null), nudged = useRef(null);
  const boxes = useMemo(
    () => new Map(network.agents.map((agent) => [agent.name, boxOf(agent, agent)])), [network]);
  const frame = useRef(null);
  if (!drag || !frame.current) frame.current = extent([...boxes.values()]);
  const view = frame.current;

  useEffect(() => {
    const press = (event) => {
      if (event.key !== "Delete" || !selected) return;
      if (/^(INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName)) return;
      event.preventDefault();
      act.remove(selected);
    };
    addEventListener("keydown", press);
    return () => removeEventListener("keydown", press);
  }, [selected, act]);

  useEffect(() => { nudged.current = null; }, [boxes]);

  const arrow = (event) => {
    const way = ARROWS[event.key], name = event.target.closest?.("[data-agent]")?.dataset.agent;
    if (!way || name === undefined) return;
    event.preventDefault();
    if (!event.shiftKey) {
      const next = nextTo(boxes, name, way);
      if (next !== undefined) svg.current.querySelector(`[data-agent="${CSS.escape(next)}"]`).focus();
      return;
    }
    const { x, y } = nudged.current?.name === name ? nudged.current : boxes.get(name);
    nudged.current = { name, x: x + NUDGE * way[0], y: y + NUDGE * way[1], over: null };
    setDrag(nudged.current);
  };
  const settle = (event) => {
    if (!drag || drag !== nudged.current || (event.type === "keyup" && event.key !== "Shift")) return;
    act.move(drag.name, drag.x, drag.y);
    setDrag(null);
  };

  const here = (event) => {
    const point = new DOMPoint(event.clientX, event.clientY);
    return point.matrixTransform(svg.current.getScreenCTM().inverse());
  };
  const begin = (event) => {
    const name = event.target.closest?.("[data-agent]")?.dataset.agent;
    if (name === undefined || event.button) return;
    svg.current.setPointerCapture(event.pointerId); // from now on also where it leaves the diagram
    held.current = { name, x: event.clientX, y: event.clientY };
  };
  const move = (event) => {
    const now = held.current;
    if (!now) return;
    if (!now.drag && Math.hypot(event.clientX - now.x, event.clientY - now.y) <= FAR) return;
    const { x, y } = here(event);
    const over = [...boxes].find(([name, box]) => name !== now.name && inside(box, x, y));
    now.drag = { name: now.name, x, y, over: over?.[0] ?? null, merging: event.shiftKey };
    setDrag(now.drag);
  };
  const end = () => {
    const now = held.current;
    held.current = null;
    if (!now) return;
    const { name, drag: done } = now;
    if (!done) act.select({ agent: name });
    else if (done.over && done.merging) act.merge(name, done.over);
    else if (done.over) act.connect(name, done.over);
    else act.move(name, done.x, done.y);
    setDrag(null);
  };
  const stop = () => {
    held.current = null;
    setDrag(null);
  };
  const boxNow = (name) => (drag?.name === name && !drag.over
    ? { ...boxes.get(name), x: drag.x, y: drag.y } : boxes.get(name));

  return html`<div className="scroll canvas" tabIndex="0" role="group" aria-label="diagram of the network">
    <svg ref=${svg} viewBox=${`${view.x} ${view.y} ${view.width} ${view.height}`} width=${view.width}
      height=${view.height} style=${{ minWidth: `min(${view.width}px, ${Math.max(300, view.width * 0.6)}px)` }}
      onKeyDown=${arrow} onKeyUp=${settle} onBlur=${settle}
      onPointerDown=${begin} onPointerMove=${move} onPointerUp=${end} onPointerCancel=${stop}>
      <defs><marker id="edge-tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8"
        markerUnits="userSpaceOnUse" orient="auto"><path d="M0,0.5 L8,4 L0,7.5 z" className="tip" /></marker></defs>
      ${network.edges.map(({ source, target, required, path: placed }) => {
        const chosen = selected?.source === source && selected?.target === target;
        const still = placed && drag?.name !== source && drag?.name !== target;
        const path = still ? placed : pathOf(boxNow(source), boxNow(target));
        const used = states[source] === "done" && states[target] && states[target] !== "blocked";
        const label = `from ${source} to ${target}${required ? ", required" : ""}`;
        const pick = () => act.select({ source, target });
        return html`<g key=${JSON.stringify([source, target])} role="button" tabIndex="0"
          aria-label=${`edge ${label}`} aria-pressed=${chosen} onClick=${pick}
          className=${`edge${chosen ? " selected" : ""}${used ? " used" : ""}${required ? " required" : ""}`}
          onKeyDown=${(event) => (event.key === "Enter" || event.key === " ") && (event.preventDefault(), pick())}>
          <title>${label}</title>
          <path className="near" d=${path} />
          <path d=${path} markerEnd="url(#edge-tip)" />
        </g>`;
      })}
      ${network.agents.map((agent) => {
        const box = boxNow(agent.name);
        return html`<${Agent} key=${agent.name} agent=${agent} x=${box.x} y=${box.y} act=${act}
          state=${states[agent.name] ?? null} selected=${selected?.agent === agent.name}
          target=${drag?.over === agent.name} />`;
      })}
      ${drag?.over && boxes.has(drag.name) && boxes.has(drag.over) && html`<g className="connecting">
        <path d=${pathOf(boxes.get(drag.name), boxes.get(drag.over))} markerEnd="url(#edge-tip)" />
        <text x=${boxes.get(drag.over).x} y=${boxes.get(drag.over).y - 26} textAnchor="middle">
          ${drag.merging ? "merge" : "connect"}</text>
      </g>`}
    </svg>
  </div>`;
}
