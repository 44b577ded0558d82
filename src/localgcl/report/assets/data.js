// Reads the blocks that packing.py wrote: base64 of gzip of whole numbers or JSON. A block is read when it is first asked for,
// so that the first picture waits for positions and one column only.

const fromBase64 = (text) => {
  if (Uint8Array.fromBase64) return Uint8Array.fromBase64(text);
  const binary = atob(text);
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < binary.length; i++) bytes[i] = binary.charCodeAt(i);
  return bytes;
};

const unpacked = async (name) => {
  const element = document.getElementById(`block-${name}`);
  const compressed = fromBase64(element.textContent);
  element.remove(); // the text is several megabytes on a large graph
  const stream = new Blob([compressed]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
};

const readJson = async (name) => JSON.parse(new TextDecoder().decode(await unpacked(name)));

const readIntegers = async (name) => {
  const bytes = await unpacked(name);
  const header = new DataView(bytes.buffer, bytes.byteOffset, 8);
  const length = header.getUint32(0, true);
  const width = header.getUint32(4, true);
  const planes = bytes.subarray(8);
  if (width === 1) return planes;
  const values = width === 2 ? new Uint16Array(length) : new Uint32Array(length);
  for (let plane = 0; plane < width; plane++) {
    const shift = 8 * plane;
    const from = plane * length;
    for (let i = 0; i < length; i++) values[i] |= planes[from + i] << shift;
  }
  return values;
};

// Remembers the promise of a function without arguments: blocks are decoded once.
const once = (make) => {
  let promise = null;
  return () => (promise ??= make());
};

const digits = (value) => Number(value.toPrecision(5)).toLocaleString("en", { maximumSignificantDigits: 5 });

// A column: for each node the place of its value (0: missing, else one more than the place among the sorted distinct values).
const readColumn = async (about, number) => {
  const places = await readIntegers(`column-${number}`);
  const numeric = about.classes === null;
  const table = numeric ? new Float32Array((await wide(`table-${number}`)).buffer) : null;
  const count = numeric ? table.length : about.classes.length;
  const sizes = new Uint32Array(count + 1);
  for (let i = 0; i < places.length; i++) sizes[places[i]]++;
  const text = (place) => (place === 0 ? "no value" : numeric ? digits(table[place - 1]) : about.classes[place - 1]);
  return { name: about.name, number, numeric, places, count, sizes, text };
};

// Four-byte numbers, whatever width they were stored in: their bits are those of floats.
const wide = async (name) => Uint32Array.from(await readIntegers(name));

// The nearest nodes of each node, best first, with similarities.
const readNearest = async (n, steps) => {
  const nodes = await readIntegers("nearest");
  const down = await readIntegers("similarity");
  const k = n ? nodes.length / n : 0;
  return (node) => {
    const found = [];
    let level = 0;
    for (let rank = 0; rank < k; rank++) {
      const step = down[rank * n + node];
      level = rank === 0 ? step : (level - step) & 65535;
      const other = nodes[rank * n + node];
      if (other > 0) found.push({ node: other - 1, similarity: (2 * level) / steps - 1 });
    }
    return found;
  };
};

// Neighbours in the graph. Each edge is stored once, at its lower end; here every node gets the list of both directions.
const readNeighbours = async (n) => {
  const counts = await readIntegers("counts");
  const gaps = await readIntegers("gaps");
  const start = new Uint32Array(n + 2);
  const target = new Uint32Array(gaps.length);
  for (let low = 0, edge = 0; low < n; low++) {
    let high = low;
    for (let left = counts[low]; left > 0; left--, edge++) {
      high += gaps[edge];
      target[edge] = high;
      start[low + 2]++;
      start[high + 2]++;
    }
  }
  for (let i = 2; i < n + 2; i++) start[i] += start[i - 1];
  const ends = new Uint32Array(2 * gaps.length);
  for (let low = 0, edge = 0; low < n; low++) {
    for (let left = counts[low]; left > 0; left--, edge++) {
      ends[start[low + 1]++] = target[edge];
      ends[start[target[edge] + 1]++] = low;
    }
  }
  return (node) => ends.subarray(start[node], start[node + 1]);
};
