// The focus of whoever uses keys: it goes to a new question, and is not lost where what had it is gone.

let byKeys = false, last = null, section = null, seen = "";

const isThere = (element) => element?.isConnected && !element.matches(":disabled");

/** Give the focus to what takes the place of what had it. */
function mend() {
  const now = document.activeElement;
  const isLost = now === document.body || now.matches(":disabled"); // it leaves those later by itself
  if (!byKeys || (!isLost && now !== section)) return;
  const question = /** @type {HTMLElement | null} */ (document.querySelector("[data-question]"));
  if (question && question.dataset.question !== seen) {
    seen = question.dataset.question;
    question.focus();
  } else if (isThere(last)) last.focus();
  else if (isLost && section?.isConnected) section.focus();
}

/** Look after the focus; the function that is returned ends it. */
export function followFocus() {
  /** @type {[string, (event: any) => void][]} */
  const listeners = [
    ["keydown", () => { byKeys = true; }],
    ["pointerdown", () => { byKeys = false; last = section = null; }],
    ["focusin", ({ target }) => {
      if (target === section) return;
      last = target;
      section = target.closest("section");
    }],
  ];
  listeners.forEach(([name, listener]) => addEventListener(name, listener, true));
  const observer = new MutationObserver(mend);
  observer.observe(document.body, {
    subtree: true, childList: true, attributes: true, attributeFilter: ["disabled", "data-question"] });
  return () => {
    observer.disconnect();
    listeners.forEach(([name, listener]) => removeEventListener(name, listener, true));
  };
}
