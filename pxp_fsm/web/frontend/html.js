// React elements written as HTML in template literals; every text in them stays text.
import htm from "htm";
import { createElement } from "react";

export const html = htm.bind(createElement);
