// The series of a run, a test or a watch: which are shown, at what time, and the data of the
// picture.

const hiddenLines = new Set();

// From and to, s; null: the whole time.
const shown = { span: null, changed: () => {} };

function showSpan(from, to) {
  // Spans below a nanosecond or above a day are refused.
  if (from !== undefined && !(to - from >= 1e-9 && to - from <= 1e5)) return;
  shown.span = from === undefined ? null : [Math.max(0, from), to];
  link.write({ t: shown.span && spanPart(...shown.span) });
  shown.changed();
}

// Ratio of rates or lengths from which an axis is logarithmic.
const FAR_APART = 20;
// Rates of fewer than one line in this many are not shown: they would be taken for all.
const FEW_OF = 4;
// Lines with fewer points are not drawn: the tables have them.
const FEWEST_POINTS = 3;
// Lines that are read next to each other; of more a page begins with some.
const MOST_LINES = 16, SOME_LINES = 8;
// Strips next to each other.
const MOST_STRIPS = 8;
// Stands in the address for all lines.
const EVERY_LINE = "*";
const PACKETS = [{ name: "packets", size: 1 }];
const COUNTS = [{ name: "datagrams", size: 1 }];
const PERCENT = [{ name: "%", size: 1 }];
const ofRates = ({ t, v, low, high }) => ({ t: t.map((ms) => ms / 1e3), v, low, top: high });
const column = ({ t, v }, scale = 1) => ({ t: sums(t, 1e-6), v: sums(v, scale) });
const isGraph = (line) => line.t.length >= FEWEST_POINTS;

// The lines with their columns decoded.
const LINES = DATA.lines.map((line, index) => {
  let end = 0;
  const spans = line.timeline.map(([gap, length, cause]) => {
    const start = end + gap;
    end = start + length;
    return [start / 1e6, end / 1e6, cause];
  });
  const { cwnd, ssthresh, flight, rwnd, srtt } = line.samples;
  return {
    ...line, index, spans,
    rate: { ...ofRates({ ...line.throughput.drawn, ...line.throughput }), published: line.published && ofRates(line.published) },
    cwnd: column(cwnd), ssthresh: column(ssthresh), flight: column(flight), rwnd: column(rwnd), srtt: column(srtt, 1e-6),
    again: sums(line.again, 1e-6),
  };
});
const QUEUES = DATA.queues.map((queue) => ({
  ...queue, delay: column(queue.delay, 1e-6), packets: column(queue.packets), bytes: column(queue.bytes),
  drops: sums(queue.drops, 1e-6), marks: sums(queue.marks, 1e-6),
}));

// The lines that a page begins with: of many the fastest, the slowest and some between.
const firstShown = (() => {
  if (LINES.length <= MOST_LINES) return new Set(LINES.keys());
  const graphs = LINES.filter(({ rate }) => isGraph(rate));
  const drawn = graphs.length >= SOME_LINES ? graphs : LINES;
  const mean = ({ rate: { v } }) => v.reduce((sum, value) => sum + value, 0) / Math.max(1, v.length);
  const ranked = drawn.map((line) => ({ index: line.index, mean: mean(line) })).sort((a, b) => b.mean - a.mean);
  const count = Math.min(SOME_LINES, ranked.length), step = (ranked.length - 1) / Math.max(1, count - 1);
  return new Set(Array.from({ length: count }, (_, place) => ranked[Math.round(place * step)].index));
})();

