// The page: files that are edited, verdicts, the explorer. What is computed is computed by a worker.
const at = (id) => document.getElementById(id);
const state = { files: {}, shown: "", number: 0, channel: "", formulas: [] };
let worker, examples = [], waiting = null;

function start() {
  worker = new Worker("worker.js", { type: "module" });
  worker.onmessage = ({ data }) => heard(data);
  at("stop").hidden = true;
  at("check").disabled = true;
  say("Loading Python…");
}

const say = (text) => { at("state").textContent = text; };

function asked(type) {
  keep();
  const formulas = at("formulas").value.split("\n").map((line) => line.trim()).filter(Boolean);
  return { type, files: state.files, channel: at("channel").value.trim(), formulas };
}

function keep() {
  if (state.shown) state.files[state.shown] = at("text").value;
}

function show(name) {
  keep();
  state.shown = name;
  at("text").value = state.files[name];
  at("tabs").replaceChildren(...Object.keys(state.files).map((file) => {
    const tab = Object.assign(document.createElement("button"), { textContent: file });
    tab.setAttribute("role", "tab");
    tab.setAttribute("aria-selected", String(file === name));
    tab.onclick = () => show(file);
    return tab;
  }), button("+", "Add a file", add), button("−", "Remove this file", remove));
}

function button(text, title, onclick) {
  return Object.assign(document.createElement("button"), { textContent: text, title, onclick });
}

function add() {
  let number = 1;
  while (`table${number}.toml` in state.files) number += 1;
  state.files[`table${number}.toml`] = at("text").value;
  show(`table${number}.toml`);
}

function remove() {
  if (Object.keys(state.files).length < 2) return;
  delete state.files[state.shown];
  state.shown = "";
  show(Object.keys(state.files)[0]);
}

function open({ files, channel = "", formulas = [] }) {
  Object.assign(state, { files: { ...files }, shown: "" });
  at("channel").value = channel;
  at("formulas").value = formulas.join("\n");
  show(Object.keys(files)[0]);
}

function check() {
  const question = { ...asked("check"), id: ++state.number };
  at("fault").hidden = at("verdicts").hidden = at("explorer").hidden = true;
  at("stop").hidden = false;
  say("Checking…");
  worker.postMessage(question);
  waiting = { ...question, type: "explore" };
}

function heard({ type, id, answer, error }) {
  if (type === "ready") {
    at("check").disabled = false;
    say("Ready.");
    if (!state.number && Object.keys(state.files).length) check();  // not again after a stop
    return;
  }
  if (id !== undefined && id !== state.number) return;
  if (type === "refused") {
    at("stop").hidden = true;
    say("");
    return fault(error);
  }
  if (type === "check") {
    const found = JSON.parse(answer);
    if (found.fault) {
      at("stop").hidden = true;
      say("");
      return fault(found.fault);
    }
    verdicts(found.results);
    say("Drawing…");
    worker.postMessage(waiting);
  } else if (type === "explore") {
    at("stop").hidden = true;
    const before = at("explorer"), frame = before.cloneNode();  // one that is hidden stays blank at times
    frame.src = URL.createObjectURL(new Blob([answer], { type: "text/html" }));
    frame.hidden = false;
    before.replaceWith(frame);
    URL.revokeObjectURL(before.src);
    say("Done.");
  } else if (type === "project") {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([answer], { type: "application/zip" }));
    link.download = "protocol.zip";
    link.click();
    say("");
  }
}

function fault(text) {
  at("fault").textContent = text;
  at("fault").hidden = false;
}

function verdicts(results) {
  at("verdicts").tBodies[0].replaceChildren(...results.map(({ name, title, status, told, about, subject }) => {
    const row = document.createElement("tr");
    const word = row.insertCell(), property = row.insertCell(), what = row.insertCell();
    word.textContent = status;
    word.className = status.split(" ")[0];
    property.textContent = name;
    property.title = `${title} (${subject})`;
    what.textContent = told;
    if (about && status === "FAILS") {
      const more = document.createElement("details");
      more.append(Object.assign(document.createElement("summary"), { textContent: "What this check says" }));
      more.append(Object.assign(document.createElement("pre"), { textContent: about.split("\n\n>>>")[0] }));
      what.append(more);
    }
    return row;
  }));
  at("verdicts").hidden = false;
}

const through = (bytes, stream) => new Response(new Blob([bytes]).stream().pipeThrough(stream));

async function link() {
  const { files, channel, formulas } = asked("link");
  const text = JSON.stringify({ files, channel, formulas });
  const packed = await through(new TextEncoder().encode(text), new CompressionStream("deflate-raw")).bytes();
  const letters = Array.from(packed, (byte) => String.fromCharCode(byte)).join("");
  const hash = btoa(letters).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
  history.replaceState(null, "", `#${hash}`);
  await navigator.clipboard?.writeText(location.href).catch(() => {});
  say("The address carries these tables.");
}

async function linked() {
  const letters = atob(location.hash.slice(1).replaceAll("-", "+").replaceAll("_", "/"));
  const bytes = Uint8Array.from(letters, (letter) => letter.charCodeAt(0));
  const text = await through(bytes, new DecompressionStream("deflate-raw")).text();
  const { files, channel, formulas } = JSON.parse(text);
  const parts = [...Object.entries(files).flat(), channel, ...formulas];
  if (parts.length < 3 || parts.some((part) => typeof part !== "string")) throw new TypeError(text);
  return { files, channel, formulas };
}

async function begin() {
  examples = await (await fetch("examples.json")).json();
  at("example").replaceChildren(...examples.map(({ title }, number) => new Option(title, String(number))));
  at("example").onchange = ({ target }) => { open(examples[Number(target.value)]); check(); };
  let first = examples[0];
  if (location.hash.length > 1) {
    first = await linked().catch(() => { fault("This link is cut or changed: it has no table."); return first; });
  }
  open(first);
  if (!at("check").disabled && !state.number) check();  // Python was there before the examples
}

at("check").onclick = check;
at("stop").onclick = () => { worker.terminate(); start(); };
at("link").onclick = link;
at("project").onclick = () => worker.postMessage(asked("project"));
window.onhashchange = () => location.reload();
start();
begin();
