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

// Runs it; `first` is told its first line as soon as it is there.
function lazaret(folder, args, first = () => {}) {
  const { client_secret: secret } = JSON.parse(process.env.MCP_CONFORMANCE_CONTEXT ?? "{}");
  const env = {
    ...(secret ? { CLIENT_SECRET: secret } : {}),
    PATH: process.env.PATH,
    HOME: folder,
    XDG_STATE_HOME: join(folder, "state"),
    XDG_CONFIG_HOME: join(folder, "config"),
    LAZARET_SYSTEM_CONFIG: join(folder, "none.toml"),
  };
  return new Promise((done) => {
    const child = spawn(LAZARET, args, { cwd: folder, env, stdio: ["ignore", "pipe", "pipe"] });
    let out = "";
    let said = "";
    let told = false;
    child.stdout.on("data", (piece) => {
      out += piece;
      if (told || !out.includes("\n")) return;
      told = true;
      Promise.resolve(first(out.split("\n")[0])).catch((error) => process.stderr.write(`${error}\n`));
    });
    child.stderr.on("data", (piece) => (said += piece));
    child.stderr.pipe(process.stderr);
    child.on("close", (status) => done({ status, out, said }));
  });
}

// Logs in as a person would who follows the address that is printed, with a browser that keeps nothing.
async function login(folder, scope) {
  const args = ["servers", "login", "suite", "--json", ...(scope ? ["--scope", scope] : [])];
  const come = async (line) => {
    const { url } = JSON.parse(line);
    if (!url) return;
    const sent = await fetch(url, { redirect: "manual" });
    await fetch(sent.headers.get("location"));
  };
  return (await lazaret(folder, args, come)).status;
}

// Does something, and logs in where that is what it takes: as often as a patient person would.
async function known(folder, args) {
  for (let times = 0; ; times += 1) {
    const done = await lazaret(folder, args);
    const wants = /servers login suite(?: --scope \\?"([^"\\]*))?/.exec(done.out + done.said);
    if (!wants || times === 2) return done;
    const status = await login(folder, wants[1]);
    if (status !== 0) return { ...done, status };
  }
}

// Fills every form that a call of a server puts, with what the form itself says where nothing else is said.
async function filling(folder, call) {
  let over = false;
  const done = call.finally(() => (over = true));
  const seen = new Set();
  while (!over) {
    const { out } = await lazaret(folder, ["ask", "list", "--json"]);
    for (const { question, form, args } of JSON.parse(out)) {
      if (!form || seen.has(question)) continue;
      seen.add(question);
      const { properties, required = [] } = args.inline.schema;
      const needed = required.filter((key) => properties[key].default === undefined);
      const content = Object.fromEntries(needed.map((key) => [key, fitting(properties[key])]));
      await lazaret(folder, ["ask", "allow", question, "--with", JSON.stringify(content)]);
    }
  }
  return done;
}

// Who lets in, as the server's metadata has it.
async function issuerOf(url) {
  const { origin, pathname } = new URL(url);
  for (const place of [`${origin}/.well-known/oauth-protected-resource${pathname}`, `${origin}/.well-known/oauth-protected-resource`]) {
    const answer = await fetch(place);
    if (answer.ok) return (await answer.json()).authorization_servers[0];
  }
}

async function client(url) {
  const folder = mkdtempSync(join(tmpdir(), "lazaret-client-"));
  // Some scenarios say which calls they want, or who we are where one logs in.
  const context = JSON.parse(process.env.MCP_CONFORMANCE_CONTEXT ?? "{}");
  const scenario = process.env.MCP_CONFORMANCE_SCENARIO ?? "";
  const document = scenario === "auth/basic-cimd" ? "https://conformance-test.local/client-metadata.json" : undefined;
  const who = context.client_id ?? document;
  // Who is told a secret is for its owner to say; what a person would read in the server's documentation stands in its metadata.
  const issuer = context.client_secret ? await issuerOf(url) : undefined;
  const secret = issuer ? `, env = "CLIENT_SECRET", issuer = ${JSON.stringify(issuer)}` : "";
  const config = (tools) =>
    writeFileSync(
      join(folder, "lazaret.toml"),
      [
        "[mcp.suite]",
        `url = ${JSON.stringify(url)}`,
        "private = true",
        'elicitation = "ask"',
        "limits = { call_timeout_ms = 60000 }",
        ...(who ? [`login = { client = ${JSON.stringify(who)}${secret} }`] : []),
        ...tools.map((tool) => `[mcp.suite.tools.${JSON.stringify(tool)}]\neffect = "read-only"`),
      ].join("\n"),
    );
  try {
    config([]);
    await lazaret(folder, ["policy", "trust", "--quiet"]);
    const seen = await known(folder, ["servers", "check", "suite", "--json"]);
    if (seen.status !== 0) return seen.status;
    const { tools } = JSON.parse(seen.out);
    config(tools.map((tool) => tool.remote));
    await lazaret(folder, ["policy", "trust", "--quiet"]);
    const trusted = await known(folder, ["servers", "trust", "suite", "--json"]);
    if (trusted.status !== 0) return trusted.status;
    const wanted = context.toolCalls ?? [];
    const calls = tools.flatMap((tool) => {
      const own = wanted.filter((call) => call.name === tool.remote).map((call) => given(call.arguments ?? {}));
      const args = own.length ? own : [fitting({ type: "object", ...tool.input })];
      return args.map((one) => ({ tool, args: JSON.stringify(one) }));
    });
    for (const { tool, args } of calls) {
      const called = await filling(folder, known(folder, ["call", tool.name, args, "--json"]));
      process.stderr.write(called.out);
    }
    return 0;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

if (process.argv[1] === ME) process.exit(await client(process.argv.at(-1)));
