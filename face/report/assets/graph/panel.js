// Parts that all graphs of the page share: the time span, frames aligned above each other, and
// lines and bars that draw each column of pixels once, regardless of the number of packets in it.

const LEFT = 92, RIGHT = 26;
const LINE = 13; // height of letters
const NANOS = [{ name: "s", size: 1e9 }, { name: "ms", size: 1e6 }, { name: "µs", size: 1e3 }, { name: "ns", size: 1 }];

// An axis from `low` to `high`. Long numbers are shown relative to a round one, which the title
// names.
function spanAxis(low, high, units, label) {
  const unit = unitFor((high - low) * 1.0001, units);
  let base = 0;
  if (Math.abs(high) / unit.size >= 1e5) {
    const round = 10 ** Math.ceil(Math.log10((high - low) / unit.size)) * unit.size;
    base = Math.floor(low / round) * round;
  }
  const title = base ? `${label}, ${unit.name} after ${exact(base, units)}` : `${label}, ${unit.name}`;
  return { low: low - base, high: high - base, base, unit, title };
}

// A large number to the last digit, in the largest unit.
function exact(value, units) {
  if (units === NANOS) return digits(value / 1e9, 9).replace(/\.?0+$/, "") + " s";
  return digits(value, 0) + " " + units.at(-1).name;
}

class Panel extends Plot {
  // An empty frame over the time of `view`; `low` and `high` are those of the other axis.
  frame(view, low, high, units, label, room = 24) {
    this.open();
    this.top = room;
    this.left = Math.min(LEFT, this.width / 6);
    this.right = this.width - RIGHT;
    this.x = spanAxis(view.x0, view.x1, NANOS, DATA.clock);
    this.y = spanAxis(low, high, units, label);
    const { x, y } = this;
    x.position = this.scale(x, this.left, this.right);
    x.value = this.inverse(x, this.left, this.right);
    y.position = this.scale(y, this.bottom, this.top);
    y.value = this.inverse(y, this.bottom, this.top);
    const yTicks = ticksThatFit(this.g, y, this.bottom - this.top, false);
    this.axes(ticksThatFit(this.g, x, this.right - this.left, true), yTicks);
    this.ratio = unitRatio();
    this.perPixel = (view.x1 - view.x0) / Math.max(1, this.right - this.left);
  }

  px(time) {
    return this.x.position(time - this.x.base);
  }

  py(value) {
    return this.y.position(value - this.y.base);
  }

  timeAt(px) {
    return this.x.value(px) + this.x.base;
  }

  valueAt(py) {
    return this.y.value(py) + this.y.base;
  }

  // A vertical line over the whole height.
  upright(time, colour) {
    const { g } = this;
    const at = this.px(time);
    if (at < this.left || at > this.right) return;
    g.strokeStyle = colour;
    g.lineWidth = 1;
    g.setLineDash([3, 3]);
    g.beginPath();
    g.moveTo(at, this.top);
    g.lineTo(at, this.bottom);
    g.stroke();
    g.setLineDash([]);
  }
}

// A step line. Within a column of pixels only its first, lowest, highest and last value are drawn.
class Steps {
  constructor(panel) {
    this.panel = panel;
    this.path = new Path2D();
    this.column = null;
    this.started = false;
  }

  add(time, value) {
    const { ratio } = this.panel;
    const at = Math.round(this.panel.px(time) * ratio) / ratio, y = this.panel.py(value);
    const c = this.column;
    // Left of the frame only the last value matters.
    if (at <= this.panel.left) {
      this.column = { at, low: y, high: y, last: y };
      return;
    }
    if (c && c.at === at) {
      c.low = Math.min(c.low, y);
      c.high = Math.max(c.high, y);
      c.last = y;
      return;
    }
    this.flush();
    if (this.started) this.path.lineTo(at, c.last);
    this.column = { at, low: y, high: y, last: y };
  }

  // A sloped line to the value: the values between are unknown.
  slope(time, value) {
    this.flush();
    const at = this.panel.px(time), y = this.panel.py(value);
    if (this.started) this.path.lineTo(at, y);
    this.column = { at, low: y, high: y, last: y };
  }

