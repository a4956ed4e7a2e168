// Marks of plots that stand for cells. A click on a mark, or the arrow keys on a plot, show the
// command that runs the cell. Each plot is one tab stop. The address has the selected cell.
const panel = byId("cell");
const [about, command] = ["p", "code"].map((name) => panel.querySelector(name));
let chosen;

function choose(mark) {
  chosen?.classList.remove("chosen");
  chosen = mark;
  mark.classList.add("chosen");
  const { cell, cells } = mark.dataset;
  const pooled = cells === "1" ? "" : ` The mean of ${cells} cells; the command runs the first of them.`;
  const title = mark.dataset.title ?? mark.querySelector("title").textContent;
  about.textContent = `Cell ${cell}: ${title}.${pooled}`;
  command.textContent = panel.dataset.command + cell;
  panel.hidden = false;
  link.write({ cell });
}

function listen(plot) {
  const marks = [...plot.querySelectorAll("[data-cell]")];
  if (!marks.length) return;
  plot.tabIndex = 0;
  plot.setAttribute("aria-label", plot.getAttribute("aria-label") + " Arrow keys go from mark to mark.");
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

// Selects the cell in the address: its row, or otherwise its first mark.
function follow() {
  link.read();
  const marks = [...document.querySelectorAll("[data-cell]")].filter((mark) => mark.dataset.cell === link.parts.get("cell"));
  const mark = marks.find((mark) => mark.tagName === "BUTTON") ?? marks[0];
  if (mark) choose(mark);
}

applyTheme();
byId("theme").addEventListener("click", () => {
  switchTheme();
  applyTheme();
});
prefersDark.addEventListener("change", applyTheme);
drawForPrint(applyTheme);
arrangeTables();
document.querySelectorAll("figure svg").forEach(listen);
for (const button of document.querySelectorAll("button[data-cell]")) button.addEventListener("click", () => choose(button));
panel.querySelector("button").addEventListener("click", () => {
  getSelection().selectAllChildren(command);
  // The clipboard of `navigator` is not available on every page loaded from a file.
  document.execCommand("copy");
});
follow();
window.addEventListener("hashchange", follow);
document.documentElement.dataset.ready = "yes";
