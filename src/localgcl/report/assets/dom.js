// Makes elements. Strings become text, never HTML: a node called <script> is a word like any other.

const make = (tag, settings = {}, ...children) => {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(settings)) {
    if (typeof value === "function") element.addEventListener(name, value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value !== null) element.setAttribute(name, value);
  }
  element.append(...children);
  return element;
};

const swatch = (colour) => {
  const element = make("span", { class: "swatch", "aria-hidden": "true" });
  element.style.background = colour;
  return element;
};

const byId = (id) => document.getElementById(id);
const thousands = (number) => number.toLocaleString("en");
const counted = (number, word) => `${thousands(number)} ${word}${number === 1 ? "" : "s"}`;
