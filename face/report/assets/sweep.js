// Marks of plots that stand for cells: a click, or the arrow keys on a plot, show the command
// that runs the cell. Each plot is one stop of the Tab key.
"use strict";
const panel = document.getElementById("cell");
const [about, command] = ["p", "code"].map((name) => panel.querySelector(name));
let chosen;
function choose(mark) {
  chosen?.classList.remove("chosen");
  chosen = mark;
  mark.classList.add("chosen");
  const { cell, cells } = mark.dataset;
  const pooled = cells === "1" ? "" : ` The mean of ${cells} cells; the command runs the first of them.`;
  about.textContent = `Cell ${cell}: ${mark.querySelector("title").textContent}.${pooled}`;
  command.textContent = panel.dataset.command + cell;
  panel.hidden = false;
}
for (const plot of document.querySelectorAll("figure svg")) {
  const marks = [...plot.querySelectorAll("[data-cell]")];
  if (!marks.length) continue;
  plot.tabIndex = 0;
  plot.addEventListener("click", (event) => {
    const mark = event.target.closest("[data-cell]");
    if (mark) choose(mark);
  });
  plot.addEventListener("keydown", (event) => {
    const at = marks.indexOf(chosen), last = marks.length - 1;
    const to = {
      ArrowRight: Math.min(at + 1, last), ArrowDown: Math.min(at + 1, last),
      ArrowLeft: Math.max(at - 1, 0), ArrowUp: Math.max(at - 1, 0), Home: 0, End: last,
    }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    choose(marks[to]);
  });
}
panel.querySelector("button").addEventListener("click", () => {
  getSelection().selectAllChildren(command);
  // The clipboard of `navigator` is not there on every page of a file.
  document.execCommand("copy");
});
document.documentElement.dataset.ready = "yes";
