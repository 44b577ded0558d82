// The search box: nodes whose id begins with what was typed, then those that contain it; arrows and Enter choose one.

const MOST_MATCHES = 8;

const matches = (ids, lower, wanted) => {
  const text = wanted.toLowerCase();
  const [exact, starting, containing] = [[], [], []];
  for (let i = 0; i < lower.length; i++) {
    if (ids[i] === wanted) exact.push(i);
    else if (starting.length < MOST_MATCHES && lower[i].startsWith(text)) starting.push(i);
    else if (containing.length < MOST_MATCHES && lower[i].includes(text)) containing.push(i);
  }
  return [...exact, ...starting, ...containing].slice(0, MOST_MATCHES);
};

const searchBox = (input, list, readIds, choose) => {
  let found = [];
  let active = -1;
  let lower = null;

  const close = () => {
    list.hidden = true;
    active = -1;
    input.setAttribute("aria-expanded", "false");
    input.removeAttribute("aria-activedescendant");
  };
  const pick = (node) => {
    close();
    choose(node);
  };
  const highlight = (place) => {
    active = place;
    [...list.children].forEach((item, i) => item.setAttribute("aria-selected", String(i === place)));
    input.setAttribute("aria-activedescendant", `match-${place}`);
  };
  const update = async () => {
    const ids = await readIds();
    lower ??= ids.map((id) => id.toLowerCase());
    if (!input.value) return close();
    found = matches(ids, lower, input.value);
    const item = (node, i) =>
      make("li", { role: "option", id: `match-${i}`, "aria-selected": "false", pointerdown: () => pick(node) }, ids[node]);
    list.replaceChildren(...(found.length ? found.map(item) : [make("li", { class: "quiet", role: "option", "aria-disabled": "true", "aria-selected": "false" }, "No node has such an id.")]));
    list.hidden = false;
    input.setAttribute("aria-expanded", "true");
    if (found.length) highlight(0);
    return found;
  };
  input.addEventListener("input", update);
  input.addEventListener("blur", close);
  input.addEventListener("keydown", async (event) => {
    if (event.key === "Escape") close();
    if (event.key === "Enter") {
      event.preventDefault();
      if (list.hidden) await update();
      if (found.length && active >= 0) pick(found[active]);
    }
    if ((event.key === "ArrowDown" || event.key === "ArrowUp") && found.length && !list.hidden) {
      event.preventDefault();
      highlight((active + (event.key === "ArrowDown" ? 1 : found.length - 1)) % found.length);
    }
  });
};
