// Graphs below the time-sequence graph, over the same time: the strip of causes, throughput, bytes
// in flight, RTTs.

const RATE_STEP = 6; // pixels of an interval of throughput

// Draws bytes acknowledged and sent per second, in intervals of a few pixels.
function drawThroughput(panel, view, tree) {
  const wide = panel.canvas.clientWidth / unitPixels() - LEFT - RIGHT;
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
  panel.frame(view, 0, high * 1.08, BYTES, "in flight, window (dashed)", 22);
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
  panel.frame(view, 0, (high || 1e6) * 1.08, NANOS, "RTT", 22);
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

// Formats the time of an interval, to a tenth of its length.
function when([from, to]) {
  const places = Math.max(0, Math.min(9, 1 - Math.floor(Math.log10((to - from) / 1e9))));
  return `${digits(from / 1e9, places)}\u2013${digits(to / 1e9, places)} s`;
}

const MIN_WIDTH = 0.005; // of the strip: what is narrower is merged with its neighbors

// Joins neighbors that are too narrow to be visible, to the cause with most of their time. Gaps
// remain.
function mergeNarrow(spans, narrow) {
  const merged = [];
  let group = [];
  const flush = () => {
    if (!group.length) return;
    const spent = new Map();
    for (const [from, to, cause] of group) spent.set(cause, (spent.get(cause) ?? 0) + to - from);
    const [cause] = [...spent].reduce((most, one) => (one[1] > most[1] ? one : most));
    const from = group[0][0], to = group.at(-1)[1], before = merged.at(-1);
    group = [];
    // A remainder that is still narrow is added to the interval before it.
    if (before?.[1] === from && (before[2] === cause || to - from < narrow)) before[1] = to;
    else merged.push([from, to, cause]);
  };
  for (const span of spans) {
    if (group.length && group.at(-1)[1] !== span[0]) flush();
    if (span[1] - span[0] >= narrow) flush();
    group.push(span);
    if (span[1] - group[0][0] >= narrow) flush();
  }
  flush();
  return merged;
}

// The strip of causes over the visible time, in the palette of the run report; below it a button
// for each cause.
class Strip {
  constructor(canvas, shown) {
    Object.assign(this, { canvas, shown, spans: [], causes: [], names: [], boxes: [], selected: null });
    canvas.addEventListener("click", (event) => {
      const found = this.at(event);
      if (found) this.select(found);
    });
    canvas.addEventListener("pointermove", (event) => {
      const found = this.at(event);
      if (found) showTip([element("span", `${this.causes[found[2]].name}, ${when(found)}`)], event.pageX, event.pageY);
      else hideTip();
    });
    canvas.addEventListener("pointerleave", hideTip);
  }

  choose({ spans, causes }) {
    Object.assign(this, { spans, causes, selected: null, boxes: [] });
    this.names = causes.map((cause) => cause.name);
    byId("strip-frame").hidden = !spans.length;
    this.say("Choose a cause to read what was found and to zoom into its longest interval.");
    this.legend();
  }

  // Causes by their time; those of almost none come last.
  legend() {
    const all = this.causes.reduce((sum, cause) => sum + cause.spent, 0);
    const order = this.causes.map((_, index) => index).sort((a, b) => this.causes[b].spent - this.causes[a].spent);
    byId("causes").replaceChildren(...order.map((index) => {
      const { name, spent } = this.causes[index];
      const button = element("button");
      button.type = "button";
      button.setAttribute("aria-pressed", String(this.selected?.[2] === index));
      const share = (spent / all) * 100;
      const sample = glyph(26, 14, (g, w, h) => {
        g.fillStyle = causeFill(g, name, this.names);
        g.fillRect(0, 0, w, h);
      });
      button.append(sample, element("span", `${name} ${share < 0.1 ? "< 0.1" : digits(share, share < 9.95 ? 1 : 0)} %`));
      button.addEventListener("click", () => this.select(this.longest(index)));
      return button;
    }));
  }

  longest(cause) {
    const own = this.spans.filter((span) => span[2] === cause);
    return own.reduce((most, span) => (span[1] - span[0] > most[1] - most[0] ? span : most), own[0] ?? [0, 0, cause]);
  }

  select(span) {
    this.selected = span;
    const { name, text } = this.causes[span[2]];
    this.legend();
    this.say(span[1] > span[0] ? `${name}, ${when(span)}. ${text}` : `${name}: ${text}`);
    if (span[1] > span[0]) this.shown(span);
  }

  say(text) {
    byId("strip-text").textContent = text;
  }

  at(event) {
    const [px] = placeIn(this.canvas, event);
    return this.boxes.find(({ x, w }) => px >= x && px <= x + w)?.span;
  }

  draw(panel) {
    if (!this.spans.length) return;
    const { g, height: all } = openCanvas(this.canvas);
    g.font = FONT;
    const { left, right } = panel;
    const inView = this.spans.filter(([from, to]) => panel.px(to) > left && panel.px(from) < right);
    const narrow = panel.timeAt(left + (right - left) * MIN_WIDTH) - panel.timeAt(left);
    this.boxes = mergeNarrow(inView.map((span) => [...span]), narrow).map((span) => {
      const from = Math.max(left, panel.px(span[0])), to = Math.min(right, panel.px(span[1]));
      return { x: from, w: Math.max(to - from, 1), span };
    });
    const height = all - 6;
    const fills = this.names.map((name) => causeFill(g, name, this.names));
    for (const { x, w, span } of this.boxes) {
      g.fillStyle = fills[span[2]];
      g.fillRect(x, 3, w, height);
      this.label(g, x, w, height, this.names[span[2]]);
    }
    if (this.selected) this.outline(g, panel, height);
  }

  label(g, x, w, height, name) {
    const width = g.measureText(name).width + 10;
    if (w < width + 6) return;
    const middle = x + w / 2;
    g.fillStyle = colours.paper;
    g.fillRect(middle - width / 2, 6, width, height - 6);
    g.fillStyle = colours.ink;
    g.textAlign = "center";
    g.textBaseline = "middle";
    g.fillText(name, middle, 3.5 + height / 2);
  }

  outline(g, panel, height) {
    const [from, to] = this.selected.map((time) => Math.min(panel.right, Math.max(panel.left, panel.px(time))));
    g.strokeStyle = colours.ink;
    g.lineWidth = 2;
    g.strokeRect(from, 2, Math.max(2, to - from), height + 2);
  }
}

// Returns the panels that have data for a stream.
function panelsOf(tree) {
  const { levels } = tree;
  const some = (column) => levels[0][column].some((value) => value > 0);
  return { throughput: tree.end > tree.begin && some("next1"), owin: some("owinHigh"), rtt: some("rttHigh") };
}
