// Every page, in both languages and both schemes, wide and narrow: readable by everybody, and nothing runs that the policy forbids.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, test } from "node:test";
import axe from "axe-core";
import { launch, serve } from "./browser.mjs";

const TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"];
const BYTES_MAX = 150 * 1024;
let server, browser, paths;

before(async () => {
  server = await serve("--demo", "60");
  browser = await launch();
  const page = await browser.newPage();
  await page.goto(`${server.console}/`);
  const links = await page.$$eval(".columns > nav a", (found) => found.map((link) => new URL(link.href).pathname));
  const deep = ["/certificates/3", "/certificates/3?tab=changes", "/certificates/3?tab=json", "/certificates/3?tab=audit",
    "/certificates/3?tab=consent", "/certificates/3?tab=patient", "/certificates/3/moves", "/certificates/3/edit", "/patients/200",
    "/faults?preview=10001", "/api/Composition-create", "/access?role=doctor&action=read", "/documents/explanation/storage", "/nothing"];
  paths = [...new Set([...links, ...deep.map((path) => `/console${path}`)])];
  await page.close();
  assert.ok(paths.length > 20, paths.join(" "));
});

after(async () => {
  await browser?.close();
  server?.close();
});

const name = (path) => path.replace("/console", "").replace(/[^a-z0-9]+/gi, "-").replace(/^-|-$/g, "") || "start";

for (const scheme of ["light", "dark"]) {
  for (const width of [1280, 320]) {
    test(`nobody is kept out of a page (${scheme}, ${width} px)`, async () => {
      for (const locale of ["et-EE", "en-GB"]) {
        const options = { colorScheme: scheme, locale, viewport: { width, height: 900 }, reducedMotion: "reduce" };
        const context = await browser.newContext({ ...options, bypassCSP: true });
        const page = await context.newPage();
        for (const path of paths) {
          await page.goto(server.root + path);
          await page.addScriptTag({ content: axe.source });
          const found = await page.evaluate((tags) => window.axe.run(document, { runOnly: tags }), TAGS);
          const told = found.violations.map((one) => `${one.id}: ${one.nodes.map((node) => node.html).slice(0, 3).join("\n    ")}`);
          assert.deepEqual(told, [], `${path} ${locale}`);
          const [shown, whole] = await page.evaluate(() => [document.documentElement.clientWidth, document.documentElement.scrollWidth]);
          assert.ok(whole <= shown, `${path} ${locale} is ${whole} px wide`);
          await page.screenshot({ path: `pictures/${name(path)}-${locale.slice(0, 2)}-${scheme}-${width}.png`, fullPage: width > 320 });
        }
        await context.close();
      }
    });
  }
}

test("a page loads its own files alone, stores nothing, names nobody in its address and stays small", async () => {
  const context = await browser.newContext({ locale: "en-GB" });
  const page = await context.newPage();
  const problems = [];
  await page.addInitScript(() => document.addEventListener("securitypolicyviolation", (event) => console.error(`policy: ${event.violatedDirective}`)));
  page.on("console", (message) => message.type() === "error" && problems.push(`${page.url()}: ${message.text()}`));
  page.on("pageerror", (error) => problems.push(`${page.url()}: ${error}`));
  page.on("request", (request) => request.url().startsWith(server.root) || request.url().startsWith("data:") || problems.push(request.url()));
  for (const path of paths) {
    const cold = await browser.newContext({ locale: "en-GB" });
    const first = await cold.newPage();
    let bytes = 0;
    first.on("requestfinished", async (request) => { bytes += (await request.sizes()).responseBodySize; });
    await first.goto(server.root + path, { waitUntil: "networkidle" });
    await cold.close();
    assert.ok(bytes <= BYTES_MAX, `${path} has ${bytes} bytes`);
    await page.goto(server.root + path);
    assert.ok(!/\d{11}/.test(page.url()), page.url());
    assert.deepEqual(await page.evaluate(() => [localStorage.length, sessionStorage.length, document.cookie]), [0, 0, ""]);
  }
  // What a page that is not there says of itself is no problem of the page.
  assert.deepEqual(problems.filter((problem) => !problem.includes("404")), []);
  await context.close();
});

test("what people wrote is text wherever it is shown", async () => {
  const markup = "<img src=x onerror=document.title='hit'><script>document.title='hit'</script>";
  const walk = (value) => {
    if (Array.isArray(value)) return value.map(walk);
    if (value && typeof value === "object") return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, ["text", "display", "title"].includes(key) && typeof inner === "string" ? inner + markup : walk(inner)]));
    return value;
  };
  const body = JSON.stringify(walk(JSON.parse(readFileSync("examples/driver-final.json", "utf8")))).replace("TT-2025-000202", "TT-2026-<b>1</b>");
  const answer = await fetch(`${server.api}/Composition`, { method: "POST", headers: { "content-type": "application/fhir+json" }, body });
  const id = answer.status === 201 ? answer.headers.get("location").split("/Composition/")[1].split("/")[0] : "3";
  const context = await browser.newContext({ locale: "en-GB" });
  const page = await context.newPage();
  page.on("dialog", () => assert.fail("a script ran"));
  const all = ["", "?tab=changes", "?tab=json", "?tab=audit", "?tab=patient", "/moves", "/edit"].map((rest) => `/certificates/${id}${rest}`);
  for (const path of [...all, "/certificates", "/traffic", "/", "/audit"]) {
    await page.goto(server.console + path);
    assert.notEqual(await page.title(), "hit", path);
    assert.equal(await page.locator("main img[onerror]").count(), 0, path);
  }
  await page.goto(`${server.console}/validate`);
  await page.fill("#body", body);
  await page.locator("form:has(#body) button").click();
  assert.equal(await page.locator("main img[onerror]").count(), 0);
  await context.close();
});
