// Texts under way: kept on the server as they are typed, so that a page that is loaded again, or one
// on another device, goes on with them.
import { useCallback, useEffect, useRef, useState } from "react";
import { post } from "../http.js";

const PAUSE = 150;
const kept = new Map(), waiting = new Map();
let timer = null;

/** What the server has kept, as the page begins. */
export function begin(drafts) {
  Object.entries(drafts).forEach(([field, text]) => kept.set(field, text));
}

async function flush() {
  clearTimeout(timer);
  timer = null;
  const now = [...waiting];
  waiting.clear();
  for (const [field, text] of now) {
    try {
      await post("/api/draft", { field, text });
    } catch {
      if (!waiting.has(field)) waiting.set(field, text); // the server is away; with the next key again
    }
  }
}

export function keep(field, text) {
  kept.set(field, text);
  waiting.set(field, text);
  clearTimeout(timer);
  timer = setTimeout(flush, PAUSE);
}

addEventListener("pagehide", () => {
  waiting.forEach((text, field) => fetch("/api/draft", {
    method: "POST", keepalive: true, headers: { "content-type": "application/json" },
    body: JSON.stringify({ field, text }),
  }));
});

/** A text in `field`, which is `initial` until something is typed; setting it to null forgets it. */
export function useDraft(field, initial = "") {
  const [, setTick] = useState(0);
  const text = kept.get(field) || null;
  const set = useCallback((next) => {
    keep(field, next ?? "");
    setTick((tick) => tick + 1);
  }, [field]);
  return [text ?? initial, set, text !== null];
}

/** A value that is under way in `field`, as JSON; null where there is none. */
export function useDraftValue(field) {
  const [text, set] = useDraft(field);
  const parsed = useRef(["", null]);
  if (parsed.current[0] !== text) {
    let value = null;
    try {
      value = text ? JSON.parse(text) : null;
    } catch { /* somebody else's draft */ }
    parsed.current = [text, value];
  }
  const setValue = useCallback((value) => set(value === null ? null : JSON.stringify(value)), [set]);
  return [parsed.current[1], setValue];
}

/** `value`, once it has not changed for a while. */
export function useSettled(value, pause = PAUSE) {
  const [settled, setSettled] = useState(value);
  useEffect(() => {
    const wait = setTimeout(() => setSettled(value), pause);
    return () => clearTimeout(wait);
  }, [value, pause]);
  return settled;
}
