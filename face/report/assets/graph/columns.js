// The data of the picture from the packets of a stream, for the visible time: rates, RTTs, bytes in
// flight with the window, losses. Times are in seconds there.

const RATE_STEP = 5; // pixels of an interval of the rate

// Bytes acknowledged and sent per second, in intervals of a few pixels.
function ratesOf(tree, x0, x1, pixels) {
  const from = Math.max(x0, tree.begin), to = Math.min(x1, tree.end), count = Math.max(8, Math.floor(pixels / RATE_STEP));
  const step = (to - from) / count, acked = { t: [], v: [] }, sent = { t: [], v: [] };
  if (!(step > 0)) return { acked, sent };
  const mbps = (bytes) => (bytes * 8e3) / step;
  let before = tree.totalsAt(from);
  for (let i = 1; i <= count; i++) {
    const now = tree.totalsAt(from + step * i), at = (from + step * (i - 1)) / 1e9;
    acked.t.push(at);
    sent.t.push(at);
    acked.v.push(mbps(now.una - before.una));
    sent.v.push(mbps(now.sent - before.sent));
    before = now;
  }
  return { acked, sent };
}

// Everything else, in one walk over the packets.
function walk(tree, x0, x1, width) {
  const flight = { t: [], v: [] }, window = { t: [], v: [] }, rtt = { t: [], v: [], top: [] };
  const again = [], late = [], zero = [];
  const point = ({ t, v }, at, value) => {
    t.push(at / 1e9);
    v.push(value);
  };
  const trip = (at, low, high) => {
    if (at < x0 || at > x1) return;
    point(rtt, at, low / 1e9);
    rtt.top.push(high / 1e9);
  };
  const node = (c, i) => {
    const middle = (c.t0[i] + c.t1[i]) / 2;
    point(flight, c.t0[i], c.next0[i] - c.una0[i]);
    if (c.owinLow[i] <= c.owinHigh[i]) {
      point(flight, middle, c.owinHigh[i]);
      point(flight, middle, c.owinLow[i]);
    }
    point(flight, c.t1[i], c.next1[i] - c.una1[i]);
    if (c.edge1[i] > 0) point(window, c.t1[i], c.edge1[i] - c.una1[i]);
    if (c.rttHigh[i] > 0) trip(middle, c.rttLow[i], c.rttHigh[i]);
    if (c.again[i]) again.push(middle / 1e9);
    if (c.marks[i] & MARKS.late) late.push(middle / 1e9);
    if (c.marks[i] & MARKS.zero) zero.push(middle / 1e9);
  };
  tree.visit(x0, x1, width, node, (p) => {
    for (let i = Math.max(0, lastAtOrBefore(p.t, x0)); i < p.size; i++) {
      const at = p.t[i];
      point(flight, at, p.next[i] - p.una[i]);
      if (p.edge[i] > 0) point(window, at, p.edge[i] - p.una[i]);
      if (!Number.isNaN(p.rtt[i])) trip(at, p.rtt[i], p.rtt[i]);
      if (p.marks[i] & AGAIN_MARKS && !p.answer[i]) again.push(at / 1e9);
      else if (p.marks[i] & MARKS.late) late.push(at / 1e9);
      if (p.marks[i] & MARKS.zero) zero.push(at / 1e9);
      if (at > x1) break;
    }
  });
  return { flight, window, rtt, again, late, zero };
}

// The data of the picture for a time of the sequence graph.
function treeData(tree, { x0, x1 }, pixels) {
  const { acked, sent } = ratesOf(tree, x0, x1, pixels);
  const { flight, window, rtt, again, late, zero } = walk(tree, x0, x1, (x1 - x0) / (pixels * unitRatio()));
  const { causes, spans, packets } = tree.meta;
  const all = causes.reduce((sum, { spent }) => sum + spent, 0) || 1;
  const some = (column) => tree.levels[0][column].some((value) => value > 0);
  const { isAnswered } = tree, rows = [];
  if (tree.end > tree.begin && some("next1")) {
    const known = isAnswered ? [{ label: "acknowledged", colour: colours.ack, form: "step", ...acked }] : [];
    rows.push({ title: "rate", units: BITS, lines: [{ label: "sent", colour: colours.sent, dash: [4, 3], form: "step", ...sent }, ...known] });
  }
  if (some("rttHigh")) rows.push({ title: "RTT", units: SECONDS, free: true, lines: [{ label: "from data to its ACK at the capture point", colour: colours.sack, form: "bars", ...rtt }] });
  if (isAnswered && some("owinHigh")) {
    const offered = packets.knows_windows ? [{ label: "receive window", colour: colours.edge, dash: [7, 4], form: "step", above: true, ...window }] : [];
    rows.push({ title: "in flight", units: BYTES, lines: [...offered, { label: "bytes in flight", colour: colours.sent, form: "step", ...flight }] });
  }
  const groups = [
    { label: "retransmissions", colour: colours.again, t: again }, { label: "out of order", colour: colours.late, t: late },
    { label: "zero window", colour: colours.edge, t: zero },
  ];
  const events = groups.filter(({ t }) => t.length);
  return {
    low: x0 / 1e9, high: x1 / 1e9, clock: DATA.clock, rows,
    causes: causes.map(({ name, title, text, spent }) => ({ id: name, name: title, text, share: spent / all })),
    strips: spans.length ? [{ label: "", spans: spans.map(([from, to, cause]) => [from / 1e9, to / 1e9, cause]) }] : [],
    ticks: events.length ? [{ title: "events", groups: events }] : [],
  };
}
