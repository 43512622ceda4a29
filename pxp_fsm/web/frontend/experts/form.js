// The form of an answer: the answer itself, then its tag (or MATCH and AGREE), then a last look.
import { useCallback, useEffect, useRef, useState } from "react";
import { post } from "../http.js";
import { SINGLE, html } from "../html.js";
import { Labels, Molecules, Text } from "./predictions.js";
import { Notes, rounded, useKept, useSpent } from "./spent.js";

const SAME = { match: "Is it the same prediction?", agree: "Do the explanations say the same?" };
const WORDS = { yes: "Yes", no: "No", unsure: "I am unsure (counts as no)" };
/** The heading of each step; of several agents, with whom one answers. */
const heads = (to) => ({
  answer: to ? `Your answer to ${to}` : "Your answer", tag: `What do you say to ${to || "the other side"}?`,
  look: "A last look before it is sent",
});

/** What was typed on this page for each message: the form is away where another session is open. */
const TYPED = new Map();

export function Form({ view, base, pasting, onReply, onMoved }) {
  const { asked, id, draft } = view, to = view.board?.to;
  const place = `${id}/${asked.number}`;
  const [typed, setTyped] = useState(() => TYPED.get(place)
    ?? { prediction: draft?.prediction ?? "", explanation: draft?.explanation ?? "" });
  const [choice, setChoice] = useState("");
  const [trouble, setTrouble] = useState("");
  const [saved, setSaved] = useState(draft && !TYPED.has(place) ? "Your draft is kept." : "");
  const [busy, setBusy] = useState(false);
  const spent = useSpent(draft?.spent), heading = useRef(null), first = useRef(true);
  const now = useRef(typed);
  const kept = useKept(`${base}/draft`,
    () => ({ number: asked.number, ...now.current, spent: rounded(spent.current) }), TYPED.has(place), setSaved);
  useEffect(() => kept.save, [kept]); // also where another session is opened

  const change = useCallback((part) => {
    now.current = { ...now.current, ...part };
    spent.current.edits += 1;
    kept.touch();
    TYPED.set(place, now.current);
    setTyped(now.current);
    setSaved("");
    setTrouble("");
  }, [kept, spent, place]);

  useEffect(() => {
    setChoice("");
    setTrouble("");
    if (!first.current) heading.current?.focus();
    first.current = false;
  }, [asked.key]);

  const send = async (picked, answer = { prediction: "", explanation: "" }) => {
    setBusy(true);
    setTrouble("");
    try {
      await kept.settle();
      const body = { key: asked.key, choice: picked, ...answer, spent: rounded(spent.current) };
      await onReply(post(`${base}/reply`, body).then((found) => found.json()));
    } catch (error) {
      if (asked.step === "answer") kept.touch();
      setTrouble(error.status ? error.message : "The server is away; try again when it is back.");
      if (error.status === 409) onMoved(); // where another question is asked, the trouble is over
    } finally {
      setBusy(false);
    }
  };
  const take = (name) => {
    now.current = { ...asked.offers[name] };
    TYPED.set(place, now.current);
    setTyped(now.current);
    send(name);
  };
  const submit = (event) => {
    event.preventDefault();
    if (asked.step === "answer") send("own", now.current);
    else if (asked.step === "look") send("send");
    else if (choice) send(choice);
    else setTrouble("Choose one of them.");
  };

  return html`<section className="form" aria-labelledby="form-title">
    <h2 id="form-title" tabIndex="-1" ref=${heading}>${heads(to)[asked.step] ?? SAME[asked.step]}</h2>
    ${to && html`<${Received} view=${view} />`}
    <form onSubmit=${submit} ...${Notes(spent, pasting)}>
      ${asked.step === "answer" && html`<${Answer} ...${{ view, typed, change, take, busy, saved }} />`}
      ${asked.step === "tag" && html`<${Choices} name="tag" chosen=${choice} onChoose=${setChoice}
        choices=${asked.choices.map((one) => ({ ...one, value: one.guard, title: one.tag }))} />`}
      ${asked.step in SAME && html`<${Texts} texts=${asked.texts} />
        <${Choices} name="same" chosen=${choice} onChoose=${setChoice}
          choices=${Object.entries(WORDS).map(([value, title]) => ({ value, title, allowed: true, about: "" }))} />`}
      ${asked.step === "look" && html`<${Look} view=${view} />`}
      ${trouble && html`<p className="alert" role="alert">${trouble}</p>`}
      <p className="buttons" ...${SINGLE}>
        <button type="submit" className="main" disabled=${busy}>${asked.step === "look" ? "Send" : "Continue"}</button>
        ${asked.step === "look" && html`<button type="button" disabled=${busy}
          onClick=${() => send("edit")}>Edit</button>`}
        ${asked.step === "look" && asked.tells_why && !asked.why && html`<button type="button" disabled=${busy}
          onClick=${() => send("why")}>Why does ${to || "the other side"} not say this?</button>`}
      </p>
    </form>
  </section>`;
}

