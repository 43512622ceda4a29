// A picture, large: zoom and pan by mouse, fingers and keys; contrast, brightness and inversion.
import { useCallback, useEffect, useRef, useState } from "react";
import { html } from "../html.js";

const LEAST = 1, MOST = 12;
const WHOLE = { zoom: 1, x: 0, y: 0 };
const PLAIN = { contrast: 100, brightness: 100, inverted: false };

export function Viewer({ source, label, photograph }) {
  const [place, setPlace] = useState(WHOLE);
  const [look, setLook] = useState(PLAIN);
  const frame = useRef(null), held = useRef(new Map());

  /** Zoom by a factor; what is under (x, y), from the middle of the frame, stays there. */
  const zoom = useCallback((factor, x = 0, y = 0) => setPlace((old) => {
    const next = Math.min(MOST, Math.max(LEAST, old.zoom * factor)), by = next / old.zoom;
    return kept({ zoom: next, x: x - (x - old.x) * by, y: y - (y - old.y) * by }, frame.current);
  }), []);
  const pan = useCallback((x, y) =>
    setPlace((old) => kept({ ...old, x: old.x + x, y: old.y + y }, frame.current)), []);

  useEffect(() => { // React listens to wheels passively, and then the page would scroll
    const turn = (event) => {
      event.preventDefault();
      const box = frame.current.getBoundingClientRect();
      zoom(Math.exp(-event.deltaY / 400), event.clientX - box.left - box.width / 2,
        event.clientY - box.top - box.height / 2);
    };
    const element = frame.current;
    element.addEventListener("wheel", turn, { passive: false });
    return () => element.removeEventListener("wheel", turn);
  }, [zoom]);

  const press = (event) => {
    const step = 40;
    const does = {
      ArrowLeft: () => pan(step, 0), ArrowRight: () => pan(-step, 0), ArrowUp: () => pan(0, step),
      ArrowDown: () => pan(0, -step), "+": () => zoom(1.25), "=": () => zoom(1.25), "-": () => zoom(0.8),
      0: () => setPlace(WHOLE),
      i: () => photograph && setLook((old) => ({ ...old, inverted: !old.inverted })),
    }[event.key];
    if (!does || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    does();
  };
  const down = (event) => {
    event.currentTarget.setPointerCapture(event.pointerId);
    held.current.set(event.pointerId, [event.clientX, event.clientY]);
  };
  const move = (event) => {
    const before = held.current.get(event.pointerId);
    if (!before) return;
    const others = [...held.current].filter(([id]) => id !== event.pointerId).map(([, at]) => at);
    if (others.length) {
      const apart = (at) => Math.hypot(at[0] - others[0][0], at[1] - others[0][1]) || 1;
      zoom(apart([event.clientX, event.clientY]) / apart(before));
    } else pan(event.clientX - before[0], event.clientY - before[1]);
    held.current.set(event.pointerId, [event.clientX, event.clientY]);
  };
  const up = (event) => held.current.delete(event.pointerId);
  const slider = (name, text) => html`<label>${text}
    <input type="range" min="20" max="300" value=${look[name]}
      onChange=${(event) => setLook({ ...look, [name]: Number(event.target.value) })} /></label>`;

  return html`<figure className="viewer">
    <div ref=${frame} className=${`frame ${photograph ? "photograph" : "structure"}`} tabIndex="0" role="group"
      aria-label=${`${label}: arrow keys move it, plus and minus zoom, 0 shows it whole`}
      onKeyDown=${press} onPointerDown=${down} onPointerMove=${move} onPointerUp=${up} onPointerCancel=${up}>
      <img src=${source} alt=${label} draggable="false" style=${{
        transform: `translate(${place.x}px, ${place.y}px) scale(${place.zoom})`,
        filter: photograph
          ? `contrast(${look.contrast}%) brightness(${look.brightness}%) invert(${look.inverted ? 1 : 0})` : "none",
      }} /></div>
    <figcaption className="tools">
      <button type="button" onClick=${() => zoom(0.8)} aria-label="zoom out">−</button>
      <output aria-label="zoom">${Math.round(place.zoom * 100)}%</output>
      <button type="button" onClick=${() => zoom(1.25)} aria-label="zoom in">+</button>
      ${photograph && html`${slider("contrast", "Contrast")}${slider("brightness", "Brightness")}
        <label><input type="checkbox" checked=${look.inverted}
          onChange=${() => setLook({ ...look, inverted: !look.inverted })} /> Invert</label>`}
      <button type="button" onClick=${() => { setPlace(WHOLE); setLook(PLAIN); }}>Reset</button>
    </figcaption>
  </figure>`;
}

/** A place in which some of the picture stays in the frame. */
function kept(place, frame) {
  const width = (frame?.clientWidth ?? 400) * place.zoom / 2, height = (frame?.clientHeight ?? 400) * place.zoom / 2;
  return { ...place, x: Math.max(-width, Math.min(width, place.x)), y: Math.max(-height, Math.min(height, place.y)) };
}
