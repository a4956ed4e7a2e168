// Queues over time: step lines, one per series with the element, with ticks for drops and marks.

const PACKETS = [{ name: "packets", size: 1 }];
const QUEUE_UNITS = { delay: SECONDS, packets: PACKETS, bytes: BYTES };
// Height of a row of ticks; each series has its own.
const TICK_ROW = 9;

const highest = (values) => values.reduce((most, value) => Math.max(most, value), 0);

function queueLines(element, quantity) {
  const scale = quantity === "delay" ? 1e-6 : 1;
  return DATA.queues
    .filter((queue) => queue.element === element && !hiddenLines.has(queue.line))
    .map((queue) => ({
      index: queue.line,
      label: queue.series,
      t: sums(queue[quantity].t, 1e-6),
      v: sums(queue[quantity].v, scale),
      drops: sums(queue.drops, 1e-6),
      marks: sums(queue.marks, 1e-6),
    }))
    .map(inSpan);
}

class QueueChart extends LineChart {
  draw() {
    super.draw();
    this.plot.inside((g) => this.ticks(g));
  }

  // A row holds until the next: there is no slope between them.
  trace(g, line) {
    const { x, y } = this.plot;
    line.t.forEach((t, i) => {
      const px = x.position(t), py = y.position(line.v[i]);
      if (i) {
        g.lineTo(px, y.position(line.v[i - 1]));
        g.lineTo(px, py);
      } else g.moveTo(px, py);
    });
  }

  ticks(g) {
    const { x, bottom } = this.plot;
    const lines = this.content.lines.filter((line) => line.drops.length || line.marks.length);
    lines.forEach((line, row) => {
      const foot = bottom - 1 - TICK_ROW * (lines.length - 1 - row);
      g.strokeStyle = lineStyle(line.index).colour;
      g.lineWidth = 1;
      for (const [times, height] of [[line.drops, TICK_ROW - 2], [line.marks, (TICK_ROW - 2) / 2]]) {
        g.beginPath();
        for (const t of times) {
          const px = Math.round(x.position(t)) + 0.5;
          g.moveTo(px, foot);
          g.lineTo(px, foot - height);
        }
        g.stroke();
      }
    });
  }

  // The row that holds at time `at`, regardless of its start.
  pointAt(line, at) {
    const i = nearest(line, at);
    const row = i > 0 && line.t[i] > at ? i - 1 : i;
    return at > line.t[line.t.length - 1] ? -1 : row;
  }
}

const queueChart = byId("queue") && new QueueChart(byId("queue"), () => {
  const quantity = byId("queue-quantity");
  const units = QUEUE_UNITS[quantity.value];
  const lines = queueLines(byId("queue-element").value, quantity.value);
  const y = valueAxis(allValues(lines), units, quantity.selectedOptions[0].text, pressed("queue-scale"));
  // Space for the ticks, which would otherwise overlap the line of an empty queue.
  const rows = lines.filter((line) => line.drops.length || line.marks.length).length;
  return {
    lines, y,
    foot: rows ? TICK_ROW * rows + 4 : 0,
    x: timeAxis(lines, DATA.clock),
    text: (value) => withUnit(value, units),
  };
});

function drawQueues() {
  if (!queueChart) return;
  queueChart.draw();
  const { lines } = queueChart.content;
  const ticked = lines.filter((line) => line.drops.length || line.marks.length).map((line) => line.label);
  byId("queue-note").textContent = ticked.length > 1 ? `Rows of ticks, from above: ${ticked.join(", ")}.` : "";
}

function startQueues() {
  const choice = byId("queue-element");
  // The longest queue first seen; elements at which nothing ever waits are left out.
  const longest = new Map();
  for (const queue of DATA.queues) {
    const high = Math.max(0, ...["delay", "packets", "bytes"].map((quantity) => highest(sums(queue[quantity].v, 1))));
    const isUsed = high > 0 || queue.drops.length || queue.marks.length;
    if (isUsed) longest.set(queue.element, Math.max(longest.get(queue.element) ?? 0, highest(sums(queue.delay.v, 1))));
  }
  for (const name of longest.keys()) choice.append(element("option", name));
  byId("queues").hidden = !longest.size;
  choice.selectedIndex = [...longest.values()].indexOf(highest([...longest.values()]));
  choice.addEventListener("change", drawQueues);
  byId("queue-quantity").addEventListener("change", drawQueues);
  toggle("queue-scale", drawQueues);
}
