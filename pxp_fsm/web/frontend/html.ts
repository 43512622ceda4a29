// React elements written as HTML in template literals; every text in them stays text.
import htm from "htm";
import { createElement, type ChangeEvent, type MouseEvent } from "react";

/** What is typed or chosen in a field. */
export type Typed = ChangeEvent<HTMLInputElement>;

/** Why something was refused: by the server with its status, or on the way. */
export type Trouble = Error & { status?: number };

type Html = (strings: TemplateStringsArray, ...values: unknown[]) => ReturnType<typeof createElement>;

export const html = htm.bind(createElement) as Html;

/** `1 place`, `2 places`. */
export const counted = (number: number, what: string) => `${number} ${what}${number === 1 ? "" : "s"}`;

/** For buttons of which one brings the next: the second click of a double click is none on the button
 * that the first has brought. */
export const SINGLE = {
  onClickCapture: (event: MouseEvent) => {
    if (event.detail < 2) return;
    event.preventDefault();
    event.stopPropagation();
  },
};
