// New rows of a table, once a second. It waits while somebody is in the table, and on the button.
const table = document.querySelector("table[data-live]");
if (table) {
  const body = table.tBodies[0];
  const said = document.createElement("output");
  said.className = "hidden";
  const button = document.createElement("button");
  button.type = "button";
  button.textContent = table.dataset.pause;
  button.setAttribute("aria-pressed", "false");
  button.addEventListener("click", () => {
    button.setAttribute("aria-pressed", button.getAttribute("aria-pressed") === "true" ? "false" : "true");
  });
  table.parentElement.before(button, said);
  let news = 0;
  const look = async () => {
    const rests = button.getAttribute("aria-pressed") === "true" || table.contains(document.activeElement) || document.hidden;
    if (rests) return;
    const last = body.rows[0]?.dataset.number ?? "0";
    const address = new URL(table.dataset.live, location.href);
    address.searchParams.set("after", last);
    const answer = await fetch(address);
    if (!answer.ok) return;
    const read = new DOMParser().parseFromString(`<table><tbody>${await answer.text()}</tbody></table>`, "text/html");
    const rows = [...read.querySelectorAll("tr")];
    body.prepend(...rows);
    while (body.rows.length > table.dataset.rows) body.lastElementChild.remove();
    news += rows.length;
  };
  setInterval(() => look().catch(() => {}), 1000);
  setInterval(() => {
    if (news) said.textContent = table.dataset.news.replace("{count}", news);
    news = 0;
  }, 5000);
}
