// The studio: a network in four regions. Everything that is shown comes from the server.
import { useCallback, useEffect, useMemo, useRef, useState } from "react";
import { get, post, socket } from "../http.ts";
import { html } from "../html.ts";
import { AgentForm, Examples as ModuleExamples, LastTurn, Structure } from "./agent.ts";
import { Dialogue } from "./dialogue.ts";
import { begin, useDraft } from "./drafts.ts";
import { Examples, rowsOf } from "./examples.ts";
import { followFocus } from "./focus.ts";
import { countGestures, followUse, giveBack, taken } from "./gestures.ts";
import { Measures } from "./measures.ts";
import { Network } from "./network.ts";
import type { Trouble, Typed } from "../html.ts";
import type { NetworkView } from "../views.d.ts";
import type { Message, OpenedFile, Parts, Question, Sample, Select, Selected } from "./messages.ts";

const AGAIN = 1000, PATIENCE = 30_000;
const ENDED = "The server has ended. Start pxp lan serve again, and open its address; what you typed is kept.";

function useServer(tell: (text: string) => void): [Partial<Parts>, boolean] {
  const [parts, setParts] = useState<Partial<Parts>>({});
  const [lost, setLost] = useState(false);
  useEffect(() => {
    let open = true;
    const connect = () => socket<Message>("/api/events", (message) => {
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
  return [parts, lost];
}

/** Whether the same agent or edge is meant. */
function isSame(one: Selected | null, other: Selected) {
  return one?.agent === other.agent && one?.source === other.source && one?.target === other.target;
}

/** The network that the page shows, and a wait until it shows a version. */
function useShown(network: NetworkView | null) {
  const shown = useRef(network), looking = useRef(new Set<() => void>());
  shown.current = network;
  useEffect(() => looking.current.forEach((look) => look()), [network]);
  const arrival = useCallback((version: number) => new Promise<void>((done) => {
    const finish = () => {
      looking.current.delete(look);
      clearTimeout(patience);
      done();
    };
    const look = () => { if (shown.current && shown.current.version >= version) finish(); };
    const patience = setTimeout(finish, PATIENCE);
    looking.current.add(look);
    look();
  }), []);
  return [shown, arrival] as const;
}

type Distance = number;
type Operation = { do: string; [field: string]: unknown };

/** What a developer does on the page. */
export type Acts = ReturnType<typeof useActs>;

function useActs(network: NetworkView | null, select: Select, setNotice: (text: string) => void) {
  const [shown, arrival] = useShown(network);
  const line = useRef<Promise<boolean>>(Promise.resolve(true));
  return useMemo(() => {
    /** Do it; whether it was done. What was counted for it is given back where it was not. */
    const attempt = async (region: string, done: (distance: Distance) => Promise<unknown>) => {
      const distance = taken(region);
      try {
        await done(distance);
        setNotice("");
        return true;
      } catch (error) {
        giveBack(region, distance);
        setNotice((error as Trouble).message);
        return false;
      }
    };
    /** Acts on the network are done in turn: each begins once the page shows what came of the last,
     * and is told what the page shows then. Otherwise a quick second act would be refused as one that
     * was made to an older network. */
    const onNetwork = (path: string, bodyOf: (shown: NetworkView) => object) => {
      line.current = line.current.then(() => attempt("network", async (distance) => {
        const now = shown.current as NetworkView;
        const made = await post(path, { version: now.version, ...bodyOf(now), distance });
        await arrival(await made.json());
      }));
      return line.current;
    };
    const edit = (operations: Operation[], about: string) => onNetwork("/api/edit", () => ({ operations, about }));
    return {
      select,
      edit,
      connect: (source: string, target: string) => edit([{ do: "connect", source, target }], `connect ${source} ${target}`),
      merge: (one: string, other: string) => onNetwork("/api/merge", () => ({ name: one, into: other })),
      remove: async (what: Selected) => {
        const done = await edit(
          what.agent ? [{ do: "delete", name: what.agent }] : [{ do: "disconnect", source: what.source, target: what.target }],
          what.agent ? `delete ${what.agent}` : `disconnect ${what.source} ${what.target}`);
        if (done) select((now) => (isSame(now, what) ? null : now));
      },
      undo: () => onNetwork("/api/undo", () => ({})),
      redo: () => onNetwork("/api/redo", () => ({})),
      restore: (to: number) => onNetwork("/api/restore", () => ({ to })),
      require: (name: string, source: string, required: boolean) => onNetwork("/api/edit", ({ agents }) => {
        const others = (agents.find((one) => one.name === name)?.required ?? []).filter((one) => one !== source);
        const value = required ? [...others, source] : others;
        return { operations: [{ do: "edit", name, field: "required", value }], about: `require ${source}` };
      }),
      move: (name: string, x: number, y: number) => attempt("", () => post("/api/move", { name, x, y })),
      tidy: () => attempt("network", () => post("/api/tidy", {})),
      create: (task: string) => attempt("network", () => post("/api/new", { task })),
      run: (input: string) => attempt("examples", () => post("/api/run", { input })),
      train: (query: object) => attempt("examples", () => post("/api/train", query)),
      cancel: () => attempt("examples", () => post("/api/cancel", {})),
      compare: () => attempt("examples", () => post("/api/compare", {})),
      setCompares: (compares: boolean) => attempt("measures", () => post("/api/compares", { compares })),
      test: (query: object) => attempt("measures", () => post("/api/test", query)),
      actions: (query: object) => attempt("measures", () => post("/api/actions", query)),
      distance: (file: OpenedFile) => attempt("measures", () => post("/api/distance", file)),
      distanceSince: (number: number) => attempt("measures", () => post(`/api/distance/${number}`, {})),
      threeWays: (query: object) => attempt("measures", () => post("/api/three-ways", query)),
      stopMeasuring: () => attempt("measures", () => post("/api/stop-measuring", {})),
      addExamples: (file: OpenedFile) => attempt("examples", () => post("/api/examples-file", file)),
      addExample: (example: Sample) => attempt("examples", () => post("/api/note", example)),
      dropExample: (input: string) => attempt("examples", () => post("/api/drop", { input })),
      answer: (question: Question<{ kind: string }>, answer: object) => attempt(question.view.kind === "OutputView" ? "examples" : "dialogue", (distance) =>
        post("/api/answer", { question: question.id, answer, distance })),
    };
  }, [select, setNotice, shown, arrival]);
}

async function download(form: string, name: string) {
  const blob = await (await get(`/api/diagram/${form}`)).blob();
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = `${name.replace(/(\.lan)?\.json$/, "")}.${form}`;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

function Task({ task, act }: { task: string; act: Acts }) {
  const [text, setText, typed] = useDraft("task", task);
  const save = async (event: Event) => {
    event.preventDefault();
    if (await act.edit([{ do: "task", task: text }], "task")) setText(null);
  };
  return html`<form className="task" onSubmit=${save}><label>Task
    <input value=${text} onChange=${(event: Typed) => setText(event.target.value)} /></label>
    ${typed && text !== task && html`<button>Save</button><button type="button" onClick=${() => setText(null)}>Reset</button>`}</form>`;
}

function New({ file, act }: { file: string; act: Acts }) {
  const [task, setTask] = useDraft("new-task");
  return html`<main><section data-region="network"><h2>A new network in ${file}</h2>
    <form className="task" onSubmit=${(event: Event) => { event.preventDefault(); act.create(task); }}>
      <label>What is it to do? <input value=${task} placeholder="translate French into English"
        onChange=${(event: Typed) => setTask(event.target.value)} /></label>
      <button disabled=${!task.trim()}>Begin</button></form></section></main>`;
}

function Log({ network, act }: { network: NetworkView; act: Acts }) {
  const last = network.log.length;
  return html`<details className="log"><summary>Log: version ${network.version}</summary>
    <div className="scroll" tabIndex="0" role="group" aria-label="log of changes"><ol>
    ${[...network.log].reverse().map((one) => html`<li key=${one.number} className=${one.undone ? "undone" : ""}>
      <span className="number">${one.number}</span> <span className="muted">${one.by}</span>
      <span className="what">${one.about}${one.undone ? " (undone)" : ""}</span>
      ${one.number !== last && html`<button type="button" aria-label=${`Go to version ${one.number}`}
        onClick=${() => act.restore(one.number)}>Go to</button>`}</li>`)}</ol></div></details>`;
}

function duration(seconds: number) {
  const whole = Math.round(seconds);
  return whole < 60 ? `${whole} s` : `${Math.floor(whole / 60)} min ${whole % 60} s`;
}

export function App() {
  const [notice, setNotice] = useState("");
  const [parts, lost] = useServer(setNotice);
  const [selected, select] = useState<Selected | null>(null);
  const network = parts.network?.network ?? null;
  const act = useActs(network, select, setNotice);
  const opened = useRef<number | null>(null);
  useEffect(countGestures, []);
  useEffect(followFocus, []);
  useEffect(() => followUse((seconds) => post("/api/use", { seconds }).catch(() => {})), []);
  const file = parts.network?.file ?? "";
  useEffect(() => { if (file) document.title = `${file} – pxp studio`; }, [file]);
  if (network && opened.current === null) opened.current = network.version;
  const { run, training, notes } = parts;
  const states = useMemo(() => Object.fromEntries(
    Object.entries(run?.agents ?? {}).map(([name, one]) => [name, one.state])), [run]);

  /** The page shows everything once it has the last part. */
  const all = parts as Parts;
  if (!parts.begin || !run || !training || !notes) return html`<main className="loading"><p role="status">Loading …</p></main>`;
  const header = html`<header><h1>${file}</h1>${network && html`<${Task} key=${network.task} task=${network.task} act=${act} />`}</header>
    <p className=${lost ? "alert notice" : "notice"} role="status">${lost ? ENDED : notice}</p>`;
  if (!network) return html`${header}<${New} file=${file} act=${act} />`;

  const agent = network.agents.find((one) => one.name === selected?.agent) ?? null;
  const edge = network.edges.find((one) => one.source === selected?.source && one.target === selected?.target);
  const isNew = selected !== null && selected.agent === null;
  const { ued, least, confirmed, total, waiting } = all.effort;
  const hasModel = parts.begin.model !== "";
  const regions = {
    one: html`<section key="one" tabIndex="-1" data-region="network" aria-labelledby="network-title">
      <h2 id="network-title">Network</h2>
      <div className="buttons">
        <button type="button" onClick=${() => select({ agent: null })}>New agent</button>
        <button type="button" disabled=${!all.network.undoable} onClick=${act.undo}>Undo</button>
        <button type="button" disabled=${!all.network.redoable} onClick=${act.redo}>Redo</button>
        <button type="button" disabled=${network.version === opened.current} title="make the network what it was when this page was opened"
          onClick=${() => act.restore(opened.current ?? 1)}>Reset</button>
        <button type="button" disabled=${!network.agents.some((one) => one.moved)} onClick=${act.tidy}>Tidy up</button>
        <span className="exports">${["svg", "pdf", "png"].map((form) => html`<button type="button" key=${form}
          onClick=${() => download(form, file).catch((error: Trouble) => setNotice(error.message))}>${form.toUpperCase()}</button>`)}</span>
      </div>
      <${Network} ...${{ network, states, selected, act }} />
      ${edge && html`<p className="buttons">${edge.source} → ${edge.target}
        <label className="check"><input type="checkbox" checked=${edge.required}
          onChange=${(event: Typed) => act.require(edge.target, edge.source, event.target.checked)} /> required</label>
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
      <${Dialogue} training=${training} automaton=${parts.begin.automaton} act=${act} />
      <p className="muted measures">UED ${ued} (at least ${least}) · ${confirmed} steps confirmed · ${duration(total)} of use, ${duration(waiting)} of it waiting for models</p>
      <${Measures} ...${{ network, act }} report=${all.measures.report} stores=${parts.begin.stores} tasks=${parts.begin.tasks} hasModel=${hasModel}
        examples=${rowsOf(network, training, notes).filter((one) => one.output).map(({ input, output }) => ({ input, output }))} />
    </section>`,
  };
  return html`${header}
  <main>
    <div className="column">${regions.one}${regions.three}</div>
    <div className="column">${training.going ? [regions.four, regions.two] : [regions.two, regions.four]}</div>
  </main>`;
}
