// A graph in memory, of an entry of the data (`meta`). At the lowest level are summaries of blocks of neighboring packets. Higher
// levels summarize eight blocks each. Some blocks also have their packets in the page.

const FAN = 8;
const AGAIN_MARKS = 0b111111; // the kinds of retransmissions come first
const MARK = (name) => 2 ** DATA.marks.indexOf(name);
const MARKS = {
  late: MARK("out of order"), duplicate: MARK("duplicate ack"), old: MARK("old ack"), zero: MARK("zero window"),
  timeout: MARK("timeout retransmission"), probe: MARK("zero window probe"), syn: MARK("SYN"), fin: MARK("FIN"), rst: MARK("RST"), keep: MARK("keep alive"),
};
// Columns of numbers that every level has. In an empty range, low is above high.
const COLUMNS = [
  "t0", "t1", "una0", "una1", "edge0", "edge1", "next0", "next1", "sent0", "sent1", "frame0", "frame1", "count", "again", "marks",
  "newLow", "newHigh", "repLow", "repHigh", "sackLow", "sackHigh", "edgeLow", "edgeHigh", "owinLow", "owinHigh", "rttLow", "rttHigh",
];
const PAIRS = ["new", "rep", "sack", "edge", "owin", "rtt"];
// Maximum number of packets unpacked at the same time.
const MOST_UNPACKED = 1_000_000;

function level(size) {
  const columns = { size };
  for (const name of COLUMNS) columns[name] = new Float64Array(size);
  return columns;
}

class Tree {
  constructor(meta, head) {
    this.meta = meta;
    this.unpacked = new Map();
    this.unpackedPoints = 0;
    this.chunks = [];
    this.levels = [this.readBlocks(head)];
    // A capture of one host's packets has no ACKs of its data, and each ACK has a window.
    this.isAnswered = this.levels[0].edge1.some((edge) => edge > 0);
    while (this.levels.at(-1).size > 1) this.levels.push(this.above(this.levels.at(-1)));
    const top = this.levels.at(-1);
    this.begin = top.size ? top.t0[0] : 0;
    this.end = top.size ? top.t1[0] : 0;
  }

  readBlocks(head) {
    const reader = new Octets(head);
    const size = reader.number();
    const columns = [];
    while (reader.at < head.length) {
      const length = reader.number();
      columns.push(new Octets(head, reader.at, reader.at + length));
      reader.at += length;
    }
    const [first, last, frame, frames, next, una, edge, points, , again, octets, marks, places, edges, owin, rtt, detail, order] = columns;
    const blocks = level(size);
    const lengths = new Float64Array(size);
    const state = { at: 0, frame: 0, next: 0, una: 0, edge: 0, sent: 0 };
    const extent = (reader, near, name, i, scale = 1) => {
      const span = reader.number();
      blocks[name + "Low"][i] = span ? (near + reader.signed()) * scale : Infinity;
      blocks[name + "High"][i] = span ? blocks[name + "Low"][i] + (span - 1) * scale : -Infinity;
    };
    const unit = this.meta.packets.unit_ns;
    for (let i = 0; i < size; i++) {
      const owin0 = state.next - state.una;
      const b = blocks;
      [b.una0[i], b.edge0[i], b.next0[i], b.sent0[i]] = [state.una, state.edge, state.next, state.sent];
      // The block before is complete now.
      const before = { next: state.next, una: state.una, edge: state.edge };
      b.t0[i] = state.at + first.number() * unit;
      state.at = b.t1[i] = b.t0[i] + last.number() * unit;
      b.frame0[i] = state.frame + frame.number();
      state.frame = b.frame1[i] = b.frame0[i] + frames.number();
      state.next = b.next1[i] = state.next + next.number();
      state.una = b.una1[i] = state.una + una.number();
      state.edge = b.edge1[i] = state.edge + edge.signed();
      b.count[i] = points.number();
      b.again[i] = again.number();
      state.sent = b.sent1[i] = state.sent + octets.number();
      b.marks[i] = marks.number();
      extent(places, before.next, "new", i);
      extent(places, before.una, "rep", i);
      extent(places, before.una, "sack", i);
      extent(edges, before.edge, "edge", i);
      extent(owin, owin0, "owin", i);
      extent(rtt, 0, "rtt", i);
      lengths[i] = detail.number();
    }
    this.place(lengths, order);
    return blocks;
  }

  // Position of the packets of each block: its chunk, and the offset in it.
  place(lengths, order) {
    const size = lengths.length;
    this.chunkOf = new Int32Array(size).fill(-1);
    this.from = new Float64Array(size);
    this.lengths = lengths;
    let block = 0, chunk = 0, used = 0;
    while (order.at < order.end) {
      block += order.signed();
      if (used >= this.meta.packets.chunks[chunk].plain) [chunk, used] = [chunk + 1, 0];
      this.chunkOf[block] = chunk;
      this.from[block] = used;
      used += lengths[block];
    }
  }

  above(below) {
    const made = level(Math.ceil(below.size / FAN));
    for (let i = 0; i < made.size; i++) {
      const from = i * FAN, to = Math.min(below.size, from + FAN) - 1;
      for (const name of ["t0", "una0", "edge0", "next0", "sent0", "frame0"]) made[name][i] = below[name][from];
      for (const name of ["t1", "una1", "edge1", "next1", "sent1", "frame1"]) made[name][i] = below[name][to];
      for (const pair of PAIRS) {
        let low = Infinity, high = -Infinity;
        for (let j = from; j <= to; j++) {
          low = Math.min(low, below[pair + "Low"][j]);
          high = Math.max(high, below[pair + "High"][j]);
        }
        made[pair + "Low"][i] = low;
        made[pair + "High"][i] = high;
      }
      let marks = 0;
      for (let j = from; j <= to; j++) {
        made.count[i] += below.count[j];
        made.again[i] += below.again[j];
        marks |= below.marks[j];
      }
      made.marks[i] = marks;
    }
    return made;
  }

