// Draws the graphs into their frames, and redraws them when the theme, the size or the choice of
// series changes.

const throughputChart = byId("throughput") && new LineChart(byId("throughput"), () => {
  const lines = throughputLines();
  return {
    lines, step: 1,
    x: timeAxis(lines, "time by the receiver's clock"),
    y: valueAxis(allValues(lines), BITS, "throughput", pressed("throughput-scale")),
    text: (value) => withUnit(value, BITS),
  };
});

const stateChart = byId("window") && new LineChart(byId("window"), () => {
  const quantity = byId("quantity");
  const units = quantity.value === "srtt" ? SECONDS : BYTES;
  const lines = stateLines(quantity.value);
  return {
    lines,
    x: timeAxis(lines, DATA.clock),
    y: valueAxis(allValues(lines), units, quantity.selectedOptions[0].text, pressed("state-scale")),
    text: (value) => withUnit(value, units),
  };
});

const timeline = byId("timeline") && new Timeline(byId("timeline"), byId("timeline-readout"));
const sequencePlot = byId("sequence-plot") && new SequencePlot(byId("sequence-plot"), byId("sequence-readout"), sequenceChanged);
let facetCharts = [];

function pressed(id) {
  return byId(id).getAttribute("aria-pressed") === "true";
}

// One small graph per series, all with the same scale.
function buildFacets() {
  const frame = byId("facets");
  const lines = throughputLines();
  const log = pressed("throughput-scale");
  frame.replaceChildren();
  // One or two series are read in the graph above.
  const isShort = lines.length < 3 || byId("graphs").hidden;
  byId("each").hidden = isShort;
  if (isShort) return (facetCharts = []);
  facetCharts = lines.map(({ index }) => {
    const figure = element("figure");
    const caption = element("figcaption", DATA.lines[index].label);
    const canvas = document.createElement("canvas");
    canvas.setAttribute("role", "img");
    canvas.setAttribute("aria-label", `Throughput of ${DATA.lines[index].label}; the numbers are in the tables under Intervals.`);
    figure.append(caption, canvas);
    frame.append(figure);
    return new LineChart(canvas, () => {
      const own = throughputLines(index);
      return { lines: own, x: timeAxis(own, "time"), y: valueAxis(allValues(lines), BITS, "throughput", log) };
    }, { quiet: true });
  });
}

function drawThroughput() {
  buildFacets();
  for (const chart of [throughputChart, ...facetCharts]) chart.draw();
}

// A plan without long connections has no lines, but may have queues.
function drawLines() {
  if (throughputChart) {
    drawThroughput();
    drawState();
  }
  drawQueues();
}

// What the legend switches.
function drawShown() {
  drawLines();
  timeline.draw();
}

function drawState() {
  stateChart.draw();
  const quantity = byId("quantity").value;
  let recorded = 0, shown = 0;
  for (const line of DATA.lines.filter((_, index) => !hiddenLines.has(index))) {
    recorded += line.samples.recorded;
    shown += line.samples[quantity].t.length;
  }
  byId("state-note").textContent = shown < recorded
    ? `Drawn from ${digits(shown, 0)} points that stand for ${digits(recorded, 0)} samples: first, lowest, highest and last of every step. run.json has all.`
    : `All ${digits(recorded, 0)} samples are drawn.`;
}

function drawAll() {
  applyTheme();
  paintShares();
  if (throughputChart) {
    buildLegend(drawShown);
    buildLimitLegend();
    shown.changed();
  } else drawLines();
  if (sequencePlot) {
    buildSequenceLegend();
    sequencePlot.draw();
  }
}

// A graph of less than one line in FEW_OF is not shown.
const FEW_OF = 4;

// Sections without anything to draw are not shown; rates far apart begin on a logarithmic axis.
function arrange() {
  const lines = throughputLines();
  // A few of many would be taken for all.
  const isTold = lines.length && FEW_OF * lines.length >= DATA.lines.length;
  byId("graphs").hidden = !isTold;
  byId("state").hidden = !["cwnd", "flight", "ssthresh", "rwnd", "srtt"].some((quantity) => stateLines(quantity).length);
  byId("limits").hidden = !timeline.rows.some((row) => row.length);
  // Without throughput the choice of series stands with the first graph there is.
  const place = ["graphs", "state", "limits"].map(byId).find((section) => !section.hidden);
  if (place && place !== byId("graphs")) place.querySelector("h2").after(byId("legend-note"), byId("legend"));
  const tops = lines.map((line) => Math.max(...line.v, ...(line.published?.v ?? []))).filter((top) => top > 0);
  const areFar = Math.max(...tops) > FAR_APART * Math.min(...tops);
  byId("throughput-scale").setAttribute("aria-pressed", String(areFar));
  const short = DATA.lines.filter((_, index) => !lines.some((line) => line.index === index));
  if (lines.length && short.length) {
    byId("throughput-note").textContent = `Too short for a graph, with fewer than ${FEWEST_POINTS} intervals: ${short.map((line) => line.label).join(", ")}.`;
  }
}

