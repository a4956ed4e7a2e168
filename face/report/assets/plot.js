// A frame with axes: scales, ticks that do not overlap, and the pixel ratio of the screen.

const FONT = '12px system-ui, "Segoe UI", "Helvetica Neue", Arial, sans-serif';

// The step of 1, 2 or 5 times a power of ten that gives at most `count` ticks.
function niceStep(span, count) {
  const raw = span / Math.max(1, count);
  const power = 10 ** Math.floor(Math.log10(raw));
  return power * ([1, 2, 5, 10].find((factor) => factor * power >= raw * (1 - 1e-9)) ?? 10);
}

function linearTicks(low, high, count) {
  if (!(high > low)) return [];
  const step = niceStep(high - low, count);
  const decimals = Math.max(0, -Math.floor(Math.log10(step) + 1e-9));
  const ticks = [];
  for (let n = Math.ceil(low / step - 1e-9); n * step <= high * (1 + 1e-12) + step * 1e-9; n++) {
    ticks.push({ at: n * step, text: digits(n * step, decimals) });
  }
  return ticks;
}

function logTicks(low, high, count) {
  const first = Math.ceil(Math.log10(low) - 1e-9);
  const last = Math.floor(Math.log10(high) + 1e-9);
  const every = Math.max(1, Math.ceil((last - first + 1) / count));
  const fine = (last - first + 2) * 3 <= count ? [1, 2, 5] : [1];
  const ticks = [];
  for (let power = first - 1; power <= last; power++) {
    if ((power - first) % every) continue;
    for (const factor of fine) {
      const at = factor * 10 ** power;
      if (at >= low * (1 - 1e-9) && at <= high * (1 + 1e-9)) {
        ticks.push({ at, text: digits(at, Math.max(0, -power)) });
      }
    }
  }
  return ticks.length >= 2 ? ticks : linearTicks(low, high, count);
}

// Ticks along `length` pixels whose labels do not overlap.
function ticksThatFit(g, axis, length, horizontal) {
  const make = axis.log ? logTicks : linearTicks;
  const unit = axis.unit?.size ?? 1;
  let count = Math.max(1, Math.floor(length / (horizontal ? 42 : 20)));
  for (;;) {
    const ticks = make(axis.low / unit, axis.high / unit, count);
    const widest = Math.max(0, ...ticks.map((tick) => g.measureText(tick.text).width));
    const gaps = ticks.slice(1).map((tick, i) => Math.abs(axis.position(tick.at * unit) - axis.position(ticks[i].at * unit)));
    if (count <= 1 || Math.min(Infinity, ...gaps) >= (horizontal ? widest + 16 : 18)) {
      return ticks.map((tick) => ({ at: tick.at * unit, text: tick.text }));
    }
    count -= 1;
  }
}

// The unit that fits the visible span, unless it makes the numbers too long.
function unitOf(low, high, units) {
  let index = units.indexOf(unitFor((high - low) * 1.0001, units));
  while (index > 0 && Math.abs(high) / units[index].size >= 1e5) index -= 1;
  return units[index];
}

class Plot {
  constructor(canvas) {
    this.canvas = canvas;
    this.g = canvas.getContext("2d");
  }

  // An empty picture with the size of the canvas in the page.
  open() {
    const { g } = this;
    Object.assign(this, openCanvas(this.canvas, [120, 80]));
    g.font = FONT;
    g.fillStyle = colours.paper;
    g.fillRect(0, 0, this.width, this.height);
    this.bottom = this.height - 40;
  }

  scale(axis, from, to) {
    if (axis.log) {
      const low = Math.log(axis.low), span = Math.log(axis.high) - low || 1;
      // Values that a logarithmic axis cannot show are drawn at its edge.
      return (value) => from + ((Math.log(Math.max(value, axis.low)) - low) / span) * (to - from);
    }
    const span = axis.high - axis.low || 1;
    return (value) => from + ((value - axis.low) / span) * (to - from);
  }

  inverse(axis, from, to) {
    if (axis.log) {
      const ratio = axis.high / axis.low;
      return (pixel) => axis.low * ratio ** ((pixel - from) / (to - from));
    }
    return (pixel) => axis.low + ((pixel - from) / (to - from)) * (axis.high - axis.low);
  }

  axes(xTicks, yTicks) {
    const { g, x, y, left, right, top, bottom } = this;
    g.lineWidth = 1;
    g.strokeStyle = colours.grid;
    g.beginPath();
    for (const tick of yTicks) {
      const at = Math.round(y.position(tick.at)) + 0.5;
      g.moveTo(left, at);
      g.lineTo(right, at);
    }
    for (const tick of xTicks) {
      const at = Math.round(x.position(tick.at)) + 0.5;
      g.moveTo(at, top);
      g.lineTo(at, bottom);
    }
    g.stroke();
    g.strokeStyle = colours.soft;
    g.beginPath();
    g.moveTo(left + 0.5, top);
    g.lineTo(left + 0.5, bottom + 0.5);
    g.lineTo(right, bottom + 0.5);
    g.stroke();
    g.fillStyle = colours.soft;
    g.textBaseline = "middle";
    g.textAlign = "right";
    for (const tick of yTicks) g.fillText(tick.text, left - 7, y.position(tick.at));
    g.textBaseline = "top";
    g.textAlign = "center";
    for (const tick of xTicks) g.fillText(tick.text, x.position(tick.at), bottom + 6);
    g.fillStyle = colours.ink;
    g.textAlign = "right";
    g.textBaseline = "bottom";
    g.fillText(x.title, right, this.height - 2);
    g.textAlign = "left";
    g.textBaseline = "top";
    g.fillText(y.title, 2, 3);
  }

  // Runs `draw` clipped to the frame.
  inside(draw) {
    const { g } = this;
    g.save();
    g.beginPath();
    g.rect(this.left, this.top, this.right - this.left, this.bottom - this.top);
    g.clip();
    draw(g);
    g.restore();
  }
}

// The frame of the area that a drag will zoom to.
function drawRubberBand(g, { fromX, fromY, toX, toY }) {
  g.strokeStyle = colours.ink;
  g.lineWidth = 1;
  g.setLineDash([4, 3]);
  g.strokeRect(Math.min(fromX, toX), Math.min(fromY, toY), Math.abs(toX - fromX), Math.abs(toY - fromY));
  g.setLineDash([]);
}

// The tooltip that follows the pointer; one for the page.
const tip = element("div", undefined, "tip");
tip.hidden = true;
document.body.append(tip);

// `aloud`: read by a screen reader. Pointer movements would produce too many readings.
function showTip(content, pageX, pageY, aloud = false) {
  tip.setAttribute("aria-live", aloud ? "polite" : "off");
  tip.replaceChildren(...content);
  tip.hidden = false;
  const box = tip.getBoundingClientRect();
  const room = document.documentElement.clientWidth;
  const left = pageX + 18 + box.width > room ? pageX - box.width - 18 : pageX + 18;
  tip.style.left = Math.max(4, left) + "px";
  tip.style.top = pageY + 14 + "px";
}

function hideTip() {
  tip.hidden = true;
}