  flush() {
    const c = this.column;
    if (!c) return;
    if (this.started) this.path.lineTo(c.at, c.low);
    else this.path.moveTo(c.at, c.low);
    if (c.high !== c.low) this.path.lineTo(c.at, c.high);
    if (c.last !== c.high) this.path.lineTo(c.at, c.last);
    this.started = true;
  }

  // Extends the line at its last value to this time.
  end(time) {
    this.flush();
    if (this.started) this.path.lineTo(Math.max(this.column.at, this.panel.px(time)), this.column.last);
    this.column = null;
  }

  stroke(colour, dash = [], width = 1.5) {
    this.flush();
    this.column = null;
    const { g } = this.panel;
    g.strokeStyle = colour;
    g.lineWidth = width;
    g.setLineDash(dash);
    g.stroke(this.path);
    g.setLineDash([]);
  }
}

// Vertical bars. Bars in one column of pixels are joined if they touch. A single one that is high
// enough has ticks at its ends.
class Bars {
  constructor(panel, width) {
    this.panel = panel;
    this.width = width;
    this.path = new Path2D();
    this.bar = null;
    this.count = 0;
  }

  add(time, low, high) {
    if (low > high) return;
    const { panel } = this;
    const at = Math.round(panel.px(time) * panel.ratio) / panel.ratio;
    const bottom = panel.py(low), top = panel.py(high);
    const b = this.bar;
    if (b && b.at === at && top <= b.bottom + 2 && bottom >= b.top - 2) {
      b.top = Math.min(b.top, top);
      b.bottom = Math.max(b.bottom, bottom);
      b.alone = false;
      return;
    }
    this.flush();
    this.bar = { at, top, bottom, alone: true };
  }

  flush() {
    const b = this.bar;
    if (!b) return;
    this.count += 1;
    const height = Math.max(1.5, b.bottom - b.top);
    this.path.rect(b.at - this.width / 2, b.bottom - height, this.width, height);
    if (b.alone && height >= 9) {
      this.path.rect(b.at - 3, b.top, 6, 1);
      this.path.rect(b.at - 3, b.bottom - 1, 6, 1);
    }
  }

  fill(colour) {
    this.flush();
    this.bar = null;
    const { g } = this.panel;
    g.fillStyle = colour;
    g.fill(this.path);
  }
}

// Letters that do not overlap each other. Words, which are few, also avoid everything drawn before.
class Letters {
  constructor(panel, letter, colour) {
    Object.assign(this, { panel, letter, colour, after: -Infinity, places: [], half: 5 * letter.length });
  }

  add(px, py) {
    const { left, right } = this.panel;
    if (px < this.after || px < left - 4 || px > right + 4) return;
    this.after = px + 15 * this.letter.length;
    // A word at the edge is moved inside.
    this.places.push([Math.min(Math.max(px, left + this.half), right - this.half), py]);
  }

  draw(taken) {
    const { g } = this.panel;
    g.font = "700 12px " + FONT.slice(5);
    g.textAlign = "center";
    g.textBaseline = "bottom";
    g.fillStyle = this.colour;
    for (const place of this.places) {
      const [px, py] = this.letter.length > 1 ? this.raised(place, taken) : place;
      taken.push([px, py, this.half]);
      g.fillText(this.letter, px, py);
    }
    g.font = FONT;
  }

  // At the first free position: above, or to the side at the frame's end.
  raised([px, py], taken) {
    const { left, right, top } = this.panel;
    for (const aside of [0, -2, 2, -4, 4]) {
      const x = px + aside * this.half;
      if (x < left + this.half || x > right - this.half) continue;
      for (let y = py; y === py || y >= top + LINE; y -= LINE) {
        if (!taken.some(([tx, ty, half]) => Math.abs(tx - x) < half + this.half && Math.abs(ty - y) < LINE)) return [x, y];
      }
    }
    return [px, py];
  }
}
