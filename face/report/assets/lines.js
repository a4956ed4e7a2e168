// Lines over time with marks, a cross-hair that shows their values, a legend that toggles them, and
// the common time span of all graphs.

const hiddenLines = new Set();

// From and to, s; null: the whole time.
const shown = { span: null, changed: () => {} };

function showSpan(from, to) {
  // Spans below a nanosecond or above a day are refused.
  if (from !== undefined && !(to - from >= 1e-9 && to - from <= 1e5)) return;
  shown.span = from === undefined ? null : [from, to];
  link.write({ t: shown.span && spanPart(from, to) });
  shown.changed();
}

// Zooms by `factor` about a time of an axis.
function zoomSpan(axis, factor, at = (axis.low + axis.high) / 2) {
  const from = Math.max(0, at - (at - axis.low) * factor);
  showSpan(from, at + (axis.high - at) * factor);
}

// The points of a line in the span shown, and one to either side.
function inSpan(line) {
  if (!shown.span) return line;
  const cut = (points) => {
    const { length } = points.t;
    const first = points.t.findIndex((t) => t >= shown.span[0]), beyond = points.t.findIndex((t) => t > shown.span[1]);
    const from = Math.max(0, (first < 0 ? length : first) - 1), to = beyond < 0 ? length : beyond + 1;
    const columns = ["t", "v", "low", "high"].filter((name) => points[name]?.length);
    return Object.fromEntries(columns.map((name) => [name, points[name].slice(from, to)]));
  };
  return { ...line, ...cut(line), published: line.published && cut(line.published) };
}

// The point of `line` nearest to time `at`.
function nearest(line, at) {
  let low = 0, high = line.t.length - 1;
  if (high < 0) return -1;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (line.t[middle] < at) low = middle + 1;
    else high = middle;
  }
  return low > 0 && at - line.t[low - 1] < line.t[low] - at ? low - 1 : low;
}

// `read()` returns { lines, x, y }. Lines are { index, t, v, low, high, published, claim,
// everyMark, label }; x and y are axes for Plot. `foot`: pixels kept free at the bottom. `quiet`:
// no cross-hair.
class LineChart {
  constructor(canvas, read, options = {}) {
    this.plot = new Plot(canvas);
    this.canvas = canvas;
    this.read = read;
    this.options = options;
    this.cursor = null;
    if (!options.quiet) this.listen();
  }

  draw() {
    const content = this.read();
    this.content = content;
    this.plot.begin(content.x, content.y, 0, content.foot);
    if (this.drag) drawRubberBand(this.plot.g, this.drag);
    if (!content.lines.some((line) => line.t.length)) return this.say("Nothing to show: every series is switched off or has no data here.");
    this.plot.inside((g) => {
      for (const line of content.lines) this.spread(g, line);
      for (const line of content.lines) this.line(g, line);
    }, 6);
    const marked = new Set();
    this.plot.inside((g) => {
      for (const line of content.lines) {
        // A series and its fit have the same published values, which are drawn once.
        if (!marked.has(line.claim)) this.published(g, line);
        marked.add(line.claim);
      }
    }, 8);
    if (this.cursor !== null) this.crossHair();
  }

  say(text) {
    const { g, left, right, top, bottom } = this.plot;
    g.fillStyle = colours.soft;
    g.textAlign = "center";
    g.textBaseline = "middle";
    g.fillText(text, (left + right) / 2, (top + bottom) / 2, right - left - 20);
  }

  // Whiskers from the minimum to the maximum of the repeats.
  spread(g, line) {
    if (!line.low?.length) return;
    const { x, y } = this.plot;
    g.strokeStyle = lineStyle(line.index).colour;
    g.globalAlpha = 0.45;
    g.lineWidth = Math.min(5, Math.max(1, this.room(line) * 0.7));
    g.beginPath();
    line.t.forEach((t, i) => {
      g.moveTo(x.position(t), y.position(line.low[i]));
      g.lineTo(x.position(t), y.position(line.high[i]));
    });
    g.stroke();
    g.globalAlpha = 1;
  }

