// The time-sequence graph: data, ACKs, window and SACK blocks. Also finds packets by position and
// handles keys, wheel and pointer.

class SequencePanel {
  constructor(canvas, changed) {
    this.canvas = canvas;
    this.changed = changed;
    this.panel = new Panel(canvas);
    this.drag = null;
    this.selected = null;
    this.listen();
  }

  choose(tree) {
    this.tree = tree;
    this.selected = null;
    this.whole();
  }

  whole() {
    const { begin, end } = this.tree;
    const slack = Math.max((end - begin) * 0.01, 1000);
    this.all = { x0: begin - slack, x1: end + slack };
    this.view = { ...this.all, y0: 0, y1: 1 };
    this.fits = true;
    this.changed();
  }

  isWhole() {
    return this.fits && this.view.x0 === this.all.x0 && this.view.x1 === this.all.x1;
  }

  show(from, to) {
    const slack = Math.max((to - from) * 0.05, 500);
    this.exactly(from - slack, to + slack);
  }

  // Sets the time, and offsets if given; otherwise the height is fitted.
  exactly(from, to, offsets) {
    Object.assign(this.view, { x0: from, x1: to });
    this.fits = !offsets;
    if (offsets) [this.view.y0, this.view.y1] = offsets;
    this.changed();
  }

  // Fits the height to the data sent and acknowledged in the visible time, and to the window edge
  // unless it is far above.
  fit() {
    const { view: { x0, x1 }, tree: { isAnswered } } = this;
    let low = Infinity, high = -Infinity, edge = -Infinity;
    const node = (c, i) => {
      if (c.t1[i] < x0 || c.t0[i] > x1) return;
      low = Math.min(low, c.newLow[i], c.repLow[i], isAnswered ? c.una0[i] : Infinity);
      high = Math.max(high, c.newHigh[i], c.repHigh[i], c.una1[i], c.sackHigh[i]);
      edge = Math.max(edge, c.edgeHigh[i]);
    };
    const packets = (p) => {
      for (let i = Math.max(0, lastAtOrBefore(p.t, x0)); i < p.size && p.t[i] <= x1; i++) {
        if (p.answer[i]) {
          if (p.at[i] < p.una[i] && p.t[i] < x0) continue;
          low = Math.min(low, p.una[i]);
          high = Math.max(high, p.una[i]);
          edge = Math.max(edge, p.edge[i]);
        } else if (p.t[i] >= x0) {
          low = Math.min(low, p.at[i]);
          high = Math.max(high, p.end[i]);
        }
      }
    };
    this.tree.visit(x0, x1, (x1 - x0) / 500, node, packets);
    if (!(high > low)) [low, high] = Number.isFinite(low) ? [low - 1, low + 1] : [0, 1];
    if (edge > high && edge - low < 2.2 * (high - low)) high = edge;
    // Letters are drawn above their packets.
    const slack = (high - low) * 0.05;
    Object.assign(this.view, { y0: low - slack, y1: high + 1.6 * slack });
  }

  draw() {
    if (this.fits) this.fit();
    const { x0, x1, y0, y1 } = this.view;
    this.panel.frame(this.view, y0, y1, BYTES, "offset in the stream");
    this.panel.inside(() => this.contents(x0, x1));
    if (this.drag && !this.drag.moves) drawRubberBand(this.panel.g, this.drag);
  }

