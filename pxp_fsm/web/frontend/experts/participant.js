// The page of a participant of a study: what their status offers, and the session that they are in.
import { useCallback, useEffect, useRef, useState } from "react";
import { get, post } from "../http.js";
import { SINGLE, html } from "../html.js";
import { listen } from "./news.js";
import { Notes, rounded, useKept, useSpent } from "./spent.js";
import { Pairing } from "./pairing.js";
import { SessionPane, who } from "./session.js";

const BASE = "/api/participant";
const LEFT = ["DECLINED", "ERASED", "ANONYMISED", "ENDED"];
const SCALE = [1, 2, 3, 4, 5, 6, 7];
/** What is shown where the link has ended, and what became of it was not told. */
const ENDED = {
  status: "ENDED", title: "This link has ended", offers: {},
  text: "If you have withdrawn from the study, what you said is erased, and there is nothing left for you to do. Otherwise ask whoever sent you the link for a new one.",
};

export function Participant({ notice }) {
  const [page, setPage] = useState(null);
  const [trouble, setTrouble] = useState("");
  const [away, setAway] = useState(false);
  const latest = useRef(0), heading = useRef(null), left = useRef(false), shown = useRef("");

  const stop = useRef(() => {});
  const show = useCallback((found) => {
    setPage(found);
    setTrouble("");
    if (!LEFT.includes(found.status)) return;
    left.current = true; // the link has ended with what was stored; the last page stays
    stop.current();
    setAway(false);
  }, []);
  const refresh = useCallback(async () => {
    if (left.current) return;
    const number = (latest.current += 1);
    try {
      const found = await (await get(BASE)).json();
      if (number === latest.current) show(found);
    } catch (error) {
      if (error.status === 403 && !left.current) show(ENDED);
      else if (number === latest.current && error.status) setTrouble(error.message);
    }
  }, [show]);
  useEffect(() => {
    refresh();
    stop.current = listen((message) => {
      setAway(false);
      if (message?.page) show(message.page);
      else refresh();
    }, () => setAway(!left.current));
    return () => stop.current();
  }, [refresh, show]);
  /** Show what an act brought; where the page was asked for meanwhile, it is asked for again. */
  const keep = useCallback(async (reply) => {
    const before = latest.current;
    const found = await reply;
    if (latest.current === before || LEFT.includes(found.status)) {
      latest.current += 1;
      show(found);
    } else refresh();
  }, [refresh, show]);
  const doing = useRef(new Set());
  /** Do it, and not twice at once. */
  const perform = useCallback(async (name, path, body) => {
    if (doing.current.has(name)) return;
    doing.current.add(name);
    try {
      await keep(post(path, body).then((found) => found.json()));
    } catch (error) {
      setTrouble(error.status ? error.message : "The server is away; try again when it is back.");
      if (error.status) refresh();
    }
    doing.current.delete(name);
  }, [keep, refresh]);
  const act = useCallback((label, payload = null, spent = undefined) =>
    perform(label, `${BASE}/act`, { label, payload, ...(spent ? { spent } : {}) }), [perform]);
  const finish = useCallback(() => perform("finish", `${BASE}/finish`, {}), [perform]);
  useEffect(() => { // a new page begins at its top, also for who does not see it
    if (page && shown.current && shown.current !== page.status && page.status !== "ANSWERING" && page.status !== "WAITING") {
      heading.current?.focus();
      scrollTo(0, 0);
    }
    shown.current = page?.status ?? "";
  }, [page?.status]);

  if (!page) return html`<main className="loading"><p role="status">${trouble || "Loading …"}</p></main>`;
  return html`
    <header>
      <h1 tabIndex="-1" ref=${heading}>${page.title}</h1>
      ${page.subject && html`<p className="muted">You are ${page.subject}</p>`}
      ${!left.current && html`<${Pairing} />`}
      <p className="research-only" role="note">${page.notice ?? notice}</p>
    </header>
    <div role="status">${away && html`<p className="alert away">The server is away. What you type is kept
      here, and sent when it is back.</p>`}</div>
    <main className="participant" data-status=${page.status}>
      ${page.text && html`<${Prose} text=${page.text} />`}
      ${trouble && html`<p className="alert" role="alert">${trouble}</p>`}
      ${page.consent && html`<${Consent} consent=${page.consent} tools=${page.tools} />`}
      ${page.status === "READING" && html`<${Tools} tools=${page.tools} />`}
      ${page.items && html`<${Questions} key=${`${page.status}/${page.items.some((one) => one.explanation)}`} page=${page} onSend=${act} />`}
      ${page.task && html`<${Task} page=${page} ...${{ keep, refresh, finish }} />`}
      ${page.arms && html`<${Debrief} page=${page} />`}
      <p className="buttons" ...${SINGLE}>${Object.entries(page.offers).filter(([label]) => label !== "WITHDRAW" && !page.items)
        .map(([label, text], place) => html`<button type="button" key=${label} className=${place ? "" : "main"}
          onClick=${() => act(label, label === "CONSENT" ? { version: page.consent.version } : null)}>${text}</button>`)}</p>
      ${page.leave && html`<p><a className="button" href=${page.leave} rel="noreferrer">Go back to where you came from</a></p>`}
      ${page.offers.WITHDRAW && html`<${Withdraw} text=${page.offers.WITHDRAW} onAct=${act} />`}
    </main>`;
}

