// Shows that a sign-in ends soon while its page is open, and counts the rest of it down.
const banner = document.querySelector("[data-left]");
const rest = banner?.querySelector("[aria-hidden]");
const end = Date.now() + Number(banner?.dataset.left) * 1000;

function tick() {
  const seconds = Math.max(0, Math.ceil((end - Date.now()) / 1000));
  banner.hidden = seconds > Number(banner.dataset.warning);
  rest.textContent = ` ${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`;
  if (seconds > 0) setTimeout(tick, 1000);
}

if (rest) tick();
