// The reachable states as one picture, folded: where the trace is in it, and a way to each state.
import { memo, useCallback, useEffect, useState } from "react";
import { Drawing } from "../automaton.ts";
import { html } from "../html.ts";
import { PICTURES, Save } from "./exports.ts";
import { alike } from "./session.ts";
import type { KeyboardEvent, ToggleEvent } from "react";
import type { Trouble, Typed } from "../html.ts";
import type { Fold, GraphView, NodeView, PlacedArrow, PlacedState, Placement } from "../views.d.ts";
import type { Source } from "./sources.ts";

const PAUSE = 150;
const TITLES: Record<Fold, string> = { none: "each state", symmetry: "up to symmetry", control: "by control" };

/** The picture of the states, of which system and trace it is, or why there is none. */
type Drawn = GraphView & { fold: Fold; of: string; along: number[]; error?: undefined };
type Shown = Drawn | { layout?: undefined; error?: string; count?: undefined };

interface GraphProps {
  source: Source;
  folds: Fold[];
  choices: number[];
  position: number;
  fingerprint: string;
  onGo: (choices: number[]) => void;
  setNotice: (text: string) => void;
}

export function Graph({ source, folds, choices, position, fingerprint, onGo, setNotice }: GraphProps) {
  const [open, setOpen] = useState(false), [fold, setFold] = useState<Fold>("none"), [view, setView] = useState<Shown>({});
  const path = choices.join(".");
  useEffect(() => {
    if (!open) return undefined;
    let wanted = true;
    const timer = setTimeout(async () => {
      try {
        const found = await source.graph(choices, fold);
        if (wanted) setView((old) => (old.layout && old.fold === fold && old.of === fingerprint
          ? { ...old, path: found.path, along: choices } : { ...found, fold, of: fingerprint, along: choices }));
      } catch (error) {
        if (wanted) setView({ error: (error as Trouble).message });
      }
    }, PAUSE);
    return () => { wanted = false; clearTimeout(timer); };
  }, [open, source, fold, path, fingerprint]);
  const write = useCallback((form: string) => source.exported(form, { choices: [], fold }), [source, fold]);
  const known = view.layout && view.of === fingerprint && alike(view.along, choices) >= position ? view : null; // of this trace
  const here = known?.path[position] ?? null, before = known && position ? known.path[position - 1] ?? null : null;
  return html`<section className="graph" aria-labelledby="graph-title">
    <details onToggle=${(event: ToggleEvent<HTMLDetailsElement>) => setOpen(event.currentTarget.open)}>
      <summary><h2 id="graph-title">Reachable states</h2></summary>
      <div className="exports">
        <label htmlFor="fold">One node is</label>
        <select id="fold" value=${fold} onChange=${(event: Typed) => setFold(event.target.value as Fold)}>
          ${folds.map((one) => html`<option key=${one} value=${one}>${TITLES[one]}</option>`)}</select>
        ${source.live && html`<${Save} forms=${PICTURES} name="graph" ...${{ write, setNotice }} />`}
      </div>
      <p className="muted" aria-live="polite">${view.error ?? view.count ?? "drawing …"}
        ${known && here === null ? " The present state is not drawn." : ""}</p>
      ${view.layout && html`<div className="scroll" tabIndex="0" role="group" aria-label="picture of the states">
        <${Picture} layout=${view.layout} nodes=${view.nodes} ...${{ here, before, onGo }} /></div>`}
    </details>
  </section>`;
}

interface PictureProps {
  layout: Placement;
  nodes: NodeView[];
  here: number | null;
  before: number | null;
  onGo: (choices: number[]) => void;
}

const Picture = memo(function Picture({ layout, nodes, here, before, onGo }: PictureProps) {
  const name = (number: number | null) => (number === null ? undefined : layout.states[number]?.name);
  const ofArrow = ({ source, target }: PlacedArrow) =>
    source && before !== null && source === name(before) && target === name(here) ? "passed" : "";
  const ofState = (state: PlacedState, number: number) => {
    const go = () => onGo(nodes[number].choices);
    const press = (event: KeyboardEvent) => {
      if (event.key !== "Enter" && event.key !== " ") return;
      event.preventDefault();
      go();
    };
    return {
      className: "state" + (number === here ? " current" : "") + (nodes[number].deadlocks ? " dead" : ""),
      role: "button", tabIndex: 0, onClick: go, onKeyDown: press,
      "aria-label": `${state.name}: ${state.about}`,
      "aria-current": number === here ? "true" : undefined,
    };
  };
  return html`<${Drawing} id="states" role="group" label="states and steps" ...${{ layout, ofArrow, ofState }} />`;
});
