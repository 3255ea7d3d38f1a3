// Every page, in both languages, both colour schemes and two widths.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { launch, serve, watched } from "./browser.mjs";

const LANGUAGES = ["et", "en"];
const SCHEMES = ["light", "dark"];
// Of a window, in pixels: a desk, and the narrowest that WCAG 1.4.10 asks for.
const WIDTHS = [1280, 320];

// Patients of the demo: one whose certificate has three versions, and one of two linked records.
const OF_THREE_VERSIONS = "213";
const LINKED = "205";

// A page that is not there. A browser tells its status as an error.
const NOWHERE = "/nothing";

let server, browser, paths;

before(async () => {
  server = await serve("--demo", "100");
  browser = await launch();
  const found = await (await fetch(`${server.api}/Composition?subject=Patient/${OF_THREE_VERSIONS}`)).json();
  paths = await crawl([`/certificates/${found.entry[0].resource.id}`, `/patients/${LINKED}`, NOWHERE, "/"]);
});

after(async () => {
  await browser?.close();
  server?.close();
});

// What addresses of pages of one kind have in common: ids, names of documents and values are left out, but not the tab. The next page of
// a list is no other kind.
function kind(url) {
  const path = url.pathname.replace("/console", "").replace(/\d+/g, "1").replace(/^\/(documents|api|terminology\/\w+)\/.*/, "/$1/x");
  const query = [...url.searchParams].map(([name, value]) => (name === "tab" ? `tab=${value}` : name));
  return [path, ...query.filter((name) => name !== "version" && name !== "_page").sort()].join(" ");
}

// One page of each kind that links lead to: kind and path.
async function crawl(begin) {
  const found = new Map();
  const context = await browser.newContext();
  const page = await context.newPage();
  const waiting = begin.map((path) => new URL(server.console + path));
  while (waiting.length > 0) {
    const url = waiting.shift();
    if (found.has(kind(url))) continue;
    found.set(kind(url), url.pathname.replace("/console", "") + url.search);
    await page.goto(url.href);
    const links = await page.evaluate(() => [...document.querySelectorAll("a[href]")].map((link) => link.href));
    const pages = links.map((link) => new URL(link)).filter((link) => link.href.startsWith(`${server.console}/`));
    waiting.push(...pages.filter((link) => !link.pathname.includes("/pictures/")));
  }
  await context.close();
  return found;
}

test("links lead to every part of the console", () => {
  for (const path of ["/", "/certificates", "/certificates/new", "/certificates/1", "/certificates/1/moves", "/certificates/1/edit", "/documents"]) {
    assert.ok(paths.has(path), `${path} is not among ${[...paths.keys()].join(", ")}`);
  }
});

for (const language of LANGUAGES) {
  for (const width of WIDTHS) {
    test(`every page is accessible, narrow enough and loads nothing from elsewhere (${language}, ${width} px)`, async () => {
      const { page, visit, judge, close } = await watched(browser, server, { locale: language, viewport: { width, height: 900 }, reducedMotion: "reduce" });
      const found = [];
      for (const [kind, path] of paths) {
        const problems = (await visit(path)).filter((problem) => path !== NOWHERE || !problem.includes("404"));
        if ((await page.getAttribute("html", "lang")) !== language) problems.push("is in another language");
        for (const colorScheme of SCHEMES) {
          await page.emulateMedia({ colorScheme });
          const name = kind.replace(/[^\w=]+/g, "-").replace(/^-|-$/g, "") || "start";
          await page.screenshot({ path: `pictures/${language}-${colorScheme}-${width}/${name}.png`, fullPage: true });
          problems.push(...(await judge()).map((problem) => `${colorScheme}: ${problem}`));
        }
        found.push(...problems.map((problem) => `${path}: ${problem}`));
      }
      await close();
      assert.deepEqual(found, []);
    });
  }
}

test("every document is narrow enough and loads nothing from elsewhere", async () => {
  const { page, visit, close } = await watched(browser, server, { viewport: { width: 320, height: 900 } });
  await visit("/documents");
  const links = await page.evaluate(() => [...document.querySelectorAll("main a[href]")].map((link) => new URL(link.href).pathname));
  const found = [];
  for (const link of new Set(links)) {
    const path = link.replace("/console", "");
    found.push(...(await visit(path)).map((problem) => `${path}: ${problem}`));
  }
  await close();
  assert.ok(links.length > 20);
  assert.deepEqual(found, []);
});
