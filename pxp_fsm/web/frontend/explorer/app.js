// The explorer: a trace, where one is in it, and everything that is shown of that state.
import { memo, useCallback, useEffect, useMemo, useRef, useState } from "react";
import { Automaton } from "../automaton.js";
import { Chart, Messages, messagesOf, onTheWay, shortened } from "../chart.js";
import { counted, html } from "../html.js";
import { Assumptions } from "./assumptions.js";
import { Editor } from "./editor.js";
import { Export } from "./exports.js";
import { Graph } from "./graph.js";
import { Channels, Formula, Moves, Verdicts, described } from "./panels.js";
import { Session, alike } from "./session.js";

const WALK = 20, PAUSE = 700, TYPING = 200;
const back = ({ position }) => position - 1, forward = ({ position }) => position + 1;
const last = ({ choices }) => choices.length;
const still = () => matchMedia("(prefers-reduced-motion: reduce)").matches;

/** The trace in the address: #t=0.1.2 its choices, p the place, l the steps that repeat, s the system;
 * m the message and v the members that are selected, where not all are. */
function address({ choices, position, cycle, formula, selected, view }, fingerprint) {
  const parts = [`s=${fingerprint.slice(0, 12)}`];
  parts.push(`t=${choices.join(".")}`);
  if (position !== choices.length) parts.push(`p=${position}`);
  if (cycle) parts.push(`l=${cycle}`);
  if (selected) parts.push(`m=${selected}`);
  if (view) parts.push(`v=${view.map(encodeURIComponent).join(",")}`);
  if (formula) parts.push(`f=${encodeURIComponent(formula)}`);
  return `#${parts.join("&")}`;
}

function inAddress(fingerprint) {
  const given = new URLSearchParams(location.hash.slice(1).replaceAll("+", "%2B"));
  const choices = (given.get("t") ?? "").split(".").filter(Boolean).map(Number);
  const whole = (text) => (/^\d{1,6}$/.test(text ?? "") ? Number(text) : null);
  return {
    other: given.has("s") && given.get("s") !== fingerprint.slice(0, 12),
    choices: given.has("t") && choices.every(Number.isSafeInteger) ? choices : null,
    position: whole(given.get("p")),
    cycle: whole(given.get("l")) ?? 0,
    formula: given.get("f") ?? "",
    selected: whole(given.get("m")),
    view: /[#&]v=([^&]*)/.exec(location.hash)?.[1].split(",").map(decoded) ?? [],
  };
}

function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return "";
  }
}

