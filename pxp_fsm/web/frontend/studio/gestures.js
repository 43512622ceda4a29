// User editing distance as it is done: a click or a key is 1, a drag or a selection of text is 2
// (EasyLAN, section 6.5.1). It is counted by region, since an act is done in one of them.

const FAR = 5;
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
  const listeners = [["pointerdown", press], ["pointerup", release], ["keydown", key]];
  listeners.forEach(([name, listener]) => addEventListener(name, listener, true));
  return () => listeners.forEach(([name, listener]) => removeEventListener(name, listener, true));
}
