// Compares the page's WebAssembly with the command: `node same.mjs WASM GIGATCP CAPTURE...`.
// Text and JSON of each capture must be equal, byte for byte.
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { basename, dirname } from "node:path";

const [wasm, command, ...captures] = process.argv.slice(2);
const module = new WebAssembly.Module(readFileSync(wasm));

function inPage(file) {
  const { exports } = new WebAssembly.Instance(module, {});
  const bytes = readFileSync(file);
  const name = new TextEncoder().encode(basename(file));
  const fill = (address, data) => new Uint8Array(exports.memory.buffer).set(data, address >>> 0);
  fill(exports.name(name.length), name);
  fill(exports.capture(bytes.length), bytes);
  const begin = performance.now();
  const length = exports.answer();
  const seconds = (performance.now() - begin) / 1000;
  const output = new Uint8Array(exports.memory.buffer, exports.output() >>> 0, length);
  return { ...JSON.parse(new TextDecoder().decode(output)), seconds };
}

function byCommand(file, words) {
  const options = { cwd: dirname(file), stdio: ["ignore", "pipe", "pipe"], maxBuffer: 1 << 30 };
  try {
    return execFileSync(command, ["why", ...words, basename(file)], options).toString();
  } catch {
    return undefined;
  }
}

let differing = 0;
for (const file of captures) {
  const page = inPage(file);
  const same = page.text === byCommand(file, []) && page.json === byCommand(file, ["--json"]);
  if (!same) {
    differing += 1;
    console.log(`${file}: the page and the command differ${page.error ? `: ${page.error}` : ""}`);
  }
}
console.log(`${captures.length} captures, ${captures.length - differing} with the same answer`);
process.exit(differing === 0 ? 0 : 1);
