// A server of `hcert dev` with made-up people, and a browser before it.
import { spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { chromium } from "playwright-core";

// How long a server may take to fill its store and to begin, in milliseconds.
const START_MS_MAX = 60_000;

// Starts both. `origin`: of the server, without a slash at its end.
export async function open() {
  const folder = await mkdtemp(join(tmpdir(), "hcert-console-"));
  const server = await start(folder);
  const browser = await chromium.launch({
    executablePath: process.env.HCERT_CHROMIUM,
    args: ["--no-sandbox"],
  });
  const close = async () => {
    await browser.close();
    await server.stop();
    await rm(folder, { recursive: true });
  };
  return { browser, origin: server.origin, page: (path) => `${server.origin}/console${path}`, ...api(server.origin), close };
}

async function start(folder) {
  const args = ["dev", "--demo", "100", "--listen", "127.0.0.1:0", "--data", folder];
  const env = { ...process.env, HCERT__MANAGEMENT__LISTEN: "127.0.0.1:0" };
  const server = spawn(process.env.HCERT_PROGRAM, args, { cwd: folder, env, stdio: ["ignore", "pipe", "ignore"] });
  const ended = new Promise((resolve) => server.once("exit", resolve));
  const begun = new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error("the server does not begin")), START_MS_MAX);
    ended.then((code) => reject(new Error(`the server ended with ${code}`)));
    createInterface({ input: server.stdout }).on("line", (line) => {
      const found = line.match(/^open\s+(http:\/\/\S+?)\/ /);
      if (!found) return;
      clearTimeout(timer);
      resolve(found[1]);
    });
  });
  const stop = async () => {
    server.kill("SIGTERM");
    await ended;
  };
  return { origin: await begun, stop };
}

// The API as a client asks it, beside the console.
function api(origin) {
  // Gives the status and the resource; `token`: of `token()`, or nothing.
  const ask = async (method, path, { body, token, headers = {} } = {}) => {
    const sent = { "content-type": "application/fhir+json", ...headers };
    if (token) sent.authorization = `Bearer ${token}`;
    const answer = await fetch(`${origin}/fhir${path}`, { method, headers: sent, body: body && JSON.stringify(body) });
    const text = await answer.text();
    return { status: answer.status, resource: text ? JSON.parse(text) : null };
  };
  // A developer's token, by the fields of the token service.
  const token = async (fields) => {
    const answer = await fetch(`${origin}/auth/v2/token`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(fields),
    });
    if (answer.status !== 200) throw new Error(`no token for ${JSON.stringify(fields)}: ${await answer.text()}`);
    return (await answer.json()).accessToken;
  };
  const versions = async (id) => (await ask("GET", `/Composition/${id}/_history`)).resource.entry.length;
  // The id of a certificate of a patient of the demo.
  const certificateOf = async (patient) =>
    (await ask("GET", `/Composition?subject=Patient/${patient}`)).resource.entry[0].resource.id;
  return { ask, token, versions, certificateOf };
}
