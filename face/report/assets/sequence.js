// The time-sequence graph: segments, acknowledgments, window edge and SACK blocks of one
// connection, at any zoom from all of it to a single packet.
//
// An interval that was recorded segment by segment is drawn so if it is wide enough on the screen.
// Elsewhere each step of the overview is a bar from the lowest to the highest offset sent in it.

const WIDE_ENOUGH = 50; // minimum pixels for an interval to be drawn in full

function unpackSequence(sequence) {
  const o = sequence.overview;
  const ack = sums(o.ack, 1);
  const above = (column) => column.map((value, i) => (value === null ? null : ack[i] + value));
  return {
    label: sequence.label,
    overview: { t: sums(o.t, 1e-6), ack, low: above(o.low), high: above(o.high), edge: above(o.edge), again: o.again },
    details: sequence.details.map((d) => {
      const again = new Set(d.sent_again);
      const from = d.span[0] / 1e9, to = d.span[1] / 1e9;
      const acked = sums(d.ack, 1);
      return {
        why: d.why, entries: d.entries, from, to, view: d.view?.map((at) => at / 1e9) ?? [from, to],
        sent: { t: sums(d.sent_t, 1e-9), at: sums(d.sent_at, 1), length: d.sent_len, again: d.sent_len.map((_, i) => again.has(i)) },
        acks: { t: sums(d.ack_t, 1e-9), ack: acked, edge: acked.map((value, i) => value + d.edge[i]) },
        sacks: { t: sums(d.sack_t, 1e-9), at: sums(d.sack_at, 1), length: d.sack_len },
      };
    }),
  };
}

class SequencePlot {
  constructor(canvas, readout, changed) {
    this.canvas = canvas;
    this.readout = readout;
    this.changed = changed;
    this.plot = new Plot(canvas);
    this.drag = null;
    this.listen();
  }

  choose(sequence) {
    this.data = unpackSequence(sequence);
    this.whole();
  }

  // The view that shows everything.
  whole() {
    const { overview, details } = this.data;
    const last = overview.t.length - 1;
    const step = last > 0 ? overview.t[last] - overview.t[last - 1] : 0;
    const from = Math.min(overview.t[0] ?? Infinity, ...details.map((d) => d.from));
    const to = Math.max((overview.t[last] ?? -Infinity) + step, ...details.map((d) => d.to));
    this.all = Number.isFinite(from) && to > from ? [from, to] : [0, 1];
    this.view = { x0: this.all[0], x1: this.all[1], y0: 0, y1: 1 };
    this.fit();
  }

  // Sets the time; the height is fitted.
  show(from, to) {
    Object.assign(this.view, { x0: from, x1: to });
    this.fit();
  }

  inFull(detail) {
    const { x0, x1 } = this.view;
    const shown = Math.min(detail.to, x1) - Math.max(detail.from, x0);
    return shown > 0 && ((detail.to - detail.from) / (x1 - x0)) * this.canvas.clientWidth >= WIDE_ENOUGH * unitPixels();
  }

  // Fits the height to the data sent and acknowledged in the visible time, and to the window edge
  // unless it is far above.
  fit() {
    const { x0, x1 } = this.view;
    let low = Infinity, high = -Infinity, edge = -Infinity;
    const take = (t, lowest, highest, right) => {
      if (t < x0 || t > x1) return;
      if (lowest !== null) low = Math.min(low, lowest);
      if (highest !== null) high = Math.max(high, highest);
      if (right !== null) edge = Math.max(edge, right);
    };
    const { overview, details } = this.data;
    const full = details.filter((d) => this.inFull(d));
    // A narrow part of overview next to an interval is ignored.
    const fills = full.some((d) => d.to - d.from > 0.8 * (x1 - x0));
    overview.t.forEach((t, i) => {
      if (fills || full.some((d) => t >= d.from && t <= d.to)) return;
      take(t, Math.min(overview.ack[i], overview.low[i] ?? Infinity), Math.max(overview.ack[i], overview.high[i] ?? 0), overview.edge[i]);
    });
    for (const { sent, acks } of full) {
      sent.t.forEach((t, i) => take(t, sent.at[i], sent.at[i] + sent.length[i], null));
      acks.t.forEach((t, i) => take(t, acks.ack[i], acks.ack[i], acks.edge[i]));
    }
    if (!(high > low)) [low, high] = Number.isFinite(low) ? [low - 1, low + 1] : [0, 1];
    if (edge > high && edge - low < 2.2 * (high - low)) high = edge;
    const slack = (high - low) * 0.04;
    Object.assign(this.view, { y0: low - slack, y1: high + slack });
    this.draw();
  }

