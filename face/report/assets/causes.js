// Palette of causes, for strips of runs and of captures: color and pattern.

// Color and pattern by id of the cause, the same in every report. There is one color for each kind:
// path, loss, receiver, sender, application. Unlisted ids share the rest.
const CAUSE_LOOKS = {
  "path-saturated": [5, "plain"], "cross-traffic": [5, "cross"], "local-queue": [5, "checks"],
  "ack-path": [5, "falling"], "aqm-drops": [5, "rising"],
  "receive-window-limited": [2, "rising"], "no-window-scaling": [2, "cross"],
  "slow-reader": [2, "dots"], "receiver-cpu-limited": [2, "lines"],
  "cwnd-growth-limited": [0, "plain"], "mss-clamped": [0, "dots"],
  "pacing-limited": [4, "bars"], "send-buffer-limited": [3, "grid"],
  "delayed-ack-stall": [3, "dots"], "sender-cpu-limited": [3, "lines"],
  "application-limited": [6, "dots"], "client-think-time": [6, "bars"],
  "server-think-time": [6, "lines"], "request-response-rtt": [6, "grid"],
  "random-loss": [1, "cross"], "queue-overflow": [1, "checks"], "policer": [1, "lines"],
  "ecn-marks": [1, "dots"], "reordering-mistaken-for-loss": [1, "falling"],
  "rto-backoff": [1, "bars"], "rx-ring-overrun": [1, "grid"], "pmtu-black-hole": [1, "plain"],
  "no-sack": [7, "bars"], "outage": [1, "rising"],
  "connection-setup": [7, "dots"], "capture-artifact": [7, "grid"], "unknown": ["rule", "plain"],
};
// Where a cause is: what a reader asks first. Causes that are not listed stand for themselves.
const SIDES = {
  "at the sender": ["cwnd-growth-limited", "pacing-limited", "send-buffer-limited", "sender-cpu-limited", "application-limited", "local-queue"],
  "on the path": [
    "path-saturated", "cross-traffic", "ack-path", "aqm-drops", "random-loss", "queue-overflow", "policer", "ecn-marks", "outage",
    "reordering-mistaken-for-loss", "rto-backoff", "pmtu-black-hole", "mss-clamped", "request-response-rtt",
  ],
  "at the receiver": ["receive-window-limited", "slow-reader", "receiver-cpu-limited", "rx-ring-overrun"],
};
const SPARE_LOOKS = [[4, "dots"], [0, "cross"], [2, "grid"], [3, "bars"]];

const PATTERNS = {
  plain: () => {},
  rising: (g) => strokes(g, [[0, 8, 8, 0], [-2, 2, 2, -2], [6, 10, 10, 6]]),
  falling: (g) => strokes(g, [[0, 0, 8, 8], [-2, 6, 2, 10], [6, -2, 10, 2]]),
  cross: (g) => strokes(g, [[0, 8, 8, 0], [0, 0, 8, 8]]),
  grid: (g) => strokes(g, [[0, 4, 8, 4], [4, 0, 4, 8]]),
  lines: (g) => strokes(g, [[0, 2, 8, 2], [0, 6, 8, 6]]),
  bars: (g) => strokes(g, [[2, 0, 2, 8], [6, 0, 6, 8]]),
  dots: (g) => [[2, 2], [6, 6]].forEach(([x, y]) => g.fillRect(x - 1, y - 1, 2.4, 2.4)),
  checks: (g) => [[0, 0], [4, 4]].forEach(([x, y]) => g.fillRect(x, y, 4, 4)),
};

function strokes(g, lines) {
  g.beginPath();
  for (const [x0, y0, x1, y1] of lines) {
    g.moveTo(x0, y0);
    g.lineTo(x1, y1);
  }
  g.stroke();
}

// Color and pattern of a cause; `names` are all of the page, for unlisted ones.
function causeLook(name, names) {
  if (Object.hasOwn(CAUSE_LOOKS, name)) return CAUSE_LOOKS[name];
  const spare = names.filter((other) => !Object.hasOwn(CAUSE_LOOKS, other)).indexOf(name);
  return SPARE_LOOKS[Math.max(0, spare) % SPARE_LOOKS.length];
}

// The sides and their shares of the time, the largest first.
function sidesOf(causes) {
  const spent = new Map();
  for (const { id, name, share } of causes) {
    const side = Object.keys(SIDES).find((side) => SIDES[side].includes(id)) ?? name;
    spent.set(side, (spent.get(side) ?? 0) + share);
  }
  return [...spent].filter(([, part]) => part >= MIN_SHARE).sort((a, b) => b[1] - a[1]).map(([side, part]) => `${side} ${share(part)}`).join(", ");
}

// The shares of causes in tables, with the colors and patterns that graphs give them.
function paintShares() {
  const nodes = [...document.querySelectorAll("[data-cause]")];
  const names = [...new Set(nodes.map((node) => node.dataset.cause))];
  const fills = new Map();
  for (const node of nodes) {
    const name = node.dataset.cause;
    let canvas = node.querySelector("canvas");
    if (!canvas) {
      canvas = element("canvas");
      canvas.setAttribute("aria-hidden", "true");
      node.prepend(canvas);
    }
    const { g, width, height } = openCanvas(canvas);
    if (!fills.has(name)) fills.set(name, causeFill(g, name, names));
    g.fillStyle = fills.get(name);
    g.fillRect(0, 0, width, height);
  }
}

function causeFill(g, name, names) {
  const [color, pattern] = causeLook(name, names);
  const tile = document.createElement("canvas");
  const ratio = unitRatio();
  tile.width = tile.height = Math.round(8 * ratio);
  const t = tile.getContext("2d");
  t.scale(tile.width / 8, tile.height / 8);
  t.fillStyle = colours.lines[color] ?? colours[color];
  t.fillRect(0, 0, 8, 8);
  t.fillStyle = t.strokeStyle = colours.paper;
  t.globalAlpha = 0.6;
  t.lineWidth = 1.3;
  PATTERNS[pattern](t);
  const fill = g.createPattern(tile, "repeat");
  fill.setTransform(new DOMMatrix().scale(8 / tile.width));
  return fill;
}
