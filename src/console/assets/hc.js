// Pages work without this. It closes the menu where it would stand before the content.
const menu = document.querySelector("details.menu");
if (menu && matchMedia("(max-width: 50rem)").matches) menu.open = false;
