import { createRoot } from "react-dom/client";
import { html } from "../html.ts";
import { App } from "./app.ts";

createRoot(document.getElementById("app") as HTMLElement).render(html`<${App} />`);
