// What the rest of the page does: the light and dark switch, and buttons that copy.

const darkNow = () => {
  const chosen = document.documentElement.dataset.theme;
  return chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
};

const themeSwitch = (changed) => {
  const button = byId("theme");
  const tell = () => {
    button.textContent = darkNow() ? "Light" : "Dark";
    button.setAttribute("aria-label", `Switch to ${darkNow() ? "light" : "dark"} colours`);
    changed();
  };
  button.addEventListener("click", () => {
    document.documentElement.dataset.theme = darkNow() ? "light" : "dark";
    tell();
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", tell);
  tell();
};

const copyButtons = () => {
  for (const button of document.querySelectorAll("button[data-copy]")) {
    const source = byId(button.dataset.copy);
    button.addEventListener("click", async () => {
      try {
        await navigator.clipboard.writeText(source.textContent);
        button.textContent = "Copied";
      } catch {
        // Some browsers keep the clipboard from pages on disk: then the text is selected, one key press from copied.
        getSelection().selectAllChildren(source);
        button.textContent = "Press Ctrl+C";
      }
      setTimeout(() => (button.textContent = "Copy"), 2000);
    });
  }
};
