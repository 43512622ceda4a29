// News by WebSocket, for as long as the page is open: a server that restarts is found again.
import { socket } from "../http.js";

const SOONEST = 500, LATEST = 10_000;

/** `changed` is called at each piece of news and whenever the connection is back; `lost` when it
 * ends. Returns a function that stops it. */
export function listen(changed, lost) {
  let pause = SOONEST, timer = 0, over = false;
  const begin = () => {
    const connection = socket("/api/events", changed, () => {
      if (over) return;
      lost();
      timer = setTimeout(begin, pause);
      pause = Math.min(2 * pause, LATEST);
    }, () => { pause = SOONEST; changed(); });
    end = () => connection.close();
  };
  let end = () => {};
  begin();
  return () => { over = true; clearTimeout(timer); end(); };
}
