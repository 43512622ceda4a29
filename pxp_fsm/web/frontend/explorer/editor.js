// A table as text: checked as one types, drawn when nothing is wrong with it, written when asked.
import { memo, useEffect, useRef, useState } from "react";
import { html } from "../html.js";

const TYPING = 250;

export const Editor = memo(/** @param {any} props */ function Editor({ tables, source, edit, setNotice }) {
  const [chosen, setChosen] = useState(0);
  const [texts, setTexts] = useState(() => tables.map((one) => one.text));
  const [saved, setSaved] = useState(() => tables.map((one) => (one.saved ? one.text : null)));
  const [faults, setFaults] = useState([]);
  const [state, setState] = useState("");
  const area = useRef(null), gutter = useRef(null), latest = useRef(0), timer = useRef(0);
  const work = useRef(Promise.resolve());
  const text = texts[chosen], lines = text.split("\n");
  const wrong = new Set(faults.map((one) => one.line));
  const dirty = texts[chosen] !== saved[chosen];

  const check = (number, typed) => {
    const mine = (latest.current += 1);
    clearTimeout(timer.current);
    setState("checking …");
    const send = async () => {
      if (mine !== latest.current) return;
      try {
        const found = await edit(number, typed);
        if (mine !== latest.current) return;
        setFaults(found.faults);
        setState(found.faults.length ? "" : "no fault: this is what is explored now");
      } catch (error) {
        if (mine === latest.current) {
          setFaults([{ line: 0, text: error.message }]);
          setState("");
        }
      }
    };
    timer.current = setTimeout(() => { work.current = work.current.then(send); }, TYPING);
  };
  useEffect(() => () => clearTimeout(timer.current), []);

  const type = (typed) => {
    setTexts((old) => old.map((one, number) => (number === chosen ? typed : one)));
    check(chosen, typed);
  };
  const choose = (number) => {
    setChosen(number);
    check(number, texts[number]);
  };
  const goTo = (line) => {
    const start = lines.slice(0, line - 1).reduce((sum, one) => sum + one.length + 1, 0);
    area.current.focus();
    area.current.setSelectionRange(start, start + (lines[line - 1]?.length ?? 0));
    area.current.scrollTop = (line - 4) * parseFloat(getComputedStyle(area.current).lineHeight);
  };
  const save = async () => {
    try {
      const written = (await source.save(chosen)).tables[chosen].text;
      setSaved((old) => old.map((one, number) => (number === chosen ? written : one)));
      setNotice(`Written: ${tables[chosen].file}`);
    } catch (error) {
      setNotice(error.message);
    }
  };
  return html`<section className="editor" aria-labelledby="editor-title"><h2 id="editor-title">Table as text</h2>
    <p className="row-of">${tables.length > 1 ? html`<label>File <select value=${chosen}
        onChange=${(event) => choose(Number(event.target.value))}>${tables.map(({ file, members }, number) =>
          html`<option key=${file} value=${number}>${file} (${members.join(", ")})</option>`)}</select></label>`
      : html`<span>${tables[0].file}</span>`}
      <button type="button" onClick=${save} disabled=${!dirty || faults.length > 0 || state === "checking …"}>Save</button>
      <span className="muted">${dirty ? "not saved" : "as in the file"}</span></p>
    <div className="typed">
      <pre className="gutter" aria-hidden="true" ref=${gutter}>${lines.map((_, number) =>
        html`<span key=${number} className=${wrong.has(number + 1) ? "wrong" : ""}>${number + 1}${"\n"}</span>`)}</pre>
      <textarea ref=${area} aria-labelledby="editor-title" aria-describedby="faults" spellCheck="false" wrap="off"
        autoComplete="off" value=${text} aria-invalid=${faults.length > 0}
        onScroll=${() => { gutter.current.scrollTop = area.current.scrollTop; }}
        onChange=${(event) => type(event.target.value)} />
    </div>
    <div id="faults" aria-live="polite">
      ${state && html`<p className="muted">${state}</p>`}
      ${faults.length ? html`<ul className="faults">${faults.map((one, number) => html`<li key=${number} className="alert">
        ${one.line ? html`<button type="button" onClick=${() => goTo(one.line)}>line ${one.line}</button> ` : null}
        ${one.text}</li>`)}</ul>` : null}
    </div>
  </section>`;
});
