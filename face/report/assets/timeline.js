// The limited-by timeline: one row per series, color and pattern per cause.

class Timeline {
  constructor(canvas, readout) {
    this.canvas = canvas;
    this.readout = readout;
    this.plot = new Plot(canvas);
    this.at = null;
    this.rows = DATA.lines.map((line) => {
      let end = 0;
      return line.timeline.map(([gap, length, limit]) => {
        const start = end + gap;
        end = start + length;
        return { start: start / 1e6, end: end / 1e6, limit };
      });
    });
    const ends = this.rows.map((row) => row[row.length - 1]?.end ?? 0).filter((end) => end > 0);
    // Series of very different lengths have separate time axes.
    this.isOwn = Math.max(...ends) > FAR_APART * Math.min(...ends);
    this.listen();
  }

  draw() {
    const { canvas, plot } = this;
    this.used = this.rows.map((_, index) => index).filter((index) => !hiddenLines.has(index));
    if (this.at && !this.used.includes(this.at.row)) this.at = null;
    const height = 22 + 46 * this.used.length;
    canvas.style.height = (height + 42) / 16 + "rem";
    const high = Math.max(1e-9, ...this.used.map((index) => this.rows[index].at(-1)?.end ?? 0));
    plot.open();
    const [from, to] = shown.span ?? [0, high];
    this.frame(this.isOwn && !shown.span
      ? { low: 0, high: 100, label: "% of the time of each series" }
      : { low: from, high: to, unit: unitOf(from, to, SECONDS), label: DATA.clock });
    this.fills = DATA.limits.map((name) => causeFill(plot.g, name, DATA.limits));
    for (const index of this.used) this.row(index, this.rows[index]);
    if (this.at) this.outline();
  }

  // Names are above the bars, so that a long name takes no width from time.
  frame(x) {
    const { plot } = this;
    plot.x = x;
    plot.y = null;
    plot.left = 12;
    plot.top = 4;
    plot.axes(plot.timeTicks(x), []);
  }

  rowTop(index) {
    return this.plot.top + 24 + 46 * this.used.indexOf(index);
  }

  // Position of a time of a row, within the frame.
  position(index, time) {
    const spans = this.rows[index], { x, left, right } = this.plot;
    const at = x.position(this.isOwn && !shown.span ? (100 * time) / spans[spans.length - 1].end : time);
    return Math.min(Math.max(at, left), right);
  }

  // The visible spans of a row.
  visible(row) {
    return shown.span ? row.filter((span) => span.end > shown.span[0] && span.start < shown.span[1]) : row;
  }

  row(index, spans) {
    const { g, left, right } = this.plot;
    const top = this.rowTop(index), height = 22;
    g.font = "600 12px " + FONT.slice(5);
    g.fillStyle = colours.paper;
    const visible = this.visible(spans);
    const length = this.isOwn && spans.length && !shown.span ? ", " + withUnit(spans[spans.length - 1].end, SECONDS) : "";
    const label = DATA.lines[index].label + length;
    g.fillRect(left + 2, top - 18, Math.min(g.measureText(label).width + 6, right - left), 16);
    g.fillStyle = colours.ink;
    g.textAlign = "left";
    g.textBaseline = "bottom";
    g.fillText(label, left + 4, top - 3, right - left - 8);
    g.font = FONT;
    for (const span of visible) {
      const from = this.position(index, span.start), to = this.position(index, span.end);
      g.fillStyle = this.fills[span.limit];
      g.fillRect(from, top, Math.max(to - from, 0.5), height);
    }
    for (const span of visible) this.spanLabel(index, span, top, height);
    if (!visible.length) {
      g.fillStyle = colours.soft;
      g.textBaseline = "middle";
      g.fillText("nothing recorded", left + 6, top + height / 2);
    }
  }

