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

// Runs the suite with these arguments, and reads the checks that it wrote.
export async function suite(args) {
  const results = folder();
  const program = [join(SUITE, "dist/index.js"), ...args, "--output-dir", results];
  const { status, text } = await command(process.execPath, program, { cwd: results });
  const files = readdirSync(results, { recursive: true }).filter((file) => file.endsWith("checks.json"));
  const checks = files.flatMap((file) => JSON.parse(readFileSync(join(results, file), "utf8")));
  const failed = checks.filter((check) => check.status === "FAILURE");
  const succeeded = checks.some((check) => check.status === "SUCCESS");
  // What warns asks for less than the protocol demands.
  const passed = status === 0 && failed.length === 0 && succeeded;
  const why = failed.map((check) => `${check.id}: ${check.errorMessage}`).join("; ") || text.trim().slice(-500);
  return { passed, why };
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
export async function ended() {
  rmSync(place, { recursive: true, force: true });
}
