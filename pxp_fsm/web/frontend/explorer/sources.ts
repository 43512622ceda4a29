// Where states come from: a server that computes them, or the data in a file. Both give the same
// views, so that nothing else on the page knows the difference.

import { get, post, socket } from "../http.ts";
import type {
  Answers, BlockedView, DeadlockView, Edited, ExplorerEvent, Fold, FormulaPart, GraphView, MoveView, Opened,
  ResultView, StateView,
} from "../views.d.ts";

/** A state as the page shows it; `bound` is how many states a file holds, at one whose moves it leaves out. */
export type ShownState = StateView & { bound?: number };

/** What a page asks by WebSocket. */
export type ExplorerQuestion =
  | { type: "check"; id: number; formula: string }
  | { type: "claims"; id: number; assumptions: string[] };

interface Exported { choices: number[]; cycle?: number; members?: string[]; fold?: Fold }

/** Where states come from. What only a server does, a file refuses. */
export interface Source {
  live: boolean;
  open(): Promise<Opened>;
  states(choices: number[], start: number): Promise<ShownState[]>;
  path(choices: number[], goal: string): Promise<number[]>;
  graph(choices: number[], fold: Fold): Promise<GraphView>;
  color(choices: number[], cycle: number, formula: string): Promise<FormulaPart[]>;
  exported(form: string, what: Exported): Promise<Blob>;
  answers(choices: number[], assumptions: string[]): Promise<Answers[]>;
  edit(table: number, text: string, choices: number[]): Promise<Edited>;
  save(table: number): Promise<Opened>;
  listen(tell: (event: ExplorerEvent) => void, lost: () => void): (question: ExplorerQuestion) => void;
}

/** The server of `pxp explore`. */
export class ServerSource implements Source {
  live = true;
  system = "";

  async open() {
    const opened: Opened = await (await get("/api/system")).json();
    this.system = opened.system.fingerprint;
    return opened;
  }

  /** Ask about the system that was opened; the server refuses where it is another one by now. */
  async ask(path: string, query: object) {
    return post(path, { ...query, system: this.system });
  }

  async states(choices: number[], start: number): Promise<ShownState[]> {
    return (await this.ask("/api/trace", { choices, start })).json();
  }

  async path(choices: number[], goal: string): Promise<number[]> {
    return (await this.ask("/api/path", { choices, goal })).json();
  }

  async color(choices: number[], cycle: number, formula: string): Promise<FormulaPart[]> {
    return (await this.ask("/api/color", { choices, cycle, formula })).json();
  }

  async exported(form: string, what: Exported) {
    return (await this.ask(`/api/export/${form}`, what)).blob();
  }

  async graph(choices: number[], fold: Fold): Promise<GraphView> {
    return (await this.ask("/api/graph", { choices, fold })).json();
  }

  async answers(choices: number[], assumptions: string[]): Promise<Answers[]> {
    return (await this.ask("/api/answers", { choices, assumptions })).json();
  }

  async edit(table: number, text: string, choices: number[]): Promise<Edited> {
    return (await this.ask("/api/edit", { table, text, choices })).json();
  }

  async save(table: number): Promise<Opened> {
    return (await this.ask("/api/save", { table })).json();
  }

  /** Listen to events; the function that is returned asks a question. */
  listen(tell: (event: ExplorerEvent) => void, lost: () => void) {
    return socket("/api/events", tell, lost).send;
  }
}

/** A state in a file: texts, moves and states by their numbers. */
interface PackedState {
  at: number[]; settled: number[]; buffers: number[][]; propositions: number[]; moves: number[]; targets: number[];
  blocked: number[]; ended?: boolean; deadlock?: DeadlockView; cut?: boolean;
}

interface Packed extends Opened {
  texts: string[]; moves: MoveView[]; blocked: BlockedView[]; states: PackedState[]; results: ResultView[]; limit: number;
  graphs: Record<Fold, Omit<GraphView, "path"> & { numbers: (number | null)[] }>;
}

const refused = (): never => { throw new Error("a file has no server: start pxp explore"); };

/** The data of a file: every state with its moves, by number. */
export class FileSource implements Source {
  live = false;
  data = {} as Packed;

  constructor(readonly packed: string) {}

  async color(): Promise<FormulaPart[]> { return refused(); }
  async exported(): Promise<Blob> { return refused(); }
  async answers(): Promise<Answers[]> { return refused(); }
  async edit(): Promise<Edited> { return refused(); }
  async save(): Promise<Opened> { return refused(); }

  async open() {
    const bytes = Uint8Array.from(atob(this.packed), (letter) => letter.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    this.data = await new Response(stream).json();
    return this.data;
  }

  along(choices: number[]) {
    const found = [0];
    for (const choice of choices) {
      const target = this.data.states[found[found.length - 1]].targets[choice];
      if (target === undefined) throw new Error("the trace is of another system, or beyond this file");
      found.push(target);
    }
    return found;
  }

  view(number: number): ShownState {
    const { texts, moves, blocked, states, limit } = this.data;
    const state = states[number];
    const text = (one: number) => texts[one];
    return {
      at: state.at.map(text),
      settled: state.settled.map(text),
      buffers: state.buffers.map((buffer) => buffer.map(text)),
      propositions: state.propositions.map(text),
      ended: state.ended ?? false,
      deadlock: state.deadlock ?? null,
      moves: state.moves.map((one) => moves[one]),
      blocked: state.blocked.map((one) => blocked[one]),
      bound: state.cut ? limit : 0,
    };
  }

  async states(choices: number[], start: number) {
    return this.along(choices).slice(start).map((number) => this.view(number));
  }

  async graph(choices: number[], fold: Fold) {
    const { numbers, ...view } = this.data.graphs[fold];
    return { ...view, path: this.along(choices).map((number) => numbers[number]) };
  }

  async path(choices: number[], goal: string) {
    const start = this.along(choices)[choices.length];
    const { states, texts } = this.data;
    const wanted = goal ? texts.indexOf(goal) : -1;
    if (goal && wanted < 0) throw new Error(`no state of this file has ${goal}`);
    const is = (number: number) =>
      goal
        ? states[number].propositions.includes(wanted)
        : !states[number].targets.length && !states[number].cut;
    if (!goal && is(start)) return [];
    const came = new Map<number, [number, number] | null>([[start, null]]);
    const queue = [start];
    for (const number of queue) {
      for (const [choice, target] of states[number].targets.entries()) {
        if (is(target)) {
          const found = [choice];
          for (let step = came.get(number); step; step = came.get(step[0])) found.push(step[1]);
          return found.reverse();
        }
        if (!came.has(target)) {
          came.set(target, [number, choice]);
          queue.push(target);
        }
      }
    }
    throw new Error(`no state of this file after this one has ${goal || "no move"}`);
  }

  listen(tell: (event: ExplorerEvent) => void) {
    for (const result of this.data.results) tell({ type: "result", id: null, result });
    tell({ type: "done", id: null });
    return () => {};
  }
}