// Buttons that switch lines on and off; a double click leaves one alone.
function buildLegend(redraw) {
  const isShown = (_, index) => !hiddenLines.has(index);
  const isFirst = () => LINES.every((_, index) => firstShown.has(index) === isShown(_, index));
  const say = () => {
    buttons.forEach((button, index) => button.setAttribute("aria-pressed", String(isShown(null, index))));
    const count = LINES.filter(isShown).length, which = isFirst() ? ": the fastest, the slowest, and some between" : "";
    byId("legend-note").textContent = count < LINES.length ? `${count} of ${LINES.length} are shown${which}. Choose others:` : "";
  };
  const change = () => {
    const labels = LINES.filter(isShown).map((line) => line.label);
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
  const buttons = LINES.map((line, index) => {
    const node = button(() => {
      if (!hiddenLines.delete(index)) hiddenLines.add(index);
    });
    node.title = line.title + (line.fitted ? " (has a fitted input)" : "") + "; double-click for this one alone";
    node.append(lineGlyph(index), element("span", line.label + (line.fitted ? " *" : "")));
    node.addEventListener("dblclick", () => {
      LINES.forEach((_, other) => (other === index ? hiddenLines.delete(other) : hiddenLines.add(other)));
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
  const legend = byId("legend");
  legend.hidden = LINES.length < 2;
  legend.classList.toggle("long", LINES.length > MOST_LINES);
  legend.replaceChildren(...first, all, ...others);
}

// A choice in the head of a row; it stays when the rows are built again.
function chooser(label, options, redraw) {
  const node = element("select");
  node.setAttribute("aria-label", label);
  for (const [value, text] of options) node.append(new Option(text, value));
  node.addEventListener("change", redraw);
  return node;
}

const WINDOWS = [["cwnd", "cwnd"], ["flight", "in flight"], ["rwnd", "receive window"], ["ssthresh", "ssthresh"]];
const windowChoice = chooser("Window shown", WINDOWS, () => shown.changed());
const queueChoice = (() => {
  const high = ({ v }) => v.reduce((most, value) => Math.max(most, value), 0);
  const longest = new Map();
  for (const queue of QUEUES) {
    const most = high(queue.delay), isUsed = most > 0 || high(queue.packets) > 0 || queue.drops.length || queue.marks.length;
    if (isUsed) longest.set(queue.element, Math.max(longest.get(queue.element) ?? 0, most));
  }
  const elements = [...longest].sort((a, b) => b[1] - a[1]).map(([name]) => name);
  const options = elements.flatMap((name) => [["delay", "delay"], ["packets", "packets"], ["bytes", "bytes"]].map(([key, text]) => [`${key} ${name}`, `${name}: ${text}`]));
  return chooser("Queue shown", options, () => shown.changed());
})();

// Streams of a test, of which the sums of each direction are read first.
const DIRECTION = / (to|from) the server$/;

// The sum of lines, at the times of the one with most points; a line that has not begun, or has
// ended, adds nothing.
function sumOf(lines) {
  const { t } = lines.reduce((most, line) => (line.rate.t.length > most.rate.t.length ? line : most)).rate;
  const valueAt = ({ rate }, at) => {
    const i = pointAt({ ...rate, form: "step" }, at), next = i + 1;
    if (i < 0 || (next === rate.t.length && at > rate.t[i])) return 0;
    return next === rate.t.length ? rate.v[i] : rate.v[i] + ((rate.v[next] - rate.v[i]) * (at - rate.t[i])) / (rate.t[next] - rate.t[i]);
  };
  return { t, v: t.map((at) => lines.reduce((sum, line) => sum + valueAt(line, at), 0)) };
}

function sumRates(lines) {
  const count = (way) => lines.filter(({ label }) => DIRECTION.exec(label)?.[1] === way).length;
  const ways = ["to", "from"].map(count);
  if (Math.max(...ways) < 2 || ways[0] + ways[1] < lines.length) return [];
  return ["to", "from"].flatMap((way) => {
    const own = lines.filter(({ label }) => label.endsWith(` ${way} the server`));
    const colour = way === "to" ? colours.ink : colours.ack;
    const label = own.length > 1 ? `sum of ${own.length} ${way} the server` : own[0]?.label;
    return label ? [{ form: "line", label, colour, wide: true, ...sumOf(own) }] : [];
  });
}

function ratesRow(lines, isAlone) {
  const drawn = lines.filter(({ rate }) => isGraph(rate) || (rate.published && isGraph(rate.published)));
  if (!drawn.length || FEW_OF * drawn.length < lines.length) return [];
  const tops = drawn.map(({ rate }) => Math.max(...rate.v, ...(rate.published?.v ?? []))).filter((top) => top > 0);
  const claims = new Set(), totals = sumRates(drawn);
  return [{
    title: "rate", units: BITS, log: !totals.length && Math.max(...tops) > FAR_APART * Math.min(...tops),
    lines: [...totals, ...drawn.map((line) => {
      // A series and its fit have the same published values, which are drawn once.
      const isFirst = !claims.has(line.claim);
      claims.add(line.claim);
      const drawing = lineOf(line, { ...line.rate, published: isFirst ? line.rate.published : undefined }, isAlone && { colour: colours.ack, label: line.throughput.of });
      return totals.length ? { ...drawing, mark: undefined, faint: true } : drawing;
    })],
  }];
}

// A line of a row: by itself with the style of its quantity, otherwise with that of its series.
function lineOf(line, points, alone) {
  const style = lineStyle(line.index);
  const look = alone ? { mark: points.published ? style.mark : undefined, ...alone } : { label: line.label, isSeries: LINES.length > 1, colour: style.colour, dash: style.dash, mark: style.mark };
  return { form: "line", ...points, ...look };
}

function windowRows(lines, isAlone) {
  const drawn = (name) => lines.filter((line) => isGraph(line[name]));
  if (isAlone) {
    const [line] = lines;
    const looks = [
      ["rwnd", { label: "receive window", colour: colours.edge, dash: [7, 4], above: true }],
      ["cwnd", { label: "cwnd", colour: colours.ink, dash: [3, 2] }],
      ["flight", { label: "in flight", colour: colours.sent }],
    ];
    const known = looks.filter(([name]) => isGraph(line[name]) && line[name].v.some((value) => value > 0));
    return known.length ? [{ title: "in flight", units: BYTES, lines: known.map(([name, look]) => lineOf(line, { ...line[name], form: "step" }, look)) }] : [];
  }
  const name = windowChoice.value, some = WINDOWS.some(([key]) => drawn(key).length);
  return some ? [{ title: windowChoice.selectedOptions[0].text, units: BYTES, tool: windowChoice, lines: drawn(name).map((line) => lineOf(line, { ...line[name], form: "step" })) }] : [];
}

// RTTs of the connections, and those of pings as levels.
function rttRows(lines, isAlone) {
  const drawn = lines.filter(({ srtt }) => isGraph(srtt));
  // The kinds differ in color, their levels in dashes, which the first kind names.
  const marks = DATA.pings.flatMap(({ label, idle, loaded: [median, p99] }, index) => {
    const known = [["idle", idle, []], ["median under load", median, [8, 4]], ["p99", p99, [2, 3]]].filter(([, ms]) => ms !== null);
    return known.map(([level, ms, dash], place) => ({ label: place ? (index ? null : level) : `${label}${index ? "" : ", idle"}`, at: ms / 1e3, dash, colour: colours.lines[(index + 4) % 8] }));
  });
  if (!drawn.length && !marks.length) return [];
  return [{
    title: "RTT", units: SECONDS, marks, free: true,
    lines: drawn.map((line) => lineOf(line, { ...line.srtt, form: "step" }, isAlone && { label: "smoothed RTT", colour: colours.sack })),
  }];
}

function queueRows() {
  const [key, ...words] = queueChoice.value.split(" ");
  const queues = QUEUES.filter((queue) => queue.element === words.join(" ") && !hiddenLines.has(queue.line));
  if (!queues.length) return [];
  const units = { delay: SECONDS, packets: PACKETS, bytes: BYTES }[key];
  // One line is named by the choice.
  const look = (queue) => (queues.length > 1 ? lineStyle(queue.line) : { colour: colours.sent });
  const lines = queues.map((queue) => ({ form: "step", label: queue.series, isSeries: true, ...queue[key], ...look(queue) }));
  return [{ title: "queue", units, tool: queueChoice, lines }];
}

// Rate, loss, reordering, jitter and one-way delay of streams of datagrams.
function datagramRows() {
  const streams = DATA.datagrams.map((stream, index) => ({ ...stream, colour: colours.lines[index % 8] }));
  const row = (title, units, key, scale = 1) => {
    const drawn = streams.filter((stream) => stream[key].length);
    // What did not occur is in the headline.
    if (!drawn.some((stream) => stream[key].some((value) => value > 0))) return [];
    const named = drawn.map(({ label, received, colour, t, [key]: values }) => ({
      label: label + (key === "rate" ? (received ? ", received" : ", sent") : ""), colour, form: "step", t: t.map((ms) => ms / 1e3), v: values.map((value) => value * scale),
    }));
    return [{ title, units, lines: named }];
  };
  const delayed = streams.filter(({ delay }) => delay[0].length > 1);
  const delays = delayed.map(({ label, colour, delay: [t, low, high] }) => ({ form: "bars", label, colour, t: sums(t, 1e-6), v: sums(low, 1e-6), top: sums(high, 1e-6) }));
  return [
    ...row("rate", BITS, "rate"), ...row("lost", PERCENT, "lost"), ...row("reordered", COUNTS, "reordered"), ...row("jitter", SECONDS, "jitter", 1e-3),
    ...(delays.length ? [{ title: "one-way delay", units: SECONDS, free: true, lines: delays }] : []),
  ];
}

// Losses and retransmissions, and what the shown queue dropped or marked.
function tickRows(lines, isAlone) {
  const again = lines.filter((line) => line.again.length).map((line) => ({ label: isAlone ? "retransmissions" : line.label, colour: isAlone ? colours.again : lineStyle(line.index).colour, t: line.again, isSeries: !isAlone }));
  const element = queueChoice.value.split(" ").slice(1).join(" ");
  const queues = QUEUES.filter((queue) => queue.element === element && !hiddenLines.has(queue.line));
  const events = (key, label, colour) => {
    const t = queues.flatMap((queue) => queue[key]);
    return t.length ? [{ label, colour, t }] : [];
  };
  const dropped = [...events("drops", "dropped", colours.again), ...events("marks", "marked", colours.late)];
  return [
    ...(again.length ? [{ title: isAlone ? "events" : "retransmissions", groups: again }] : []),
    ...(dropped.length ? [{ title: `at ${element}`, groups: dropped }] : []),
  ];
}

// The data of the picture; the lines that are switched on.
function pictureData(span) {
  const lines = LINES.filter((line) => !hiddenLines.has(line.index));
  const isAlone = lines.length === 1;
  const limited = lines.filter((line) => line.spans.length), strips = limited.slice(0, MOST_STRIPS);
  const rows = [...ratesRow(lines, isAlone), ...rttRows(lines, isAlone), ...(lines.length ? windowRows(lines, isAlone) : []), ...queueRows(), ...datagramRows()];
  const lengths = lines.map((line) => Math.max(line.rate.t.at(-1) ?? 0, line.srtt.t.at(-1) ?? 0, line.cwnd.t.at(-1) ?? 0, line.spans.at(-1)?.[1] ?? 0)).filter((end) => end > 0);
  const others = rows.flatMap((row) => row.lines).map(({ t }) => t.at(-1) ?? 0);
  const high = Math.max(0, ...lengths, ...others, ...DATA.datagrams.map(({ end }) => end / 1e3)) || 1;
  const isLog = !span && lengths.length > 1 && high > FAR_APART * Math.min(...lengths);
  const [from, to] = span ?? [isLog ? high / 1e4 : 0, high];
  const spent = DATA.limits.map(() => 0);
  for (const { spans } of strips) for (const [begin, end, cause] of spans) spent[cause] += end - begin;
  const all = spent.reduce((sum, part) => sum + part, 0) || 1;
  const causes = DATA.limits.map((id, index) => ({ id, name: DATA.names[index], share: spent[index] / all }));
  return {
    low: from, high: to, isLog, clock: DATA.clock, causes, rows, more: limited.length - strips.length,
    strips: strips.map(({ label, index, spans }) => ({ label: isAlone ? "" : label, index, spans })),
    ticks: tickRows(lines, isAlone),
  };
}
