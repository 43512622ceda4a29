// React elements written as HTML in template literals; every text in them stays text.
import htm from "htm";
import { createElement } from "react";

export const html = htm.bind(createElement);

/** `1 place`, `2 places`. */
export const counted = (number, what) => `${number} ${what}${number === 1 ? "" : "s"}`;

/** For buttons of which one brings the next: the second click of a double click is none on the button
 * that the first has brought. */
export const SINGLE = {
  onClickCapture: (event) => {
    if (event.detail < 2) return;
    event.preventDefault();
    event.stopPropagation();
  },
};
