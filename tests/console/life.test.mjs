// A certificate's whole life: by keyboard alone, without JavaScript, and every move that is refused.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, test } from "node:test";
import { create, launch, serve } from "./browser.mjs";

let server, browser;

before(async () => {
  server = await serve();
  browser = await launch();
});

after(async () => {
  await browser?.close();
  server?.close();
});

/** Goes on by Tab until something is reached, at most so many times. */
async function tabTo(page, wanted, max = 200) {
  for (let at = 0; at < max; at += 1) {
    await page.keyboard.press("Tab");
    const reached = await page.evaluate((selector) => document.activeElement?.matches(selector) ?? false, wanted);
    if (reached) return;
  }
  assert.fail(`${wanted} is not reached by keyboard on ${page.url()}`);
}

const state = async (page, id) => {
  await page.goto(`${server.console}/certificates/${id}`);
  return page.locator("main p > .state").first().textContent();
};

test("a certificate is created, completed, suspended and revoked by keyboard", async () => {
  const page = await browser.newPage({ locale: "en-GB" });
  await page.goto(`${server.console}/`);
  await tabTo(page, 'a[href$="/certificates/new"]');
  await page.keyboard.press("Enter");
  await page.waitForURL("**/certificates/new");
  await tabTo(page, "button.main");
  await page.keyboard.press("Enter");
  await page.waitForURL(/certificates\/\d+$/);
  const id = page.url().split("/").pop();
  for (const [move, reason, expected] of [["complete", "", "Completed"], ["suspend", "until it is decided", "Suspended"], ["cancel", "it was wrong", "Revoked"]]) {
    await page.goto(`${server.console}/certificates/${id}/moves`);
    if (reason) {
      await tabTo(page, `form:has([value="${move}"]) input[name="reason"]`);
      await page.keyboard.type(reason);
      await page.keyboard.press("Enter");
    } else {
      await tabTo(page, `form:has([value="${move}"]) button`);
      await page.keyboard.press("Enter");
    }
    await page.waitForURL(`**/certificates/${id}`);
    assert.equal(await state(page, id), expected);
  }
  await page.close();
});

test("the same life works without JavaScript, and a form that is sent twice counts once", async () => {
  const context = await browser.newContext({ javaScriptEnabled: false, locale: "en-GB" });
  const page = await context.newPage();
  await page.goto(`${server.console}/certificates/new?example=driver-final`);
  await page.click("button.main");
  await page.waitForURL(/certificates\/\d+$/);
  const id = page.url().split("/").pop();
  await page.goBack();
  await page.click("button.main");
  await page.waitForURL(/certificates\/\d+$/);
  assert.equal(page.url().split("/").pop(), id, "the number is there already");
  await page.reload();
  await page.goto(`${server.console}/certificates/${id}/moves`);
  await page.fill('form:has([value="suspend"]) input[name="reason"]', "a reason");
  await page.click('form:has([value="suspend"]) button');
  await page.waitForURL(`**/certificates/${id}`);
  await page.goBack();
  await page.fill('form:has([value="suspend"]) input[name="reason"]', "once more");
  await page.click('form:has([value="suspend"]) button');
  assert.match(await page.textContent("main"), /412|409/);
  assert.equal(await page.goto(`${server.console}/certificates/${id}`).then((answer) => answer.status()), 200);
  assert.equal(await page.locator(".timeline li").count(), 2);
  await page.goto(`${server.console}/certificates?status=cancelled`);
  assert.ok((await page.textContent("main")).includes(`#${id}`));
  await context.close();
});

test("a button that is pressed twice makes one version", async () => {
  const page = await browser.newPage({ locale: "en-GB" });
  const id = await create(server, readFileSync("examples/occupational-draft.json", "utf8").replace(/TT-\d{4}-\d+/, "TT-2026-800001"));
  await page.goto(`${server.console}/certificates/${id}/moves`);
  await page.locator('form:has([value="complete"]) button').dblclick({ noWaitAfter: true });
  await page.waitForLoadState("networkidle");
  await page.goto(`${server.console}/certificates/${id}`);
  assert.equal(await page.locator(".timeline li").count(), 2);
  await page.close();
});