  hasPackets(block) {
    const chunk = this.chunkOf[block];
    return chunk >= 0 && this.chunks[chunk] !== undefined;
  }

  // The packets of a block, as columns.
  packets(block) {
    const found = this.unpacked.get(block);
    if (found) return found;
    const made = this.unpack(block);
    this.unpacked.set(block, made);
    this.unpackedPoints += made.size;
    for (const [oldest, packets] of this.unpacked) {
      if (this.unpackedPoints <= MOST_UNPACKED) break;
      this.unpacked.delete(oldest);
      this.unpackedPoints -= packets.size;
    }
    return made;
  }

  unpack(block) {
    const b = this.levels[0], unit = this.meta.packets.unit_ns, size = b.count[block];
    const octets = this.chunks[this.chunkOf[block]];
    const from = this.from[block];
    const reader = new Octets(octets, from, from + this.lengths[block]);
    const p = { size, first: b.frame0[block] };
    for (const name of ["t", "frame", "at", "end", "una", "next", "edge", "sent", "rtt"]) p[name] = new Float64Array(size);
    p.marks = new Int32Array(size);
    p.answer = new Uint8Array(size);
    p.sacks = new Map();
    const before = block ? [b.t1[block - 1], b.frame1[block - 1]] : [0, 0];
    const s = { at: before[0], frame: before[1], next: b.next0[block], una: b.una0[block], edge: b.edge0[block], sent: b.sent0[block] };
    let length = 0, wnd = 0;
    for (let i = 0; i < size; i++) {
      const tag = reader.octet();
      s.at += reader.number() * unit;
      s.frame += tag & 32 ? reader.number() : 1;
      p.marks[i] = tag & 64 ? reader.number() : 0;
      p.rtt[i] = NaN;
      if (tag & 128) {
        const ack = tag & 1 ? s.una + reader.signed() : s.una;
        if (tag & 2) wnd = reader.number();
        if (tag & 4) {
          const sacks = [];
          for (let n = reader.octet(); n > 0; n--) {
            const left = ack + reader.signed();
            sacks.push([left, left + reader.number()]);
          }
          p.sacks.set(i, sacks);
        }
        if (tag & 8) p.rtt[i] = reader.number() * unit;
        p.answer[i] = 1;
        p.at[i] = ack;
        p.end[i] = ack + wnd;
        s.next = Math.max(s.next, ack);
        if (ack >= s.una) [s.una, s.edge] = [ack, ack + wnd];
      } else {
        const start = tag & 1 ? s.next + reader.signed() : s.next;
        if (tag & 2) length = reader.number();
        p.at[i] = start;
        p.end[i] = start + length;
        s.next = Math.max(s.next, start + length);
        s.sent += length;
      }
      [p.t[i], p.frame[i], p.una[i], p.next[i], p.edge[i], p.sent[i]] = [s.at, s.frame, s.una, s.next, s.edge, s.sent];
    }
    return p;
  }

  // Visits everything between two times with a resolution of `width` (in time). Calls `node(level,
  // index)` for blocks that are no wider or whose packets are not in the page, and
  // `packets(columns, block)` for the rest. One before and one after are visited too, for lines
  // that come from there.
  visit(from, to, width, node, packets) {
    const walk = (depth, index) => {
      const columns = this.levels[depth];
      if (columns.t1[index] - columns.t0[index] <= width) return node(columns, index, false);
      if (depth === 0) return this.hasPackets(index) ? packets(this.packets(index), index) : node(columns, index, true);
      // Children in the view, and one on either side.
      const below = this.levels[depth - 1];
      let low = index * FAN, high = Math.min(below.size, low + FAN) - 1;
      while (low < high && below.t1[low] < from && below.t1[low + 1] < from) low++;
      while (high > low && below.t0[high] > to && below.t0[high - 1] > to) high--;
      for (let child = low; child <= high; child++) walk(depth - 1, child);
    };
    if (this.levels[0].size) walk(this.levels.length - 1, 0);
  }

  // The last block that begins at or before a time.
  blockAt(time) {
    const { t0, size } = this.levels[0];
    let low = 0, high = size - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (t0[middle] <= time) low = middle;
      else high = middle - 1;
    }
    return low;
  }

  // Bytes acknowledged and sent until a time.
  totalsAt(time) {
    const b = this.levels[0];
    if (!b.size || time < b.t0[0]) return { una: 0, sent: 0 };
    const i = this.blockAt(time);
    if (time >= b.t1[i]) return { una: b.una1[i], sent: b.sent1[i] };
    if (!this.hasPackets(i)) {
      const share = (time - b.t0[i]) / (b.t1[i] - b.t0[i]);
      return { una: b.una0[i] + (b.una1[i] - b.una0[i]) * share, sent: b.sent0[i] + (b.sent1[i] - b.sent0[i]) * share };
    }
    const p = this.packets(i);
    const n = lastAtOrBefore(p.t, time);
    return n < 0 ? { una: b.una0[i], sent: b.sent0[i] } : { una: p.una[n], sent: p.sent[n] };
  }
}

// The last index of an ascending column whose value is not above `value`.
function lastAtOrBefore(column, value) {
  let low = -1, high = column.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (column[middle] <= value) low = middle;
    else high = middle - 1;
  }
  return low;
}
