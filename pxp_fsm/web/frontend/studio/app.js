// The studio: a network in four regions. Everything that is shown comes from the server.
import { useCallback, useEffect, useMemo, useRef, useState } from "react";
import { get, post, socket } from "../http.js";
import { html } from "../html.js";
import { AgentForm, Examples as ModuleExamples, LastTurn, Structure } from "./agent.js";
import { Dialogue } from "./dialogue.js";
import { begin, useDraft } from "./drafts.js";
import { Examples, rowsOf } from "./examples.js";
import { followFocus } from "./focus.js";
import { countGestures, followUse, giveBack, taken } from "./gestures.js";
import { Measures } from "./measures.js";
import { Network } from "./network.js";

const AGAIN = 1000, PATIENCE = 30_000;
const ENDED = "The server has ended. Start pxp serve again, and open its address; what you typed is kept.";

function useServer(tell) {
  const [parts, setParts] = useState(/** @type {any} */ ({}));
  const [lost, setLost] = useState(false);
  useEffect(() => {
    let open = true;
    const connect = () => socket("/api/events", (message) => {
      setLost(false);
      if (message.type === "begin") begin(message.drafts);
      if (message.type === "notice") return tell(message.text);
      setParts((old) => ({ ...old, [message.type]: message }));
    }, () => {
      setLost(true);
      if (open) setTimeout(() => open && connect(), AGAIN);
    });
    connect();
    return () => { open = false; };
  }, [tell]);
  return /** @type {[any, boolean]} */ ([parts, lost]);
}

/** Whether the same agent or edge is meant. */
function isSame(one, other) {
  return one?.agent === other.agent && one?.source === other.source && one?.target === other.target;
}

/** The network that the page shows, and a wait until it shows a version. */
function useShown(network) {
  const shown = useRef(network), looking = useRef(new Set());
  shown.current = network;
  useEffect(() => looking.current.forEach((look) => look()), [network]);
  const arrival = useCallback((version) => new Promise((done) => {
    const finish = () => {
      looking.current.delete(look);
      clearTimeout(patience);
      done();
    };
    const look = () => shown.current?.version >= version && finish();
    const patience = setTimeout(finish, PATIENCE);
    looking.current.add(look);
    look();
  }), []);
  return /** @type {[import("react").RefObject<any>, (answer: any) => Promise<any>]} */ ([shown, arrival]);
}

function useActs(network, select, setNotice) {
  const [shown, arrival] = useShown(network);
  const line = useRef(/** @type {Promise<any>} */ (Promise.resolve()));
  return useMemo(() => {
    /** Do it; whether it was done. What was counted for it is given back where it was not. */
    const attempt = async (region, done) => {
      const distance = taken(region);
      try {
        await done(distance);
        setNotice("");
        return true;
      } catch (error) {
        giveBack(region, distance);
        setNotice(error.message);
        return false;
      }
    };
    /** Acts on the network are done in turn: each begins once the page shows what came of the last,
     * and is told what the page shows then. Otherwise a quick second act would be refused as one that
     * was made to an older network. */
    const onNetwork = (path, bodyOf) => {
      line.current = line.current.then(() => attempt("network", async (distance) => {
        const { version } = shown.current;
        const made = await post(path, { version, ...bodyOf(shown.current), distance });
        await arrival(await made.json());
      }));
      return line.current;
    };
    const edit = (operations, about) => onNetwork("/api/edit", () => ({ operations, about }));
    return {
      select,
      edit,
      connect: (source, target) => edit([{ do: "connect", source, target }], `connect ${source} ${target}`),
      merge: (one, other) => onNetwork("/api/merge", () => ({ name: one, into: other })),
      remove: async (what) => {
        const done = await edit(
          what.agent ? [{ do: "delete", name: what.agent }] : [{ do: "disconnect", source: what.source, target: what.target }],
          what.agent ? `delete ${what.agent}` : `disconnect ${what.source} ${what.target}`);
        if (done) select((now) => (isSame(now, what) ? null : now));
      },
      undo: () => onNetwork("/api/undo", () => ({})),
      redo: () => onNetwork("/api/redo", () => ({})),
      restore: (to) => onNetwork("/api/restore", () => ({ to })),
      require: (name, source, required) => onNetwork("/api/edit", ({ agents }) => {
        const others = agents.find((one) => one.name === name).required.filter((one) => one !== source);
        const value = required ? [...others, source] : others;
        return { operations: [{ do: "edit", name, field: "required", value }], about: `require ${source}` };
      }),
      move: (name, x, y) => attempt("", () => post("/api/move", { name, x, y })),
      tidy: () => attempt("network", () => post("/api/tidy", {})),
      create: (task) => attempt("network", () => post("/api/new", { task })),
      run: (input) => attempt("examples", () => post("/api/run", { input })),
      train: (query) => attempt("examples", () => post("/api/train", query)),
      cancel: () => attempt("examples", () => post("/api/cancel", {})),
      compare: () => attempt("examples", () => post("/api/compare", {})),
      set: (region, wanted) => attempt(region, () => post("/api/settings", wanted)),
      test: (query) => attempt("measures", () => post("/api/test", query)),
      actions: (query) => attempt("measures", () => post("/api/actions", query)),
      distance: (file) => attempt("measures", () => post("/api/distance", file)),
      distanceSince: (number) => attempt("measures", () => post(`/api/distance/${number}`, {})),
      threeWays: (query) => attempt("measures", () => post("/api/three-ways", query)),
      stopMeasuring: () => attempt("measures", () => post("/api/stop-measuring", {})),
      addExamples: (file) => attempt("examples", () => post("/api/examples-file", file)),
      addExample: (example) => attempt("examples", () => post("/api/note", example)),
      dropExample: (input) => attempt("examples", () => post("/api/drop", { input })),
      answer: (question, answer) => attempt(question.view.kind === "OutputView" ? "examples" : "dialogue", (distance) =>
        post("/api/answer", { question: question.id, answer, distance })),
    };
  }, [select, setNotice, shown, arrival]);
}

