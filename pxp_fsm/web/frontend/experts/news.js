// News by WebSocket, for as long as the page is open: a server that restarts is found again.
import { useEffect, useState } from "react";
import { socket } from "../http.js";

const SOONEST = 500, LATEST = 10_000;
const written = new Map(), readers = new Set();

/** `changed` is called at each piece of news, with that of the beginning whenever the connection is
 * back; `lost` when it ends. Returns a function that stops it. */
export function listen(changed, lost) {
  let pause = SOONEST, timer = 0, over = false;
  const hear = (event) => {
    if (event.type === "begin") {
      pause = SOONEST;
      written.clear();
    }
    if (event.type !== "writing") return changed(event);
    written.set(event.id, event);
    readers.forEach((read) => read());
  };
  const begin = () => {
    const connection = socket("/api/events", hear, () => {
      if (over) return;
      lost();
      timer = setTimeout(begin, pause);
      pause = Math.min(2 * pause, LATEST);
    });
    end = () => connection.close();
  };
  let end = () => {};
  begin();
  return () => { over = true; clearTimeout(timer); end(); };
}

/** What the other side of a session has written of the message that it is at, as news tell it. */
export function useWritten(id) {
  const [, setTold] = useState(0);
  useEffect(() => {
    const read = () => setTold((old) => old + 1);
    readers.add(read);
    return () => { readers.delete(read); };
  }, []);
  return written.get(id);
}
