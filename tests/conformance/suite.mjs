// The suite as it was installed, a place for its results, and `lazaret` beside it.
import { spawn } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

export const FOLDER = dirname(fileURLToPath(import.meta.url));
export const ROOT = join(FOLDER, "../..");
export const SUITE = join(FOLDER, "node_modules/@modelcontextprotocol/conformance");
export const LAZARET = process.env.LAZARET ?? join(ROOT, "target/debug/lazaret");

const place = mkdtempSync(join(tmpdir(), "lazaret-conformance-"));

// A folder of its own for everything that a run of it writes.
export const folder = () => mkdtempSync(join(place, "f-"));

// The environment of a user who has nothing but what is in this folder.
export function user(home) {
  return {
    PATH: process.env.PATH,
    HOME: home,
    XDG_STATE_HOME: join(home, "state"),
    XDG_CONFIG_HOME: join(home, "config"),
    LAZARET_SYSTEM_CONFIG: join(home, "none.toml"),
  };
}

// Runs the suite with these arguments, and reads the checks that it wrote: those that failed, by name. What only warns
// asks for less than the protocol demands. A scenario that checked nothing failed as a whole.
export async function suite(args) {
  const results = folder();
  const program = [join(SUITE, "dist/index.js"), ...args, "--output-dir", results];
  const { text } = await command(process.execPath, program, { cwd: results });
  const files = readdirSync(results, { recursive: true }).filter((file) => file.endsWith("checks.json"));
  const checks = files.flatMap((file) => JSON.parse(readFileSync(join(results, file), "utf8")));
  const failed = new Map();
  for (const check of checks) {
    if (check.status === "FAILURE") failed.set(check.id, check.errorMessage ?? "it fails");
  }
  if (!checks.some((check) => check.status === "SUCCESS" || check.status === "FAILURE")) {
    failed.set("all", text.trim().slice(-500) || "nothing was checked");
  }
  return failed;
}

// Runs a program to its end.
export function command(program, args, options = {}) {
  return new Promise((done) => {
    const child = spawn(program, args, { ...options, stdio: ["ignore", "pipe", "pipe"] });
    let text = "";
    child.stdout.on("data", (piece) => (text += piece));
    child.stderr.on("data", (piece) => (text += piece));
    child.on("error", (error) => done({ status: -1, text: String(error) }));
    child.on("close", (status) => done({ status, text }));
  });
}

// Leaves nothing behind.
export function ended() {
  rmSync(place, { recursive: true, force: true });
}
