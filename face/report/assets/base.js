// Common parts: the data, visible errors, colors of the theme, and numbers as text.

// A graph that failed must not look like an empty one.
window.onerror = (message) => {
  document.documentElement.dataset.error = String(message);
  const line = document.createElement("p");
  line.className = "partial";
  line.textContent = "A graph could not be drawn: " + message;
  document.querySelector("header").append(line);
};

const DATA = JSON.parse(document.getElementById("data").textContent);
const byId = (id) => document.getElementById(id);

// Values of columns that hold differences.
function sums(differences, scale) {
  let sum = 0;
  return differences.map((difference) => (sum += difference) * scale);
}

function element(tag, text, className) {
  const node = document.createElement(tag);
  if (text !== undefined) node.textContent = text;
  if (className) node.className = className;
  return node;
}

// Theme: the system's preference, until the button or the address (#dark, #light) overrides it.
const prefersDark = window.matchMedia("(prefers-color-scheme: dark)");
const THEMES = ["dark", "light"];
let chosenTheme = THEMES.find((theme) => link.parts.has(theme)) ?? null;
let colours = {};

function applyTheme() {
  const theme = chosenTheme ?? (prefersDark.matches ? "dark" : "light");
  document.documentElement.dataset.theme = theme;
  const button = byId("theme");
  button.hidden = false;
  button.textContent = theme === "dark" ? "Light theme" : "Dark theme";
  const style = getComputedStyle(document.documentElement);
  const names = ["paper", "panel", "ink", "soft", "rule", "grid", "accent", "sent", "again", "late", "ack", "edge", "sack"];
  colours = Object.fromEntries(names.map((name) => [name, style.getPropertyValue("--" + name).trim()]));
  colours.lines = Array.from({ length: 8 }, (_, i) => style.getPropertyValue("--c" + i).trim());
}

// The button: switches the theme, in the address too.
function switchTheme() {
  chosenTheme = document.documentElement.dataset.theme === "dark" ? "light" : "dark";
  link.write({ dark: null, light: null, [chosenTheme]: "" });
}

// Runs `draw` in the light theme for printing, and again for the screen.
function drawForPrint(draw) {
  let before = null;
  window.addEventListener("beforeprint", () => {
    before = chosenTheme;
    chosenTheme = "light";
    draw();
  });
  window.addEventListener("afterprint", () => {
    chosenTheme = before;
    draw();
  });
}

// Digits in groups of three, with `decimals` after the point.
function digits(value, decimals) {
  const [whole, part] = Math.abs(value).toFixed(Math.max(0, decimals)).split(".");
  const grouped = whole.length > 4 ? whole.replace(/\B(?=(\d{3})+$)/g, "\u202f") : whole;
  const sign = value < 0 && /[1-9]/.test(whole + (part ?? "")) ? "\u2212" : "";
  return sign + grouped + (part ? "." + part : "");
}

// Returns the unit of an axis or a value: the largest not above `size`.
function unitFor(size, units) {
  return units.find((unit) => size >= unit.size) ?? units[units.length - 1];
}
const BYTES = [
  { name: "GB", size: 1e9 }, { name: "MB", size: 1e6 }, { name: "kB", size: 1e3 }, { name: "B", size: 1 },
];
const SECONDS = [
  { name: "s", size: 1 }, { name: "ms", size: 1e-3 }, { name: "µs", size: 1e-6 }, { name: "ns", size: 1e-9 },
];
const BITS = [
  { name: "Tbit/s", size: 1e6 }, { name: "Gbit/s", size: 1e3 }, { name: "Mbit/s", size: 1 }, { name: "kbit/s", size: 1e-3 },
];

// A value with its unit, to about four digits.
function withUnit(value, units) {
  if (!Number.isFinite(value)) return "-";
  const unit = unitFor(Math.abs(value), units);
  const scaled = value / unit.size;
  const whole = unit.size === units[units.length - 1].size && Number.isInteger(value);
  const decimals = whole || value === 0 ? 0 : Math.max(0, 3 - Math.floor(Math.log10(Math.max(1, Math.abs(scaled)))));
  return digits(scaled, decimals) + " " + unit.name;
}

