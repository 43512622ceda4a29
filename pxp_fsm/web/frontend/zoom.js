// A picture that fits its place, and that one can come closer to: by wheel, two fingers, buttons and
// keys, the same everywhere.
import { useCallback, useEffect, useRef, useState } from "react";
import { flushSync } from "react-dom";
import { html } from "./html.js";

const STEP = 1.3, MOST = 40, PAN = 0.15, READABLE = 700, LARGE = 1100;
const FLAT = 3.2, TALL = 0.5; // the shapes that a picture's place may have, as width to height

const between = (least, value, most) => Math.max(least, Math.min(value, most));

/** A part of a picture that is as wide as one reads well, and in the middle of which a point is. */
function around({ x, y }, box, width = Math.min(box.width, READABLE, innerWidth)) {
  const height = (width / box.width) * box.height;
  return { x: x - width / 2, y: y - height / 2, width, height };
}

/** A box with so much room above or beside it that it is neither too flat nor too tall. */
function shaped({ x, y, width, height }) {
  const wide = Math.max(width, height * TALL), high = Math.max(height, width / FLAT);
  return { x: x - (wide - width) / 2, y: y - (high - height) / 2, width: wide, height: high };
}

/** `drawn` ({x, y, width, height}) is the whole picture, `children` are in it; `focus` ({x, y}) is the
 * present state, where there is one: a large picture begins there, and one that is near follows it. */
export function Zoom({ drawn, label, role = "img", focus = null, children }) {
  const box = shaped(drawn);
  const begin = () => (focus && drawn.width > Math.min(LARGE, 2 * innerWidth) ? around(focus, box) : null);
  const [near, setNear] = useState(begin); // the part that is seen; null is the whole
  const svg = useRef(null), fingers = useRef(new Map());
  const whole = `${box.x} ${box.y} ${box.width} ${box.height}`;
  const old = useRef(whole);
  useEffect(() => {
    if (old.current !== whole) setNear(begin);
    else if (focus) setNear((from) => from && around(focus, box, from.width));
    old.current = whole;
  }, [whole, focus?.x, focus?.y]);
  useEffect(() => { // on paper there is all of it
    let was = null;
    const fit = () => flushSync(() => setNear((from) => { was = from; return null; }));
    const again = () => setNear(was);
    addEventListener("beforeprint", fit);
    addEventListener("afterprint", again);
    return () => { removeEventListener("beforeprint", fit); removeEventListener("afterprint", again); };
  }, []);
  const seen = near ?? box;

  /** Where a point of the window is in the picture. */
  const inPicture = useCallback(({ clientX, clientY }) => {
    const matrix = svg.current.getScreenCTM();
    return matrix ? new DOMPoint(clientX, clientY).matrixTransform(matrix.inverse()) : { x: 0, y: 0 };
  }, []);

  /** Come closer by a factor, with `about` staying where it is. */
  const closer = useCallback((factor, about = null) => setNear((old) => {
    const from = old ?? box, width = between(box.width / MOST, from.width / factor, box.width);
    if (width >= box.width) return null;
    const scale = width / from.width, { x, y } = about ?? { x: from.x + from.width / 2, y: from.y + from.height / 2 };
    return { x: x - (x - from.x) * scale, y: y - (y - from.y) * scale, width, height: from.height * scale };
  }), [whole]);

  const moved = useCallback((right, down) => setNear((old) => old && ({
    ...old,
    x: between(box.x - old.width / 2, old.x + right, box.x + box.width - old.width / 2),
    y: between(box.y - old.height / 2, old.y + down, box.y + box.height - old.height / 2),
  })), [whole]);

  useEffect(() => {
    const turn = (event) => { // without Ctrl the wheel moves the page, but in a picture that has the focus
      if (!event.ctrlKey && !event.currentTarget.contains(document.activeElement)) return;
      event.preventDefault();
      closer(STEP ** (-Math.sign(event.deltaY) * Math.min(1, Math.abs(event.deltaY) / 60)), inPicture(event));
    };
    const place = svg.current.parentElement;
    place.addEventListener("wheel", turn, { passive: false });
    return () => place.removeEventListener("wheel", turn);
  }, [closer, inPicture]);

  const touch = (event) => {
    fingers.current.set(event.pointerId, { clientX: event.clientX, clientY: event.clientY });
  };
  const drag = (event) => {
    const all = fingers.current, old = all.get(event.pointerId);
    if (!old) return;
    const now = { clientX: event.clientX, clientY: event.clientY };
    const others = [...all].filter(([id]) => id !== event.pointerId).map(([, point]) => point);
    all.set(event.pointerId, now);
    if (others.length) {
      const [other] = others;
      const apart = (point) => Math.hypot(point.clientX - other.clientX, point.clientY - other.clientY);
      closer(apart(now) / Math.max(1, apart(old)), inPicture({
        clientX: (now.clientX + other.clientX) / 2, clientY: (now.clientY + other.clientY) / 2,
      }));
    } else if (near) {
      const from = inPicture(old), to = inPicture(now);
      moved(from.x - to.x, from.y - to.y);
    }
  };
  const leave = (event) => fingers.current.delete(event.pointerId);
  const press = (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const right = seen.width * PAN, down = seen.height * PAN;
    const does = {
      "+": () => closer(STEP), "=": () => closer(STEP), "-": () => closer(1 / STEP), 0: () => setNear(null),
      ...(near && {
        ArrowLeft: () => moved(-right, 0), ArrowRight: () => moved(right, 0),
        ArrowUp: () => moved(0, -down), ArrowDown: () => moved(0, down),
      }),
    }[event.key];
    if (!does) return;
    event.preventDefault();
    event.stopPropagation();
    does();
  };
  const show = () => setNear(around(focus, box));
  const button = (name, what, does, disabled = false) => html`<button type="button" onClick=${does} disabled=${disabled}
    aria-label=${`${what}: ${label}`} title=${what}>${name}</button>`;
  return html`<div className=${near ? "zoom near" : "zoom"} onKeyDown=${press}>
    <div className="picture" tabIndex="0" role="group" aria-label=${`${label}; + and − zoom, 0 fits`}>
      <svg ref=${svg} viewBox=${`${seen.x} ${seen.y} ${seen.width} ${seen.height}`} role=${role} aria-label=${label}
        style=${{ aspectRatio: `${box.width} / ${box.height}`, maxWidth: `min(100%, ${Math.round(box.width * 1.35)}px)`, maxHeight: "min(75vh, 640px)" }}
        onPointerDown=${touch} onPointerMove=${drag} onPointerUp=${leave} onPointerCancel=${leave} onPointerLeave=${leave}
        >${children}</svg></div>
    <div className="zooms">${button("+", "zoom in", () => closer(STEP))}
      ${button("−", "zoom out", () => closer(1 / STEP), !near)}
      ${button("Fit", "fit", () => setNear(null), !near)}
      ${focus && button("Present state", "show the present state", show)}</div>
  </div>`;
}
