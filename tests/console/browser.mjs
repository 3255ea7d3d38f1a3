// A server of `hcert dev` in a folder of its own, and a browser before it.
import { execFileSync, spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { chromium } from "playwright-core";

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
export function launch() {
  return chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox"] });
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