  // The id of the cause on its span, if it fits.
  spanLabel(index, span, top, height) {
    const { g } = this.plot;
    const from = this.position(index, span.start), to = this.position(index, span.end);
    g.strokeStyle = colours.paper;
    g.lineWidth = 1;
    if (to - from > 3) g.strokeRect(from, top - 0.5, to - from, height + 1);
    const text = DATA.limits[span.limit];
    const width = g.measureText(text).width + 10;
    if (to - from < width + 6) return;
    const middle = (from + to) / 2;
    g.fillStyle = colours.paper;
    g.fillRect(middle - width / 2, top + 3, width, height - 6);
    g.fillStyle = colours.ink;
    g.textAlign = "center";
    g.textBaseline = "middle";
    g.fillText(text, middle, top + height / 2 + 0.5);
  }

  outline() {
    const { g } = this.plot;
    const span = this.rows[this.at.row][this.at.span];
    const from = this.position(this.at.row, span.start), to = this.position(this.at.row, span.end);
    g.strokeStyle = colours.ink;
    g.lineWidth = 2.5;
    g.strokeRect(from - 1, this.rowTop(this.at.row) - 2, Math.max(2, to - from) + 2, 26);
  }

  describe({ row, span }) {
    const { start, end, limit } = this.rows[row][span];
    const exact = (value) => digits(value, 3);
    return `${DATA.lines[row].label}: ${DATA.limits[limit]}, from ${exact(start)} s to ${exact(end)} s (${withUnit(end - start, SECONDS)})`;
  }

  select(at) {
    this.at = at;
    if (at) this.readout.textContent = this.describe(at);
    this.draw();
  }

  // The span under a point of the canvas, or the nearest within two pixels.
  find(px, py) {
    const row = this.used.find((index) => py >= this.rowTop(index) - 20 && py < this.rowTop(index) + 26);
    if (row === undefined) return null;
    const distance = (span) => Math.max(this.position(row, span.start) - px, px - this.position(row, span.end), 0);
    let best = null, nearestBy = 2;
    this.rows[row].forEach((span, index) => {
      if (!this.visible([span]).length) return;
      const by = distance(span);
      if (by < nearestBy || (by === 0 && best === null)) {
        nearestBy = by;
        best = { row, span: index };
      }
    });
    return best;
  }

  listen() {
    this.canvas.addEventListener("pointermove", (event) => {
      const at = this.find(...placeIn(this.canvas, event));
      this.select(at);
      if (at) showTip([element("span", this.describe(at))], event.pageX, event.pageY);
      else hideTip();
    });
    this.canvas.addEventListener("pointerleave", () => {
      hideTip();
      this.select(null);
    });
    this.canvas.addEventListener("click", () => this.at && this.zoomTo(this.at));
    this.canvas.addEventListener("dblclick", () => showSpan());
    this.canvas.addEventListener("keydown", (event) => this.key(event));
  }

  // Shows the time of a span in all graphs, plus a twentieth on either side.
  zoomTo({ row, span }) {
    const { start, end } = this.rows[row][span];
    const slack = (end - start) / 20;
    showSpan(Math.max(0, start - slack), end + slack);
  }

  key(event) {
    const act = { Enter: () => this.at && this.zoomTo(this.at), "0": () => showSpan() }[event.key];
    if (act) {
      event.preventDefault();
      return act();
    }
    const [right, down] = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key] ?? [0, 0];
    const used = this.used.filter((row) => this.rows[row].length);
    if ((!right && !down) || !used.length) return;
    event.preventDefault();
    if (!this.at) return this.select({ row: used[0], span: 0 });
    const clamp = (value, count) => Math.min(Math.max(value, 0), count - 1);
    const row = used[clamp(used.indexOf(this.at.row) + down, used.length)];
    this.select({ row, span: clamp(down ? 0 : this.at.span + right, this.rows[row].length) });
  }
}

function buildLimitLegend() {
  const legend = byId("limit-legend");
  legend.replaceChildren();
  for (const name of DATA.limits) {
    const entry = element("span", undefined, "entry");
    entry.append(glyph(34, 16, (g, w, h) => {
      g.fillStyle = causeFill(g, name, DATA.limits);
      g.fillRect(0, 0, w, h);
    }), element("span", name));
    legend.append(entry);
  }
}