  line(g, line) {
    const style = lineStyle(line.index);
    g.strokeStyle = g.fillStyle = style.colour;
    g.lineWidth = 2;
    g.lineJoin = "round";
    g.setLineDash(style.dash);
    g.beginPath();
    this.trace(g, line);
    g.stroke();
    g.setLineDash([]);
    this.marks(g, line, style);
  }

  trace(g, line) {
    const { x, y } = this.plot;
    let pen = false;
    line.t.forEach((t, i) => {
      if (line.v[i] === null) return (pen = false);
      const px = x.position(t), py = y.position(line.v[i]);
      if (pen) g.lineTo(px, py);
      else g.moveTo(px, py);
      pen = true;
    });
  }

  // Pixels from one point of the line to the next.
  room(line) {
    const { x } = this.plot;
    if (!line.t.length) return 0;
    return (x.position(line.t[line.t.length - 1]) - x.position(line.t[0])) / Math.max(1, line.t.length - 1);
  }

  // A mark at every point, or, on dense lines, at a fixed spacing in pixels. Marks are shifted by
  // the line's number so that overlapping lines can be distinguished.
  marks(g, line, style) {
    const { x, y, left } = this.plot;
    const everyMark = line.everyMark && (line.t.length === 1 || this.room(line) >= 5);
    let next = everyMark ? -Infinity : left + 20 + ((line.index * 37) % 110);
    line.t.forEach((t, i) => {
      const px = x.position(t);
      if (px < next || line.v[i] === null) return;
      if (!everyMark) next = px + 110;
      markPath(g, style.mark, px, y.position(line.v[i]), everyMark ? 2.8 : 4);
      g.fill();
    });
  }

  published(g, line) {
    if (!line.published) return;
    const { x, y } = this.plot;
    const style = lineStyle(line.index);
    line.published.t.forEach((t, i) => {
      markPath(g, style.mark, x.position(t), y.position(line.published.v[i]), 5.5);
      g.lineWidth = 1.6;
      g.strokeStyle = style.colour;
      g.stroke();
    });
  }

  crossHair() {
    const { g, x, top, bottom } = this.plot;
    const at = x.position(this.cursor);
    g.strokeStyle = colours.ink;
    g.lineWidth = 1;
    g.setLineDash([3, 3]);
    g.beginPath();
    g.moveTo(at, top);
    g.lineTo(at, bottom);
    g.stroke();
    g.setLineDash([]);
  }

  listen() {
    const { canvas } = this;
    const within = (at) => Math.min(Math.max(at, this.plot.x.low), this.plot.x.high);
    canvas.addEventListener("pointerdown", (event) => {
      if (event.button || event.pointerType === "touch") return;
      canvas.setPointerCapture(event.pointerId);
      const [px] = placeIn(canvas, event);
      this.drag = { fromX: px, toX: px, fromY: this.plot.top, toY: this.plot.bottom };
    });
    canvas.addEventListener("pointermove", (event) => {
      const [px] = placeIn(canvas, event);
      if (this.drag) this.drag.toX = px;
      this.point(within(this.plot.x.value(px)), event.pageX, event.pageY);
    });
    canvas.addEventListener("pointerup", () => {
      const { drag } = this;
      this.drag = null;
      if (drag && Math.abs(drag.toX - drag.fromX) >= 6) {
        showSpan(...[drag.fromX, drag.toX].sort((a, b) => a - b).map((px) => within(this.plot.x.value(px))));
      }
    });
    canvas.addEventListener("pointercancel", () => (this.drag = null));
    canvas.addEventListener("dblclick", () => showSpan());
    const leave = () => {
      this.cursor = null;
      hideTip();
      this.draw();
    };
    canvas.addEventListener("pointerleave", leave);
    canvas.addEventListener("blur", leave);
    canvas.addEventListener("keydown", (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      const { x } = this.plot;
      const keys = {
        "+": () => zoomSpan(x, 0.5, this.cursor ?? undefined), "-": () => zoomSpan(x, 2, this.cursor ?? undefined), "0": () => showSpan(),
        ArrowLeft: () => this.step(-1), ArrowRight: () => this.step(1),
      };
      keys["="] = keys["+"];
      if (!Object.hasOwn(keys, event.key) || !this.content.lines.length) return;
      event.preventDefault();
      keys[event.key]();
    });
  }

