// The page of a capture: the picture above its graph, facts and answer of the chosen stream.

const graphs = DATA.graphs.length ? new Graphs({ parts: { choice: "stream", time: "t", offsets: "offsets" }, chosen: describe, changed: redraw }) : null;
const sequence = graphs?.panel;
const picture = new Picture(byId("picture"), () => treeData(sequence.tree, sequence.view, byId("picture").clientWidth / unitPixels()), {
  span: () => null,
  show: (from, to) => sequence.exactly(from * 1e9, to * 1e9),
  whole: () => sequence.whole(),
  selected: () => sequence.selected && sequence.selected.p.t[sequence.selected.i] / 1e9,
});
let isWaiting = false;

// Changes within one frame of the screen cause one redraw.
function redraw() {
  if (isWaiting) return;
  isWaiting = true;
  requestAnimationFrame(() => {
    isWaiting = false;
    drawNow();
  });
}

function drawNow() {
  if (!sequence.tree) return;
  const started = performance.now();
  graphs.draw();
  picture.draw();
  document.documentElement.dataset.drawMs = (performance.now() - started).toFixed(1);
}

function drawAll() {
  applyTheme();
  buildSequenceLegend();
  drawNow();
}

function describe({ meta }) {
  facts(meta.facts);
  said(meta.said);
  picture.chosen = null;
  byId("notes").replaceChildren(...meta.notes.map((text) => element("p", text, "note")));
}

function facts(list) {
  byId("stream-facts").replaceChildren(...list.map(([name, value]) => {
    const fact = document.createElement("div");
    fact.append(element("dt", name), element("dd", value));
    return fact;
  }));
}

// The answer: its sentence at the top of the page, its lines below, all causes unfold.
function said({ headline, lines, findings }) {
  byId("headline").textContent = headline || DATA.title;
  const answer = element("dl", undefined, "answer");
  for (const [label, text] of lines) answer.append(element("dt", label), element("dd", text));
  const found = findings.map(([head, lines]) => {
    const details = document.createElement("details");
    const list = document.createElement("ul");
    list.append(...lines.map((line) => element("li", line)));
    details.append(element("summary", head), list);
    return details;
  });
  byId("said").replaceChildren(...(lines.length ? [answer] : []), ...found);
}

function start() {
  applyTheme();
  buildSequenceLegend();
  byId("theme").addEventListener("click", () => {
    switchTheme();
    drawAll();
  });
  drawForPrint(drawAll);
  prefersDark.addEventListener("change", drawAll);
  window.addEventListener("resize", redraw);
  window.addEventListener("hashchange", () => graphs.open());
  graphs.open();
}

if (graphs) start();
