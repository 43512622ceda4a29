// How an answer was arrived at: seconds in which something was done and in which nothing was, edits, pastes.
import { useEffect, useRef } from "react";

const ACTIVE = 30_000;
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

export const rounded = (spent) => ({ ...spent, active: Math.round(spent.active * 10) / 10, idle: Math.round(spent.idle * 10) / 10 });

/** What a form listens to: pastes are counted, and where text may not be pasted nothing is. */
export const Notes = (spent, pasting) => ({
  onPaste: (event) => {
    spent.current.pastes += 1;
    if (!pasting) event.preventDefault();
  },
  onDrop: (event) => { if (!pasting) event.preventDefault(); },
});
