// Decodes the bytes of the page to numbers: base64, inflate, and seven bits per byte.

function octetsOf(text) {
  if (Uint8Array.fromBase64) return Uint8Array.fromBase64(text);
  const raw = atob(text);
  const octets = new Uint8Array(raw.length);
  for (let i = 0; i < raw.length; i++) octets[i] = raw.charCodeAt(i);
  return octets;
}

async function inflate(octets) {
  const stream = new Blob([octets]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

// Numbers up to 2^53, the largest exact integers.
class Octets {
  constructor(octets, from = 0, to = octets.length) {
    this.octets = octets;
    this.at = from;
    this.end = to;
  }

  octet() {
    return this.at < this.end ? this.octets[this.at++] : 0;
  }

  number() {
    let value = 0, scale = 1;
    for (;;) {
      const octet = this.octet();
      value += (octet & 127) * scale;
      if (octet < 128) return value;
      scale *= 128;
    }
  }

  // Differences: the lowest bit is the sign. Halves of odd numbers above 2^52 would be inexact, but
  // no difference is that large.
  signed() {
    const value = this.number();
    return value % 2 ? -(value + 1) / 2 : value / 2;
  }
}
