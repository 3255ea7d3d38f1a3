// A page never shows more than the API shows the same part, and no page of another origin can act.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { after, before, test } from "node:test";
import { create, launch, serve } from "./browser.mjs";

let server, browser, id;

before(async () => {
  server = await serve();
  browser = await launch();
  id = await create(server, readFileSync("examples/driver-final.json", "utf8"));
});

after(async () => {
  await browser?.close();
  server?.close();
});

test("each part sees what the API shows it", async () => {
  const table = JSON.parse(readFileSync("permissions.json", "utf8"));
  const roles = [...new Set(Object.values(table.groups).flat())];
  assert.ok(roles.length > 10);
  const page = await browser.newPage({ locale: "en-GB" });
  for (const role of roles) {
    const caller = { person: "49403136515", organization: "90006399", patient: role.includes("representative") ? "39406240015" : "", party: role.startsWith("org-") ? "16978044" : "" };
    await page.goto(`${server.console}/access?role=${role}`);
    const form = page.locator(`form:has(input[name="role"][value="${role}"])`);
    await form.locator('[name="person"]').fill(caller.person);
    await form.locator('[name="organization"]').fill(caller.organization);
    await form.locator('[name="patient"]').fill(caller.patient);
    await form.locator('[name="represented-party"]').fill(caller.party);
    await Promise.all([page.waitForNavigation(), form.locator("button").click()]);
    const order = { user: { personalCode: caller.person }, role, organization: caller.organization };
    if (caller.patient) order.patient = { personalCode: caller.patient };
    if (caller.party) order.representedParty = caller.party;
    const issued = await fetch(`${server.root}/auth/v2/token`, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(order) });
    const headers = { authorization: `Bearer ${(await issued.json()).accessToken}` };
    for (const [path, api] of [[`/certificates/${id}`, `/Composition/${id}`], ["/certificates", "/Composition"], ["/audit", "/AuditEvent"], ["/patients/200", "/Patient/200"]]) {
      const shown = (await page.goto(server.console + path)).status();
      const told = (await fetch(server.api + api, { headers })).status;
      assert.equal(shown, told, `${role}: ${path}`);
    }
    await Promise.all([page.waitForNavigation(), page.locator(".part button").click()]);
  }
  await page.close();
});

test("a page of another origin cannot act", async () => {
  const form = `<form method="post" action="${server.console}/certificates/${id}/move"><input name="move" value="cancel"><input name="reason" value="evil"><button>go</button></form>`;
  const other = createServer((_, answer) => answer.setHeader("content-type", "text/html").end(form)).listen(0, "127.0.0.1");
  await new Promise((resolve) => other.once("listening", resolve));
  const context = await browser.newContext();
  const page = await context.newPage();
  await page.goto(`${server.console}/`);
  await page.goto(`http://127.0.0.1:${other.address().port}/`);
  await Promise.all([page.waitForNavigation(), page.click("button")]);
  assert.match(await page.content(), /HCERT-/);
  const told = await (await fetch(`${server.api}/Composition/${id}`)).json();
  assert.equal(told.meta.versionId, "1");
  await context.close();
  other.close();
});