  draw() {
    const { x0, x1, y0, y1 } = this.view;
    const x = { low: x0, high: x1, unit: unitOf(x0, x1, SECONDS), label: DATA.clock };
    const y = { low: y0, high: y1, unit: unitOf(y0, y1, BYTES), label: "stream offset" };
    this.plot.begin(x, y, 14);
    this.changed(this.view);
    const full = this.data.details.filter((d) => this.inFull(d));
    this.plot.inside((g) => {
      g.save();
      this.cutOut(g, full);
      this.overview(g);
      g.restore();
      for (const detail of full) this.detail(g, detail);
    });
    this.stretchMarks();
    if (this.drag) drawRubberBand(this.plot.g, this.drag);
  }

  // Excludes the parts that are drawn in full.
  cutOut(g, full) {
    const { x, left, right, top, bottom } = this.plot;
    if (!full.length) return;
    g.beginPath();
    g.rect(left, top, right - left, bottom - top);
    // Intervals may overlap; excluding a part twice would include it again.
    let free = left;
    for (const d of [...full].sort((a, b) => a.from - b.from)) {
      const from = Math.max(free, x.position(d.from)), to = Math.min(right, x.position(d.to));
      if (to <= from) continue;
      g.rect(from, top, to - from, bottom - top);
      free = to;
    }
    g.clip("evenodd");
  }

  overview(g) {
    const { x, y } = this.plot;
    const { t, ack, low, high, edge, again } = this.data.overview;
    const end = (i) => t[i + 1] ?? t[i] + (t[i] - (t[i - 1] ?? t[i]));
    g.fillStyle = colours.sent;
    t.forEach((at, i) => {
      if (low[i] === null || high[i] === null) return;
      const from = x.position(at), top = y.position(high[i]);
      g.fillRect(from, top, Math.max(1, x.position(end(i)) - from), Math.max(1.5, y.position(low[i]) - top));
    });
    const line = (values, colour, dash) => {
      g.strokeStyle = colour;
      g.lineWidth = 1.5;
      g.setLineDash(dash);
      g.beginPath();
      t.forEach((_, i) => {
        const at = x.position(end(i));
        if (i) g.lineTo(at, y.position(values[i]));
        else g.moveTo(at, y.position(values[i]));
      });
      g.stroke();
      g.setLineDash([]);
    };
    line(ack, colours.ack, []);
    line(edge, colours.edge, [7, 4]);
    t.forEach((at, i) => {
      if (again[i]) this.againMark(g, (x.position(at) + x.position(end(i))) / 2, y.position(low[i] ?? ack[i]));
    });
  }

  againMark(g, px, py) {
    markPath(g, 3, px, py, 5);
    g.fillStyle = colours.again;
    g.fill();
    g.strokeStyle = colours.paper;
    g.lineWidth = 1;
    g.stroke();
  }

  detail(g, detail) {
    this.staircase(g, detail.acks.t, detail.acks.edge, colours.edge, [7, 4], detail.to);
    this.staircase(g, detail.acks.t, detail.acks.ack, colours.ack, [], detail.to);
    this.sacks(g, detail.sacks);
    this.segments(g, detail.sent);
  }

  staircase(g, t, values, colour, dash, until) {
    const { x, y } = this.plot;
    if (!t.length) return;
    g.strokeStyle = colour;
    g.lineWidth = 1.5;
    g.setLineDash(dash);
    g.beginPath();
    let before = y.position(values[0]);
    g.moveTo(x.position(t[0]), before);
    for (let i = 1; i < t.length; i++) {
      const at = x.position(t[i]), now = y.position(values[i]);
      g.lineTo(at, before);
      g.lineTo(at, now);
      before = now;
    }
    g.lineTo(x.position(until), before);
    g.stroke();
    g.setLineDash([]);
  }

  // Each segment from its first offset to its end, with ticks at both ends if there is space.
  // Retransmissions are wider and have an R.
  segments(g, { t, at, length, again }) {
    const { x, y, left, right } = this.plot;
    const retransmitted = [];
    g.strokeStyle = colours.sent;
    g.lineWidth = 1.5;
    g.beginPath();
    for (let i = 0; i < t.length; i++) {
      const px = x.position(t[i]);
      if (px < left - 4 || px > right + 4) continue;
      const from = y.position(at[i]), to = y.position(at[i] + length[i]);
      if (again[i]) retransmitted.push([px, from, to]);
      else this.arrow(g, px, from, to);
    }
    g.stroke();
    let letterAfter = -Infinity;
    for (const [px, from, to] of retransmitted) {
      g.strokeStyle = colours.again;
      g.lineWidth = 3.5;
      g.beginPath();
      this.arrow(g, px, from, Math.min(to, from - 3));
      g.stroke();
      if (px < letterAfter) continue;
      letterAfter = px + 14;
      g.fillStyle = colours.again;
      g.font = "700 12px " + FONT.slice(5);
      g.textAlign = "center";
      g.textBaseline = "bottom";
      g.fillText("R", px, Math.min(from, to) - 3);
    }
  }