async function download(form, name) {
  const blob = await (await get(`/api/diagram/${form}`)).blob();
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = `${name.replace(/(\.lan)?\.json$/, "")}.${form}`;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

function Task({ task, act }) {
  const [text, setText, typed] = useDraft("task", task);
  const save = async (event) => {
    event.preventDefault();
    if (await act.edit([{ do: "task", task: text }], "task")) setText(null);
  };
  return html`<form className="task" onSubmit=${save}><label>Task
    <input value=${text} onChange=${(event) => setText(event.target.value)} /></label>
    ${typed && text !== task && html`<button>Save</button><button type="button" onClick=${() => setText(null)}>Reset</button>`}</form>`;
}

function New({ file, act }) {
  const [task, setTask] = useDraft("new-task");
  return html`<main><section data-region="network"><h2>A new network in ${file}</h2>
    <form className="task" onSubmit=${(event) => { event.preventDefault(); act.create(task); }}>
      <label>What is it to do? <input value=${task} placeholder="translate French into English"
        onChange=${(event) => setTask(event.target.value)} /></label>
      <button disabled=${!task.trim()}>Begin</button></form></section></main>`;
}

function Log({ network, act }) {
  const last = network.log.length;
  return html`<details className="log"><summary>Log: version ${network.version}</summary>
    <div className="scroll" tabIndex="0" role="group" aria-label="log of changes"><ol>
    ${[...network.log].reverse().map((one) => html`<li key=${one.number} className=${one.undone ? "undone" : ""}>
      <span className="number">${one.number}</span> <span className="muted">${one.by}</span>
      <span className="what">${one.about}${one.undone ? " (undone)" : ""}</span>
      ${one.number !== last && html`<button type="button" aria-label=${`Go to version ${one.number}`}
        onClick=${() => act.restore(one.number)}>Go to</button>`}</li>`)}</ol></div></details>`;
}

function duration(seconds) {
  const whole = Math.round(seconds);
  return whole < 60 ? `${whole} s` : `${Math.floor(whole / 60)} min ${whole % 60} s`;
}

export function App() {
  const [notice, setNotice] = useState("");
  const [parts, lost] = useServer(setNotice);
  const [selected, select] = useState(null);
  const network = parts.network?.network ?? null;
  const act = useActs(network, select, setNotice);
  const opened = useRef(null);
  useEffect(countGestures, []);
  useEffect(followFocus, []);
  useEffect(() => followUse((seconds) => post("/api/use", { seconds }).catch(() => {})), []);
  const file = parts.network?.file ?? "";
  useEffect(() => { if (file) document.title = `${file} – pxp studio`; }, [file]);
  if (network && opened.current === null) opened.current = network.version;
  const { run, training, notes } = parts;
  const states = useMemo(() => Object.fromEntries(
    Object.entries(run?.agents ?? {}).map(([name, one]) => [name, one.state])), [run]);

  if (!parts.begin) return html`<main className="loading"><p role="status">Loading …</p></main>`;
  const header = html`<header><h1>${file}</h1>${network && html`<${Task} key=${network.task} task=${network.task} act=${act} />`}</header>
    <p className=${lost ? "alert notice" : "notice"} role="status">${lost ? ENDED : notice}</p>`;
  if (!network) return html`${header}<${New} file=${file} act=${act} />`;

  const agent = network.agents.find((one) => one.name === selected?.agent) ?? null;
  const edge = network.edges.find((one) => one.source === selected?.source && one.target === selected?.target);
  const isNew = selected !== null && selected.agent === null;
  const { ued, least, confirmed, total, waiting } = parts.effort;
  const hasModel = parts.begin.model !== "";
  const regions = {
    one: html`<section key="one" tabIndex="-1" data-region="network" aria-labelledby="network-title">
      <h2 id="network-title">Network</h2>
      <div className="buttons">
        <button type="button" onClick=${() => select({ agent: null })}>New agent</button>
        <button type="button" disabled=${!parts.network.undoable} onClick=${act.undo}>Undo</button>
        <button type="button" disabled=${!parts.network.redoable} onClick=${act.redo}>Redo</button>
        <button type="button" disabled=${network.version === opened.current} title="make the network what it was when this page was opened"
          onClick=${() => act.restore(opened.current)}>Reset</button>
        <button type="button" disabled=${!network.agents.some((one) => one.moved)} onClick=${act.tidy}>Tidy up</button>
        <span className="exports">${["svg", "pdf", "png"].map((form) => html`<button type="button" key=${form}
          onClick=${() => download(form, file).catch((error) => setNotice(error.message))}>${form.toUpperCase()}</button>`)}</span>
      </div>
      <${Network} ...${{ network, states, selected, act }} />
      ${edge && html`<p className="buttons">${edge.source} → ${edge.target}
        <label className="check"><input type="checkbox" checked=${edge.required}
          onChange=${(event) => act.require(edge.target, edge.source, event.target.checked)} /> required</label>
        <button type="button" onClick=${() => act.remove(edge)}>Remove</button></p>`}
      <p className="muted">Drag an agent onto another to connect them, with Shift to merge them; elsewhere to move it.
        Delete removes what is selected. Arrow keys go to the next agent, with Shift they move it.</p>
      <${Log} network=${network} act=${act} />
    </section>`,
    two: html`<section key="two" tabIndex="-1" data-region="network" aria-labelledby="agent-title">
      <h2 id="agent-title">${agent ? `Agent ${agent.name}` : isNew ? "New agent" : "Agent"}</h2>
      ${agent || isNew ? html`
        ${agent && html`<h3>Last run</h3><${LastTurn} turn=${run.agents[agent.name]} />`}
        <${AgentForm} key=${agent?.name ?? ""} network=${network} agent=${agent} act=${act} />
        ${agent && html`<${Structure} key=${`s${agent.name}`} network=${network} agent=${agent} act=${act} />
          <${ModuleExamples} key=${`e${agent.name}`} agent=${agent} version=${network.version} />`}`
        : html`<p className="muted">Select an agent in the diagram.</p>`}
    </section>`,
    three: html`<section key="three" tabIndex="-1" data-region="examples" aria-labelledby="examples-title">
      <h2 id="examples-title">Run and examples</h2>
      <${Examples} ...${{ network, run, training, notes, act }} comparison=${parts.comparison?.comparison}
        hasModel=${hasModel} />
    </section>`,
    four: html`<section key="four" tabIndex="-1" data-region="dialogue" aria-labelledby="dialogue-title">
      <h2 id="dialogue-title">Dialogue</h2>
      <${Dialogue} training=${training} written=${parts.written.text} streams=${notes.streams}
        automaton=${parts.begin.automaton} act=${act} />
      <p className="muted measures">UED ${ued} (at least ${least}) · ${confirmed} steps confirmed · ${duration(total)} of use, ${duration(waiting)} of it waiting for models</p>
      <${Measures} ...${{ network, act }} report=${parts.measures.report} stores=${parts.begin.stores} tasks=${parts.begin.tasks} hasModel=${hasModel}
        examples=${rowsOf(network, training, notes).filter((one) => one.output).map(({ input, output }) => ({ input, output }))} />
    </section>`,
  };
  return html`${header}
  <main>
    <div className="column">${regions.one}${regions.three}</div>
    <div className="column">${training.going ? [regions.four, regions.two] : [regions.two, regions.four]}</div>
  </main>`;
}
