// Draws the graphs into their frames. The chosen stream is drawn as soon as its summaries are read,
// and again when its packets are read. It is redrawn when view, theme or size change.

const trees = [];
const sequence = new SequencePanel(byId("sequence-plot"), redraw);
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
  sequence.draw();
  picture.draw();
  byId("fit").setAttribute("aria-pressed", String(sequence.fits));
  const { x0, x1, y0, y1 } = sequence.view, isWhole = sequence.isWhole();
  link.write({ t: isWhole ? null : spanPart(x0 / 1e9, x1 / 1e9), offsets: sequence.fits ? null : spanPart(y0, y1) });
  // State for tests and debugging.
  const data = document.documentElement.dataset;
  data.drawMs = (performance.now() - started).toFixed(1);
  data.view = JSON.stringify(sequence.view);
}

function drawAll() {
  applyTheme();
  buildSequenceLegend();
  drawNow();
}

async function load(index) {
  if (trees[index]) return trees[index];
  const meta = DATA.graphs[index];
  const octets = octetsOf(`octets-${index}`);
  let at = meta.head[0];
  const tree = new Tree(meta, await inflate(octets.subarray(0, at)));
  trees[index] = tree;
  const unpacked = meta.chunks.map(([packed], chunk) => {
    const part = octets.subarray(at, at + packed);
    at += packed;
    return inflate(part).then((plain) => (tree.chunks[chunk] = plain));
  });
  tree.isWhole = Promise.all(unpacked);
  return tree;
}

async function choose(index) {
  const tree = await load(index);
  if (byId("choice").selectedIndex !== index) return;
  const { meta } = tree;
  facts(meta.facts);
  said(meta.said);
  picture.chosen = null;
  sequence.choose(tree);
  byId("kept").textContent = meta.kept < meta.points
    ? `Of the ${digits(meta.points, 0)} packets of this stream ${digits(meta.kept, 0)} are in this page one by one: where something happens, and evenly in between. The others are summed up in blocks of up to ${digits(Math.max(...tree.levels[0].count), 0)}, drawn as broad pale lines when zoomed in.`
    : `All ${digits(meta.points, 0)} packets of this stream are in this page one by one.`;
  byId("notes").replaceChildren(...meta.notes.map((text) => element("p", text, "note")));
  follow();
  document.documentElement.dataset.ready = "summary";
  document.documentElement.dataset.summaryMs ??= performance.now().toFixed(0);
  await tree.isWhole;
  if (byId("choice").selectedIndex !== index) return;
  moments(tree);
  redraw();
  document.documentElement.dataset.ready = "yes";
}

// Shows the span in the address.
function follow() {
  link.read();
  const span = link.span("t");
  if (span) sequence.exactly(span[0] * 1e9, span[1] * 1e9, link.span("offsets"));
}

function moments(tree) {
  byId("moments").replaceChildren(...momentsOf(tree).map(([name, from, to]) => {
    const button = element("button", name);
    button.type = "button";
    button.addEventListener("click", () => sequence.exactly(from, to));
    return button;
  }));
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
  const choice = byId("choice");
  for (const graph of DATA.graphs) choice.append(element("option", graph.label));
  byId("choose").hidden = DATA.graphs.length < 2;
  choice.addEventListener("change", () => {
    link.write({ stream: choice.selectedIndex ? choice.value : null, t: null, offsets: null });
    link.put();
    chosen(choice.selectedIndex);
  });
  const press = (id, act) => byId(id).addEventListener("click", act);
  press("in", () => sequence.zoom(0.5));
  press("out", () => sequence.zoom(2));
  press("whole", () => sequence.whole());
  press("fit", () => {
    sequence.fits = !sequence.fits;
    redraw();
  });
  press("again-before", () => sequence.again(-1));
  press("again-after", () => sequence.again(1));
  press("theme", () => {
    switchTheme();
    drawAll();
  });
  drawForPrint(drawAll);
  prefersDark.addEventListener("change", drawAll);
  window.addEventListener("resize", redraw);
  window.addEventListener("hashchange", open);
  open();
}

// Opens the stream in the address, or the first.
function open() {
  link.read();
  const at = DATA.graphs.findIndex((graph) => graph.label === link.parts.get("stream"));
  byId("choice").selectedIndex = Math.max(0, at);
  chosen(Math.max(0, at));
}

// Errors during loading are shown too.
function chosen(index) {
  choose(index).catch((error) => window.onerror(error));
}

if (DATA.graphs.length) start();