  // Moves the cross-hair; a screen reader then reads the values.
  step(direction) {
    const { x } = this.plot;
    const width = Math.min(this.content.step ?? Infinity, (x.high - x.low) / 50);
    const at = Math.min(Math.max((this.cursor ?? x.low) + width * direction, x.low), x.high);
    const box = this.canvas.getBoundingClientRect();
    const px = box.left + window.scrollX + x.position(at) * unitPixels();
    this.point(at, px, box.top + window.scrollY + 30, true);
  }

  // The point of the line at time `at`; negative if the line ended long before.
  pointAt(line, at) {
    const i = nearest(line, at);
    const { low, high } = this.plot.x;
    return i >= 0 && Math.abs(line.t[i] - at) <= (high - low) / 20 ? i : -1;
  }

  point(at, pageX, pageY, aloud = false) {
    if (!this.content.lines.length) return;
    this.cursor = at;
    this.draw();
    const table = element("table");
    for (const line of this.content.lines) {
      const i = this.pointAt(line, at);
      if (i < 0) continue;
      const row = table.insertRow();
      row.insertCell().append(lineGlyph(line.index));
      row.insertCell().textContent = line.label ?? DATA.lines[line.index].label;
      row.insertCell().textContent = this.content.text(line.v[i]);
      const theirs = line.published ? nearest(line.published, at) : -1;
      const near = theirs >= 0 && Math.abs(line.published.t[theirs] - line.t[i]) < 0.6;
      row.insertCell().textContent = near ? "published " + this.content.text(line.published.v[theirs]) : "";
    }
    showTip([element("b", withUnit(at, SECONDS)), table], pageX, pageY, aloud);
  }
}

// An axis from zero (or, logarithmic, from the smallest value) to above the largest of `values`.
function valueAxis(values, units, label, log) {
  let high = 0, least = Infinity;
  for (const value of values) {
    if (value > high) high = value;
    if (value > 0 && value < least) least = value;
  }
  if (!(high > 0)) high = units[units.length - 1].size;
  const unit = unitFor(high, units);
  if (!log) return { low: 0, high: high * 1.06, unit, label };
  // At most five decades below the top: a single zero must not flatten the rest.
  const low = Math.max(Math.min(least, high / 2), high / 1e5);
  return { low: low / 1.15, high: high * 1.25, unit, label, log: true };
}

function* allValues(lines) {
  for (const line of lines) {
    yield* line.v;
    if (line.high) yield* line.high;
    if (line.published) yield* line.published.v;
  }
}

// The visible span; by default from zero to the end of the longest line. Logarithmic if a line
// would be a pixel wide.
function timeAxis(lines, label) {
  if (shown.span) {
    const [low, high] = shown.span;
    return { low, high, unit: unitOf(low, high, SECONDS), label };
  }
  const last = (times) => times?.[times.length - 1] ?? 0;
  const ends = lines.map((line) => Math.max(last(line.t), last(line.published?.t))).filter((end) => end > 0);
  const high = Math.max(0, ...ends) || 1;
  const axis = { low: 0, high: high * 1.02, unit: unitFor(high, SECONDS), label };
  if (high <= FAR_APART * Math.min(...ends)) return axis;
  const starts = lines.map((line) => line.t.find((at) => at > 0) ?? high);
  return { ...axis, low: Math.max(Math.min(...starts), high / 1e5), log: true };
}

// The unit that fits the visible span, unless it makes the numbers too long.
function unitOf(low, high, units) {
  let index = units.indexOf(unitFor((high - low) * 1.0001, units));
  while (index > 0 && Math.abs(high) / units[index].size >= 1e5) index -= 1;
  return units[index];
}

const inSeconds = (rates) => rates && { t: rates.t.map((ms) => ms / 1e3), v: rates.v };

// Lines with fewer points are not drawn: the tables have them.
const FEWEST_POINTS = 3;
const isGraph = (line) => line.t.length >= FEWEST_POINTS || line.published?.t.length >= FEWEST_POINTS;

