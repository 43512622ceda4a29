import { createRoot } from "react-dom/client";
import { html } from "../html.js";
import { App } from "./app.js";

createRoot(document.getElementById("app")).render(html`<${App} />`);
