// A server of MCP over standard input and output whose tools ask a person something in the middle of a call: the forms that the
// suite looks for, each with its answer told as the suite wants it.
import { createInterface } from "node:readline";

const titled = (names) => names.map((name, at) => ({ const: `value${at + 1}`, title: `${name} Option` }));
const FORMS = {
  test_elicitation_sep1034_defaults: {
    name: { type: "string", default: "John Doe" },
    age: { type: "integer", default: 30 },
    score: { type: "number", default: 95.5 },
    status: { type: "string", enum: ["active", "inactive", "pending"], default: "active" },
    verified: { type: "boolean", default: true },
  },
  test_elicitation_sep1330_enums: {
    untitledSingle: { type: "string", enum: ["option1", "option2", "option3"] },
    titledSingle: { type: "string", oneOf: titled(["First", "Second", "Third"]) },
    legacyEnum: { type: "string", enum: ["opt1", "opt2", "opt3"], enumNames: ["Option One", "Option Two", "Option Three"] },
    untitledMulti: { type: "array", items: { type: "string", enum: ["option1", "option2", "option3"] } },
    titledMulti: { type: "array", items: { anyOf: titled(["First", "Second", "Third"]) } },
  },
};

const say = (message) => process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
const waiting = new Map();

function ask(tool) {
  const id = `form-${waiting.size + 1}`;
  const requestedSchema = { type: "object", properties: FORMS[tool], required: [] };
  say({ id, method: "elicitation/create", params: { message: "Please fill this in", requestedSchema } });
  return new Promise((done) => waiting.set(id, done));
}

async function answer({ method, params = {} }) {
  switch (method) {
    case "initialize":
      return { protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: "forms", version: "1" } };
    case "tools/list":
      return { tools: Object.keys(FORMS).map((name) => ({ name, description: "Asks a person.", inputSchema: { type: "object" } })) };
    case "tools/call": {
      const { action, content = {} } = await ask(params.name);
      return { content: [{ type: "text", text: `Elicitation completed: action=${action}, content=${JSON.stringify(content)}` }] };
    }
    default:
      return {};
  }
}

for await (const line of createInterface({ input: process.stdin })) {
  const message = JSON.parse(line);
  if (message.method && message.id !== undefined) answer(message).then((result) => say({ id: message.id, result }));
  else if (!message.method) waiting.get(message.id)?.(message.result ?? { action: "cancel" });
}
