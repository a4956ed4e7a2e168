// The picture that leads a page. Over one time axis it has the strip of causes, then rows of lines,
// then rows of ticks; the intervals of the causes shade all rows, and the pointer reads all rows at
// one instant.
//
// `read(span)` returns the data for a span (from and to, s; null: all of the time):
// { low, high, isLog, clock, causes: [{ id, name, text, share }], strips: [{ label, index, spans }], more,
//   rows: [{ title, units, log, free, lines, marks }], ticks: [{ title, groups }] }
// A span is [from, to, cause]. A line is { label, colour, dash, form, t, v, low, top, published,
// isSeries, above }, where form is "line", "step", or "bars" from v to top; low and top of a line are whiskers. A line
// that is `above` the others by far is left out of the axis. Marks are { label, at, colour, dash }: values that hold for all of the time. `free`: the axis need not
// begin at zero. A line is `wide` among `faint` ones. A mark far above all lines is in the legend only, and one without a label in the picture only. A group is { label, colour, t }.
// `act` has span(), show(from, to) and whole(), which change the time for the whole page.

const GUTTER = 58, MARGIN = 16;
const FAR_MARK = 2.5; // times the highest line: a mark above that would flatten the lines
const WIDE_PICTURE = 800, MAX_LABEL = 220; // in a wide picture the labels of strips are left of it
const MIN_SHARE = 0.005; // of the time: causes and sides below are in the tables only
const MIN_WIDTH = 0.004; // of a strip: what is narrower is merged with its neighbors