/** A text as paragraphs; how its lines are broken in the study file does not matter. */
function Prose({ text }) {
  return text.trim().split(/\n\s*\n/).map((one, place) => html`<p className="prose" key=${place}>${one}</p>`);
}

function Consent({ consent, tools }) {
  return html`<section aria-label="consent"><${Prose} text=${consent.text} />
    <dl className="terms">
      <dt>Who receives what you type</dt>
      <dd>${consent.providers.length ? consent.providers.join("; ") : "Nobody but the researchers."}</dd>
      <dt>How long it is kept</dt><dd>${consent.retention}</dd>
      <dt>Whom you can ask</dt><dd>${consent.contact}</dd>
      <dt>How to get a copy</dt><dd>${consent.copy}</dd>
      <dt>Version of this text</dt><dd>${consent.version}</dd></dl>
    <${Tools} tools=${tools} /></section>`;
}

function Tools({ tools }) {
  return html`<p>${tools === "allowed" ? "You may use tools such as language models."
    : "Please use no tools such as language models or search engines."}</p>`;
}

function Questions({ page, onSend }) {
  const [typed, setTyped] = useState(() => page.draft ?? {});
  const [busy, setBusy] = useState(false);
  const spent = useSpent(), now = useRef(typed);
  const kept = useKept(`${BASE}/answers`, () => ({ answers: now.current }));
  const change = (name, value) => {
    now.current = { ...now.current, [name]: value };
    kept.touch();
    spent.current.edits += 1;
    setTyped(now.current);
  };
  const [label, text] = Object.entries(page.offers).find(([name]) => name !== "WITHDRAW");
  const submit = async (event) => {
    event.preventDefault();
    const answers = Object.fromEntries(page.items.map((item) => [item.name, valued(item, now.current[item.name])])
      .filter(([, value]) => value !== undefined));
    setBusy(true);
    await kept.settle();
    await onSend(label, answers, rounded(spent.current));
    setBusy(false);
    kept.touch(); // where it was not taken, and these are asked still
  };
  return html`<form className="questions" onSubmit=${submit} ...${Notes(spent, page.pasting)}>
    ${page.items.map((item) => html`<${Item} key=${item.name} item=${item} value=${typed[item.name] ?? ""}
      onChange=${(value) => change(item.name, value)} />`)}
    <p className="buttons" ...${SINGLE}><button type="submit" className="main" disabled=${busy}>${text}</button></p></form>`;
}

