// The time-sequence graphs of a page: choice, tools, and the view in the address. A chosen graph is
// drawn as soon as its summaries are read, and again when its packets are read.

class Graphs {
  // `parts` names choice, time and offsets in the address. `chosen` is called with each graph whose
  // summaries are read, `changed` when the view changes.
  constructor({ parts, chosen, changed }) {
    Object.assign(this, { parts, chosen, trees: [], choice: byId("choice") });
    this.panel = new SequencePanel(byId("sequence-plot"), changed);
    for (const graph of DATA.graphs) this.choice.append(element("option", graph.label));
    byId("choose").hidden = DATA.graphs.length < 2;
    this.choice.addEventListener("change", () => {
      link.write({ [parts.choice]: this.choice.selectedIndex ? this.choice.value : null, [parts.time]: null, [parts.offsets]: null });
      link.put();
      this.choose(this.choice.selectedIndex);
    });
    const press = (id, act) => byId(id).addEventListener("click", act);
    press("in", () => this.panel.zoom(0.5));
    press("out", () => this.panel.zoom(2));
    press("whole", () => this.panel.whole());
    press("fit", () => {
      this.panel.fits = !this.panel.fits;
      changed();
    });
    press("again-before", () => this.panel.again(-1));
    press("again-after", () => this.panel.again(1));
  }

  draw() {
    if (!this.panel.tree) return;
    this.panel.draw();
    byId("fit").setAttribute("aria-pressed", String(this.panel.fits));
    const { x0, x1, y0, y1 } = this.panel.view, { parts } = this;
    link.write({ [parts.time]: this.panel.isWhole() ? null : spanPart(x0 / 1e9, x1 / 1e9), [parts.offsets]: this.panel.fits ? null : spanPart(y0, y1) });
    // State for tests and debugging.
    document.documentElement.dataset.view = JSON.stringify(this.panel.view);
  }

  async load(index) {
    if (this.trees[index]) return this.trees[index];
    const graph = DATA.graphs[index], { packets } = graph;
    const octets = octetsOf(packets.octets);
    let at = packets.head.packed;
    const tree = new Tree(graph, await inflate(octets.subarray(0, at)));
    this.trees[index] = tree;
    const unpacked = packets.chunks.map(({ packed }, chunk) => {
      const part = octets.subarray(at, at + packed);
      at += packed;
      return inflate(part).then((plain) => (tree.chunks[chunk] = plain));
    });
    tree.isWhole = Promise.all(unpacked);
    return tree;
  }

  async show(index) {
    const tree = await this.load(index);
    const isChosen = () => this.choice.selectedIndex === index;
    if (!isChosen()) return;
    const { points, kept_points: kept } = tree.meta.packets;
    this.panel.choose(tree);
    byId("kept").textContent = kept < points
      ? `Of the ${digits(points, 0)} packets of this stream ${digits(kept, 0)} are in this page one by one: where something happens, and evenly in between. The others are summed up in blocks of up to ${digits(Math.max(...tree.levels[0].count), 0)}, drawn as broad pale lines when zoomed in.`
      : `All ${digits(points, 0)} packets of this stream are in this page one by one.`;
    this.chosen(tree);
    this.follow();
    document.documentElement.dataset.ready = "summary";
    document.documentElement.dataset.summaryMs ??= performance.now().toFixed(0);
    await tree.isWhole;
    if (!isChosen()) return;
    this.moments(tree);
    this.panel.changed();
    document.documentElement.dataset.ready = "yes";
  }

  // Errors during loading are shown too.
  choose(index) {
    this.show(index).catch((error) => window.onerror(error));
  }

  // Shows the span in the address.
  follow() {
    link.read();
    const span = link.span(this.parts.time);
    if (span) this.panel.exactly(span[0] * 1e9, span[1] * 1e9, link.span(this.parts.offsets));
  }

  moments(tree) {
    byId("moments").replaceChildren(...momentsOf(tree).map(([name, from, to]) => {
      const button = element("button", name);
      button.type = "button";
      button.addEventListener("click", () => this.panel.exactly(from, to));
      return button;
    }));
  }

  // Opens the graph in the address, or the first.
  open() {
    link.read();
    const at = DATA.graphs.findIndex((graph) => graph.label === link.parts.get(this.parts.choice));
    this.choice.selectedIndex = Math.max(0, at);
    this.choose(this.choice.selectedIndex);
  }
}