  contents(x0, x1) {
    const { panel, tree } = this;
    const { g } = panel;
    const windows = tree.meta.packets.knows_windows;
    const una = new Steps(panel), edge = new Steps(panel);
    const sent = new Bars(panel, 1.5), again = new Bars(panel, 3.5), late = new Bars(panel, 2.5), sacks = new Bars(panel, 2);
    const letters = {
      again: new Letters(panel, "R", colours.again), late: new Letters(panel, "O", colours.late), sack: new Letters(panel, "S", colours.sack),
      zero: new Letters(panel, "Z", colours.edge), syn: new Letters(panel, "SYN", colours.ink), fin: new Letters(panel, "FIN", colours.ink), rst: new Letters(panel, "RST", colours.again),
    };
    const ticks = [], slopes = [];
    let tickAfter = -Infinity;
    const control = (marks, px, py) => {
      if (marks & MARKS.syn) letters.syn.add(px, py);
      if (marks & MARKS.fin) letters.fin.add(px, py);
      if (marks & MARKS.rst) letters.rst.add(px, py);
    };
    const node = (c, i, isWide) => {
      const middle = (c.t0[i] + c.t1[i]) / 2;
      una.add(c.t0[i], c.una0[i]);
      isWide ? una.slope(c.t1[i], c.una1[i]) : una.add(c.t1[i], c.una1[i]);
      if (windows && c.edge1[i] > 0) {
        if (c.edge0[i] > 0) edge.add(c.t0[i], c.edge0[i]);
        isWide ? edge.slope(c.t1[i], c.edge1[i]) : (c.edgeHigh[i] > 0 && edge.add(c.t1[i], c.edgeHigh[i]), edge.add(c.t1[i], c.edge1[i]));
      }
      if (isWide && c.newHigh[i] > 0) slopes.push([c.t0[i], c.newLow[i], c.t1[i], c.newHigh[i]]);
      else sent.add(middle, c.newLow[i], c.newHigh[i]);
      sacks.add(middle, c.sackLow[i], c.sackHigh[i]);
      again.add(middle, c.repLow[i], c.repHigh[i]);
      if (c.again[i]) letters.again.add(panel.px(middle), panel.py(c.repHigh[i]) - 3);
      if (c.marks[i] & MARKS.zero) letters.zero.add(panel.px(middle), panel.py(c.edge1[i]) - 3);
      const syn = c.marks[i] & MARKS.syn;
      if (syn) letters.syn.add(panel.px(c.t0[i]), panel.py(c.newLow[i]) - 3);
      control(c.marks[i] - syn, panel.px(c.t1[i]), panel.py(c.next1[i]) - 3);
    };
    const packets = (p) => {
      // Starts one packet before the view, for lines that come from there.
      for (let i = Math.max(0, lastAtOrBefore(p.t, x0)); i < p.size; i++) {
        const t = p.t[i], marks = p.marks[i];
        if (p.answer[i]) {
          una.add(t, p.una[i]);
          if (windows && p.edge[i] > 0) edge.add(t, p.edge[i]);
          if (p.at[i] === p.una[i] && marks & MARKS.duplicate) {
            const px = panel.px(t);
            if (px > tickAfter) {
              ticks.push([px, panel.py(p.una[i])]);
              tickAfter = px + 2;
            }
          }
          for (const [left, right] of p.sacks.get(i) ?? []) {
            sacks.add(t, left, right);
            letters.sack.add(panel.px(t) + 7, panel.py(left) + 14);
          }
          if (marks & MARKS.zero) letters.zero.add(panel.px(t), panel.py(p.edge[i]) - 3);
          if (marks & MARKS.rst) letters.rst.add(panel.px(t), panel.py(p.una[i]) - 3);
        } else {
          const px = panel.px(t), py = panel.py(p.end[i]) - 3;
          if (marks & AGAIN_MARKS) {
            again.add(t, p.at[i], p.end[i]);
            letters.again.add(px, py);
          } else if (marks & MARKS.late) {
            late.add(t, p.at[i], p.end[i]);
            letters.late.add(px, py);
          } else sent.add(t, p.at[i], p.end[i]);
          if (marks) control(marks, px, py);
        }
        if (t > x1) break;
      }
    };
    tree.visit(x0, x1, panel.perPixel / panel.ratio, node, packets);
    una.end(tree.end);
    edge.end(tree.end);
    this.slopes(slopes);
    edge.stroke(colours.edge, [7, 4]);
    if (tree.isAnswered) una.stroke(colours.ack);
    g.fillStyle = colours.ack;
    for (const [px, py] of ticks) g.fillRect(px - 0.5, py, 1, 5);
    sacks.fill(colours.sack);
    sent.fill(colours.sent);
    late.fill(colours.late);
    again.fill(colours.again);
    const taken = [];
    for (const set of Object.values(letters)) set.draw(taken);
    this.markSelected();
  }

