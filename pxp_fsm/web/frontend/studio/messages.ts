// What the studio's pages are told, by the type of the message.
import type { MemberView, NetworkView } from "../views.d.ts";

export interface Sample { input: string; output: string }
export interface Piece { author: string; text: string }

/** What an agent received, thought and put out in a run. */
export interface AgentTurn {
  state: string; active: boolean | null; guard: string; control_thoughts: string; execution_thoughts: string;
  result: string | null; received: { external: string; pieces: Piece[] } | null;
}

export interface RunMessage {
  external: string | null; reason: string; version: number; running: boolean; output: string | null;
  failure: string | null; text: string; agents: Record<string, AgentTurn>;
}

export interface Regression { handled: { external: string; output: string }; run: { output: string } | null; why: string }

export interface OutputView { kind: "OutputView"; truth: string }
export interface StepView {
  kind: "StepView"; step: string; strategy: string | null; proposal: unknown; rationale: string; may_reject: boolean;
  refused: string; version: unknown; back: string[]; history: { sender: string; receiver: string; tag: string }[];
}
export interface RegressionView { kind: "RegressionView"; regressions: Regression[]; about: string }
export interface HandedView { kind: "HandedView"; why: string }

/** What the training asks its developer. */
export interface Question<View = OutputView | StepView | RegressionView | HandedView> { id: string; view: View }

export interface Example { external: string; truth: string }

export interface TrainingMessage {
  going: boolean; ended: string; step: string; doing: string; question: Question | null;
  closed: { reason_type?: string[] }; values: Record<string, unknown>; examples: Example[];
  outcomes: { example: Example; handled: boolean; why: string }[];
}

export interface Comparison {
  version: number; done: number; total: number; regressions: Regression[]; failure: string;
}

export interface Sheet { title: string; headings: string[]; rows: string[][] }
export interface MeasureReport { title: string; sheets: Sheet[]; notes: string[]; doing: string }
export interface NotesMessage { examples: Sample[]; compares: boolean }

/** The latest message of each type. */
export interface Parts {
  network: { network: NetworkView | null; file: string; undoable: boolean; redoable: boolean };
  notes: NotesMessage;
  effort: { ued: number; least: number; confirmed: number; total: number; waiting: number };
  run: RunMessage;
  training: TrainingMessage;
  comparison: { comparison: Comparison | null };
  measures: { report: MeasureReport };
  begin: {
    model: string; stores: boolean; drafts: Record<string, string>; automaton: MemberView; tasks: Record<string, string>;
  };
}

type Part = { [Type in keyof Parts]: { type: Type } & Parts[Type] }[keyof Parts];

export type Message = Part | { type: "notice"; text: string };

/** An agent or an edge that is selected; a null agent is a new one. */
export interface Selected { agent?: string | null; source?: string; target?: string }
export type Select = (next: Selected | null | ((now: Selected | null) => Selected | null)) => void;

/** A file that was opened. */
export interface OpenedFile { name: string; text: string }