function valued(item, value) {
  if (value === undefined || value === null || value === "") return undefined;
  return ["number", "scale"].includes(item.kind) ? Number(value) : value;
}

function Item({ item, value, onChange }) {
  const choices = item.kind === "scale" ? SCALE : item.choices, id = `item-${item.name}`;
  const told = item.explanation && html`<p className="why">The answer is: ${item.answer}. ${item.explanation}</p>`;
  if (choices.length) {
    return html`<fieldset className=${`choices ${item.kind}`}><legend>${item.text}${item.required ? "" : " (optional)"}</legend>${told}
      ${choices.map((one) => html`<label key=${one}><input type="radio" name=${id} value=${one} required=${item.required}
        checked=${String(value) === String(one)} onChange=${() => onChange(one)} /> ${one}</label>`)}</fieldset>`;
  }
  const field = { id, value, required: item.required, onChange: (event) => onChange(event.target.value) };
  return html`<div className="item"><label htmlFor=${id}>${item.text}${item.required ? "" : " (optional)"}</label>${told}
    ${item.kind === "number" ? html`<input type="number" step="any" ...${field} />`
      : html`<textarea rows="3" maxLength="20000" ...${field} />`}</div>`;
}

function Task({ page, keep, refresh, finish }) {
  const { task, session } = page;
  return html`<section className="task" aria-label="task">
    <p className="muted">Task ${task.place} of ${task.of}${task.about ? `: ${task.about}` : ""}</p>
    ${task.network && html`<${Network} task=${task} onDone=${finish} />`}
    ${task.earlier?.length > 0 && html`<${Earlier} sessions=${task.earlier} />`}
    ${session && html`<${SessionPane} key=${session.id} view=${session} base=${BASE} next=${null} trouble=""
      pasting=${page.pasting} onReply=${keep} onMoved=${refresh} waits=${page.status === "ANSWERING" ? "One moment" : undefined} />`}</section>`;
}

function Network({ task, onDone }) {
  return html`<p className="prose">${task.condition === "manual"
    ? "Change the network by hand until what it writes for the examples is good enough."
    : "The studio proposes each change of the network: accept it, correct it, or write a hint."}
    ${" "}You work in the studio that the researchers have opened for you: the task is ${task.network}.</p>
    <p ...${SINGLE}><button type="button" className="main" onClick=${onDone}>This task is done</button></p>`;
}

function Earlier({ sessions }) {
  return html`<div className="earlier">${sessions.map((messages, place) => html`<details key=${place}
    open=${place === sessions.length - 1}><summary>Case ${place + 1} of this task is over</summary>
    <ol className="messages">${messages.map((one) => html`<li key=${one.number} className=${one.from === "you" ? "mine" : "theirs"}>
      <p className="speaker"><span className="muted">${one.number}</span> <strong>${who(one.from === "you")}</strong>
        ${" "}<span className="tag">${one.tag}</span></p>
      <p className="prediction">${one.prediction}</p><p className="explanation">${one.explanation}</p></li>`)}</ol></details>`)}</div>`;
}

function Debrief({ page }) {
  return html`<section aria-label="what your tasks were"><ol className="arms">${page.arms.map((one) =>
    html`<li key=${one.place}><strong>Task ${one.place}, ${one.task}</strong> ${one.about}</li>`)}</ol>
    ${page.attribution && html`<p className="muted">${page.attribution}</p>`}</section>`;
}

function Withdraw({ text, onAct }) {
  const [sure, setSure] = useState(false);
  return html`<section className="withdraw" aria-label="withdraw">${sure
    ? html`<p>What you said is erased at once, and cannot be brought back.</p>
        <p className="buttons" ...${SINGLE}><button type="button" onClick=${() => onAct("WITHDRAW")}>Yes, withdraw and erase</button>
          <button type="button" onClick=${() => setSure(false)}>No, go back</button></p>`
    : html`<button type="button" onClick=${() => setSure(true)}>${text}</button>`}</section>`;
}
