// What stands beneath the time-sequence graph, over the same time: throughput,
// octets in flight, round-trip times, and named stretches.

const RATE_STEP = 6; // pixels of an interval of throughput

// Draws octets acknowledged and sent, each second, of intervals some pixels
// wide.
function drawThroughput(panel, view, tree) {
  const wide = panel.canvas.getBoundingClientRect().width - LEFT - RIGHT;
  const count = Math.max(8, Math.floor(wide / RATE_STEP));
  const from = Math.max(view.x0, tree.begin), to = Math.min(view.x1, tree.end);
  const step = (to - from) / count;
  const rates = [];
  if (step > 0) {
    let before = tree.totalsAt(from);
    for (let i = 1; i <= count; i++) {
      const now = tree.totalsAt(from + step * i);
      rates.push({ at: from + step * (i - 1), acked: ((now.una - before.una) * 8e9) / step, sent: ((now.sent - before.sent) * 8e9) / step });
      before = now;
    }
  }
  const high = Math.max(1, ...rates.map((rate) => Math.max(rate.acked, rate.sent)));
  panel.frame(view, 0, high * 1.08, RATES, "sent (dashed), acknowledged", 22);
  panel.inside(() => {
    const acked = new Steps(panel), sent = new Steps(panel);
    for (const rate of rates) {
      acked.add(rate.at, rate.acked);
      sent.add(rate.at, rate.sent);
    }
    if (rates.length) {
      acked.add(to, rates.at(-1).acked);
      sent.add(to, rates.at(-1).sent);
    }
    sent.stroke(colours.sent, [4, 3]);
    acked.stroke(colours.ack);
  });
}

function drawOwin(panel, view, tree) {
  const { x0, x1 } = view;
  let high = 1, window = 0;
  tree.visit(x0, x1, (x1 - x0) / 500, (c, i) => {
    high = Math.max(high, c.owinHigh[i]);
    window = Math.max(window, c.edge1[i] - c.una1[i]);
  }, (p) => {
    for (let i = Math.max(0, lastAtOrBefore(p.t, x0)); i < p.size && p.t[i] <= x1; i++) {
      high = Math.max(high, p.next[i] - p.una[i]);
      window = Math.max(window, p.edge[i] - p.una[i]);
    }
  });
  if (tree.meta.windows && window < 2.5 * high) high = Math.max(high, window);
  panel.frame(view, 0, high * 1.08, OCTETS, "in flight, window (dashed)", 22);
  panel.inside(() => {
    const owin = new Steps(panel), offered = new Steps(panel);
    tree.visit(x0, x1, panel.perPixel / panel.ratio, (c, i, isWide) => {
      owin.add(c.t0[i], c.next0[i] - c.una0[i]);
      if (c.owinLow[i] <= c.owinHigh[i]) {
        owin.add((c.t0[i] + c.t1[i]) / 2, c.owinHigh[i]);
        owin.add((c.t0[i] + c.t1[i]) / 2, c.owinLow[i]);
      }
      isWide ? owin.slope(c.t1[i], c.next1[i] - c.una1[i]) : owin.add(c.t1[i], c.next1[i] - c.una1[i]);
      if (c.edge1[i] > 0) offered.add(c.t1[i], c.edge1[i] - c.una1[i]);
    }, (p) => {
      for (let i = Math.max(0, lastAtOrBefore(p.t, x0)); i < p.size; i++) {
        owin.add(p.t[i], p.next[i] - p.una[i]);
        if (p.edge[i] > 0) offered.add(p.t[i], p.edge[i] - p.una[i]);
        if (p.t[i] > x1) break;
      }
    });
    owin.end(tree.end);
    offered.end(tree.end);
    if (tree.meta.windows) offered.stroke(colours.edge, [7, 4]);
    owin.stroke(colours.sent);
  });
}

function drawRoundTrips(panel, view, tree) {
  const { x0, x1 } = view;
  let high = 0;
  const each = (node, one) => tree.visit(x0, x1, (x1 - x0) / panel.canvas.getBoundingClientRect().width, node, (p) => {
    for (let i = Math.max(0, lastAtOrBefore(p.t, x0)); i < p.size && p.t[i] <= x1; i++) {
      if (!Number.isNaN(p.rtt[i]) && p.t[i] >= x0) one(p.t[i], p.rtt[i]);
    }
  });
  const inView = (c, i) => c.rttHigh[i] > 0 && c.t1[i] >= x0 && c.t0[i] <= x1;
  each((c, i) => {
    if (inView(c, i)) high = Math.max(high, c.rttHigh[i]);
  }, (_, rtt) => {
    high = Math.max(high, rtt);
  });
  panel.frame(view, 0, (high || 1e6) * 1.08, NANOS, "round trip", 22);
  panel.inside(() => {
    const bars = new Bars(panel, 2.5);
    each((c, i) => {
      if (inView(c, i)) bars.add((c.t0[i] + c.t1[i]) / 2, c.rttLow[i], c.rttHigh[i]);
    }, (t, rtt) => bars.add(t, rtt, rtt));
    bars.fill(colours.again);
  });
  if (!high) note(panel, "no samples in this time");
}