// Style of line number `index`: color, dashes and mark. The first few lines differ in each of
// these, all lines in their combination.
const DASHES = [[], [8, 4], [2, 3], [10, 3, 2, 3]];
function lineStyle(index) {
  return {
    colour: colours.lines[index % 8],
    dash: DASHES[(index + Math.floor(index / 8)) % DASHES.length],
    mark: (index + 3 * Math.floor(index / 8)) % 8,
  };
}

// The path of mark number `kind` about (x, y).
function markPath(g, kind, x, y, r) {
  g.beginPath();
  const corners = (points) => {
    points.forEach(([dx, dy], i) => (i ? g.lineTo(x + dx * r, y + dy * r) : g.moveTo(x + dx * r, y + dy * r)));
    g.closePath();
  };
  switch (kind) {
    case 0: g.arc(x, y, r, 0, 7); break;
    case 1: corners([[-0.9, -0.9], [0.9, -0.9], [0.9, 0.9], [-0.9, 0.9]]); break;
    case 2: corners([[0, -1.15], [1.1, 0.85], [-1.1, 0.85]]); break;
    case 3: corners([[0, -1.25], [1.25, 0], [0, 1.25], [-1.25, 0]]); break;
    case 4: corners([[0, 1.15], [1.1, -0.85], [-1.1, -0.85]]); break;
    case 5: corners([[-0.4, -1.1], [0.4, -1.1], [0.4, -0.4], [1.1, -0.4], [1.1, 0.4], [0.4, 0.4], [0.4, 1.1], [-0.4, 1.1], [-0.4, 0.4], [-1.1, 0.4], [-1.1, -0.4], [-0.4, -0.4]]); break;
    case 6: corners([[0, -1.2], [1.15, -0.35], [0.7, 1], [-0.7, 1], [-1.15, -0.35]]); break;
    default: corners([[-1.1, -1], [0, -0.35], [1.1, -1], [1.1, 1], [0, 0.35], [-1.1, 1]]);
  }
}

// Font size of the page relative to 16 px: a graph is drawn in units that scale with it.
function unitPixels() {
  return parseFloat(getComputedStyle(document.documentElement).fontSize) / 16;
}

// Device pixels per unit.
function unitRatio() {
  return unitPixels() * (window.devicePixelRatio || 1);
}

// Position of a pointer in a canvas, in units.
function placeIn(canvas, event) {
  const box = canvas.getBoundingClientRect();
  const unit = unitPixels();
  return [(event.clientX - box.left) / unit, (event.clientY - box.top) / unit];
}

// Clears a canvas, which has the size set by the page, at device resolution.
function openCanvas(canvas, least = [1, 1]) {
  const box = canvas.getBoundingClientRect();
  const unit = unitPixels(), ratio = unitRatio();
  const [width, height] = [Math.max(least[0], box.width / unit), Math.max(least[1], box.height / unit)];
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(height * ratio);
  const g = canvas.getContext("2d");
  g.setTransform(ratio, 0, 0, ratio, 0, 0);
  return { g, width, height };
}

// A small canvas at device resolution, drawn by `draw(g, width, height)`. It decorates the text
// next to it.
function glyph(width, height, draw) {
  const canvas = document.createElement("canvas");
  const ratio = unitRatio();
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(height * ratio);
  canvas.style.width = width / 16 + "rem";
  canvas.style.height = height / 16 + "rem";
  canvas.setAttribute("aria-hidden", "true");
  const g = canvas.getContext("2d");
  g.scale(ratio, ratio);
  draw(g, width, height);
  return canvas;
}

function lineGlyph(index) {
  return glyph(38, 14, (g, w, h) => {
    const style = lineStyle(index);
    g.strokeStyle = g.fillStyle = style.colour;
    g.lineWidth = 2;
    g.setLineDash(style.dash);
    g.beginPath();
    g.moveTo(1, h / 2);
    g.lineTo(w - 1, h / 2);
    g.stroke();
    markPath(g, style.mark, w / 2, h / 2, 4);
    g.fill();
  });
}