  arrow(g, px, from, to) {
    g.moveTo(px, from);
    g.lineTo(px, Math.min(to, from - 1));
    if (from - to < 9) return;
    g.moveTo(px - 3, from);
    g.lineTo(px + 3, from);
    g.moveTo(px - 3, to);
    g.lineTo(px + 3, to);
  }

  sacks(g, { t, at, length }) {
    const { x, y, left, right } = this.plot;
    const letters = [];
    g.strokeStyle = g.fillStyle = colours.sack;
    g.lineWidth = 2;
    g.setLineDash([3, 2]);
    g.beginPath();
    for (let i = 0; i < t.length; i++) {
      const px = x.position(t[i]);
      if (px < left - 4 || px > right + 4) continue;
      const from = y.position(at[i]);
      g.moveTo(px, from);
      g.lineTo(px, Math.min(y.position(at[i] + length[i]), from - 1));
      if (px > (letters.at(-1)?.[0] ?? -Infinity) + 40) letters.push([px, from]);
    }
    g.stroke();
    g.setLineDash([]);
    g.font = "700 12px " + FONT.slice(5);
    g.textAlign = "left";
    g.textBaseline = "top";
    for (const [px, from] of letters) g.fillText("S", px + 4, from + 2);
  }

  // Bars over the frame at intervals with full detail, named if there is space.
  stretchMarks() {
    const { g, x, left, right, top } = this.plot;
    let free = left;
    for (const detail of this.data.details) {
      const from = Math.max(left, x.position(detail.from)), to = Math.min(right, x.position(detail.to));
      if (from > right || to < left) continue;
      g.fillStyle = colours.ink;
      g.fillRect(from, top - 4, Math.max(3, to - from), 4);
      const width = g.measureText(detail.why).width;
      const at = Math.min(Math.max(free, from), right - width);
      if (at < free) continue;
      g.textAlign = "left";
      g.textBaseline = "bottom";
      g.fillText(detail.why, at, top - 5);
      free = at + width + 12;
    }
  }

  // Zooms by `factor` about a point given in data; `timeOnly` keeps the height.
  zoom(factor, at, timeOnly) {
    const v = this.view;
    const x = at?.x ?? (v.x0 + v.x1) / 2, y = at?.y ?? (v.y0 + v.y1) / 2;
    const span = (v.x1 - v.x0) * factor;
    // Spans below a nanosecond or beyond the connection are refused.
    if (span < 2e-9) return;
    if (span >= this.all[1] - this.all[0]) return this.whole();
    v.x0 = x - (x - v.x0) * factor;
    v.x1 = x + (v.x1 - x) * factor;
    if (!timeOnly && (v.y1 - v.y0) * factor > 1) {
      v.y0 = y - (y - v.y0) * factor;
      v.y1 = y + (v.y1 - y) * factor;
    }
    this.draw();
  }

  move(dx, dy) {
    const v = this.view;
    const x = (v.x1 - v.x0) * dx, y = (v.y1 - v.y0) * dy;
    Object.assign(v, { x0: v.x0 + x, x1: v.x1 + x, y0: v.y0 + y, y1: v.y1 + y });
    this.draw();
  }

  listen() {
    const { canvas } = this;
    const place = (event) => placeIn(canvas, event);
    canvas.addEventListener("pointerdown", (event) => {
      if (event.button || event.pointerType === "touch") return;
      canvas.setPointerCapture(event.pointerId);
      const [px, py] = place(event);
      this.drag = { fromX: px, fromY: py, toX: px, toY: py };
    });
    canvas.addEventListener("pointermove", (event) => {
      const [px, py] = place(event);
      if (this.drag) {
        Object.assign(this.drag, { toX: px, toY: py });
        this.draw();
      }
      this.read(px, py);
    });
    canvas.addEventListener("pointerup", () => this.drop());
    canvas.addEventListener("pointercancel", () => {
      this.drag = null;
      this.draw();
    });
    canvas.addEventListener("dblclick", () => this.whole());
    canvas.addEventListener("wheel", (event) => {
      // Only with the focus; otherwise the wheel could not scroll the page past the graph.
      if (document.activeElement !== canvas && !event.ctrlKey) return;
      event.preventDefault();
      const [px, py] = place(event);
      const at = { x: this.plot.x.value(px), y: this.plot.y.value(py) };
      this.zoom(Math.exp((event.deltaY || event.deltaX) * 0.0015), at, event.shiftKey);
    }, { passive: false });
    canvas.addEventListener("keydown", (event) => this.key(event));
  }