function note(panel, text) {
  const { g } = panel;
  g.fillStyle = colours.soft;
  g.textAlign = "center";
  g.textBaseline = "middle";
  g.fillText(text, (panel.left + panel.right) / 2, (panel.top + panel.bottom) / 2);
}

// When a stretch is, to a tenth of its length.
function when(span) {
  const places = Math.max(0, Math.min(9, 1 - Math.floor(Math.log10((span.to - span.from) / 1e9))));
  return `${digits(span.from / 1e9, places)}\u2013${digits(span.to / 1e9, places)} s`;
}

// Named stretches of time in lanes, so that none hides another.
class Band {
  constructor(canvas, shown) {
    this.canvas = canvas;
    this.selected = -1;
    this.shown = shown;
    canvas.addEventListener("click", (event) => {
      const box = canvas.getBoundingClientRect();
      const at = this.spanAt(event.clientX - box.left, event.clientY - box.top);
      if (at >= 0) this.select(at);
    });
  }

  choose(spans) {
    this.spans = spans;
    this.selected = -1;
    byId("span-text").textContent = "Choose a stretch to zoom into it and to read what was found.";
    const lanes = [];
    this.lane = spans.map((span) => {
      let lane = lanes.findIndex((end) => end <= span.from);
      if (lane < 0) lane = lanes.length;
      lanes[lane] = span.to;
      return lane;
    });
    byId("band-frame").hidden = !spans.length;
    this.canvas.style.height = `${Math.max(1, lanes.length) * 22 + 6}px`;
    byId("spans").replaceChildren(...spans.map((span, index) => {
      const button = element("button", `${span.name} ${when(span)}`);
      button.type = "button";
      button.setAttribute("aria-pressed", "false");
      button.addEventListener("click", () => this.select(index));
      return button;
    }));
  }

  select(index) {
    this.selected = index;
    const span = this.spans[index];
    [...byId("spans").children].forEach((button, i) => button.setAttribute("aria-pressed", String(i === index)));
    byId("span-text").textContent = `${span.name}, ${digits(span.from / 1e9, 6)} s to ${digits(span.to / 1e9, 6)} s. ${span.text}`;
    this.shown(span);
  }

  spanAt(px, py) {
    return this.boxes?.findIndex(([x, y, w, h]) => px >= x && px <= x + w && py >= y && py <= y + h) ?? -1;
  }

  // An empty picture of the size the page gives the canvas.
  open() {
    const { canvas } = this;
    const ratio = window.devicePixelRatio || 1;
    canvas.width = Math.round(canvas.clientWidth * ratio);
    canvas.height = Math.round(canvas.clientHeight * ratio);
    const g = canvas.getContext("2d");
    g.setTransform(ratio, 0, 0, ratio, 0, 0);
    g.font = FONT;
    return g;
  }

  draw(panel) {
    if (!this.spans.length) return;
    const g = this.open();
    this.boxes = this.spans.map((span, index) => {
      const from = Math.max(panel.left, Math.min(panel.right, panel.px(span.from)));
      const to = Math.max(panel.left, Math.min(panel.right, panel.px(span.to)));
      const box = [from, this.lane[index] * 22 + 3, Math.max(to - from, panel.px(span.to) < panel.left || panel.px(span.from) > panel.right ? 0 : 3), 18];
      const [x, y, w, h] = box;
      if (!w) return box;
      g.fillStyle = colours.panel;
      g.fillRect(x, y, w, h);
      g.strokeStyle = index === this.selected ? colours.ink : colours.soft;
      g.lineWidth = index === this.selected ? 2 : 1;
      g.strokeRect(x + 0.5, y + 0.5, Math.max(1, w - 1), h - 1);
      g.save();
      g.beginPath();
      g.rect(x, y, w, h);
      g.clip();
      g.fillStyle = colours.ink;
      g.textAlign = "left";
      g.textBaseline = "middle";
      if (g.measureText(span.name).width + 8 <= w) g.fillText(span.name, x + 5, y + h / 2);
      g.restore();
      return box;
    });
  }
}
