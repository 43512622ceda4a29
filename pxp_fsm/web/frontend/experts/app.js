// The page of an expert: a queue of sessions, and the one that is open. A researcher sees runs.
import { useEffect, useState } from "react";
import { get } from "../http.js";
import { html } from "../html.js";
import { useAsked } from "./asked.js";
import { listen } from "./news.js";
import { Pairing } from "./pairing.js";
import { Participant } from "./participant.js";
import { Research } from "./research.js";
import { Session } from "./session.js";
import { Study } from "./study.js";

const STANDINGS = {
  you: "waits for you", partner: "the other side is at work", later: "comes later",
  paused: "paused", over: "over",
};
const AGAIN = 1000;
const inAddress = () => new URLSearchParams(location.hash.slice(1)).get("s") ?? "";

/** The page of whoever opened it. */
export function App() {
  const [me, setMe] = useState(null);
  const [trouble, setTrouble] = useState("");
  useEffect(() => {
    let timer = 0;
    const ask = () => get("/api/me").then((found) => found.json()).then(setMe).catch((error) => {
      setTrouble(error.status ? error.message : "The server is away.");
      if (!error.status) timer = setTimeout(ask, AGAIN);
    });
    ask();
    return () => clearTimeout(timer);
  }, []);
  if (!me) return html`<main className="loading"><p role="status">${trouble || "Loading …"}</p></main>`;
  return me.role === "participant" ? html`<${Participant} notice=${me.notice} />` : html`<${Bench} me=${me} />`;
}

function Bench({ me }) {
  const [news, setNews] = useState(0);
  const [away, setAway] = useState(false);
  useEffect(() => listen(() => { setAway(false); setNews((old) => old + 1); }, () => setAway(true)), []);
  const [title, Page] = { researcher: ["Runs", Research], conductor: ["Study", Study] }[me.role] ?? ["Your sessions", Desk];
  return html`
    <header>
      <h1>${title}</h1>
      <p className="muted">${me.subject}</p>
      <${Pairing} />
      <p className="research-only" role="note">${me.notice}</p>
    </header>
    <div role="status">${away && html`<p className="alert away">The server is away. What you type is kept
      here, and sent when it is back.</p>`}</div>
    <${Page} news=${news} />`;
}

function Desk({ news }) {
  const { found: lines, trouble, refresh } = useAsked("/api/sessions", news);
  const [open, setOpen] = useState(inAddress);

  useEffect(() => {
    const go = () => setOpen(inAddress());
    addEventListener("hashchange", go);
    return () => removeEventListener("hashchange", go);
  }, []);

  if (!lines) return html`<main className="loading"><p role="status">${trouble || "Loading …"}</p></main>`;
  const known = lines.find((one) => one.id === open);
  const next = lines.find((one) => one.standing === "you" && one.id !== open);
  const over = lines.filter((one) => one.standing === "over").length;
  return html`<main className="desk">
    <nav className="queue" aria-label="your sessions">
      <p className="muted" role="status">${over} of ${lines.length} over</p>
      <ul>${lines.filter((one) => one.standing !== "later").map((one) => html`<li key=${one.id}>
        <a href=${`#s=${one.id}`} aria-current=${one.id === open ? "page" : undefined}
          className=${`standing-${one.standing}`}><strong>${one.title}</strong>
          <span>${one.ending || STANDINGS[one.standing]}</span></a></li>`)}</ul>
      <${Later} count=${lines.filter((one) => one.standing === "later").length} />
    </nav>
    ${trouble && html`<p className="alert">${trouble}</p>`}
    ${known
      ? html`<${Session} key=${known.id} id=${known.id} news=${news} next=${next} onChange=${refresh} />`
      : html`<section className="empty"><h2>${next ? "Choose a session" : "Nothing waits for you"}</h2>
          <p>${next ? html`<a className="button" href=${`#s=${next.id}`}>Begin with ${next.title}</a>`
            : "This page shows the next session as soon as there is one."}</p></section>`}
  </main>`;
}

function Later({ count }) {
  return count ? html`<p className="muted">${count} more later</p>` : null;
}
