// The client's side: `lazaret` with the suite's server as an MCP server of its own, trusted as a person would, and each of its
// tools called once, with values that fit.
//
// Run by the suite (`node client.mjs URL`), it is that client; imported, it says how the suite is begun with it.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { spawn } from "node:child_process";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const ME = fileURLToPath(import.meta.url);
const LAZARET = process.env.LAZARET ?? join(dirname(ME), "../../target/debug/lazaret");

export async function begin() {
  const { suite } = await import("./suite.mjs");
  const program = `${process.execPath} ${ME}`;
  return {
    scenario: (name, revision) =>
      suite(["client", "--command", program, "--scenario", name, "--spec-version", revision, "--force"]),
    end: async () => {},
  };
}

// A value that a schema takes, as far as these servers go.
function fitting(schema) {
  if (schema.default !== undefined) return schema.default;
  if (schema.enum) return schema.enum[0];
  switch (schema.type) {
    case "number":
    case "integer":
      return 5;
    case "boolean":
      return true;
    case "array":
      return [];
    case "object":
      return Object.fromEntries((schema.required ?? []).map((key) => [key, fitting(schema.properties?.[key] ?? {})]));
    default:
      return "test";
  }
}

// What is null is left out: the schemas have no null, and arguments that do not fit are refused before they leave.
const given = (args) => Object.fromEntries(Object.entries(args).filter(([, value]) => value !== null));

function lazaret(folder, args) {
  const env = {
    PATH: process.env.PATH,
    HOME: folder,
    XDG_STATE_HOME: join(folder, "state"),
    XDG_CONFIG_HOME: join(folder, "config"),
    LAZARET_SYSTEM_CONFIG: join(folder, "none.toml"),
  };
  return new Promise((done) => {
    const child = spawn(LAZARET, args, { cwd: folder, env, stdio: ["ignore", "pipe", "pipe"] });
    let out = "";
    child.stdout.on("data", (piece) => (out += piece));
    child.stderr.pipe(process.stderr);
    child.on("close", (status) => done({ status, out }));
  });
}

async function client(url) {
  const folder = mkdtempSync(join(tmpdir(), "lazaret-client-"));
  const config = (tools) =>
    writeFileSync(
      join(folder, "lazaret.toml"),
      [
        "[mcp.suite]",
        `url = ${JSON.stringify(url)}`,
        "private = true",
        ...tools.map((tool) => `[mcp.suite.tools.${JSON.stringify(tool)}]\neffect = "read-only"`),
      ].join("\n"),
    );
  try {
    config([]);
    await lazaret(folder, ["policy", "trust", "--quiet"]);
    const seen = await lazaret(folder, ["servers", "check", "suite", "--json"]);
    if (seen.status !== 0) return seen.status;
    const { tools } = JSON.parse(seen.out);
    config(tools.map((tool) => tool.remote));
    await lazaret(folder, ["policy", "trust", "--quiet"]);
    const trusted = await lazaret(folder, ["servers", "trust", "suite", "--json"]);
    if (trusted.status !== 0) return trusted.status;
    // Some scenarios say which calls they want.
    const wanted = JSON.parse(process.env.MCP_CONFORMANCE_CONTEXT ?? "{}").toolCalls ?? [];
    const calls = tools.flatMap((tool) => {
      const own = wanted.filter((call) => call.name === tool.remote).map((call) => given(call.arguments ?? {}));
      const args = own.length ? own : [fitting({ type: "object", ...tool.input })];
      return args.map((one) => ({ tool, args: JSON.stringify(one) }));
    });
    for (const { tool, args } of calls) {
      const called = await lazaret(folder, ["call", tool.name, args, "--json"]);
      process.stderr.write(called.out);
    }
    return 0;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

if (process.argv[1] === ME) process.exit(await client(process.argv.at(-1)));
