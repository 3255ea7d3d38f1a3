// People who sign in to the console at Keycloak, for tests/outside/secure.py, which starts both and counts the checks.
//
//     node keycloak.mjs PART CONSOLE ISSUER CERTIFICATE...
//
// PART is `sign-in`, or `expiry`, for which tokens live for some seconds. CONSOLE and ISSUER are addresses of two sites, so that cookies
// come along as they do between strangers. Each check is a line of JSON: a claim, what was expected, and what came.
import { createHash, X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import { launch, watched } from "./browser.mjs";

const [part, home, issuer, ...certificates] = process.argv.slice(2);
const server = { root: new URL(home).origin, console: home };
const COOKIE = "__Host-hcert-console";
const SCHEMES = ["light", "dark"];
const WIDTHS = [320, 1280];

const check = (claim, expected, came) => console.log(JSON.stringify([claim, expected, came]));
const heading = (page) => page.textContent("h1");
const follow = (page, selector) => Promise.all([page.waitForNavigation(), page.click(selector)]);

/** What chromium calls a key. It takes these two, which no authority that it knows has signed, and no others. */
function keyOf(file) {
  const key = new X509Certificate(readFileSync(file)).publicKey.export({ type: "spki", format: "der" });
  return createHash("sha256").update(key).digest("base64");
}

/** Goes from the page that asks to sign in to Keycloak, and on from there by name and password, to the page that was asked for. */
async function signIn(page, name, path) {
  await page.goto(home + path);
  await page.click("main a.button");
  await page.fill("#username", name);
  await page.fill("#password", name);
  await page.keyboard.press("Enter");
  await page.waitForURL(home + path);
}

/** Signs out here, says so at Keycloak too, and comes back. */
async function signOut(page) {
  await page.click(".part button");
  await page.click("#kc-logout");
  // The way from Keycloak is one from another site, on which a page of the console stands first that leads on by itself.
  await page.waitForSelector('main a[href*="/sign-in?"]');
}

/** Signs in once more, while Keycloak remembers who it is, and comes back to the same page. */
async function signInAgain(page, link) {
  const address = page.url();
  const back = page.waitForResponse(address);
  await page.click(link);
  await back;
  await page.waitForURL(address);
}

/** Whole pages that a page asks the console for: the path, and whether the cookie came along. Errors in their console are kept too. */
function watch(page) {
  const asked = [];
  const errors = [];
  page.on("request", (request) => request.isNavigationRequest() && request.url().startsWith(home) && asked.push(request));
  page.on("console", (message) => message.type() === "error" && message.location().url.startsWith(`${home}/`) && errors.push(`${message.location().url}: ${message.text()}`));
  const path = (request) => new URL(request.url()).pathname;
  const came = async (request) => [path(request), ((await request.allHeaders()).cookie ?? "").includes(`${COOKIE}=`)];
  return { errors, last: (count) => Promise.all(asked.slice(-count).map(came)) };
}

/** What is wrong with the open page in both colour schemes and widths; a picture of each is kept. */
async function look({ page, judge }, name) {
  const found = [];
  for (const width of WIDTHS) {
    await page.setViewportSize({ width, height: 900 });
    for (const colorScheme of SCHEMES) {
      await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
      await page.screenshot({ path: `pictures/keycloak/${name}-${colorScheme}-${width}.png`, fullPage: true });
      found.push(...(await judge()).map((problem) => `${name}, ${colorScheme}, ${width} px: ${problem}`));
    }
  }
  return found;
}

/** The pages that the navigation leads to, and that of a certificate. */
async function pages(reader) {
  const { page, visit } = reader;
  await visit("/certificates");
  const addresses = (selector) => page.$$eval(selector, (links) => links.map((link) => link.getAttribute("href").replace("/console", "")));
  const all = [...(await addresses(".menu a")), ...(await addresses("main td a, main th a")).slice(0, 1)];
  const found = [];
  for (const path of all) {
    // A page that the reader's role does not permit says so by its status as well.
    found.push(...(await visit(path)).filter((problem) => !problem.includes("403")).map((problem) => `${path}: ${problem}`));
    found.push(...(await look(reader, `signed-in${path.replace(/\W+/g, "-")}`)));
  }
  check(`browser: axe finds nothing on ${all.length} pages of who is signed in, and they load nothing from elsewhere`, [], found);
}

async function signingIn(browser) {
  const reader = await watched(browser, server, { locale: "en-GB", viewport: { width: 1280, height: 900 } });
  const { page, visit } = reader;
  const { errors, last } = watch(page);
  const path = "/certificates?status=final";
  check("browser: a page asks to sign in, and nothing is wrong with it", [], [...(await visit(path)), ...(await look(reader, "asked"))]);
  await signIn(page, "doctor", path);
  check("browser: who signs in comes to the page that was asked for", "Certificates", await heading(page));
  check("browser: the page says who it is and until when", true, /^Mari Kask, signed in until \d\d:\d\d$/.test(await page.textContent(".part span")));
  const way = [["/console/signed-in", false], ["/console/certificates", true]];
  check("browser: the cookie does not come from the issuer's site, and comes with the page after it", way, await last(2));
  const kept = (await page.context().cookies(home)).map(({ name, httpOnly, secure, sameSite }) => [name, httpOnly, secure, sameSite]);
  check("browser: one cookie is kept, for this host alone and for no script", [[COOKIE, true, true, "Strict"]], kept);
  check("browser: a sign-in that has time is not warned of", false, await page.isVisible("[data-left]"));
  await pages(reader);

  await page.goto(issuer);
  await page.evaluate((to) => { location.href = to; }, `${home}/certificates`);
  await page.waitForSelector(".part span");
  check("browser: a link of another site opens the page", [["/console/certificates", false], ["/console/certificates", true]], await last(2));
  await page.goto(issuer);
  await page.evaluate((to) => {
    const form = document.createElement("form");
    [form.method, form.action] = ["post", to];
    document.body.append(form);
    form.submit();
  }, `${home}/sign-out`);
  await page.waitForURL(`${home}/sign-out`);
  await page.goto(`${home}/certificates`);
  check("browser: a form of another site signs nobody out", "Certificates", await heading(page));

  const other = await page.context().newPage();
  await other.goto(`${home}/certificates`);
  await other.goto(`${home}/certificates/new?example=driver-final`);
  await signOut(page);
  check("browser: who signs out is asked to sign in", "Sign in", await heading(page));
  check("browser: nothing is wrong with that page", [], await look(reader, "signed-out"));
  await follow(other, "button.main");
  check("browser: a form that was open before is not taken", "Sign in", await heading(other));
  await other.goBack();
  await other.goBack();
  check("browser: the way back to a page of before asks to sign in", "Sign in", await heading(other));
  await follow(page, "main a.button");
  check("browser: Keycloak asks for the password again", true, await page.isVisible("#kc-form-login"));
  check("browser: no page on the way had an error or broke the policy of contents", [], errors.filter((error) => !error.includes("403")));
  await reader.close();

  const plain = await browser.newContext({ javaScriptEnabled: false, locale: "et" });
  const still = await plain.newPage();
  await signIn(still, "gov-official", "/certificates");
  check("browser: without JavaScript people sign in", "Tõendid", await heading(still));
  await signOut(still);
  await still.goto(`${home}/certificates`);
  check("browser: without JavaScript people sign out", "Logi sisse", await heading(still));
  await plain.close();
}

async function expiry(browser) {
  const reader = await watched(browser, server, { locale: "et", viewport: { width: 1280, height: 900 } });
  const { page } = reader;
  const { errors } = watch(page);
  const path = "/certificates?status=final";
  await signIn(page, "doctor", path);
  const banner = page.locator("[data-left]");
  check("browser: the end of a sign-in is not warned of too early", false, await banner.isVisible());
  await banner.waitFor();
  check("browser: the open page warns and counts down", true, /aegub kell \d\d:\d\d; .* 0:0\d/.test(await banner.textContent()));
  check("browser: nothing is wrong with the warning", [], await look(reader, "warned"));
  await signInAgain(page, "[data-left] a");
  check("browser: the warning leads to a new sign-in, for which Keycloak remembers who it is", "Tõendid", await heading(page));
  check("browser: it has time again", false, await banner.isVisible());

  const kept = await page.context().cookies(home);
  await banner.filter({ hasText: "0:00" }).waitFor();
  // The countdown began within the second in which the page was made.
  await page.waitForTimeout(1_000);
  await follow(page, '.menu a[href$="/patients"]');
  check("browser: an expired sign-in opens no page, and the reader is told", ["Logi sisse", "Teie sisselogimine on aegunud."],
    [await heading(page), await page.textContent('main [role="status"]')]);
  check("browser: nothing is wrong with that page", [], await look(reader, "expired"));
  const thief = await browser.newContext({ locale: "et" });
  await thief.addCookies(kept);
  const taken = await thief.newPage();
  await taken.goto(home + path);
  check("browser: a copy of its cookie opens none either", "Logi sisse", await heading(taken));
  await signInAgain(page, "main a.button");
  check("browser: the reader signs in again and goes on", "Patsiendid", await heading(page));
  check("browser: no page on the way had an error or broke the policy of contents", [], errors);
}

const browser = await launch(`--ignore-certificate-errors-spki-list=${certificates.map(keyOf).join(",")}`);
try {
  await { "sign-in": signingIn, expiry }[part](browser);
} catch (problem) {
  for (const page of browser.contexts().flatMap((context) => context.pages())) {
    console.error(`${page.url()}: ${problem.message}`);
    await page.screenshot({ path: `pictures/keycloak/failed.png` });
  }
  process.exitCode = 1;
} finally {
  await browser.close();
}
