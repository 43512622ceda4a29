// How a prediction is entered: SMILES beside an editor of molecules, labels with completion, or text.
import { useEffect, useRef, useState } from "react";
import { html } from "../html.js";

const TYPING = 400;

export function Molecules({ value, start, onChange, form }) {
  const [drawn, setDrawn] = useState(value);
  const [bad, setBad] = useState(false);
  const [editing, setEditing] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => { setDrawn(value); setBad(false); }, TYPING);
    return () => clearTimeout(timer);
  }, [value]);
  return html`<label htmlFor="prediction">Your prediction: write SMILES, or draw it</label>
    <div className="entry"><input id="prediction" type="text" value=${value} autoComplete="off" autoCapitalize="none"
        spellCheck="false" maxLength="2000" aria-describedby="form" onChange=${(event) => onChange(event.target.value)} />
      <button type="button" aria-expanded=${editing} onClick=${() => setEditing(!editing)}>
        ${editing ? "Close the editor" : "Draw"}</button></div>
    <p id="form" className="muted">${form}</p>
    ${editing && html`<${Editor} value=${value} start=${start} onChange=${onChange} />`}
    <div className="preview" aria-live="polite">${drawn.trim() && (bad
      ? html`<p className="muted">These are no molecules yet.</p>`
      : html`<img className="structure" alt="what you have written, drawn" onError=${() => setBad(true)}
          src=${`/api/drawing?smiles=${encodeURIComponent(drawn.trim())}`} />`)}</div>`;
}

/** How often the bundle of the editor could not be loaded. A browser keeps a failed load of a module for its
 * address, so each next one has another. */
let failures = 0;
const AGAIN = 1000, SELDOM = 30000;

/** The editor is large, and loaded when it is first opened, and again until that succeeds. Where nothing is
 * predicted yet it shows the molecule in question, which is no prediction until something is changed in it. */
function Editor({ value, start, onChange }) {
  const place = useRef(null), editor = useRef(null), said = useRef(value), tell = useRef(onChange);
  const [trouble, setTrouble] = useState("Loading the editor …");
  tell.current = onChange;
  useEffect(() => {
    let wanted = true, timer = 0, wait = AGAIN;
    const show = ({ open }) => {
      if (!wanted) return;
      editor.current = open(place.current, said.current.trim() ? said.current : start, (smiles) => { said.current = smiles; tell.current(smiles); });
      setTrouble("");
    };
    const load = () => import(failures ? `/molecules.js?${failures}` : "/molecules.js").then(
      (bundle) => {
        try { show(bundle); } catch { setTrouble("The editor cannot be shown; SMILES can be typed all the same."); }
      },
      () => {
        failures += 1;
        if (!wanted) return;
        setTrouble("The editor could not be loaded and is tried again; SMILES can be typed all the same.");
        timer = setTimeout(load, wait);
        wait = Math.min(2 * wait, SELDOM);
      },
    );
    load();
    return () => { wanted = false; clearTimeout(timer); editor.current?.close(); };
  }, []);
  useEffect(() => {
    if (value === said.current || !editor.current) return;
    said.current = value;
    editor.current.show(value);
  }, [value]);
  return html`<div className="editor">${trouble && html`<p role="status">${trouble}</p>`}
    <div ref=${place} className="canvas" role="application" aria-label="editor of molecules; the field above takes SMILES" /></div>`;
}

export function Text({ value, onChange, form }) {
  return html`<label htmlFor="prediction">Your prediction</label>
    <input id="prediction" type="text" value=${value} autoComplete="off" autoCapitalize="none" maxLength="2000"
      aria-describedby="form" onChange=${(event) => onChange(event.target.value)} />
    <p id="form" className="muted">${form}</p>`;
}

export function Labels({ value, labels, onChange, form }) {
  const [text, setText] = useState("");
  const chosen = value.split(",").map((one) => one.trim()).filter(Boolean);
  const has = (label) => chosen.some((one) => one.toLowerCase() === label.toLowerCase());
  const none = (label) => label.toLowerCase() === "none";
  const single = !labels.some(none);  // where no label need fit, several may
  const toggle = (label) => {
    if (single || none(label)) onChange(has(label) && !single ? "" : label);
    else onChange((has(label) ? chosen.filter((one) => one.toLowerCase() !== label.toLowerCase())
      : [...chosen.filter((one) => !none(one)), label]).join(", "));
    setText("");
  };
  const begins = text.trim().toLowerCase();
  const fitting = labels.filter((label) => label.toLowerCase().includes(begins));
  const press = (event) => {
    if (event.key !== "Enter") return;
    event.preventDefault();
    if (begins && fitting.length) toggle(fitting.find((label) => label.toLowerCase().startsWith(begins)) ?? fitting[0]);
  };
  return html`<fieldset className="labels"><legend>Your prediction</legend>
    <p id="form" className="muted">${form}</p>
    <label htmlFor="label">Find a label; Enter takes the first</label>
    <input id="label" type="text" value=${text} autoComplete="off" aria-describedby="form"
      onChange=${(event) => setText(event.target.value)} onKeyDown=${press} />
    <div className="chips" role="group" aria-label="labels">${fitting.map((label) => html`<button type="button" key=${label}
      aria-pressed=${has(label)} onClick=${() => toggle(label)}>${label}</button>`)}</div>
    <p aria-live="polite">Chosen: <strong>${value || "nothing yet"}</strong></p></fieldset>`;
}
