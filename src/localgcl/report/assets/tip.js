// The label beside the node under the pointer.

const showTip = (tip, camera, place, id, column, table) => {
  const parts = [make("strong", { class: "id" }, id)];
  if (column) parts.push(make("span", { class: "quiet" }, swatch(cssColour(table, place.value)), `${column.name}: ${column.text(place.value)}`));
  tip.hidden = false;
  tip.replaceChildren(...parts);
  const [left, top] = camera.toScreen(place.x, place.y);
  const below = top + 16 + tip.offsetHeight < camera.height;
  tip.style.left = `${Math.min(Math.max(left + 14, 4), camera.width - tip.offsetWidth - 4)}px`;
  tip.style.top = `${below ? top + 16 : top - 16 - tip.offsetHeight}px`;
};
