import { createRoot } from "react-dom/client";
import { App } from "./app.js";
import { html } from "../html.js";
import { FileSource, ServerSource } from "./sources.js";

const data = document.getElementById("data");
const source = data ? new FileSource(data.textContent) : new ServerSource();
createRoot(document.getElementById("app")).render(html`<${App} source=${source} />`);