// Joins neighbors that are too narrow to be visible, to the cause with most of their time. Gaps
// remain.
function mergeNarrow(spans, narrow) {
  const merged = [];
  let group = [];
  const flush = () => {
    if (!group.length) return;
    const spent = new Map();
    for (const [from, to, cause] of group) spent.set(cause, (spent.get(cause) ?? 0) + to - from);
    const [cause] = [...spent].reduce((most, next) => (next[1] > most[1] ? next : most));
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

// The point that holds at a time: the last before it, or the nearest of a line.
function pointAt(line, at) {
  const { t } = line;
  let low = -1, high = t.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (t[middle] <= at) low = middle;
    else high = middle - 1;
  }
  if (line.form === "step") return low;
  return low + 1 < t.length && (low < 0 || t[low + 1] - at < at - t[low]) ? low + 1 : low;
}

function share(part) {
  return part < 0.001 ? "< 0.1 %" : digits(part * 100, part < 0.0995 ? 1 : 0) + " %";
}

class Picture {
  constructor(frame, read, act) {
    Object.assign(this, { frame, read, act, key: "", cursor: null, drag: null, chosen: null, boxes: [] });
    frame.tabIndex = 0;
    this.listen();
  }

  draw() {
    const data = (this.data = this.read(this.act.span()));
    this.frame.hidden = !data.strips.length && !data.rows.length;
    if (!this.frame.hidden) this.paint();
  }

  paint() {
    const { data } = this;
    this.arrange();
    const wide = this.frame.clientWidth / unitPixels();
    this.left = wide < WIDE_PICTURE ? GUTTER : Math.max(GUTTER, this.labelRoom());
    this.right = Math.max(wide - MARGIN, this.left + 40);
    const unit = unitOf(data.low, data.high, SECONDS);
    this.x = { low: data.low, high: data.high, log: data.isLog, unit };
    // The same scale as the other plots of the page.
    const { scale, inverse } = Plot.prototype;
    this.x.position = scale(this.x, this.left, this.right);
    this.x.value = inverse(this.x, this.left, this.right);
    this.shades = this.shaded();
    this.parts.forEach(({ canvas, paint }) => {
      const { g, width, height } = openCanvas(canvas);
      g.font = FONT;
      g.fillStyle = colours.paper;
      g.fillRect(0, 0, width, height);
      this.xTicks ??= ticksThatFit(g, this.x, this.right - this.left, true);
      paint(g, height);
      this.overlay(g, height);
    });
    this.xTicks = null;
  }

  // Room for the labels of the strips left of the picture.
  labelRoom() {
    const { g } = openCanvas(this.parts[0].canvas);
    g.font = FONT;
    return Math.max(...this.data.strips.map(({ label }) => (label ? Math.min(g.measureText(label).width + 36, MAX_LABEL) : 0)), 0);
  }

  // Builds the frames of the rows, if they differ from those before.
  arrange() {
    const { causes, strips, rows, ticks } = this.data;
    const key = JSON.stringify([
      document.documentElement.dataset.theme, unitRatio(), this.chosen?.[2], causes.map(({ id, share }) => [id, share]), strips.map(({ label }) => label), this.data.more,
      rows.map(({ title, lines, marks }) => [title, lines.map(({ label, colour }) => [label, colour]), marks?.map(({ label }) => label)]),
      ticks.map(({ title, groups }) => [title, groups.map(({ label }) => label)]),
    ]);
    if (key === this.key) return;
    this.key = key;
    this.parts = [];
    const nodes = [];
    const part = (kind, paint) => {
      const canvas = element("canvas", undefined, kind);
      canvas.setAttribute("aria-hidden", "true");
      nodes.push(canvas);
      this.parts.push({ canvas, kind, paint });
      return canvas;
    };
    const head = (title, entries) => {
      const node = element("div", undefined, "head"), name = element("b", title);
      node.append(name, ...entries);
      nodes.push(node);
      return name;
    };
    if (strips.length) {
      const order = causes.map((_, index) => index).filter((index) => causes[index].share >= MIN_SHARE).sort((a, b) => causes[b].share - causes[a].share);
      const some = this.data.more ? ` (the first ${strips.length} of ${strips.length + this.data.more})` : "";
      head(`Limited${some}: ${sidesOf(causes)}`, order.map((index) => this.causeButton(causes[index], index)));
      strips.forEach((strip, row) => part("strip", (g, height) => this.strip(g, height, strip, row)));
    }
    rows.forEach((row, index) => {
      // Lines of series have their names in the strips and in the legend of the page.
      const samples = [...row.lines.filter(({ isSeries }) => !isSeries), ...(row.marks ?? []).filter(({ label }) => label)].map((line) => entryOf(line.label, lineSample(line)));
      const name = head(row.title, samples);
      if (row.tool) name.after(row.tool);
      part("row", (g, height) => this.row(g, height, this.data.rows[index], name));
    });
    ticks.forEach((row, index) => {
      head(row.title, row.groups.filter(({ isSeries }) => !isSeries).map(({ label, colour }) => entryOf(label, (g, w, h) => {
        g.fillStyle = colour;
        g.fillRect(w / 2 - 1, 1, 2, h - 2);
      })));
      part("ticks", (g, height) => this.ticks(g, height, this.data.ticks[index]));
    });
    part("time", (g) => this.time(g));
    this.frame.classList.toggle("many", strips.length > 1);
    this.frame.replaceChildren(...nodes);
  }

  causeButton({ id, name, share: part }, index) {
    const button = element("button");
    button.type = "button";
    button.dataset.id = id;
    button.setAttribute("aria-pressed", String(this.chosen?.[2] === index));
    const ids = this.data.causes.map((cause) => cause.id);
    button.append(glyph(22, 12, (g, w, h) => {
      g.fillStyle = causeFill(g, id, ids);
      g.fillRect(0, 0, w, h);
    }), element("span", `${name} ${share(part)}`));
    button.addEventListener("click", () => this.choose(this.longest(index)));
    return button;
  }

  longest(cause) {
    const own = this.data.strips.flatMap(({ spans }) => spans).filter((span) => span[2] === cause);
    return own.reduce((most, span) => (span[1] - span[0] > most[1] - most[0] ? span : most), own[0] ?? [0, 0, cause]);
  }

  // Shows the time of an interval, with the finding.
  choose(span) {
    this.chosen = span;
    const { name, text } = this.data.causes[span[2]];
    const slack = (span[1] - span[0]) / 20;
    this.say(`Limited by: ${name}${span[1] > span[0] ? ", " + when(span) : ""}. ${text ?? ""}`);
    if (span[1] > span[0]) this.act.show(Math.max(this.data.low, span[0] - slack), span[1] + slack);
    else this.draw();
  }

  say(text) {
    const node = byId("picture-text");
    if (node) node.textContent = text;
  }

  // The intervals that shade the rows: those of the only strip.
  shaded() {
    const { strips } = this.data;
    return strips.length === 1 ? this.merged(strips[0].spans) : [];
  }

  merged(spans) {
    const { low, high } = this.x;
    const inView = spans.filter(([from, to]) => to > low && from < high);
    return this.x.log ? inView : mergeNarrow(inView.map((span) => [...span]), (high - low) * MIN_WIDTH);
  }

  // The part of an interval in view, in pixels.
  place([from, to]) {
    const left = Math.max(this.left, this.x.position(from)), right = Math.min(this.right, this.x.position(to));
    return [left, Math.max(right - left, 1)];
  }

  strip(g, height, { label, index, spans }, row) {
    const ids = this.data.causes.map((cause) => cause.id);
    const fills = ids.map((id) => causeFill(g, id, ids));
    this.boxes[row] = this.merged(spans).map((span) => ({ span, place: this.place(span) }));
    for (const { span, place: [x, w] } of this.boxes[row]) {
      g.fillStyle = fills[span[2]];
      g.fillRect(x, 1, w, height - 2);
    }
    g.textBaseline = "middle";
    g.textAlign = "left";
    if (label) {
      // A narrow picture has the sign of the legend only.
      g.fillStyle = colours.ink;
      g.drawImage(lineGlyph(index), 0, height / 2 - 7, 24, 14);
      if (this.left > GUTTER) g.fillText(label, 26, height / 2 + 0.5, this.left - 30);
    }
    for (const { span, place: [x, w] } of this.boxes[row]) {
      const { name } = this.data.causes[span[2]];
      const width = g.measureText(name).width + 10;
      if (w < width + 8) continue;
      g.fillStyle = colours.paper;
      g.fillRect(x + (w - width) / 2, 3, width, height - 6);
      g.fillStyle = colours.ink;
      g.fillText(name, x + (w - width) / 2 + 5, height / 2 + 0.5);
    }
    if (this.chosen && this.chosen[1] > this.data.low) {
      const [x, w] = this.place(this.chosen);
      g.strokeStyle = colours.ink;
      g.lineWidth = 2;
      if (w > 1) g.strokeRect(x, 1, w, height - 2);
    }
  }

  // The tint of the causes, and the grid of the time.
  ground(g, height) {
    const ids = this.data.causes.map((cause) => cause.id);
    g.globalAlpha = 0.13;
    for (const span of this.shades) {
      const [color] = causeLook(ids[span[2]], ids), [x, w] = this.place(span);
      g.fillStyle = colours.lines[color] ?? colours[color];
      g.fillRect(x, 0, w, height);
    }
    g.globalAlpha = 1;
    g.strokeStyle = colours.grid;
    g.lineWidth = 1;
    g.beginPath();
    for (const { at } of this.xTicks) {
      const x = Math.round(this.x.position(at)) + 0.5;
      g.moveTo(x, 0);
      g.lineTo(x, height);
    }
    g.stroke();
  }

  row(g, height, row, name) {
    const y = this.axisOf(row);
    const foot = height - 7;
    y.position = Plot.prototype.scale(y, foot, 7);
    const above = y.above ? ` (receive window up to ${withUnit(y.above, row.units)})` : "";
    name.textContent = `${row.title}, ${y.unit.name}${above}`;
    this.ground(g, foot);
    const ticks = ticksThatFit(g, y, height - 14, false);
    g.strokeStyle = colours.grid;
    g.fillStyle = colours.soft;
    g.textAlign = "right";
    g.textBaseline = "middle";
    g.beginPath();
    for (const { at, text } of ticks) {
      const py = Math.round(y.position(at)) + 0.5;
      g.moveTo(this.left, py);
      g.lineTo(this.right, py);
      g.fillText(text, this.left - 6, Math.max(py, 7), this.left - 8);
    }
    g.stroke();
    this.frameOf(g, foot + 1);
    g.save();
    g.beginPath();
    g.rect(this.left, 0, this.right - this.left, height);
    g.clip();
    for (const mark of row.marks ?? []) this.level(g, y.position(mark.at), mark);
    // The sums are on top of what they add up.
    for (const line of row.lines) if (!line.wide) this.line(g, y, line);
    for (const line of row.lines) if (line.wide) this.line(g, y, line);
    g.restore();
  }

  frameOf(g, height) {
    g.strokeStyle = colours.soft;
    g.beginPath();
    g.moveTo(this.left + 0.5, 0);
    g.lineTo(this.left + 0.5, height - 0.5);
    g.lineTo(this.right, height - 0.5);
    g.stroke();
  }

  // The axis of a row, of the values in view.
  axisOf({ lines, marks, units, log, free }) {
    const { low: x0, high: x1 } = this.x;
    let high = 0, low = Infinity, far = 0;
    const add = (value, isAbove) => {
      if (!Number.isFinite(value)) return;
      if (isAbove) return (far = Math.max(far, value));
      high = Math.max(high, value);
      if (value > 0 || !log) low = Math.min(low, value);
    };
    for (const line of lines) {
      const from = Math.max(0, pointAt({ t: line.t, form: "step" }, x0));
      for (let i = from; i < line.t.length && line.t[i] <= x1; i++) {
        add(line.v[i], line.above);
        if (line.top?.length) add(line.top[i], line.above);
        if (line.low?.length) add(line.low[i], line.above);
      }
      line.published?.v.forEach((value) => add(value));
    }
    const lineHigh = high || Infinity;
    for (const { at } of marks ?? []) if (at < FAR_MARK * lineHigh) add(at);
    const isNear = far < 2.5 * high || !high, above = isNear ? 0 : far;
    if (isNear) high = Math.max(high, far);
    if (!(high > 0)) high = units.at(-1).size;
    const unit = unitFor(high, units);
    if (log) return { low: Math.max(Math.min(low, high / 2), high / 1e5) / 1.15, high: high * 1.25, unit, log };
    // An axis from zero, unless that would hide the changes, or something is below.
    const isFlat = free && low > high * 0.4, slack = (high - low) * 0.08 || high * 0.05;
    return { low: isFlat || low < 0 ? low - slack : 0, high: high + (isFlat ? slack : high * 0.06), unit, above };
  }

  level(g, py, { colour, dash }) {
    g.strokeStyle = colour;
    g.lineWidth = 1.3;
    g.setLineDash(dash);
    g.beginPath();
    g.moveTo(this.left, py);
    g.lineTo(this.right, py);
    g.stroke();
    g.setLineDash([]);
  }

  line(g, y, { form, t, v, low, top, colour, dash, mark, published, wide, faint }) {
    const { x } = this;
    const from = Math.max(0, pointAt({ t, form: "step" }, x.low) - 1);
    let to = from;
    while (to < t.length && t[to] <= x.high) to++;
    to = Math.min(to + 1, t.length);
    g.strokeStyle = g.fillStyle = colour;
    if (form === "bars") {
      for (let i = from; i < to; i++) {
        const foot = y.position(v[i]), head = y.position(top[i]);
        g.fillRect(x.position(t[i]) - 1.2, Math.min(head, foot - 1.6), 2.4, Math.max(1.6, foot - head));
      }
      return;
    }
    if (top?.length) {
      g.globalAlpha = 0.4;
      g.lineWidth = 2;
      g.beginPath();
      for (let i = from; i < to; i++) {
        g.moveTo(x.position(t[i]), y.position(low[i]));
        g.lineTo(x.position(t[i]), y.position(top[i]));
      }
      g.stroke();
      g.globalAlpha = 1;
    }
    g.lineWidth = wide ? 2.6 : faint ? 1 : 1.6;
    g.globalAlpha = faint ? 0.6 : 1;
    g.lineJoin = "round";
    g.setLineDash(dash ?? []);
    g.beginPath();
    for (let i = from; i < to; i++) {
      const px = x.position(t[i]), py = y.position(v[i]);
      if (i > from && form === "step") g.lineTo(px, y.position(v[i - 1]));
      i > from ? g.lineTo(px, py) : g.moveTo(px, py);
    }
    if (form === "step" && to > from) g.lineTo(x.position(Math.max(x.high, t[to - 1])), y.position(v[to - 1]));
    g.stroke();
    g.setLineDash([]);
    g.globalAlpha = 1;
    if (mark === undefined) return;
    let next = this.left + 20 + ((mark * 37) % 110);
    for (let i = from; i < to; i++) {
      const px = x.position(t[i]);
      if (px < next) continue;
      next = px + 110;
      markPath(g, mark, px, y.position(v[i]), 3.6);
      g.fill();
    }
    g.lineWidth = 1.6;
    published?.t.forEach((at, i) => {
      markPath(g, mark, x.position(at), y.position(published.v[i]), 4.5);
      g.stroke();
    });
  }

  ticks(g, height, { groups }) {
    this.ground(g, height);
    this.frameOf(g, height);
    for (const { t, colour } of groups) {
      g.fillStyle = colour;
      for (const at of t) {
        if (at >= this.x.low && at <= this.x.high) g.fillRect(Math.round(this.x.position(at)) - 0.7, 2, 1.5, height - 4);
      }
    }
  }

  time(g) {
    g.fillStyle = colours.soft;
    g.textBaseline = "top";
    g.textAlign = "center";
    const half = (text) => g.measureText(text).width / 2;
    for (const { at, text } of this.xTicks) g.fillText(text, Math.min(this.x.position(at), this.right + MARGIN - half(text) - 1), 3);
    g.fillStyle = colours.ink;
    g.textAlign = "right";
    g.fillText(`${this.data.clock}, ${this.x.unit.name}${this.x.log ? ", logarithmic" : ""}`, this.right, 18);
  }

  // The instant that is read, and the time that a drag will show.
  overlay(g, height) {
    if (this.drag) {
      const [from, to] = [this.drag.from, this.drag.to].sort((a, b) => a - b);
      g.fillStyle = colours.accent;
      g.globalAlpha = 0.2;
      g.fillRect(from, 0, to - from, height);
      g.globalAlpha = 1;
    }
    for (const at of [this.cursor, this.act.selected?.()]) {
      if (at === null || at === undefined) continue;
      const px = Math.round(this.x.position(at)) + 0.5;
      if (px < this.left || px > this.right) continue;
      g.strokeStyle = colours.ink;
      g.lineWidth = 1;
      g.setLineDash([3, 3]);
      g.beginPath();
      g.moveTo(px, 0);
      g.lineTo(px, height);
      g.stroke();
      g.setLineDash([]);
    }
  }

  // The values of all rows at an instant.
  values(at) {
    const table = element("table");
    const add = (sample, label, value) => {
      const row = table.insertRow();
      row.insertCell().append(sample);
      row.insertCell().textContent = label;
      row.insertCell().textContent = value;
    };
    const { strips, causes, rows, ticks } = this.data;
    const reach = (this.x.high - this.x.low) / 25, near = (this.x.high - this.x.low) * 4 / (this.right - this.left);
    strips.slice(0, 4).forEach(({ label, spans }) => {
      const span = spans.find(([from, to]) => at >= from && at < to);
      if (span) add("", label ? `${label} limited by` : "limited by", causes[span[2]].name);
    });
    for (const { title, lines, units } of rows) {
      for (const line of lines) {
        const i = pointAt(line, at);
        if (i < 0 || (line.form !== "step" && Math.abs(line.t[i] - at) > reach)) continue;
        const top = line.form === "bars" && line.top[i] > line.v[i] ? ` to ${withUnit(line.top[i], units)}` : "";
        const near = line.published ? pointAt({ ...line.published, form: "line" }, at) : -1;
        const theirs = near >= 0 && Math.abs(line.published.t[near] - at) < 0.6 ? `, published ${withUnit(line.published.v[near], units)}` : "";
        add(glyph(22, 12, lineSample(line)), line.label === title ? title : `${title}: ${line.label}`, withUnit(line.v[i], units) + top + theirs);
      }
    }
    for (const { title, groups } of ticks) {
      for (const { label, t } of groups) {
        const count = t.filter((time) => Math.abs(time - at) <= near).length;
        if (count) add("", `${title}: ${label}`, `${count} here`);
      }
    }
    return [element("b", withUnit(at, SECONDS)), table];
  }

  listen() {
    const { frame } = this;
    const place = (event) => placeIn(frame, event)[0];
    const time = (px) => Math.min(Math.max(this.x.value(px), this.x.low), this.x.high);
    const isOn = (event) => event.target.tagName === "CANVAS";
    frame.addEventListener("pointerdown", (event) => {
      if (event.button || event.pointerType === "touch" || !isOn(event)) return;
      event.target.setPointerCapture(event.pointerId);
      this.drag = { from: place(event), to: place(event), target: event.target };
    });
    frame.addEventListener("pointermove", (event) => {
      if (!this.data || (!isOn(event) && !this.drag)) return this.leave();
      const px = Math.min(Math.max(place(event), this.left), this.right);
      if (this.drag) this.drag.to = px;
      this.cursor = time(px);
      this.paint();
      showTip(this.values(this.cursor), event.pageX, event.pageY);
    });
    frame.addEventListener("pointerup", () => {
      const { drag } = this;
      this.drag = null;
      if (!drag) return;
      const [from, to] = [drag.from, drag.to].sort((a, b) => a - b).map(time);
      if (Math.abs(drag.to - drag.from) >= 6) return this.act.show(from, to);
      const row = this.parts.filter(({ kind }) => kind === "strip").findIndex(({ canvas }) => canvas === drag.target);
      const box = this.boxes[row]?.find(({ place: [x, w] }) => drag.from >= x && drag.from <= x + w);
      if (box) this.choose(box.span);
    });
    frame.addEventListener("pointercancel", () => (this.drag = null));
    frame.addEventListener("pointerleave", () => this.leave());
    frame.addEventListener("blur", () => this.leave());
    frame.addEventListener("dblclick", (event) => {
      if (!isOn(event)) return;
      this.chosen = null;
      this.act.whole();
    });
    frame.addEventListener("keydown", (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey || event.target !== frame || !this.data) return;
      const zoom = (factor) => {
        const { low, high } = this.x, at = this.cursor ?? (low + high) / 2;
        this.act.show(at - (at - low) * factor, at + (high - at) * factor);
      };
      const acts = {
        "+": () => zoom(0.5), "=": () => zoom(0.5), "-": () => zoom(2),
        "0": () => this.act.whole(), ArrowLeft: () => this.step(-1), ArrowRight: () => this.step(1),
      };
      if (!Object.hasOwn(acts, event.key)) return;
      event.preventDefault();
      acts[event.key]();
    });
  }

  leave() {
    hideTip();
    if (this.cursor === null) return;
    this.cursor = null;
    this.paint();
  }

  // Moves the instant that is read; a screen reader then reads the values.
  step(direction) {
    const { low, high } = this.x;
    this.cursor = Math.min(Math.max((this.cursor ?? low) + ((high - low) / 50) * direction, low), high);
    this.paint();
    const box = this.frame.getBoundingClientRect();
    const px = box.left + window.scrollX + this.x.position(this.cursor) * unitPixels();
    showTip(this.values(this.cursor), px, box.top + window.scrollY + 30, true);
  }
}

// An entry of a legend: a sample and a name.
function entryOf(label, draw) {
  const entry = element("span", undefined, "entry");
  entry.append(glyph(22, 12, draw), element("span", label));
  return entry;
}

function lineSample({ colour, dash, form, mark }) {
  return (g, w, h) => {
    g.strokeStyle = g.fillStyle = colour;
    if (form === "bars") return [4, 10, 16].forEach((x, i) => g.fillRect(x, 3 + i, 2.4, h - 6));
    g.lineWidth = 2;
    g.setLineDash(dash ?? []);
    g.beginPath();
    g.moveTo(0, h / 2);
    g.lineTo(w, h / 2);
    g.stroke();
    if (mark === undefined) return;
    markPath(g, mark, w / 2, h / 2, 3.6);
    g.fill();
  };
}

// Formats the time of an interval, to a tenth of its length.
function when([from, to]) {
  const places = Math.max(0, Math.min(9, 1 - Math.floor(Math.log10(to - from))));
  return `${digits(from, places)}\u2013${digits(to, places)} s`;
}
