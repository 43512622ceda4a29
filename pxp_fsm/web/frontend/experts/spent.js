// What is typed is kept on the server, and how it was arrived at: seconds in which something was done
// and in which nothing was, edits, pastes.
import { useEffect, useMemo, useRef } from "react";
import { put } from "../http.js";

const ACTIVE = 30_000, TYPING = 600;
const DOING = ["keydown", "pointermove", "pointerdown", "wheel"];

export function useSpent(begun) {
  const spent = useRef({ active: 0, idle: 0, edits: 0, pastes: 0, ...begun });
  useEffect(() => {
    let before = Date.now(), done = before;
    const act = () => { done = Date.now(); };
    const timer = setInterval(() => {
      const now = Date.now();
      spent.current[now - done < ACTIVE && !document.hidden ? "active" : "idle"] += (now - before) / 1000;
      before = now;
    }, 1000);
    for (const kind of DOING) addEventListener(kind, act);
    return () => {
      clearInterval(timer);
      for (const kind of DOING) removeEventListener(kind, act);
    };
  }, []);
  return spent;
}

/** Keep at `path` what `body` gives, now and then, once it was typed: one request at a time, so that
 * none overtakes a later one. `tell` is told whether it is kept.
 *
 * Returns `touch`, for what is typed; `save`, which keeps it at once; and `settle`, before it is sent:
 * what was on its way has arrived then, and nothing more is kept.
 * @param {string} path
 * @param {() => object} body
 * @param {boolean} [begun]
 * @param {(told: string) => void} [tell] */
export function useKept(path, body, begun = false, tell = () => {}) {
  const given = useRef(null), unsaved = useRef(begun), pending = useRef(null);
  given.current = { path, body, tell };
  const kept = useMemo(() => ({
    touch: () => { unsaved.current = true; },
    save: () => kept.put(true),
    settle: async () => {
      unsaved.current = false;
      await pending.current; // it could arrive after what is sent, and what is kept would be older
      unsaved.current = false;
    },
    put: (keepalive) => {
      if (!unsaved.current || (pending.current && !keepalive)) return;
      unsaved.current = false;
      const now = given.current;
      pending.current = put(now.path, now.body(), keepalive)
        .then(() => { if (!unsaved.current) now.tell("Your draft is kept."); })
        .catch((error) => {
          unsaved.current = true; // tried again in a while: a server that starts again has not asked yet
          if (error.status !== 409) now.tell("Your draft is not kept yet.");
        })
        .finally(() => { pending.current = null; });
    },
  }), []);
  useEffect(() => {
    const timer = setInterval(() => kept.put(false), TYPING);
    addEventListener("pagehide", kept.save);
    return () => { clearInterval(timer); removeEventListener("pagehide", kept.save); };
  }, [kept]);
  return kept;
}

export const rounded = (spent) => ({ ...spent, active: Math.round(spent.active * 10) / 10, idle: Math.round(spent.idle * 10) / 10 });

/** What a form listens to: pastes are counted, and where text may not be pasted nothing is. */
export const Notes = (spent, pasting) => ({
  onPaste: (event) => {
    spent.current.pastes += 1;
    if (!pasting) event.preventDefault();
  },
  onDrop: (event) => { if (!pasting) event.preventDefault(); },
});
