// React elements written as HTML in template literals; every text in them stays text.
import htm from "htm";
import { createElement } from "react";

export const html = htm.bind(createElement);

/** `1 place`, `2 places`. */
export const counted = (number, what) => `${number} ${what}${number === 1 ? "" : "s"}`;

/** A long list, of which the first are seen and the others fold. */
export function Fold({ children, most, what, as = "ul", className = "" }) {
  const items = children.flat();
  const first = items.length > most + 2 ? items.slice(0, most) : items, rest = items.slice(first.length);
  return html`<${as} className=${className}>${first}<//>
    ${rest.length ? html`<details className="more"><summary>${rest.length} more ${what}s</summary>
      <${as} className=${className} start=${as === "ol" ? first.length + 1 : undefined}>${rest}<//></details>` : null}`;
}

/** For buttons of which one brings the next: the second click of a double click is none on the button
 * that the first has brought. */
export const SINGLE = {
  onClickCapture: (event) => {
    if (event.detail < 2) return;
    event.preventDefault();
    event.stopPropagation();
  },
};
