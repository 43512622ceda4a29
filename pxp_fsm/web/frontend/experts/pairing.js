// A link that opens the page on a second device.
import { useRef, useState } from "react";
import { post } from "../http.js";
import { html } from "../html.js";

export function Pairing() {
  const [link, setLink] = useState("");
  const [trouble, setTrouble] = useState("");
  const field = useRef(null);
  const make = async () => {
    try {
      setLink((await (await post("/api/pairing", {})).json()).link);
      setTimeout(() => field.current?.select(), 0);
    } catch (error) {
      setTrouble(error.message);
    }
  };
  return html`<div className="pairing">
    ${link
      ? html`<label>Open within ten minutes, once, on the other device:
          <input type="text" readOnly ref=${field} value=${link} /></label>`
      : html`<button type="button" onClick=${make}>Use another device</button>`}
    ${trouble && html`<span className="alert">${trouble}</span>`}</div>`;
}
