// Puts the map together: reads positions and one column, draws, and then listens.

const startMap = async () => {
  const [about, xy] = await Promise.all([readJson("about"), readIntegers("xy")]);
  const n = about.n;
  const raw = Uint16Array.from(xy);
  const unit = Float32Array.from(raw);
  for (let i = 0; i < 2 * n; i++) unit[i] /= 65535;
  const positions = { raw, x: unit.subarray(0, n), y: unit.subarray(n) };
  const stage = byId("stage");
  const view = new View(stage, positions);
  const { camera, canvas } = view;
  const filters = new Filters(n);
  const state = { column: null, selection: null, past: [] };
  view.rings = () => state;

  // Blocks, each read once. The first column stands before this script in the page, all others after it.
  const parsed = once(async () => {
    if (document.readyState === "loading") await new Promise((done) => addEventListener("DOMContentLoaded", done));
  });
  const after = (read) => once(async () => (await parsed(), read()));
  const columnOf = about.columns.map((column, i) => (i ? after : once)(() => readColumn(column, i)));
  const readIds = once(() => readJson("ids"));
  const readIndex = once(async () => new GridIndex(positions.x, positions.y));
  const readNear = after(() => readNearest(n, about.steps));
  const readAdjacent = after(() => readNeighbours(n));
  const readColumns = once(async () => {
    const columns = [];
    for (const read of columnOf) columns.push(await read()); // one after the other: the page stays quick meanwhile
    return columns;
  });
  const tables = new Map();
  const tableOf = (column) => {
    if (!tables.has(column)) tables.set(column, colourTable(column, about.palette));
    return tables.get(column);
  };
  const colourOf = (column, node) => cssColour(tableOf(column), column.places[node]);

  const paint = () => {
    const filtered = filters.byColumn.size > 0;
    view.points.paint(nodeColours(n, state.column, state.column && tableOf(state.column), filters.visible), filtered);
    byId("count").textContent = filtered ? `${thousands(filters.count)} of ${counted(n, "node")} pass the filter` : counted(n, "node");
    byId("all").hidden = !filtered;
    view.redraw();
  };
  const legend = () => {
    if (state.column) showLegend(byId("legend"), state.column, tableOf(state.column), filters, paint);
  };
  const colourBy = async (number) => {
    state.column = (await columnOf[number]?.()) ?? null;
    byId("colour").value = String(number);
    legend();
    paint();
    if (state.selection) await showPanel();
  };

  const showPanel = async () => {
    const [ids, columns] = [await readIds(), await readColumns()];
    if (!state.selection) return;
    const colour = (node) => (state.column ? colourOf(state.column, node) : "transparent");
    const back = state.past.length ? () => select(state.past.pop(), { remember: false }) : null;
    const near = [state.selection.node, ...state.selection.nearest.map((one) => one.node)];
    const tools = { columns, colours: colourOf, colour, select, point, back, zoom: () => view.frame(near), close: clear };
    const box = byId("selection");
    const inside = box.contains(document.activeElement);
    byId("said").textContent = showSelection(box, ids, state.selection, tools);
    if (inside) box.querySelector("h3").focus({ preventScroll: true }); // the button that was pressed is gone
  };
  const select = async (node, { remember = true } = {}) => {
    const [near, adjacent] = [await readNear(), await readAdjacent()];
    if (state.selection && remember && state.selection.node !== node) state.past.push(state.selection.node);
    state.selection = { node, nearest: near(node), neighbours: [...adjacent(node)] };
    view.show(node);
    view.redraw("rings");
    await showPanel();
    byId("selection").scrollTop = 0;
  };
  const clear = () => {
    [state.selection, state.past] = [null, []];
    const box = byId("selection");
    if (box.contains(document.activeElement)) canvas.focus({ preventScroll: true });
    box.replaceChildren(make("p", { class: "quiet" }, box.dataset.hint));
    view.redraw("rings");
  };

  const under = (index, left, top, radius) => {
    const [x, y] = camera.toMap(left, top);
    return index.nearest(x, y, Math.min(radius / camera.scale, 2), (node) => filters.visible[node]);
  };
  // Rings a node: the one under the pointer, or the one whose name in a list is.
  const point = (node) => {
    if (node === view.hovered) return false;
    view.ring(node);
    canvas.classList.toggle("over", node >= 0);
    byId("tip").hidden = true;
    return node >= 0;
  };
  const hover = async (left, top, radius) => {
    const [index, ids] = [await readIndex(), await readIds()];
    const node = under(index, left, top, radius);
    if (!point(node)) return;
    const place = { x: positions.x[node], y: positions.y[node], value: state.column?.places[node] };
    showTip(byId("tip"), camera, place, ids[node], state.column, state.column && tableOf(state.column));
  };
  const moved = () => {
    point(-1);
    view.move();
  };
  const pick = async (left, top, radius) => {
    const node = under(await readIndex(), left, top, radius);
    if (node >= 0) await select(node);
  };
  listenToMap(canvas, camera, { moved, hover, select: pick, reset: () => view.reset(), clear });

  const onClick = (id, action) => byId(id).addEventListener("click", action);
  onClick("zoom-in", () => view.zoom(1.6));
  onClick("zoom-out", () => view.zoom(1 / 1.6));
  onClick("reset", () => view.reset());
  onClick("all", () => {
    filters.clear();
    legend();
    paint();
    canvas.focus(); // the button is gone
  });
  byId("colour").addEventListener("change", (event) => colourBy(Number(event.target.value)));
  searchBox(byId("search"), byId("matches"), readIds, select);
  const goToMap = () => byId("map").scrollIntoView({ behavior: calm() ? "auto" : "smooth" });
  for (const button of document.querySelectorAll("button[data-cluster]")) {
    button.addEventListener("click", async () => {
      filters.clear();
      filters.only(await columnOf[about.clusters](), Number(button.dataset.cluster) + 1);
      await colourBy(about.clusters);
      goToMap();
      byId("said").textContent = byId("count").textContent;
    });
  }
  for (const button of document.querySelectorAll("button[data-node]")) {
    button.addEventListener("click", () => (goToMap(), select(Number(button.dataset.node))));
  }

  clear();
  await colourBy(0);
  themeSwitch(() => view.redraw("rings"));
  // The rest is read while people look at the picture, so that the first hover and the first click do not wait.
  const reached = (step) => {
    performance.mark(`map-${step}`);
    stage.dataset.state = step;
  };
  await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
  reached("drawn");
  await Promise.all([readIds(), readIndex()]);
  reached("ready");
  await Promise.all([readNear(), readAdjacent(), readColumns()]);
  reached("complete");
};

copyButtons();
if (byId("points")) startMap();
else themeSwitch(() => {});