// Reports what the page does not show.
function notes() {
  const left = DATA.lines_left_out;
  if (left) byId("legend").after(element("p", `Flows beyond the first ${DATA.lines.length} are in the tables only: ${left} more.`, "note"));
  const most = Math.max(0, ...DATA.lines.map((line) => line.throughput.joined));
  if (most > 1) byId("throughput").after(element("p", `Long series are drawn by the mean of neighbouring intervals, of up to ${most}. run.json has every one.`, "note"));
  const merged = DATA.lines.filter((line) => line.timeline_spans > line.timeline.length).length;
  if (merged) byId("limits").append(element("p", `Of ${merged} series, changes too close to be seen are merged to the cause that took most of the time. run.json and the table below have all of the time.`, "note"));
}

// The address has the connection and its visible time.
function sequenceChanged({ x0, x1 }) {
  const isWhole = x0 === sequencePlot.all?.[0] && x1 === sequencePlot.all[1];
  link.write({ connection: byId("sequence-choice").selectedIndex ? byId("sequence-choice").value : null, segments: isWhole ? null : spanPart(x0, x1) });
}

function chooseSequence() {
  const sequence = DATA.sequences[byId("sequence-choice").selectedIndex];
  const stretches = byId("sequence-stretches");
  stretches.replaceChildren();
  sequencePlot.choose(sequence);
  const button = (text, act) => {
    const node = element("button", text);
    node.type = "button";
    node.addEventListener("click", act);
    stretches.append(node);
  };
  button("Whole", () => sequencePlot.whole());
  for (const detail of sequencePlot.data.details) button(detail.why[0].toUpperCase() + detail.why.slice(1), () => sequencePlot.show(...detail.view));
  const cut = sequence.details.filter((d) => d.entries[1] < d.entries[0]);
  const about = cut.map((d) => `\u201c${d.why}\u201d shows the first ${digits(d.entries[1], 0)} of ${digits(d.entries[0], 0)} events`);
  if (DATA.sequences_left_out) about.push(`${DATA.sequences_left_out} further connections are in run.json only`);
  byId("sequence-note").textContent = about.length ? about.join("; ") + "." : "";
}

function startSequence() {
  const choice = byId("sequence-choice");
  for (const sequence of DATA.sequences) choice.append(element("option", sequence.label));
  choice.addEventListener("change", chooseSequence);
  byId("sequence-in").addEventListener("click", () => sequencePlot.zoom(0.5));
  byId("sequence-out").addEventListener("click", () => sequencePlot.zoom(2));
  byId("sequence-fit").addEventListener("click", () => sequencePlot.fit());
}

// Applies the address: series, the time span, a connection and its span.
function follow() {
  link.read();
  const asked = link.parts.getAll("show");
  const known = DATA.lines.map((line) => asked.includes(line.label) || asked.includes(EVERY_LINE));
  const isFirst = (_, index) => firstShown.has(index);
  hiddenLines.clear();
  (known.includes(true) ? known : known.map(isFirst)).forEach((isShown, index) => isShown || hiddenLines.add(index));
  shown.span = link.span("t");
  if (sequencePlot) {
    const choice = byId("sequence-choice"), span = link.span("segments");
    const at = DATA.sequences.findIndex((sequence) => sequence.label === link.parts.get("connection"));
    choice.selectedIndex = Math.max(0, at);
    chooseSequence();
    if (span) sequencePlot.show(...span);
  }
}

// Shows the time span, with buttons for it.
function startSpan() {
  const bar = byId("span");
  const axis = () => ({ low: shown.span[0], high: shown.span[1] });
  const move = (by) => {
    const [from, to] = shown.span, step = Math.max((to - from) * by, -from);
    showSpan(from + step, to + step);
  };
  const acts = { "span-in": () => zoomSpan(axis(), 0.5), "span-out": () => zoomSpan(axis(), 2), "span-before": () => move(-0.5), "span-after": () => move(0.5), "span-whole": () => showSpan() };
  for (const [id, act] of Object.entries(acts)) byId(id).addEventListener("click", act);
  shown.changed = () => {
    bar.hidden = !shown.span;
    if (shown.span) {
      const unit = unitOf(...shown.span, SECONDS);
      byId("span-text").textContent = `Shown: ${shown.span.map((at) => digits(at / unit.size, 3)).join(" to ")} ${unit.name}`;
    }
    drawShown();
  };
}

function toggle(id, redraw) {
  byId(id).addEventListener("click", () => {
    byId(id).setAttribute("aria-pressed", String(!pressed(id)));
    redraw();
  });
}

applyTheme();
arrangeTables();
notes();
if (throughputChart) {
  arrange();
  startSpan();
} else shown.changed = drawQueues;
if (sequencePlot) startSequence();
if (queueChart) startQueues();
follow();
drawAll();
if (throughputChart) {
  toggle("throughput-scale", drawThroughput);
  toggle("state-scale", drawState);
  byId("quantity").addEventListener("change", drawState);
}
byId("theme").addEventListener("click", () => {
  switchTheme();
  drawAll();
});
prefersDark.addEventListener("change", drawAll);
drawForPrint(drawAll);
window.addEventListener("hashchange", () => {
  follow();
  drawAll();
});

// Only a new width matters, because the timeline sets its own height.
let drawnWidth = document.body.clientWidth;
window.addEventListener("resize", () => {
  if (document.body.clientWidth === drawnWidth) return;
  drawnWidth = document.body.clientWidth;
  drawAll();
});
document.documentElement.dataset.ready = "yes";
