// Region 2: an agent's modules and their parameters, edited in place; what it did in the last run.
import { useEffect, useMemo, useState } from "react";
import { get, post } from "../http.js";
import { SINGLE, html } from "../html.js";
import { useDraftValue, useSettled } from "./drafts.js";

export const EMPTY = {
  name: "", task: "", output: "", enabled: false, required: [], control_knowledge: [], knowledge: [],
};
const FIELDS = ["task", "output", "enabled", "required", "control_knowledge", "knowledge", "name"];
const TITLES = { control_knowledge: "Knowledge of the control module", knowledge: "Knowledge" };

/** What of an agent the form shows. */
export function valuesOf(agent) {
  return Object.fromEntries(Object.keys(EMPTY).map((key) => [key, agent[key]]));
}

const same = (one, other) => JSON.stringify(one) === JSON.stringify(other);

export function documentOf(values) {
  const { name, task, output, enabled, required, control_knowledge, knowledge } = values;
  return { name, task, output, knowledge, control: { enabled, required, knowledge: control_knowledge } };
}

/** The operations that make the agent `base` into what the form holds; null makes a new one. */
export function operationsOf(base, values) {
  if (base === null) return [{ do: "create", agent: documentOf(values) }];
  return FIELDS.filter((field) => !same(base[field], values[field]))
    .map((field) => ({ do: "edit", name: base.name, field, value: values[field] }));
}

/** Select `name` where `before` is selected still: somebody quick has selected another by now. */
function instead(before, name) {
  return (now) => (now && now.agent === before ? { agent: name } : now);
}

function Line({ label, value, onChange, long = false }) {
  const change = (event) => onChange(event.target.value);
  return html`<label className="field"><span>${label}</span>
    ${long ? html`<textarea rows="2" value=${value} onChange=${change} />`
      : html`<input value=${value} onChange=${change} />`}</label>`;
}

function Knowledge({ field, pieces, onChange }) {
  const put = (index, text) => onChange(pieces.map((one, place) => (place === index ? text : one)));
  return html`<fieldset className="pieces"><legend>${TITLES[field]}</legend>
    ${pieces.map((piece, index) => html`<div className="piece" key=${index}>
      <textarea rows="2" value=${piece} aria-label=${`${TITLES[field]}, piece ${index + 1}`}
        onChange=${(event) => put(index, event.target.value)} />
      <button type="button" aria-label=${`Drop piece ${index + 1}`} ...${SINGLE}
        onClick=${() => onChange(pieces.filter((_, place) => place !== index))}>✕</button>
    </div>`)}
    <button type="button" onClick=${() => onChange([...pieces, ""])}>Add a piece</button>
  </fieldset>`;
}

