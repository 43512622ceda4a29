// The sessions of a report, which are in the page as compressed HTML, take the places of notices.
(async () => {
  const packed = document.getElementById("packed");
  const bytes = Uint8Array.from(atob(packed.textContent), (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  const made = document.createElement("template");
  made.innerHTML = await new Response(stream).text();
  for (const sessions of made.content.querySelectorAll("[data-of]")) {
    sessions.id = sessions.dataset.of;
    document.getElementById(sessions.id).replaceWith(sessions);
  }
  document.body.append(made.content);
  packed.remove();
  reach();
})();

// What scrolls by itself is reached by the keyboard, and what does not is no stop on the way.
function reach() {
  for (const place of document.querySelectorAll(".wide, .tile, .foreign")) {
    const scrolls = place.scrollWidth > place.clientWidth || place.scrollHeight > place.clientHeight;
    if (scrolls && place.clientWidth) place.tabIndex = 0;
    else place.removeAttribute("tabindex");
  }
}
reach();
addEventListener("resize", reach);
document.addEventListener("toggle", reach, true);