test("every move is made or refused as the API says, from every state", async () => {
  const example = (name) => readFileSync(`examples/${name}.json`, "utf8");
  const number = (text, at) => text.replace(/TT-\d{4}-\d+/, `TT-2026-9${at}`);
  const page = await browser.newPage({ locale: "en-GB" });
  const move = async (id, name) => {
    await page.goto(`${server.console}/certificates/${id}/moves`);
    const form = page.locator(`form:has(input[name="move"][value="${name}"])`);
    if (await form.locator('input[name="reason"]').count()) await form.locator('input[name="reason"]').fill("a reason");
    await Promise.all([page.waitForNavigation(), form.locator("button").click()]);
    return page.locator("section.refusal code").count().then((count) => (count ? page.locator("section.refusal code").first().textContent() : "done"));
  };
  const lead = { Draft: [], Completed: ["complete"], Suspended: ["complete", "suspend"], Revoked: ["complete", "cancel"], Deleted: ["delete"] };
  const legal = { Draft: ["draft", "complete", "delete"], Completed: ["suspend", "cancel"], Suspended: ["cancel"], Revoked: [], Deleted: [] };
  // What the API says to the same request. It changes nothing where it is refused.
  const refusal = async (id, draft, name) => {
    const status = { draft: "preliminary", complete: "final" }[name];
    const stored = await (await fetch(`${server.api}/Composition/${id}`)).json();
    const body = status ? { ...(stored.resourceType === "Composition" ? stored : { ...draft, id }), status } : { resourceType: "Parameters", parameter: [{ name: "reason", valueString: "a reason" }] };
    const path = `${server.api}/Composition/${id}${status || name === "delete" ? "" : `/$${name}`}`;
    const method = status ? "PUT" : name === "delete" ? "DELETE" : "POST";
    const sent = name === "delete" ? {} : { headers: { "content-type": "application/fhir+json" }, body: JSON.stringify(body) };
    const answer = await (await fetch(path, { method, ...sent })).json();
    return answer.issue[0].details.coding[0].code;
  };
  let at = 100;
  for (const [from, way] of Object.entries(lead)) {
    for (const name of ["draft", "complete", "suspend", "cancel", "delete"]) {
      const draft = number(example("driver-draft"), at);
      const id = await create(server, draft);
      at += 1;
      for (const step of way) assert.equal(await move(id, step), "done", `${from}: ${step}`);
      // What is deleted may be deleted again.
      const isLegal = legal[from].includes(name) || (from === "Deleted" && name === "delete");
      const expected = isLegal ? "done" : await refusal(id, JSON.parse(draft), name);
      assert.equal(await move(id, name), expected, `${from}: ${name}`);
    }
  }
  await page.close();
});

test("a fault is armed, met and taken away", async () => {
  const page = await browser.newPage({ locale: "en-GB" });
  await page.goto(`${server.console}/faults`);
  await page.click('form:has(input[value="refuse"]) button');
  await page.waitForSelector(".banner");
  await page.goto(`${server.console}/certificates/new?example=occupational-draft`);
  await page.click("button.main");
  assert.match(await page.textContent("section.refusal"), /MPI-|HCERT-/);
  await page.click(".banner button");
  await page.waitForURL("**/faults");
  assert.equal(await page.locator(".banner").count(), 0);
  await page.close();
});

test("a fault of the registry is shown on the pages that meet it, and goes with its button", async () => {
  const page = await browser.newPage({ locale: "en-GB" });
  const press = (selector) => Promise.all([page.waitForNavigation(), page.click(selector)]);
  for (const [fault, words] of [["refuse", "No answer: the connection was ended"], ["garbage", "The answer is no FHIR"]]) {
    await page.goto(`${server.console}/faults`);
    await press(`form:has(> [name="fault"][value="${fault}"]) button`);
    for (const path of ["/patients/200", "/patients", "/certificates/new"]) {
      const answer = await page.goto(server.console + path);
      assert.deepEqual([answer.status(), await page.textContent("section.refusal h2")], [502, words], path);
    }
    assert.ok((await page.inputValue("#body")).includes('"Patient/200"'), "the example keeps its patient");
    await press(".banner button");
    assert.equal(await page.goto(`${server.console}/patients/200`).then((answer) => answer.status()), 200);
  }
  await page.close();
});

test("who is refused finds the way back", async () => {
  const page = await browser.newPage({ locale: "en-GB" });
  const id = await create(server, readFileSync("examples/driver-draft.json", "utf8").replace(/TT-\d{4}-\d+/, "TT-2026-800002"));
  await page.goto(`${server.console}/certificates/${id}/moves`);
  await page.fill('form:has([value="suspend"]) input[name="reason"]', "a reason");
  await page.click('form:has([value="suspend"]) button');
  await page.click("main a.button");
  await page.waitForURL(`**/certificates/${id}`);
  await page.close();
});
