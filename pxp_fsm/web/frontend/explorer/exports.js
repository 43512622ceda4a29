// What is seen, as a file; and the address of what is seen.
import { html } from "../html.js";

export const PICTURES = ["svg", "png", "pdf", "tikz", "mermaid"];
const TEXTS = ["latex", "itf"];
const TITLES = { tikz: "TikZ", latex: "LaTeX table", mermaid: "Mermaid" };
const ENDINGS = { tikz: "tex", latex: "table.tex", mermaid: "mmd", itf: "itf.json" };

/** A button for each form; `write` gives the file in a form. */
export function Save({ forms, name, write, setNotice }) {
  const save = async (form) => {
    try {
      const link = document.createElement("a");
      link.href = URL.createObjectURL(await write(form));
      link.download = `${name}.${ENDINGS[form] ?? form}`;
      link.click();
      setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
    } catch (error) {
      setNotice(error.message);
    }
  };
  return forms.map((form) => html`<button key=${form} type="button" onClick=${() => save(form)}><span
    className="unseen">save the ${name} as </span>${TITLES[form] ?? form.toUpperCase()}</button>`);
}

export function Export({ source, trace, cycle, names, all, setNotice }) {
  const write = (form) => {
    const upTo = trace.choices.slice(0, trace.position);
    const whole = upTo.length === trace.choices.length;
    return source.exported(form, { choices: upTo, cycle: whole ? cycle : 0, members: all ? [] : names });
  };
  const copy = async () => {
    const text = location.href.replace(/^http:\/\/[^/]*\//, "");
    try {
      await navigator.clipboard.writeText(location.protocol === "file:" ? location.href : text);
      setNotice("The trace is copied: append it to the address of the same system elsewhere.");
    } catch {
      setNotice(`Copy the end of the address: ${location.hash}`);
    }
  };
  return html`<div className="exports" role="group" aria-label="save and share">
    <button type="button" onClick=${copy}>Copy link</button>
    ${source.live && html`<${Save} forms=${[...PICTURES, ...TEXTS]} name="trace" ...${{ write, setNotice }} />`}
  </div>`;
}
