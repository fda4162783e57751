// The server's side: `lazaret mcp --listen`, with a plugin that has the suite's tools, and a server of which it passes forms on,
// behind its own door.
//
// The suite brings no token, so a relay on loopback adds it, and nothing else: hosts and origins reach the server as the
// suite sent them, but for the relay's own address, which becomes the server's.
import { spawn } from "node:child_process";
import { writeFileSync } from "node:fs";
import http from "node:http";
import { join } from "node:path";

import { FOLDER, LAZARET, ROOT, command, folder, suite, user } from "./suite.mjs";

const TOOLS = [
  "simple_text", "image_content", "audio_content", "embedded_resource", "multiple_content_types", "tool_with_logging",
  "tool_with_progress", "error_handling", "elicitation", "logging_tool", "streaming_elicitation",
  "input_required_result_elicitation", "input_required_result_request_state", "input_required_result_tampered_state",
];

const FORMS = ["elicitation_sep1034_defaults", "elicitation_sep1330_enums"];

function config() {
  const names = TOOLS.map((tool) => `"conformance.${tool}" = "test_${tool}"`);
  const forms = FORMS.map((form) => `"forms.test_${form}" = "test_${form}"`);
  return [
    // Otherwise a person is asked before a server is told anything, and the suite knows one question a call.
    "[flow]",
    'mode = "off"',
    // It compares texts whole, and knows no marks around them.
    "[inbound]",
    'untrusted = "none"',
    "[plugins]",
    `conformance = ${JSON.stringify(join(ROOT, "target/guests/conformance.wasm"))}`,
    "[mcp.forms]",
    `command = ${JSON.stringify([process.execPath, join(FOLDER, "forms.mjs")])}`,
    'elicitation = "ask"',
    ...FORMS.flatMap((form) => [`[mcp.forms.tools.test_${form}]`, 'effect = "read-only"']),
    "[mcp_server.names]",
    ...names,
    ...forms,
  ].join("\n");
}

export async function begin() {
  const home = folder();
  const options = { cwd: home, env: user(home) };
  writeFileSync(join(home, "lazaret.toml"), config());
  for (const what of [["policy", "trust"], ["servers", "trust", "forms"]]) {
    const trusted = await command(LAZARET, what, options);
    if (trusted.status !== 0) throw new Error(trusted.text);
  }
  const child = spawn(LAZARET, ["mcp", "--listen", "127.0.0.1:0"], { ...options, stdio: ["ignore", "pipe", "pipe"] });
  const { url, token } = await address(child);
  const relay = await relaying(url, token);
  const at = `http://127.0.0.1:${relay.address().port}/mcp`;
  return {
    scenario: (name, revision) =>
      suite(["server", "--url", at, "--scenario", name, "--spec-version", revision, "--force"]),
    end: async () => {
      relay.closeAllConnections();
      relay.close();
      child.kill("SIGTERM");
      await new Promise((done) => child.on("close", done));
    },
  };
}

// Where the server is, and what it asks for, as it says.
function address(child) {
  return new Promise((done, fail) => {
    let out = "";
    let err = "";
    const look = () => {
      const url = out.match(/^(http:\S+)\n/)?.[1];
      const token = err.match(/Bearer (\S+)/)?.[1];
      if (url && token) done({ url: new URL(url), token });
    };
    child.stdout.on("data", (piece) => ((out += piece), look()));
    child.stderr.on("data", (piece) => ((err += piece), look()));
    child.on("close", () => fail(new Error(`the server did not begin: ${err}`)));
  });
}

function relaying(url, token) {
  const relay = http.createServer((request, answer) => {
    const own = new RegExp(`(127\\.0\\.0\\.1|localhost):${relay.address().port}`);
    const headers = { ...request.headers, authorization: `Bearer ${token}` };
    for (const name of ["host", "origin"]) {
      if (headers[name]) headers[name] = headers[name].replace(own, `$1:${url.port}`);
    }
    const { method, url: path } = request;
    const onward = http.request({ host: url.hostname, port: url.port, method, path, headers }, (got) => {
      answer.writeHead(got.statusCode, got.headers);
      answer.flushHeaders();
      got.pipe(answer);
    });
    onward.on("error", () => answer.destroy());
    answer.on("close", () => onward.destroy());
    request.pipe(onward);
  });
  return new Promise((done) => relay.listen(0, "127.0.0.1", () => done(relay)));
}