/** The form of the agent `agent`; null is a new one. */
export function AgentForm({ network, agent, act }) {
  const name = agent?.name ?? "";
  const [draft, setDraft] = useDraftValue(`agent:${name}`);
  const [faults, setFaults] = useState([]);
  const [saving, setSaving] = useState(false);
  const now = useMemo(() => (agent ? valuesOf(agent) : null), [agent]);
  const base = draft ? draft.base : now;
  const values = draft?.values ?? now ?? EMPTY;
  const operations = useMemo(() => operationsOf(base, values), [base, values]);
  const changed = draft !== null && operations.length > 0;
  const elsewhere = draft !== null && !saving && !same(base, now);
  const settled = useSettled(operations);
  useEffect(() => {
    let wanted = true;
    if (!changed || !settled.length) setFaults([]);
    else post("/api/faults", { operations: settled }).then((answer) => answer.json())
      .then((found) => wanted && setFaults(found)).catch(() => {});
    return () => { wanted = false; };
  }, [settled, changed, network.version]);
  const set = (field) => (value) => setDraft({ base, values: { ...values, [field]: value } });
  const before = agent ? network.edges.filter((edge) => edge.target === name).map((edge) => edge.source) : [];

  const save = async (event) => {
    event.preventDefault();
    setSaving(true);
    if (await act.edit(operations, agent ? `edit ${name}` : `create ${values.name}`)) {
      setDraft(null);
      act.select(instead(agent ? name : null, values.name));
    }
    setSaving(false);
  };
  return html`<form className="agent-form" onSubmit=${save}><fieldset className="whole" disabled=${saving}>
    <${Line} label="Name" value=${values.name} onChange=${set("name")} />
    <${Line} label="Subtask" value=${values.task} onChange=${set("task")} long />
    <${Line} label="Output description" value=${values.output} onChange=${set("output")} long />
    <label className="check"><input type="checkbox" checked=${values.enabled}
      onChange=${(event) => set("enabled")(event.target.checked)} />
      Control module decides (off: active under any input)</label>
    ${before.length > 0 && html`<fieldset className="pieces"><legend>Required predecessors</legend>
      ${before.map((one) => html`<label className="check" key=${one}>
        <input type="checkbox" checked=${values.required.includes(one)}
          onChange=${(event) => set("required")(event.target.checked
            ? [...values.required, one] : values.required.filter((each) => each !== one))} />
        ${one}</label>`)}
    </fieldset>`}
    <${Knowledge} field="control_knowledge" pieces=${values.control_knowledge} onChange=${set("control_knowledge")} />
    <${Knowledge} field="knowledge" pieces=${values.knowledge} onChange=${set("knowledge")} />
    ${elsewhere && html`<p className="alert" role="alert">The agent was changed elsewhere since you began.
      <button type="button" onClick=${() => setDraft({ base: now, values })}>Keep mine</button>${" "}
      <button type="button" onClick=${() => setDraft(null)}>Take theirs</button></p>`}
    ${faults.length > 0 && html`<ul className="faults" aria-live="polite">
      ${faults.map((fault) => html`<li key=${fault}>${fault}</li>`)}</ul>`}
    <p className="buttons">
      <button disabled=${!changed || faults.length > 0 || elsewhere}>${agent ? "Save" : "Create"}</button>
      <button type="button" disabled=${draft === null && agent !== null}
        onClick=${() => { setDraft(null); if (!agent) act.select(null); }}>${agent ? "Reset" : "Cancel"}</button>
      ${agent && html`<button type="button" onClick=${() => act.remove({ agent: name })}>Delete</button>`}
    </p>
  </fieldset></form>`;
}

/** Connect, merge and split without a mouse. */
export function Structure({ network, agent, act }) {
  const others = network.agents.map((one) => one.name).filter((name) => name !== agent.name);
  const [other, setOther] = useState("");
  const chosen = others.includes(other) ? other : "";
  const [parts, setParts] = useDraftValue(`split:${agent.name}`);
  const connected = network.edges.some((edge) => edge.source === agent.name && edge.target === chosen);
  return html`<details><summary>Connect, merge, split</summary>
    <p className="buttons"><label>With <select value=${chosen} onChange=${(event) => setOther(event.target.value)}>
      <option value="">choose an agent</option>
      ${others.map((name) => html`<option key=${name}>${name}</option>`)}</select></label>
      <button type="button" disabled=${!chosen || connected} onClick=${() => act.connect(agent.name, chosen)}>Connect to it</button>
      <button type="button" disabled=${!chosen || !connected} onClick=${() => act.remove({ source: agent.name, target: chosen })}>Disconnect</button>
      <button type="button" disabled=${!chosen} onClick=${() => act.merge(agent.name, chosen)}>Merge into it</button>
    </p>
    ${parts === null
      ? html`<button type="button" onClick=${() => setParts({ kind: "sequential", parts: [
          { ...EMPTY, name: `${agent.name} 1`, task: agent.task, output: agent.output },
          { ...EMPTY, name: `${agent.name} 2`, task: agent.task, output: agent.output }] })}>Split it …</button>`
      : html`<${Split} agent=${agent} split=${parts} setSplit=${setParts} act=${act} />`}
  </details>`;
}

