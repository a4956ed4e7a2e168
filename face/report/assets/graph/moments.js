// Moments of interest in a stream, each shown with ten RTTs around it.

const MOMENT_RTTS = 10;

// The last RTT measured before a time, or the first after it; null without any.
function rttAt(tree, time) {
  const blocks = tree.levels[0], at = tree.blockAt(time);
  const has = (block) => blocks.rttHigh[block] > 0;
  let block = at;
  while (block >= 0 && !has(block)) block -= 1;
  if (block < 0) for (block = at; block < blocks.size && !has(block); block++);
  return block < blocks.size ? (blocks.rttLow[block] + blocks.rttHigh[block]) / 2 : null;
}

// The first packet with data and one of `marks`, among the packets in the page.
function firstMarked(tree, marks) {
  const blocks = tree.levels[0];
  for (let block = 0; block < blocks.size; block++) {
    if (!(blocks.marks[block] & marks) || !tree.hasPackets(block)) continue;
    const p = tree.packets(block);
    const i = p.marks.findIndex((own, i) => own & marks && !p.answer[i]);
    if (i >= 0) return p.t[i];
  }
  return null;
}

// Name, from and to of each moment; those of slow start begin with the stream.
function momentsOf(tree) {
  const moments = [];
  const add = (name, from, to) => moments.push([name, Math.max(from, tree.begin), to]);
  const start = tree.levels[0].size ? tree.begin : null, rtt = start === null ? null : rttAt(tree, start);
  if (rtt) add("Slow start", start, start + MOMENT_RTTS * rtt);
  for (const [name, marks] of [["First loss", AGAIN_MARKS], ["Timeout", MARKS.timeout]]) {
    const at = firstMarked(tree, marks);
    const half = at === null ? null : (rttAt(tree, at) * MOMENT_RTTS) / 2;
    if (half) add(name, at - half, at + half);
  }
  return moments;
}