  drop() {
    const drag = this.drag;
    this.drag = null;
    if (!drag) return;
    const wide = Math.abs(drag.toX - drag.fromX), high = Math.abs(drag.toY - drag.fromY);
    if (wide < 6) return this.draw();
    const { x, y } = this.plot;
    const v = this.view;
    [v.x0, v.x1] = [x.value(Math.min(drag.fromX, drag.toX)), x.value(Math.max(drag.fromX, drag.toX))];
    // A drag along the axis selects a time; the height is fitted.
    if (high < 12) return this.fit();
    [v.y0, v.y1] = [y.value(Math.max(drag.fromY, drag.toY)), y.value(Math.min(drag.fromY, drag.toY))];
    this.draw();
  }

  key(event) {
    const keys = {
      "+": () => this.zoom(0.6), "=": () => this.zoom(0.6), "-": () => this.zoom(1 / 0.6),
      "0": () => this.whole(), f: () => this.fit(),
      ArrowLeft: () => this.move(-0.1, 0), ArrowRight: () => this.move(0.1, 0),
      ArrowUp: () => this.move(0, 0.1), ArrowDown: () => this.move(0, -0.1),
    };
    if (!Object.hasOwn(keys, event.key) || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    keys[event.key]();
  }

  // Shows the position of the pointer and the segment there.
  read(px, py) {
    const { x, y } = this.plot;
    const at = `${digits(x.value(px), 6)} s, offset ${digits(y.value(py), 0)}`;
    const near = this.segmentAt(px, py);
    this.readout.textContent = near ? `${at}. ${near}` : at;
  }

  segmentAt(px, py) {
    const { x, y } = this.plot;
    let best = null, closest = 8;
    for (const { sent } of this.data.details.filter((d) => this.inFull(d))) {
      for (let i = 0; i < sent.t.length; i++) {
        const dx = Math.abs(x.position(sent.t[i]) - px);
        if (dx >= closest) continue;
        const from = y.position(sent.at[i]), to = y.position(sent.at[i] + sent.length[i]);
        const by = dx + Math.max(to - py, py - from, 0);
        if (by >= closest) continue;
        closest = by;
        const end = sent.at[i] + sent.length[i];
        best = `${sent.again[i] ? "Retransmission" : "Segment"} ${digits(sent.at[i], 0)} to ${digits(end, 0)} (${sent.length[i]} bytes) sent at ${digits(sent.t[i], 9)} s`;
      }
    }
    return best;
  }
}

function buildSequenceLegend() {
  const entries = [
    ["segment sent", (g, w, h) => bar(g, w, h, colours.sent, 2, [])],
    ["retransmission, R", (g, w, h) => {
      bar(g, w * 0.6, h, colours.again, 4, []);
      markPath(g, 3, w * 0.72, h / 2, 5);
      g.fillStyle = colours.again;
      g.fill();
    }],
    ["SACK block received, S", (g, w, h) => bar(g, w, h, colours.sack, 2, [3, 2])],
    ["acknowledged (SND.UNA)", (g, w, h) => flat(g, w, h, colours.ack, [])],
    ["window edge (SND.UNA + SND.WND)", (g, w, h) => flat(g, w, h, colours.edge, [7, 4])],
  ];
  const legend = byId("sequence-legend");
  legend.replaceChildren();
  for (const [text, draw] of entries) {
    const entry = element("span", undefined, "entry");
    entry.append(glyph(30, 16, draw), element("span", text));
    legend.append(entry);
  }
  function bar(g, w, h, colour, width, dash) {
    stroke(g, [w / 2, 1, w / 2, h - 1], colour, width, dash);
  }
  function flat(g, w, h, colour, dash) {
    stroke(g, [1, h / 2, w - 1, h / 2], colour, 2, dash);
  }
  function stroke(g, [x0, y0, x1, y1], colour, width, dash) {
    g.strokeStyle = colour;
    g.lineWidth = width;
    g.setLineDash(dash);
    g.beginPath();
    g.moveTo(x0, y0);
    g.lineTo(x1, y1);
    g.stroke();
  }
}