function Answer({ view, typed, change, take, busy, saved }) {
  const { offers } = view.asked;
  const prediction = (text) => change({ prediction: text });
  const Prediction = view.smiles ? Molecules : view.labels.length > 0 ? Labels : Text;
  return html`
    ${Object.keys(offers).length > 0 && html`<p className="offers">
      ${offers.theirs && html`<button type="button" disabled=${busy} onClick=${() => take("theirs")}>${view.board ? `Take the answer of ${view.board.to}` : "Take their answer"}</button>`}
      ${offers.mine && html`<button type="button" disabled=${busy} onClick=${() => take("mine")}>Keep my answer</button>`}
      ${offers.mine && html`<button type="button" disabled=${busy} onClick=${() => change(offers.mine)}>Edit my answer</button>`}
      <span className="muted">or write your own; what you think of theirs is asked next</span></p>`}
    <${Prediction} value=${typed.prediction} labels=${view.labels} start=${view.described} onChange=${prediction} form=${view.form} />
    <label htmlFor="explanation">Your explanation</label>
    <textarea id="explanation" rows="5" maxLength="20000" value=${typed.explanation}
      onChange=${(event) => change({ explanation: event.target.value })} />
    <p className="muted saved" role="status">${saved}</p>`;
}

/** The message that is answered, of several agents: which of them it is. */
function Received({ view }) {
  const { to, agents } = view.board, own = agents.find((one) => one.mine)?.name;
  const last = view.messages.filter((one) => one.sender === to && one.receiver === own).at(-1);
  return last ? html`<p className="received">${to} sent <span className="tag">${last.tag}</span>
    ${" "}with message ${last.number}: <span className="prediction">${last.prediction}</span></p>` : html`<p className="received">You begin with ${to}.</p>`;
}

function Choices({ name, choices, chosen, onChoose }) {
  return html`<fieldset className="choices"><legend className="unseen">Choose one</legend>
    ${choices.map((one) => html`<label key=${one.value} className=${one.allowed ? "" : "muted"}>
      <input type="radio" name=${name} value=${one.value} checked=${chosen === one.value} disabled=${!one.allowed}
        onChange=${() => onChoose(one.value)} />
      <strong>${one.title}</strong> ${one.about}</label>`)}</fieldset>`;
}

function Texts({ texts }) {
  return html`<ol className="texts">${texts.map((text, place) => html`<li key=${place}>${text}</li>`)}</ol>`;
}

function Look({ view }) {
  const { asked } = view;
  return html`<div className="look"><p>You send <span className="tag">${asked.tag}</span></p>
    <p className="prediction">${asked.answer.prediction}</p>
    ${view.smiles && html`<img className="structure" alt="your molecules"
      src=${`/api/drawing?smiles=${encodeURIComponent(asked.answer.prediction)}`} />`}
    <p className="explanation">${asked.answer.explanation}</p>
    ${asked.why && html`<p className="why" role="status">${asked.why}</p>`}</div>`;
}