export function App({ source }) {
  const [opened, setOpened] = useState(null);
  const system = opened?.system ?? null;
  const [trace, setTrace] = useState(null);
  const [notice, setNotice] = useState("");
  const [shown, setShown] = useState([]);
  const [verdicts, setVerdicts] = useState({ results: [], done: false, trouble: "" });
  const [selected, setSelected] = useState(null);
  const [goal, setGoal] = useState("");
  const [formula, setFormula] = useState("");
  const [answer, setAnswer] = useState(null);
  const [parts, setParts] = useState({});
  const [playing, setPlaying] = useState(false);
  const now = useRef(null), work = useRef(Promise.resolve());
  const ask = /** @type {import("react").RefObject<(question: object) => void>} */ (useRef(() => {}));
  const [session, setSession] = useState(null);
  const [trouble, setTrouble] = useState("");
  const [claims, setClaims] = useState(/** @type {{ results: any[], done: boolean, error?: string }} */ ({ results: [], done: false }));
  const asked = useRef(0), claimed = useRef(0), question = useRef(0);
  const happened = useRef([]), fingerprint = useRef(""), heard = useRef(""), made = useRef(new Set());

  const keep = useCallback((next) => {
    now.current = next;
    setTrace(next);
  }, []);

  /** Do one thing after the other, each with the trace that the one before has left. */
  const serially = useCallback((task) => {
    work.current = work.current.then(task).catch((error) => {
      setPlaying(false);
      setNotice(error.message);
    });
    return work.current;
  }, []);

  const open = useCallback(async (choices, position, cycle = 0) => {
    const known = now.current;
    let same = 0;
    while (known && same < choices.length && choices[same] === known.choices[same]) same += 1;
    const start = known ? same + 1 : 0;
    const more = start <= choices.length ? await source.states(choices, start) : [];
    const states = [...(known?.states.slice(0, start) ?? []), ...more];
    keep({ choices, states, position, cycle });
  }, [keep, source]);

  /** Take a move by its number; of the state `shown`, or not at all, where one is given. */
  const take = useCallback((choice, shown = null) => serially(async () => {
    const { choices, position, states } = now.current;
    if (shown && states[position] !== shown) return;
    const move = states[position].moves[choice];
    if (move === undefined) return;
    if (choices[position] === choice) keep({ ...now.current, position: position + 1 });
    else await open([...choices.slice(0, position), choice], position + 1);
    setNotice(`Step ${position + 1}: ${described(move)}`);
  }), [keep, open, serially]);

  /** Take the one move in which a member takes one of these rows. */
  const takeRow = useCallback((place, rows) => {
    const { position, states } = now.current;
    const found = states[position].moves.flatMap((move, number) =>
      move.rows.some(([member, row]) => member === place && rows.includes(row)) ? [number] : []);
    if (found.length === 1) take(found[0], states[position]);
    else setNotice(`${found.length} moves take this row; choose one in the list`);
  }, [take]);

  /** Go to a place, or to the one that a function gives for the trace that there is then. */
  const goTo = useCallback((wanted) => serially(async () => {
    const { choices, cycle } = now.current;
    const position = typeof wanted === "function" ? wanted(now.current) : wanted;
    const past = position > choices.length;
    const place = past && cycle ? choices.length - cycle + 1 : Math.max(0, Math.min(position, choices.length));
    keep({ ...now.current, position: place });
    setNotice(`At step ${place} of ${choices.length}${past && cycle ? ": the cycle begins again" : ""}`);
  }), [keep, serially]);

  const extend = useCallback((goal) => serially(async () => {
    const { choices, position } = now.current;
    const here = choices.slice(0, position);
    const more = await source.path(here, goal);
    await open([...here, ...more], position + more.length);
    setNotice(more.length
      ? `${counted(more.length, "step")} to ${goal || "an end"}`
      : "Nothing can happen here: this is an end");
  }), [open, serially, source]);

  const reach = useCallback((choices) => serially(async () => {
    await open(choices, choices.length);
    setNotice(`A shortest way: ${counted(choices.length, "step")}`);
  }), [open, serially]);

  const walk = useCallback(() => serially(async () => {
    let taken = 0;
    for (; taken < WALK; taken += 1) {
      const { choices, position, states } = now.current;
      const { moves } = states[position];
      if (!moves.length) break;
      const choice = Math.floor(Math.random() * moves.length);
      await open([...choices.slice(0, position), choice], position + 1);
    }
    setNotice(`A random walk of ${taken} steps`);
  }), [open, serially]);

  const play = useCallback((result) => serially(async () => {
    const calm = still();
    await open(result.choices, calm ? result.choices.length : 0, result.cycle);
    setNotice(`The trace of ${result.name}` + (result.cycle ? `; its last ${result.cycle} steps repeat for ever` : ""));
    setPlaying(!calm && result.choices.length > 0);
  }), [open, serially]);

  /** The stored session has gone on: who was at its end goes with it. */
  const follow = useCallback((view) => serially(async () => {
    const { choices, position } = now.current ?? { choices: [], position: 0 };
    const known = happened.current;
    happened.current = view.choices;
    setTrouble("");
    setSession(view);
    const atEnd = position === known.length && choices.length === known.length && alike(choices, known) === known.length;
    if (now.current && atEnd && view.choices.length !== known.length) {
      await open(view.choices, view.choices.length);
      setNotice(view.ending ? `The session has ended: ${view.ending}` : `Message ${view.happened} has happened`);
    }
  }), [open, serially]);

  /** Edit a table: what is wrong with its text; or the new system is shown, at the same place as far
   * as it has it. */
  const edit = useCallback((table, text) => new Promise((done, fail) => serially(async () => {
    try {
      const found = await source.edit(table, text, now.current.choices);
      if (!found.faults.length) {
        made.current.add(found.system);
        const all = await source.open();
        const states = await source.states(found.choices, 0);
        fingerprint.current = all.system.fingerprint;
        setOpened(all);
        setShown((old) => all.system.members.map((member) => member.name).filter((name) => old.includes(name)));
        keep({ choices: found.choices, states, position: Math.min(now.current.position, found.choices.length), cycle: 0 });
      }
      done(found);
    } catch (error) {
      fail(error);
    }
  })), [keep, serially, source]);

  /** The tables are others now, by this page's own edit, which may be on its way, or by another's. */
  const changed = useCallback((found) => {
    heard.current = found;
    return serially(async () => {
      if (fingerprint.current !== heard.current && !made.current.has(heard.current)) {
        setNotice("The tables were edited in another window: reload this page.");
      }
    });
  }, [serially]);

  useEffect(() => {
    (async () => {
      const all = await source.open();
      const { system: found, begin } = all;
      document.title = `${found.name} – pxp serve`;
      fingerprint.current = found.fingerprint;
      happened.current = begin;
      setOpened(all);
      setShown(found.members.map((member) => member.name));
      const given = inAddress(found.fingerprint);
      const view = found.members.map((member) => member.name).filter((name) => given.view.includes(name));
      if (view.length && !given.other) setShown(view);
      if (!given.other) setSelected(given.selected);
      const choices = (given.other ? null : given.choices) ?? begin;
      const begun = serially(async () => { // first: what is told of a session follows it
        try {
          await open(choices, Math.min(given.position ?? choices.length, choices.length),
            Math.min(given.cycle, choices.length));
          if (given.other) setNotice("The address is of another system, or of another version of it.");
        } catch (error) {
          await open([], 0);
          setNotice(error.message);
        }
      });
      ask.current = source.listen((event) => {
        const own = event.id === null;
        if (event.type === "session") {
          follow(event.session);
        } else if (event.type === "trouble") {
          setTrouble(event.error);
        } else if (event.type === "system") {
          setVerdicts({ results: [], done: false, trouble: "" });
          changed(event.fingerprint);
        } else if (event.id === claimed.current && !own) {
          setClaims((old) => ({
            results: event.result ? [...old.results, event.result] : old.results,
            done: old.done || event.type !== "result",
            error: event.error ?? old.error,
          }));
        } else if (own && event.type === "result") {
          setVerdicts((old) => ({ ...old, results: [...old.results, event.result] }));
        } else if (own) {
          setVerdicts((old) => ({ ...old, done: true, trouble: event.error ?? "" }));
        } else if (event.id === asked.current && event.type !== "done") {
          setAnswer(event);
        }
      }, () => setNotice("The server has ended; start pxp serve again."));
      await begun;
      if (source.live) setFormula(given.formula);
    })().catch((error) => setNotice(error.message));
  }, [changed, follow, open, serially, source]);

  useEffect(() => {
    if (!system || !trace) return;
    const view = shown.length < system.members.length ? shown : null;
    history.replaceState(null, "", address({ ...trace, formula, selected, view }, system.fingerprint));
  }, [system, trace, formula, selected, shown]);

  useEffect(() => {
    const number = asked.current = question.current += 1;
    setAnswer(null);
    if (!formula.trim()) return undefined;
    const timer = setTimeout(() => ask.current({ type: "check", id: number, formula }), TYPING);
    return () => clearTimeout(timer);
  }, [formula, system?.fingerprint]);

  const askClaims = useCallback((assumptions) => {
    claimed.current = question.current += 1;
    setClaims({ results: [], done: false });
    ask.current({ type: "claims", id: claimed.current, assumptions });
  }, []);

  const { choices, cycle } = trace ?? { choices: [], cycle: 0 };
  useEffect(() => {
    if (!source.live || !formula.trim() || !system) return setParts({});
    let wanted = true;
    const timer = setTimeout(async () => {
      try {
        const rows = await source.color(choices, cycle, formula);
        if (wanted) setParts({ rows });
      } catch (error) {
        if (wanted) setParts({ error: error.message });
      }
    }, TYPING);
    return () => { wanted = false; clearTimeout(timer); };
  }, [source, system, formula, choices, cycle]);

  useEffect(() => {
    if (!playing || !trace) return undefined;
    if (trace.position === trace.choices.length && !trace.cycle) return setPlaying(false);
    const timer = setTimeout(() => goTo(forward), PAUSE);
    return () => clearTimeout(timer);
  }, [playing, trace, goTo]);

  useEffect(() => { // what is folded is printed too
    let folded = [];
    const unfold = () => {
      folded = [.../** @type {NodeListOf<HTMLDetailsElement>} */ (
        document.querySelectorAll("details:not([open]):not(.graph > details)"))];
      folded.forEach((one) => { one.open = true; });
    };
    const again = () => folded.forEach((one) => { one.open = false; });
    addEventListener("beforeprint", unfold);
    addEventListener("afterprint", again);
    return () => { removeEventListener("beforeprint", unfold); removeEventListener("afterprint", again); };
  }, []);

  useEffect(() => {
    const press = (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey || !now.current) return;
      if (/^(INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName)) return;
      const picture = event.target.closest?.(".scroll, .zoom.near");
      const inPicture = picture?.matches(".zoom") || picture?.scrollWidth > picture?.clientWidth; // arrows move it
      const does = {
        ArrowLeft: () => !inPicture && goTo(back), ArrowRight: () => !inPicture && goTo(forward),
        Home: () => goTo(0), End: () => goTo(last),
        r: walk, e: () => extend(""), p: () => setPlaying((one) => !one),
      }[event.key] ?? (/^[1-9]$/.test(event.key) ? () => take(Number(event.key) - 1) : null);
      if (!does) return;
      if (event.key !== "p") setPlaying(false);
      if (!inPicture || !event.key.startsWith("Arrow")) event.preventDefault();
      does();
    };
    addEventListener("keydown", press);
    return () => removeEventListener("keydown", press);
  }, [extend, goTo, take, walk]);

  const moves = useMemo(
    () => trace?.choices.map((choice, step) => trace.states[step].moves[choice]) ?? [], [trace?.choices, trace?.states]);
  const messages = useMemo(() => messagesOf(moves), [moves]);

  if (!system || !trace) return html`<main className="loading"><p role="status">${notice || "Loading …"}</p></main>`;
  const state = trace.states[trace.position];
  const waiting = onTheWay(messages, trace.position);
  const latest = trace.position ? moves[trace.position - 1] : null;
  const taken = (rows, place) => rows.filter(([member]) => member === place).map(([, row]) => row);
  const possible = (place) => [...new Set(state.moves.flatMap(({ rows }) => taken(rows, place)))].join();
  const names = system.members.map((member) => member.name).filter((name) => shown.includes(name));
  return html`
    <header>
      <h1>${shortened(system.name, 60)}</h1>
      <p className="muted">over ${system.channel} · <span title="fingerprint of the system">${system.fingerprint.slice(0, 12)}</span></p>
      <fieldset className="members"><legend>Show</legend>
        ${system.members.map(({ name }) => html`<label key=${name}><input type="checkbox"
          checked=${shown.includes(name)} onChange=${() => setShown((old) =>
            old.includes(name) ? (old.length > 1 ? old.filter((one) => one !== name) : old) : [...old, name])} />
          ${" "}${name}</label>`)}</fieldset>
    </header>
    <nav aria-label="steps">
      <button type="button" onClick=${() => goTo(0)} disabled=${!trace.position}>Restart</button>
      <button type="button" onClick=${() => goTo(back)} disabled=${!trace.position}>← Back</button>
      <button type="button" onClick=${() => goTo(forward)}
        disabled=${trace.position === choices.length && !cycle}>Forward →</button>
      <button type="button" onClick=${() => setPlaying(!playing)} aria-pressed=${playing}
        disabled=${!choices.length}>${playing ? "Pause" : "Play"}</button>
      <button type="button" onClick=${walk}>Random walk</button>
      <button type="button" onClick=${() => extend("")}>To the end</button>
      <form onSubmit=${(event) => { event.preventDefault(); if (goal.trim()) extend(goal.trim()); }}>
        <label htmlFor="goal">To</label>
        <input id="goal" list="propositions" value=${goal} autoComplete="off" spellCheck="false"
          placeholder="a proposition" onChange=${(event) => setGoal(event.target.value)} />
        <${Propositions} names=${system.propositions} />
        <button type="submit">Go</button>
      </form>
      <${Export} ...${{ source, trace, cycle, names, all: names.length === system.members.length, setNotice }} />
    </nav>
    <p className="notice" role="status">${notice || "Click a move, or press its number; arrow keys go back and forward."}</p>
    <main>
      <div className="automata">
        ${system.members.map((member, place) => shown.includes(member.name) && html`<${Automaton}
          key=${member.name} member=${member} at=${state.at[place]} settled=${state.settled[place]}
          before=${trace.position ? trace.states[trace.position - 1].at[place] : ""}
          place=${place} possible=${possible(place)} onRow=${takeRow}
          latest=${latest ? taken(latest.rows, place).join() : ""} />`)}
        <${Channels} ...${{ system, state, shown, waiting, selected }} onSelect=${setSelected} />
      </div>
      <div className="middle">
        <${Chart} names=${names} moves=${moves} position=${trace.position} cycle=${cycle}
          deadlock=${trace.states.at(-1).deadlock} onStep=${goTo} ...${{ messages, selected }} onSelect=${setSelected} />
        <${Messages} ...${{ messages, selected }} onSelect=${setSelected} />
        ${opened.tables?.length ? html`<${Editor} tables=${opened.tables} source=${source} edit=${edit}
          setNotice=${setNotice} />` : null}
        <${Verdicts} ...${verdicts} onPlay=${play} />
      </div>
      <div className="side">
        <${Moves} ...${{ system, state, shown, waiting }} onMove=${(number) => take(number, state)} />
        ${session && html`<${Session} ...${{ session, trouble, choices, setNotice }} position=${trace.position}
          onNow=${() => serially(() => open(session.choices, session.choices.length))} />`}
        ${source.live
          ? html`<${Formula} ...${{ formula, answer, parts }} position=${trace.position}
              onFormula=${setFormula} onPlay=${play} onStep=${goTo} />`
          : html`<section aria-labelledby="formula-title"><h2 id="formula-title">Formula</h2>
              <p className="muted">To check formulas, start <code>pxp serve</code>.</p></section>`}
        ${source.live && opened.protocol ? html`<${Assumptions} ...${{ source, choices }} ask=${askClaims} initial=${session?.assumptions}
          answer=${claims} position=${trace.position} fingerprint=${system.fingerprint} onPlay=${play} />` : null}
        <${Keys} />
      </div>
      <${Graph} ...${{ source, choices, setNotice }} folds=${system.folds} position=${trace.position}
        fingerprint=${system.fingerprint} onGo=${reach} />
    </main>`;
}

const Propositions = memo(/** @param {any} props */ function Propositions({ names }) {
  return html`<datalist id="propositions">${names.map((name) =>
    html`<option key=${name} value=${name} />`)}</datalist>`;
});

const Keys = memo(function Keys() {
  const keys = [["1 – 9", "take a move"], ["← →", "back, forward"], ["Home End", "first and last state"],
    ["p", "play, pause"], ["r", "random walk"], ["e", "to the end"],
    ["+ − 0", "in a picture: closer, away, all of it"]];
  return html`<section aria-labelledby="keys-title"><details><summary><h2 id="keys-title">Keys</h2></summary>
    <dl className="keys">${keys.map(([key, text]) => html`<div key=${key}><dt><kbd>${key}</kbd></dt>
      <dd>${text}</dd></div>`)}</dl></details></section>`;
});
