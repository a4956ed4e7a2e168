// Draws the picture and the time-sequence graph, and redraws them when the theme, the size or the
// choice of series changes.

const picture = byId("picture") && new Picture(byId("picture"), pictureData, { span: () => shown.span, show: showSpan, whole: () => showSpan() });
const graphs = DATA.graphs.length ? new Graphs({ parts: { choice: "connection", time: "segments", offsets: "offsets" }, chosen: noteLeftOut, changed: () => graphs.draw() }) : null;

function drawAll() {
  applyTheme();
  paintShares();
  if (picture) {
    buildLegend(() => picture.draw());
    shown.changed();
  }
  if (graphs) {
    buildSequenceLegend();
    graphs.draw();
  }
}

function noteLeftOut() {
  const left = DATA.graphs_left_out;
  if (left) byId("notes").replaceChildren(element("p", `${left} further connections are in run.json only.`, "note"));
}

// Reports what the picture does not show.
function notes() {
  const about = [];
  const short = LINES.filter(({ rate }) => !isGraph(rate));
  if (short.length && short.length < LINES.length) about.push(`Too short for a graph, with fewer than ${FEWEST_POINTS} intervals: ${short.map((line) => line.label).join(", ")}.`);
  const sources = new Set(LINES.map((line) => line.throughput.of).filter(Boolean));
  if (LINES.length > 1 && sources.size) about.push(`Rate: ${[...sources].join("; ")}.`);
  if (LINES.some(({ rate }) => rate.top?.length)) about.push("The middle one of several runs is shown. Bars of the rate have the lowest and the highest of all runs.");
  if (LINES.some((line) => line.published)) about.push("Hollow marks are the published values.");
  const left = DATA.lines_left_out;
  if (left) about.push(`Flows beyond the first ${LINES.length} are in the tables only: ${left} more.`);
  const most = Math.max(0, ...LINES.map((line) => line.throughput.joined));
  if (most > 1) about.push(`Long series are drawn by the mean of neighbouring intervals, of up to ${most}; run.json has every one.`);
  if (DATA.datagrams.some(({ received }) => !received)) about.push("The sender of datagrams does not see losses as they happen; the receiver's sums are below.");
  byId("picture-text").textContent = about.join(" ");
}

// Applies the address: series, the time span, a connection and its span.
function follow() {
  link.read();
  const asked = link.parts.getAll("show");
  const known = LINES.map((line) => asked.includes(line.label) || asked.includes(EVERY_LINE));
  const isFirst = (_, index) => firstShown.has(index);
  hiddenLines.clear();
  (known.includes(true) ? known : known.map(isFirst)).forEach((isShown, index) => isShown || hiddenLines.add(index));
  shown.span = link.span("t");
  graphs?.open();
}

// Shows the time span, with buttons for it.
function startSpan() {
  const bar = byId("span");
  const zoom = (factor) => {
    const [from, to] = shown.span, middle = (from + to) / 2, half = ((to - from) * factor) / 2;
    showSpan(middle - half, middle + half);
  };
  const move = (by) => {
    const [from, to] = shown.span, step = Math.max((to - from) * by, -from);
    showSpan(from + step, to + step);
  };
  const acts = { "span-in": () => zoom(0.5), "span-out": () => zoom(2), "span-before": () => move(-0.5), "span-after": () => move(0.5), "span-whole": () => showSpan() };
  for (const [id, act] of Object.entries(acts)) byId(id).addEventListener("click", act);
  shown.changed = () => {
    bar.hidden = !shown.span;
    if (shown.span) {
      const unit = unitOf(...shown.span, SECONDS);
      byId("span-text").textContent = `Shown: ${shown.span.map((at) => digits(at / unit.size, 3)).join(" to ")} ${unit.name}`;
    }
    picture.draw();
  };
}

applyTheme();
arrangeTables();
if (picture) {
  notes();
  startSpan();
}
follow();
drawAll();
byId("theme").addEventListener("click", () => {
  switchTheme();
  drawAll();
});
prefersDark.addEventListener("change", drawAll);
drawForPrint(drawAll);
// Strips of causes in tables that were folded have no size before.
document.addEventListener("toggle", paintShares, true);
window.addEventListener("hashchange", () => {
  follow();
  drawAll();
});
window.addEventListener("resize", drawAll);
if (!graphs) document.documentElement.dataset.ready = "yes";
