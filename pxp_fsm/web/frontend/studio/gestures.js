// User editing distance as it is done: a click or a key is 1, a drag or a selection of text is 2
// (EasyLAN, section 6.5.1). It is counted by region, since an act is done in one of them.

const FAR = 5, TICK = 5_000, AWAY = 60_000;
const QUIET = new Set(["Shift", "Control", "Meta", "CapsLock", "Dead"]);
const counts = new Map();

const regionOf = (target) => target?.closest?.("[data-region]")?.dataset.region ?? "";

function add(region, distance) {
  counts.set(region, (counts.get(region) ?? 0) + distance);
}

/** What was done in a region since it was last taken; it begins at 0 again. */
export function taken(region) {
  const found = counts.get(region) ?? 0;
  counts.set(region, 0);
  return found;
}

/** Give back what was taken for an act that was refused. */
export function giveBack(region, distance) {
  add(region, distance);
}

/** Count what is done on the page; the function that is returned ends it. */
export function countGestures() {
  let down = null;
  const press = (event) => {
    down = { x: event.clientX, y: event.clientY, region: regionOf(event.target) };
  };
  const release = (event) => {
    if (!down) return;
    const far = Math.hypot(event.clientX - down.x, event.clientY - down.y) > FAR;
    add(down.region, far ? 2 : 1);
    down = null;
  };
  const key = (event) => {
    if (!QUIET.has(event.key)) add(regionOf(event.target), 1);
  };
  /** @type {[string, (event: any) => void][]} */
  const listeners = [["pointerdown", press], ["pointerup", release], ["keydown", key]];
  listeners.forEach(([name, listener]) => addEventListener(name, listener, true));
  return () => listeners.forEach(([name, listener]) => removeEventListener(name, listener, true));
}

/** Tell how many seconds the page was in use: while it is shown, and for a minute after each act on
 * it. The function that is returned ends it. */
export function followUse(tell) {
  const now = () => Date.now();
  let acted = now() - AWAY, told = now();
  const act = () => { acted = now(); };
  const tick = () => {
    const until = Math.min(now(), acted + AWAY), seconds = (until - told) / 1000;
    told = now();
    if (seconds > 0) tell(seconds);
  };
  const hide = () => {
    if (document.visibilityState === "hidden") {
      tick();
      acted = now() - AWAY;
    } else act();
  };
  const names = ["pointerdown", "pointermove", "keydown", "wheel"];
  names.forEach((name) => addEventListener(name, act, { capture: true, passive: true }));
  document.addEventListener("visibilitychange", hide);
  const timer = setInterval(tick, TICK);
  return () => {
    clearInterval(timer);
    document.removeEventListener("visibilitychange", hide);
    names.forEach((name) => removeEventListener(name, act, { capture: true }));
  };
}
