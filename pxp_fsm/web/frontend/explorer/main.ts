import { createRoot } from "react-dom/client";
import { App } from "./app.ts";
import { html } from "../html.ts";
import { FileSource, ServerSource } from "./sources.ts";

const data = document.getElementById("data");
const source = data ? new FileSource(data.textContent ?? "") : new ServerSource();
createRoot(document.getElementById("app") as HTMLElement).render(html`<${App} source=${source} />`);
