// What the page of a participant is sent, as the server computes it from their status.
import type { CaseView } from "../views.d.ts";

export interface ConsentText {
  version: string; text: string; providers: string[]; retention: string; contact: string; copy: string;
}

export interface Question {
  name: string; text: string; kind: string; choices: string[]; required: boolean; answer?: string; explanation?: string;
}

export interface TaskMessage { number: number; from: "you" | "partner"; tag: string; prediction: string; explanation: string }

export interface ParticipantTask {
  place: number; of: number; about: string; network: string; condition: string; earlier?: TaskMessage[][];
}

export interface DebriefArm { place: number; task: string; about: string }

export interface ParticipantPage {
  status: string;
  title: string;
  text: string;
  offers: Record<string, string>;
  subject?: string;
  notice?: string;
  tools?: string;
  pasting?: boolean;
  consent?: ConsentText;
  items?: Question[];
  draft?: Record<string, string | number | null>;
  task?: ParticipantTask;
  session?: CaseView | null;
  arms?: DebriefArm[];
  attribution?: string;
  leave?: string;
}
