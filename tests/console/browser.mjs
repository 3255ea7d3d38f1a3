// A server of `hcert dev` in a folder of its own, a browser before it, and what is asked of every page.
import { execFileSync, spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import axe from "axe-core";
import { chromium } from "playwright-core";

// What a page may transfer to a browser that holds nothing yet, in bytes.
const COLD_BYTES_MAX = 150 * 1024;

const RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"];

/** A port that is free now. */
function freePort() {
  return new Promise((resolve) => {
    const server = createServer().listen(0, "127.0.0.1", () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });
}

/** Starts the program; `close` stops it. */
export async function serve(...flags) {
  const folder = mkdtempSync(join(tmpdir(), "hcert-console-"));
  const data = join(folder, "data");
  const port = await freePort();
  const environment = { ...process.env, HCERT__MANAGEMENT__LISTEN: "127.0.0.1:0", HCERT__LOG__LEVEL: "error" };
  const program = spawn(process.env.HCERT_PROGRAM, ["dev", "--data", data, "--listen", `127.0.0.1:${port}`, ...flags], {
    env: environment,
    stdio: ["ignore", "pipe", "inherit"],
  });
  let said = "";
  await new Promise((resolve, reject) => {
    program.stdout.on("data", (piece) => {
      said += piece;
      if (said.includes("open   ")) resolve();
    });
    program.on("exit", () => reject(new Error(`hcert ended: ${said}`)));
  });
  const root = `http://127.0.0.1:${port}`;
  return {
    root,
    data,
    console: `${root}/console`,
    api: `${root}/fhir`,
    close: () => {
      program.kill("SIGKILL");
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Starts the browser. */
export function launch(...flags) {
  return chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox", ...flags] });
}

/** A page that remembers what it should not have done. `visit` opens a path and tells that, `judge` tells what axe finds. */
export async function watched(browser, server, options) {
  const context = await browser.newContext(options);
  await context.addInitScript(() => {
    globalThis.violations = [];
    document.addEventListener("securitypolicyviolation", (event) =>
      globalThis.violations.push(`${event.violatedDirective} ${event.blockedURI} ${event.sample}`));
  });
  const page = await context.newPage();
  const session = await context.newCDPSession(page);
  await session.send("Network.enable");
  await session.send("Network.setCacheDisabled", { cacheDisabled: true });
  let problems = [];
  let bytes = 0;
  session.on("Network.loadingFinished", (event) => (bytes += event.encodedDataLength));
  page.on("console", (message) => message.type() === "error" && problems.push(message.text()));
  page.on("pageerror", (error) => problems.push(String(error)));
  page.on("request", (request) => {
    const url = request.url();
    if (!url.startsWith(server.root) && !url.startsWith("data:")) problems.push(`asks ${url}`);
  });
  const visit = async (path) => {
    [problems, bytes] = [[], 0];
    await page.goto(server.console + path, { waitUntil: "load" });
    problems.push(...(await page.evaluate(() => globalThis.violations)));
    if (bytes > COLD_BYTES_MAX) problems.push(`${bytes} bytes`);
    problems.push(...(await page.evaluate(wrong)));
    return [...new Set(problems)];
  };
  // Axe is put beside the page only after the page was watched.
  const judge = async () => {
    await page.evaluate(`${axe.source}; undefined`);
    const found = await page.evaluate(
      (values) => window.axe.run({ runOnly: { type: "tag", values }, resultTypes: ["violations"], preload: false }),
      RULES,
    );
    return found.violations.map((one) => `${one.id}: ${one.nodes.slice(0, 3).map((node) => `${node.html.slice(0, 200)} ${node.any[0]?.message ?? ""}`).join(" | ")}`);
  };
  return { page, visit, judge, close: () => context.close() };
}

// Runs in the page: what it keeps, whom its addresses name, and whether it is wider than its window.
function wrong() {
  const told = [];
  if (localStorage.length + sessionStorage.length > 0) told.push("keeps something in the browser");
  const addresses = [location.href, ...[...document.querySelectorAll("[href], [src], [action]")].flatMap((element) =>
    ["href", "src", "action"].map((name) => element.getAttribute(name) ?? ""))];
  for (const address of addresses) if (/(?<!\d)\d{11}(?!\d)/.test(address)) told.push(`a code of 11 digits in ${address}`);
  const { scrollWidth, clientWidth } = document.documentElement;
  if (scrollWidth > clientWidth) {
    // Without what is too wide, the page is narrower.
    const wide = [...document.querySelectorAll("main *")].filter((one) => {
      const { display } = one.style;
      one.style.display = "none";
      const isNarrower = document.documentElement.scrollWidth < scrollWidth;
      one.style.display = display;
      return isNarrower;
    });
    told.push(`scrolls sideways, ${scrollWidth} in ${clientWidth} px: ${wide.at(-1)?.outerHTML.slice(0, 200)}`);
  }
  if (document.querySelectorAll("h1").length !== 1) told.push(`${document.querySelectorAll("h1").length} h1`);
  return told;
}

/** Stores a certificate by the API and tells its id. */
export async function create(server, body) {
  const headers = { "content-type": "application/fhir+json" };
  const answer = await fetch(`${server.api}/Composition`, { method: "POST", headers, body });
  if (answer.status !== 201) throw new Error(`${answer.status} ${await answer.text()}`);
  return answer.headers.get("location").split("/Composition/")[1].split("/")[0];
}

/** Stores a patient by the command for that, which asks the server. */
export function storePatient(server, patient) {
  execFileSync(process.env.HCERT_PROGRAM, ["patients", "import", "-", "--data", server.data], { input: `${JSON.stringify(patient)}\n`, cwd: server.data, stdio: "pipe" });
}
