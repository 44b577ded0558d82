// The legend of the column that colours the map. It is also the filter: boxes for classes, two sliders for numbers.

const MOST_CLASSES = 100; // rows of the legend; smaller classes share the last one

const showLegend = (box, column, table, filters, changed) => {
  const rows = column.numeric ? numberRows(column, table, filters, changed) : classRows(column, table, filters, changed);
  box.replaceChildren(...rows);
};

// Boxes follow the filter after a click on "only"; they stay the same elements, so that none loses the focus.
const tickBoxes = (list, column, filters) => {
  const allowed = filters.allowed(column);
  for (const box of list.querySelectorAll("input")) box.checked = box.dataset.places.split(" ").some((place) => allowed[place]);
};

const classRow = (column, places, name, colour, filters, changed) => {
  const size = places.reduce((sum, place) => sum + column.sizes[place], 0);
  const apply = (value, others) => {
    const next = others === undefined ? filters.allowed(column).slice() : new Uint8Array(column.count + 1).fill(others);
    for (const place of places) next[place] = value;
    filters.set(column, next);
    tickBoxes(check.closest("ul"), column, filters);
    changed();
  };
  const check = make("input", { type: "checkbox", "data-places": places.join(" "), change: () => apply(check.checked ? 1 : 0) });
  const only = make("button", { type: "button", class: "only", "aria-label": `Show only ${name}`, click: () => apply(1, 0) }, "only");
  const label = make("label", {}, check, swatch(colour), make("span", { class: "name", title: name }, name));
  return make("li", {}, label, only, make("span", { class: "size" }, thousands(size)));
};

const classRows = (column, table, filters, changed) => {
  const order = bySize(column);
  const row = (places, name) => classRow(column, places, name, cssColour(table, places[0]), filters, changed);
  const rows = order.slice(0, MOST_CLASSES).map((place) => row([place], column.text(place)));
  const rest = order.slice(MOST_CLASSES);
  if (rest.length) rows.push(row(rest, `${thousands(rest.length)} smaller classes`));
  if (column.sizes[0]) rows.push(row([0], "no value"));
  const list = make("ul", { class: "classes" }, ...rows);
  tickBoxes(list, column, filters);
  return [list];
};

const numberRows = (column, table, filters, changed) => {
  const bar = make("div", { class: "ramp", "aria-hidden": "true" });
  if (column.count === 0) return [make("p", { class: "quiet" }, "No node has a value.")];
  const share = ranks(column);
  const at = (wanted) => share.findIndex((value, place) => place > 0 && value >= wanted);
  const stops = [0, 0.2, 0.4, 0.6, 0.8, 1].map((wanted) => {
    const place = at(wanted);
    return place > 0 ? place : column.count;
  });
  bar.style.background = `linear-gradient(to right, ${stops.map((place) => cssColour(table, place)).join(", ")})`;
  const ends = [1, stops[2] === stops[3] ? stops[2] : at(0.5), column.count];
  const ticks = make("div", { class: "ticks" }, ...ends.map((place) => make("span", {}, column.text(place > 0 ? place : 1))));
  ticks.title = "lowest, median and highest value; colours follow the rank";

  const steps = Math.min(column.count - 1, 1000);
  const placeOf = (slider) => 1 + Math.round((Number(slider.value) / Math.max(steps, 1)) * (column.count - 1));
  const sliderOf = (place) => Math.round(((place - 1) / Math.max(column.count - 1, 1)) * steps);
  const allowed = filters.allowed(column);
  const first = allowed.indexOf(1, 1);
  const last = allowed.lastIndexOf(1);
  const slider = (label, place) => make("input", { type: "range", min: 0, max: steps, value: sliderOf(place), "aria-label": label });
  const low = slider(`${column.name}: lowest shown`, first > 0 ? first : 1);
  const high = slider(`${column.name}: highest shown`, last > 0 ? last : column.count);
  const [from, to] = [make("output"), make("output")];
  const missing = make("input", { type: "checkbox" });
  missing.checked = allowed[0] === 1;
  const tell = () => {
    for (const [slider, said] of [[low, from], [high, to]]) {
      said.textContent = column.text(placeOf(slider));
      slider.setAttribute("aria-valuetext", said.textContent);
    }
  };
  const apply = () => {
    const next = new Uint8Array(column.count + 1);
    next.fill(1, placeOf(low), placeOf(high) + 1);
    next[0] = missing.checked ? 1 : 0;
    filters.set(column, next);
    tell();
    changed();
  };
  const moved = (other, wrong) => () => {
    if (wrong()) other.value = other === low ? high.value : low.value;
    missing.checked = false; // who asks for a range means nodes that have a value
    apply();
  };
  const crossed = () => Number(low.value) > Number(high.value);
  low.addEventListener("input", moved(high, crossed));
  high.addEventListener("input", moved(low, crossed));
  missing.addEventListener("change", apply);
  tell();
  const word = (text) => make("span", { "aria-hidden": "true" }, text);
  const rows = [bar, ticks, make("div", { class: "sliders" }, word("from"), low, from, word("to"), high, to)];
  if (column.sizes[0]) rows.push(make("label", { class: "missing" }, missing, `no value (${thousands(column.sizes[0])})`));
  return rows;
};