  // Intervals whose packets are not in the page.
  slopes(list) {
    const { panel } = this;
    const { g } = panel;
    g.strokeStyle = colours.sent;
    g.globalAlpha = 0.45;
    g.lineWidth = 4;
    g.beginPath();
    for (const [t0, low, t1, high] of list) {
      g.moveTo(panel.px(t0), panel.py(low));
      g.lineTo(panel.px(t1), panel.py(high));
    }
    g.stroke();
    g.globalAlpha = 1;
  }

  markSelected() {
    const found = this.selected;
    if (!found) return;
    const { panel } = this;
    const { p, i } = found;
    panel.upright(p.t[i], colours.ink);
    const { g } = panel;
    g.strokeStyle = colours.ink;
    g.lineWidth = 1.5;
    const px = panel.px(p.t[i]);
    const low = panel.py(p.answer[i] ? p.una[i] : p.at[i]), high = panel.py(p.answer[i] ? p.una[i] : p.end[i]);
    g.strokeRect(px - 5, high - 5, 10, Math.max(0, low - high) + 10);
  }

  // Zooms by `factor` about a point of the canvas, the selected packet, or the middle. The height
  // is refitted while it is fitted.
  zoom(factor, px, py) {
    const v = this.view;
    const selected = this.selected?.p.t[this.selected.i];
    const centre = selected >= v.x0 && selected <= v.x1 ? selected : (v.x0 + v.x1) / 2;
    const x = px === undefined ? centre : this.panel.timeAt(px);
    const span = (v.x1 - v.x0) * factor;
    if (span < 20) return;
    // Beyond the stream there is nothing to see.
    if (span >= this.all.x1 - this.all.x0) return this.whole();
    v.x0 = x - (x - v.x0) * factor;
    v.x1 = x + (v.x1 - x) * factor;
    if (!this.fits && (v.y1 - v.y0) * factor > 1) {
      const y = py === undefined ? (v.y0 + v.y1) / 2 : this.panel.valueAt(py);
      v.y0 = y - (y - v.y0) * factor;
      v.y1 = y + (v.y1 - y) * factor;
    }
    this.changed();
  }

  move(dx, dy) {
    const v = this.view;
    const x = (v.x1 - v.x0) * dx, y = (v.y1 - v.y0) * dy;
    if (dy) this.fits = false;
    Object.assign(v, { x0: v.x0 + x, x1: v.x1 + x, y0: v.y0 + y, y1: v.y1 + y });
    this.changed();
  }

  listen() {
    const { canvas } = this;
    const place = (event) => placeIn(canvas, event);
    canvas.addEventListener("pointerdown", (event) => {
      if (event.button || event.pointerType === "touch") return;
      canvas.setPointerCapture(event.pointerId);
      const [px, py] = place(event);
      this.drag = { fromX: px, fromY: py, toX: px, toY: py, moves: event.shiftKey };
    });
    canvas.addEventListener("pointermove", (event) => {
      const [px, py] = place(event);
      if (!this.drag) return this.hover(px, py, event);
      const { toX, toY } = this.drag;
      Object.assign(this.drag, { toX: px, toY: py });
      if (this.drag.moves) {
        const { left, right, top, bottom } = this.panel;
        this.move((toX - px) / (right - left), this.fits ? 0 : (py - toY) / (bottom - top));
      } else this.changed();
    });
    canvas.addEventListener("pointerup", (event) => this.drop(event));
    canvas.addEventListener("pointercancel", () => {
      this.drag = null;
      this.changed();
    });
    canvas.addEventListener("pointerleave", hideTip);
    canvas.addEventListener("dblclick", () => this.whole());
    canvas.addEventListener("wheel", (event) => {
      // Only with the focus; otherwise the wheel could not scroll the page past the graph.
      if (document.activeElement !== canvas && !event.ctrlKey) return;
      event.preventDefault();
      this.zoom(Math.exp((event.deltaY || event.deltaX) * 0.0015), ...place(event));
    }, { passive: false });
    canvas.addEventListener("keydown", (event) => this.key(event));
  }

