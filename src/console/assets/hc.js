// Pages work without this.

// The menu stands before the content where there is no room beside it.
const menu = document.querySelector("details.menu");
if (menu && matchMedia("(max-width: 50rem)").matches) menu.open = false;

// A list of versions gets a slider, from the oldest to the newest.
for (const list of document.querySelectorAll("ol[data-slider]")) {
  const links = [...list.querySelectorAll("a")].reverse();
  if (links.length < 2) continue;
  const label = document.createElement("label");
  label.className = "slider";
  const slider = document.createElement("input");
  slider.type = "range";
  slider.min = 0;
  slider.max = links.length - 1;
  slider.value = links.findIndex((link) => link.hasAttribute("aria-current"));
  const words = () => slider.setAttribute("aria-valuetext", links[slider.value].textContent);
  words();
  slider.addEventListener("input", words);
  slider.addEventListener("change", () => links[slider.value].click());
  label.append(list.dataset.slider, " ", slider);
  list.before(label);
}

// What is there to be copied gets a button.
for (const block of document.querySelectorAll("pre[data-copy]")) {
  const button = document.createElement("button");
  button.type = "button";
  button.className = "small";
  button.textContent = "⧉";
  button.setAttribute("aria-label", block.previousElementSibling?.textContent ?? "");
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(block.textContent);
    button.textContent = "✓";
  });
  block.before(button);
}
