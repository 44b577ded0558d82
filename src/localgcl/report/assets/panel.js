// The panel of the selected node: its values, and side by side its nearest nodes in the embedding and its neighbours in the graph.

const FIRST_VALUES = 5;
const FIRST_NEIGHBOURS = 25;

const nodeButton = (ids, node, colour, { similarity, both, select, point }) => {
  const parts = [swatch(colour(node)), make("span", { class: "id" }, ids[node])];
  if (both) parts.push(make("span", { class: "both", title: "in both lists" }, make("span", { class: "unseen" }, "in both lists")));
  if (similarity !== undefined) parts.push(make("span", { class: "similarity" }, similarity.toFixed(3)));
  const [here, gone] = [() => point(node), () => point(-1)];
  const events = { click: () => select(node), pointerenter: here, focus: here, pointerleave: gone, blur: gone };
  return make("li", {}, make("button", { type: "button", class: "node", title: ids[node], ...events }, ...parts));
};

const nodeList = (kind, items, first, empty) => {
  if (!items.length) return [make("p", { class: "quiet" }, empty)];
  const list = make(kind, { class: "nodes" }, ...items.slice(0, first).map((item) => item()));
  let shown = first;
  const more = make("button", { type: "button", class: "more" });
  const tell = () => (more.textContent = `Show ${Math.min(100, items.length - shown)} more`);
  more.addEventListener("click", () => {
    list.append(...items.slice(shown, shown + 100).map((item) => item()));
    shown += 100;
    if (shown < items.length) tell();
    else more.remove();
  });
  if (shown >= items.length) return [list];
  tell();
  return [list, more];
};

const valueRows = (node, columns, colours) =>
  columns.map((column) => [
    make("dt", {}, column.name),
    make("dd", {}, swatch(colours(column, node)), make("span", {}, column.text(column.places[node]))),
  ]);

const valueList = (node, columns, colours) => {
  const rows = valueRows(node, columns, colours);
  const list = (some) => make("dl", { class: "values" }, ...some.flat());
  if (rows.length <= FIRST_VALUES + 1) return [list(rows)];
  const rest = make("details", {}, make("summary", {}, `${rows.length - FIRST_VALUES} more columns`), list(rows.slice(FIRST_VALUES)));
  return [list(rows.slice(0, FIRST_VALUES)), rest];
};

// selection: { node, nearest, neighbours }. Returns one sentence for people who cannot see the panel.
const showSelection = (box, ids, selection, { columns, colours, colour, select, point, back, zoom, close }) => {
  const { node, nearest, neighbours } = selection;
  const near = new Set(nearest.map((one) => one.node));
  const adjacent = new Set(neighbours);
  const both = nearest.filter((one) => adjacent.has(one.node)).length;
  const ordered = [...neighbours].sort((a, b) => near.has(b) - near.has(a));
  const head = make("div", { class: "chosen" }, make("h3", { class: "id", tabindex: -1 }, ids[node]));
  if (back) head.append(make("button", { type: "button", class: "plain", click: back }, "Back"));
  head.append(
    make("button", { type: "button", class: "plain", click: zoom, title: "Show its nearest nodes in the whole map" }, "Zoom"),
    make("button", { type: "button", class: "plain", click: close }, "Close"),
  );
  const column = (mark, title, note, content) =>
    make("section", {}, make("h4", {}, make("span", { class: mark, "aria-hidden": "true" }), title), make("p", { class: "quiet" }, note), ...content);
  const key = make("p", { class: "quiet key" }, make("span", { class: "both" }), "in both lists");
  box.replaceChildren(
    head,
    ...valueList(node, columns, colours),
    make(
      "div",
      { class: "pair" },
      column(
        "mark-ring",
        "Nearest nodes",
        "in the embedding, by cosine",
        nodeList("ol", nearest.map((one) => () => nodeButton(ids, one.node, colour, { ...one, both: adjacent.has(one.node), select, point })), 100, "No nearest nodes are stored."),
      ),
      column(
        "mark-line",
        "Neighbours",
        `in the graph: ${thousands(neighbours.length)}, ${both} also nearest`,
        nodeList("ul", ordered.map((other) => () => nodeButton(ids, other, colour, { both: near.has(other), select, point })), FIRST_NEIGHBOURS, "It has no neighbours here."),
      ),
    ),
    ...(both ? [key] : []),
  );
  return `Selected ${ids[node]}: ${counted(nearest.length, "nearest node")}, ${counted(neighbours.length, "neighbour")}, ${both} in both lists.`;
};