  drop(event) {
    const drag = this.drag;
    this.drag = null;
    if (!drag || drag.moves) return;
    const wide = Math.abs(drag.toX - drag.fromX), high = Math.abs(drag.toY - drag.fromY);
    if (wide < 6) {
      const found = this.packetAt(drag.toX, drag.toY);
      if (found) this.select(found);
      else this.changed();
      return;
    }
    const { panel, view } = this;
    const ends = [panel.timeAt(Math.min(drag.fromX, drag.toX)), panel.timeAt(Math.max(drag.fromX, drag.toX))];
    // A drag along the axis selects a time; the height is fitted.
    this.fits = high < 12;
    if (!this.fits) {
      [view.y0, view.y1] = [panel.valueAt(Math.max(drag.fromY, drag.toY)), panel.valueAt(Math.min(drag.fromY, drag.toY))];
    }
    if (ends[1] - ends[0] >= 20) [view.x0, view.x1] = ends;
    this.changed();
  }

  key(event) {
    const keys = {
      "+": () => this.zoom(0.6), "=": () => this.zoom(0.6), "-": () => this.zoom(1 / 0.6),
      "0": () => this.whole(),
      f: () => {
        this.fits = true;
        this.changed();
      },
      ArrowLeft: () => this.move(-0.1, 0), ArrowRight: () => this.move(0.1, 0),
      ArrowUp: () => this.move(0, 0.1), ArrowDown: () => this.move(0, -0.1),
      ",": () => this.step(-1), ".": () => this.step(1), r: () => this.again(1), R: () => this.again(-1),
    };
    if (!Object.hasOwn(keys, event.key) || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    keys[event.key]();
  }

  // The packet nearest to a position in the canvas.
  packetAt(px, py) {
    const { panel, tree } = this;
    const reach = 9;
    const from = panel.timeAt(px - reach), to = panel.timeAt(px + reach);
    let best = null, closest = reach;
    const blocks = tree.levels[0];
    const first = tree.blockAt(from), last = tree.blockAt(to);
    // If hundreds of blocks are under the pointer, no packet is selected.
    if (last - first > 64) return null;
    for (let block = first; block <= last; block++) {
      if (!tree.hasPackets(block) || blocks.t1[block] < from) continue;
      const p = tree.packets(block);
      for (let i = Math.max(0, lastAtOrBefore(p.t, from)); i < p.size && p.t[i] <= to; i++) {
        const dx = Math.abs(panel.px(p.t[i]) - px);
        if (dx >= closest) continue;
        const by = dx + this.above(p, i, py);
        if (by >= closest) continue;
        closest = by;
        best = { block, p, i };
      }
    }
    return best;
  }

  // Distance of a position above or below a packet.
  above(p, i, py) {
    const { panel } = this;
    const away = (low, high) => Math.max(panel.py(high) - py, py - panel.py(low), 0);
    if (!p.answer[i]) return away(p.at[i], p.end[i]);
    const sacks = (p.sacks.get(i) ?? []).map(([left, right]) => away(left, right));
    return Math.min(away(p.at[i], p.at[i]), away(p.edge[i], p.edge[i]), ...sacks);
  }

  hover(px, py, event) {
    const { panel } = this;
    if (px < panel.left || px > panel.right) return hideTip();
    const found = this.packetAt(px, py);
    if (found) {
      showTip(this.describe(found).map((line) => element("div", line)), event.pageX, event.pageY);
      return;
    }
    hideTip();
    byId("readout").textContent = `${digits(panel.timeAt(px) / 1e9, 6)} s, offset ${digits(panel.valueAt(py), 0)}`;
  }

  // Describes a packet, one fact per line.
  describe({ p, i }) {
    const marks = DATA.marks.filter((_, bit) => p.marks[i] & (2 ** bit));
    const lines = [`Packet ${digits(p.frame[i], 0)} at ${digits(p.t[i] / 1e9, 9)} s` + (marks.length ? `: ${marks.join(", ")}` : "")];
    if (p.answer[i]) {
      const window = this.tree.meta.packets.knows_windows ? `, window ${digits(p.end[i] - p.at[i], 0)} to ${digits(p.end[i], 0)}` : "";
      lines.push(`acknowledges ${digits(p.at[i], 0)}${window}`);
      for (const [left, right] of p.sacks.get(i) ?? []) lines.push(`SACK ${digits(left, 0)} to ${digits(right, 0)}`);
      if (!Number.isNaN(p.rtt[i])) lines.push(`round trip ${withUnit(p.rtt[i], NANOS)}`);
    } else {
      lines.push(`data ${digits(p.at[i], 0)} to ${digits(p.end[i], 0)} (${digits(p.end[i] - p.at[i], 0)} bytes)`);
    }
    if (this.tree.isAnswered) lines.push(`in flight after it ${withUnit(p.next[i] - p.una[i], BYTES)}`);
    return lines;
  }

  // Selects a packet, and moves the view if necessary.
  select(found) {
    this.selected = found;
    const { view } = this;
    const time = found.p.t[found.i];
    if (time < view.x0 || time > view.x1) {
      const half = (view.x1 - view.x0) / 2;
      [view.x0, view.x1] = [time - half, time + half];
      this.fits = true;
    }
    byId("readout").textContent = this.describe(found).join("; ") + ".";
    this.changed();
  }

  // Selects the packet `by` after the selected one, or the first in view.
  step(by) {
    const { tree, selected } = this;
    const size = tree.levels[0].size;
    if (!selected) {
      const block = this.firstWithPackets(tree.blockAt(this.view.x0), 1);
      if (block === null) return;
      const p = tree.packets(block);
      const i = Math.min(p.size - 1, Math.max(0, lastAtOrBefore(p.t, this.view.x0)) + (p.t[0] < this.view.x0 ? 1 : 0));
      return this.select({ block, p, i });
    }
    const i = selected.i + by;
    if (i >= 0 && i < selected.p.size) return this.select({ ...selected, i });
    const next = selected.block + by;
    if (next < 0 || next >= size) return;
    const block = this.firstWithPackets(next, by);
    if (block === null) return;
    const p = tree.packets(block);
    this.select({ block, p, i: by > 0 ? 0 : p.size - 1 });
    if (block !== next) byId("readout").textContent += " The packets between are not in this page.";
  }

  firstWithPackets(block, by) {
    const size = this.tree.levels[0].size;
    while (block >= 0 && block < size && !this.tree.hasPackets(block)) block += by;
    return block >= 0 && block < size ? block : null;
  }

  // Selects the next or the previous retransmission.
  again(by) {
    const { tree, selected } = this;
    const blocks = tree.levels[0];
    let block = selected?.block ?? (by > 0 ? 0 : blocks.size - 1), after = selected?.i ?? null;
    for (; block >= 0 && block < blocks.size; block += by, after = null) {
      if (!blocks.again[block]) continue;
      if (!tree.hasPackets(block)) continue;
      const p = tree.packets(block);
      for (let i = after === null ? (by > 0 ? 0 : p.size - 1) : after + by; i >= 0 && i < p.size; i += by) {
        if (p.marks[i] & AGAIN_MARKS && !p.answer[i]) return this.select({ block, p, i });
      }
    }
    byId("readout").textContent = by > 0 ? "No later retransmission." : "No earlier retransmission.";
  }
}

function buildSequenceLegend() {
  const bar = (colour, width) => (g, w, h) => {
    g.fillStyle = colour;
    g.fillRect(w / 2 - width / 2, 1, width, h - 2);
  };
  const flat = (colour, dash) => (g, w, h) => {
    g.strokeStyle = colour;
    g.lineWidth = 2;
    g.setLineDash(dash);
    g.beginPath();
    g.moveTo(1, h / 2);
    g.lineTo(w - 1, h / 2);
    g.stroke();
  };
  const entries = [
    ["data", bar(colours.sent, 2)], ["retransmission, R", bar(colours.again, 4)], ["out of order, O", bar(colours.late, 2.5)],
    ["SACK block, S", bar(colours.sack, 2.5)], ["acknowledged", flat(colours.ack, [])], ["window edge", flat(colours.edge, [7, 4])],
  ];
  byId("sequence-legend").replaceChildren(...entries.map(([text, draw]) => {
    const entry = element("span", undefined, "entry");
    entry.append(glyph(30, 16, draw), element("span", text));
    return entry;
  }));
}
