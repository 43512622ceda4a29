// Texts under way: kept on the server as they are typed, so that a page that is loaded again, or one
// on another device, goes on with them.
import { useCallback, useEffect, useRef, useState } from "react";
import { post } from "../http.js";

const PAUSE = 150;
const kept = new Map(), waiting = new Map();
let timer = null, sending = false;

/** What the server has kept, as the page begins or is connected again: of a field that the page has
 * already, its own text is the newer one. */
export function begin(drafts) {
  Object.entries(drafts).forEach(([field, text]) => { if (!kept.has(field)) kept.set(field, text); });
  flush();
}

/** Send what waits; one text at a time, so that none overtakes a later one of its field. */
async function flush() {
  if (sending) return;
  sending = true;
  while (waiting.size) {
    const [field, text] = waiting.entries().next().value;
    try {
      await post("/api/draft", { field, text });
    } catch (error) {
      if (!error.status) break; // the server is away; with the next key again, or when it is back
    }
    if (waiting.get(field) === text) waiting.delete(field);
  }
  sending = false;
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

/** A text in `field`, which is `initial` until something is typed; setting it to null forgets it, unless
 * something else was typed since: who sends a text may write the next one before the reply. */
export function useDraft(field, initial = "") {
  const [, setTick] = useState(0);
  const text = kept.get(field) || null;
  const set = useCallback((next) => {
    if (next === null && (kept.get(field) || null) !== text) return;
    keep(field, next ?? "");
    setTick((tick) => tick + 1);
  }, [field, text]);
  return [text ?? initial, set, text !== null];
}

/** A value that is under way in `field`, as JSON; null where there is none.
 * @returns {[any, (value: any) => void]} */
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
