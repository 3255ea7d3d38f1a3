// The form of a search works without this. It shows the request as one types, offers the codes of the chosen parameter, and only its modifiers.
const box = document.querySelector("[data-search]");
const shown = document.querySelector("#request");
const form = box?.querySelector("form");

const encoded = (text) => encodeURIComponent(text).replace(/%2F/g, "/").replace(/%3A/g, ":").replace(/%2C/g, ",").replace(/%24/g, "$");

const update = () => {
  const pairs = [];
  let isPersonal = false;
  for (const row of form.querySelectorAll("fieldset.condition")) {
    const [parameter, modifier, value] = ["parameter", "modifier", "value"].map((name) => row.querySelector(`[name=${name}]`));
    const chosen = parameter.selectedOptions[0];
    const known = (chosen.dataset.modifiers ?? "").split(" ");
    for (const option of modifier.options) option.disabled = option.value !== "" && !known.includes(option.value);
    if (modifier.selectedOptions[0]?.disabled) modifier.value = "";
    if (chosen.dataset.list) value.setAttribute("list", chosen.dataset.list);
    else value.removeAttribute("list");
    if (value.value.trim() === "") continue;
    isPersonal ||= chosen.dataset.personal !== undefined || modifier.value === "identifier" || /\d{11}/.test(value.value);
    pairs.push([parameter.value + (modifier.value && ":" + modifier.value), value.value.trim()]);
  }
  const sort = form.querySelector("[name=sort]").value;
  if (sort) pairs.push(["_sort", sort]);
  const query = pairs.map(([name, value]) => `${encoded(name)}=${encoded(value)}`).join("&");
  const at = box.dataset.search;
  shown.textContent = isPersonal
    ? `POST ${at}/_search\ncontent-type: application/x-www-form-urlencoded\n\n${query}`
    : `GET ${at}${query && "?" + query}`;
};

if (form && shown) {
  form.addEventListener("input", update);
  update();
}