function Split({ agent, split, setSplit, act }) {
  const put = (index, field, value) => setSplit({
    ...split, parts: split.parts.map((one, place) => (place === index ? { ...one, [field]: value } : one)) });
  const done = async () => {
    const operation = { do: "split", name: agent.name, kind: split.kind, parts: split.parts.map(documentOf) };
    if (await act.edit([operation], `split ${agent.name}`)) {
      setSplit(null);
      act.select(instead(agent.name, split.parts[0].name));
    }
  };
  return html`<fieldset className="pieces"><legend>Split ${agent.name}</legend>
    <label>Parts are <select value=${split.kind} onChange=${(event) => setSplit({ ...split, kind: event.target.value })}>
      <option value="sequential">steps, one after the other</option>
      <option value="parallel">for different conditions</option></select></label>
    ${split.parts.map((part, index) => html`<div key=${index} className="part">
      <${Line} label=${`Part ${index + 1}: name`} value=${part.name} onChange=${(text) => put(index, "name", text)} />
      <${Line} label="Subtask" value=${part.task} onChange=${(text) => put(index, "task", text)} long />
      <${Line} label="Output description" value=${part.output} onChange=${(text) => put(index, "output", text)} />
      ${split.kind === "parallel" && html`<${Line} label="Active if" value=${part.control_knowledge[0] ?? ""}
        onChange=${(text) => put(index, "control_knowledge", text ? [text] : [])} />`}
    </div>`)}
    <p className="buttons"><button type="button" onClick=${() => setSplit({ ...split, parts: [...split.parts, { ...EMPTY }] })}>Another part</button>
      <button type="button" onClick=${done}>Split</button>
      <button type="button" onClick=${() => setSplit(null)}>Cancel</button></p>
  </fieldset>`;
}

/** What an agent received, thought and put out in the last run. */
export function LastTurn({ turn }) {
  if (!turn) return html`<p className="muted">It has not run yet.</p>`;
  return html`<dl className="turn">
    ${turn.received && html`<div><dt>Input</dt><dd>${turn.received.external}
      ${turn.received.pieces.map((piece, index) => html`<p key=${index}><span className="muted">${piece.author}: </span>${piece.text}</p>`)}</dd></div>`}
    <div><dt>Decision</dt><dd>${turn.active ? "active" : turn.active === false ? "inactive" : "…"}${turn.guard ? ` (${turn.guard})` : ""}
      ${turn.control_thoughts && html`<p className="muted">${turn.control_thoughts}</p>`}</dd></div>
    ${turn.result !== null && turn.result !== undefined && html`<div><dt>Result</dt><dd className="text">${turn.result}
      ${turn.execution_thoughts && html`<p className="muted">${turn.execution_thoughts}</p>`}</dd></div>`}
  </dl>`;
}

/** The examples of an agent's modules, asked for when they are looked at. */
export function Examples({ agent, version }) {
  const [open, setOpen] = useState(false);
  const [found, setFound] = useState(null);
  useEffect(() => {
    let wanted = true;
    if (open) {
      get(`/api/examples?agent=${encodeURIComponent(agent.name)}`).then((answer) => answer.json())
        .then((some) => wanted && setFound(some)).catch(() => {});
    }
    return () => { wanted = false; };
  }, [open, agent.name, version]);
  const rows = (some) => some.map((one, index) => html`<tr key=${index}><td>${one.external}
    ${one.pieces.map(([author, text], place) => html`<p className="muted" key=${place}>${author}: ${text}</p>`)}</td>
    <td>${one.outcome}</td></tr>`);
  return html`<details open=${open} onToggle=${(event) => setOpen(event.target.open)}>
    <summary>Examples: ${agent.decisions} of the control module, ${agent.results} of the execution module</summary>
    ${found && html`<div className="scroll" tabIndex="0" role="group" aria-label="examples of the agent"><table className="examples">
      <thead><tr><th scope="col">Received</th><th scope="col">Outcome</th></tr></thead>
      <tbody>${rows(found.decisions)}${rows(found.results)}</tbody></table></div>`}
  </details>`;
}
