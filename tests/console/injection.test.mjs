// What people wrote is shown as text: markup in every text that the API takes runs nowhere, and becomes no element.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, test } from "node:test";
import { create, launch, serve, storePatient } from "./browser.mjs";

const MARKUP = '"><img src="/x" onerror="alert(1)"><script>alert(1)</script><b data-written>';

// A patient whose texts are markup.
const PATIENT = {
  resourceType: "Patient",
  id: "900",
  active: true,
  identifier: [{ system: "https://fhir.ee/sid/pid/est/ni", value: "37605030299" }],
  name: [{ family: MARKUP, given: [MARKUP], text: MARKUP }],
  gender: "male",
  birthDate: "1976-05-03",
};

let server, browser;

before(async () => {
  server = await serve("--demo", "20");
  browser = await launch();
});

after(async () => {
  await browser?.close();
  server?.close();
});

async function post(path, body) {
  const headers = { "content-type": "application/fhir+json" };
  const answer = await fetch(`${server.api}${path}`, { method: "POST", headers, body: JSON.stringify(body) });
  return { status: answer.status, text: await answer.text() };
}

// Every text below a value: a function that puts another one in its place.
function* texts(value) {
  for (const [key, inner] of Object.entries(value)) {
    if (typeof inner === "string") yield [inner, (text) => (value[key] = text)];
    else if (inner && typeof inner === "object") yield* texts(inner);
  }
}

// A body with markup in as many of its texts as the API takes, and how many those are.
async function filled(body) {
  let count = 0;
  for (const [text, put] of texts(body)) {
    put(text + MARKUP);
    const { status, text: told } = await post("/Composition/$validate", body);
    if (status === 200 && !/"severity":"(error|fatal)"/.test(told)) count += 1;
    else put(text);
  }
  return count;
}

// Fails where markup became more than text on the page that is shown. `ran`: what scripts said.
async function check(page, path, ran) {
  const became = await page.locator('[onerror], [data-written], img[src="/x"]').count();
  const scripts = await page.evaluate(() => [...document.scripts].filter((script) => !script.src).length);
  assert.deepEqual({ became, scripts, ran }, { became: 0, scripts: 0, ran: [] }, path);
}

async function watched() {
  const page = await browser.newPage({ locale: "en-GB" });
  const ran = [];
  page.on("dialog", (dialog) => {
    ran.push(dialog.message());
    dialog.dismiss();
  });
  return { page, ran };
}

for (const name of ["driver-final", "occupational-final"]) {
  test(`markup in the texts of ${name} is text on every page`, async () => {
    const body = JSON.parse(readFileSync(`examples/${name}.json`, "utf8"));
    body.identifier[0].value = `TT-2026-${name.length}`;
    const count = await filled(body);
    assert.ok(count >= 5, `${count} texts are taken`);
    const id = await create(server, JSON.stringify(body));
    const { status } = await post(`/Composition/${id}/$suspend`, { resourceType: "Parameters", parameter: [{ name: "reason", valueString: MARKUP }] });
    assert.equal(status, 200);
    const { page, ran } = await watched();
    const views = ["", "/moves", "/edit"].concat(["changes", "json", "audit", "consent", "patient"].map((tab) => `?tab=${tab}`));
    const paths = [...views.map((view) => `/certificates/${id}${view}`), "/certificates", "/audit", "/traffic", "/"];
    let seen = 0;
    for (const path of paths) {
      await page.goto(server.console + path);
      await check(page, path, ran);
      seen += (await page.textContent("main")).includes("<b data-written>") ? 1 : 0;
    }
    assert.ok(seen >= 3, `${seen} pages show what was written`);
    await page.goto(`${server.console}/validate`);
    await page.fill("#body", JSON.stringify(body));
    await page.locator("form:has(#body) button").first().click();
    await page.waitForLoadState();
    await check(page, "/validate", ran);
    await page.close();
  });
}

test("markup in the texts of a patient is text on every page", async () => {
  const { page, ran } = await watched();
  storePatient(server, PATIENT);
  for (const path of ["/patients/900", "/patients?_id=900", "/certificates/new?patient=900", "/traffic"]) {
    await page.goto(server.console + path);
    await check(page, path, ran);
  }
  await page.goto(`${server.console}/patients/900`);
  assert.ok((await page.textContent("main")).includes("<b data-written>"));
  await page.close();
});

test("markup in an address and in a field is text on the page that answers", async () => {
  const { page, ran } = await watched();
  const written = encodeURIComponent(MARKUP);
  for (const path of [`/certificates?status=${written}`, `/certificates/${written}`, `/terminology?q=${written}`, `/patients?_id=${written}`, `/access?role=${written}`, `/documents/${written}`, `/${written}`]) {
    await page.goto(server.console + path);
    await check(page, path, ran);
  }
  await page.goto(`${server.console}/certificates/new`);
  await page.fill("#body", MARKUP);
  await page.click("button.main");
  await page.waitForLoadState();
  await check(page, "a body that is no JSON", ran);
  assert.equal(await page.inputValue("#body"), MARKUP);
  await page.close();
});