// Ratio of rates from which the axis is logarithmic.
const FAR_APART = 20;

// Lines of throughput that are switched on, or only number `only`.
function throughputLines(only) {
  return DATA.lines
    .map((line, index) => ({
      index, everyMark: true,
      ...inSeconds(line.throughput.drawn),
      low: line.throughput.low, high: line.throughput.high,
      published: inSeconds(line.published), claim: line.claim,
    }))
    .filter((line) => !hiddenLines.has(line.index) && isGraph(line) && (only === undefined || line.index === only))
    .map(inSpan);
}

function stateLines(quantity) {
  const scale = quantity === "srtt" ? 1e-6 : 1;
  return DATA.lines
    .map((line, index) => ({
      index,
      t: sums(line.samples[quantity].t, 1e-6),
      v: sums(line.samples[quantity].v, scale),
    }))
    .filter((line) => !hiddenLines.has(line.index) && isGraph(line))
    .map(inSpan);
}

// Lines that are read next to each other; of more a page begins with some.
const MOST_LINES = 16;
const SOME_LINES = 8;

// Stands in the address for all lines.
const EVERY_LINE = "*";

// The lines that a page begins with: of many the fastest, the slowest and some between.
const firstShown = (() => {
  const all = DATA.lines.map((line, index) => ({ index, v: line.throughput.drawn.v, isDrawn: isGraph(line.throughput.drawn) }));
  if (all.length <= MOST_LINES) return new Set(all.keys());
  const graphs = all.filter((line) => line.isDrawn);
  const drawn = graphs.length >= SOME_LINES ? graphs : all;
  const mean = ({ v }) => v.reduce((sum, value) => sum + value, 0) / Math.max(1, v.length);
  const ranked = drawn.map((line) => ({ ...line, mean: mean(line) })).sort((a, b) => b.mean - a.mean);
  const count = Math.min(SOME_LINES, ranked.length), step = (ranked.length - 1) / Math.max(1, count - 1);
  return new Set(Array.from({ length: count }, (_, place) => ranked[Math.round(place * step)].index));
})();

// Buttons that switch lines on and off; a double click leaves one alone.
function buildLegend(redraw) {
  const isShown = (_, index) => !hiddenLines.has(index);
  const isFirst = () => DATA.lines.every((_, index) => firstShown.has(index) === isShown(_, index));
  const say = () => {
    buttons.forEach((button, index) => button.setAttribute("aria-pressed", String(isShown(null, index))));
    const count = DATA.lines.filter(isShown).length, which = isFirst() ? ": the fastest, the slowest, and some between" : "";
    byId("legend-note").textContent = count < DATA.lines.length ? `${count} of ${DATA.lines.length} are shown${which}. Choose others:` : "";
  };
  const change = () => {
    const labels = DATA.lines.filter(isShown).map((line) => line.label);
    link.write({ show: isFirst() ? null : hiddenLines.size ? labels : EVERY_LINE });
    say();
    redraw();
  };
  const button = (act) => {
    const node = element("button");
    node.type = "button";
    node.addEventListener("click", () => {
      act();
      change();
    });
    return node;
  };
  const buttons = DATA.lines.map((line, index) => {
    const node = button(() => {
      if (!hiddenLines.delete(index)) hiddenLines.add(index);
    });
    node.title = line.title + (line.fitted ? " (has a fitted input)" : "") + "; double-click for this one alone";
    node.append(lineGlyph(index), element("span", line.label + (line.fitted ? " *" : "")));
    node.addEventListener("dblclick", () => {
      DATA.lines.forEach((_, other) => (other === index ? hiddenLines.delete(other) : hiddenLines.add(other)));
      change();
    });
    return node;
  });
  const all = button(() => hiddenLines.clear());
  all.textContent = "All";
  say();
  // What the page begins with comes first: a long legend scrolls.
  const first = buttons.filter((_, index) => firstShown.has(index));
  const others = buttons.filter((_, index) => !firstShown.has(index));
  byId("legend").classList.toggle("long", DATA.lines.length > MOST_LINES);
  byId("legend").replaceChildren(...first, all, ...others);
}
