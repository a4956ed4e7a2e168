// Keeps the view in the fragment of the address, so that a copied address shows the same view.
// Parts are NAME=VALUE separated by &, and `dark` or `light`. Invalid parts are ignored.

const SPAN_FORM = /^(-?\d+(?:\.\d+)?)\.\.(-?\d+(?:\.\d+)?)$/;

const link = {
  waiting: 0,
  read() {
    this.parts = new URLSearchParams(location.hash.slice(1));
  },
  // Two numbers, the first below the second; null for anything else.
  span(name) {
    const found = SPAN_FORM.exec(this.parts.get(name) ?? "");
    const [from, to] = found ? [Number(found[1]), Number(found[2])] : [0, 0];
    return to > from ? [from, to] : null;
  },
  // Changes parts of the address; a value of null removes its part.
  write(parts) {
    for (const [name, value] of Object.entries(parts)) {
      this.parts.delete(name);
      for (const one of [value ?? []].flat()) this.parts.append(name, one);
    }
    // Browsers refuse too many changes in a short time.
    clearTimeout(this.waiting);
    this.waiting = setTimeout(() => this.put(), 150);
  },
  put() {
    const words = [...this.parts].map(([name, value]) => encodeURIComponent(name) + (value && "=" + encodeURIComponent(value)));
    try {
      history.replaceState(null, "", "#" + words.join("&"));
    } catch {
      // A page inside a frame may have no address of its own.
    }
  },
};
link.read();

// A span as a part of an address, with as many decimals as it needs.
function spanPart(from, to) {
  const decimals = Math.min(12, Math.max(0, 3 - Math.floor(Math.log10(to - from))));
  return `${from.toFixed(decimals)}..${to.toFixed(decimals)}`;
}
