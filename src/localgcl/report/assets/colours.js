// A colour for each place of a column: classes by size, numbers by rank.

const rgb = (hex) => [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));

const mixed = (stops, share) => {
  const at = Math.min(share, 1) * (stops.length - 1);
  const low = Math.min(Math.floor(at), stops.length - 2);
  return stops[low].map((value, i) => Math.round(value + (stops[low + 1][i] - value) * (at - low)));
};

// Shares of nodes below each number. Colours by rank keep the contrast where most nodes are, even for degrees, whose largest
// value is a thousand times the median. Few distinct numbers are spread evenly instead: ones are as different from zeros as can be.
const ranks = (column) => {
  const share = new Float32Array(column.count + 1);
  const known = column.places.length - column.sizes[0];
  let below = 0;
  for (let place = 1; place <= column.count; place++) {
    share[place] = column.count <= 20 ? (place - 1) / Math.max(column.count - 1, 1) : (below + column.sizes[place] / 2) / known;
    below += column.sizes[place];
  }
  return share;
};

// Places of a column of classes, largest class first; empty classes are left out.
const bySize = (column) =>
  Array.from({ length: column.count }, (_, i) => i + 1)
    .filter((place) => column.sizes[place] > 0)
    .sort((a, b) => column.sizes[b] - column.sizes[a] || a - b);

// Three bytes for each place; the first three are those of missing values.
const colourTable = (column, palette) => {
  const table = new Uint8Array(3 * (column.count + 1));
  const put = (place, colour) => table.set(colour, 3 * place);
  put(0, rgb(palette.missing));
  if (column.numeric) {
    const stops = palette.sequence.map(rgb);
    ranks(column).forEach((share, place) => place > 0 && put(place, mixed(stops, share)));
  } else {
    bySize(column).forEach((place, i) => put(place, rgb(palette.categories[i] ?? palette.other)));
  }
  return table;
};

const cssColour = (table, place) => `rgb(${table[3 * place]} ${table[3 * place + 1]} ${table[3 * place + 2]})`;

// Four bytes a node: its colour, and 255 where it passes the filter. Without a column all nodes are grey.
const nodeColours = (n, column, table, visible) => {
  const colours = new Uint8Array(4 * n).fill(128);
  for (let i = 0; i < n; i++) {
    if (column) {
      const at = 3 * column.places[i];
      colours[4 * i] = table[at];
      colours[4 * i + 1] = table[at + 1];
      colours[4 * i + 2] = table[at + 2];
    }
    colours[4 * i + 3] = visible[i] ? 255 : 0;
  }
  return colours;
};
