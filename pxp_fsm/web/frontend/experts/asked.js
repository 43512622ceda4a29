// What is at an address, asked for at each piece of news.
import { useCallback, useEffect, useRef, useState } from "react";
import { get } from "../http.js";

const LOST = 60_000;

/** What is at `path`, asked for at each change of `news`: one request at a time, and what changes
 * meanwhile is asked for `pause` ms after it, so that no reply is older than the one before, and where
 * news never end each reply is shown all the same.
 *
 * Returns what was found, null at first; why it was refused; and `refresh`, which asks again. */
export function useAsked(path, news, pause = 0) {
  const [found, setFound] = useState(null);
  const [trouble, setTrouble] = useState("");
  const state = useRef({ asking: false, again: false, gone: false }).current;
  const refresh = useCallback(async () => {
    state.again = true;
    if (state.asking) return;
    state.asking = true;
    while (state.again && !state.gone) {
      state.again = false;
      try {
        const reply = await (await get(path, AbortSignal.timeout(LOST))).json();
        if (state.gone) break;
        setFound(reply);
        setTrouble("");
      } catch (error) { // a server that is away is told of elsewhere, and is news when it is back
        if (error.status) setTrouble(error.message);
        if (error.name === "TimeoutError") state.again = true; // its connection is dead, others may not be
      }
      if (pause) await new Promise((done) => setTimeout(done, pause));
    }
    state.asking = false;
  }, [path, pause, state]);
  useEffect(() => {
    state.gone = false;
    return () => { state.gone = true; };
  }, [state]);
  useEffect(() => { refresh(); }, [refresh, news]);
  return { found, trouble, refresh };
}
