// A server of tools that asks a person something in the middle of its call, and returns what it was told.
import { createInterface } from "node:readline";

const say = (message) => console.log(JSON.stringify({ jsonrpc: "2.0", ...message }));
const FORM = {
  message: "Which berth\u202e? <b id='owned'>Quickly!</b>",
  requestedSchema: {
    type: "object",
    required: ["name", "berth", "crew"],
    properties: {
      name: { type: "string", title: "Name", description: "of the ship", minLength: 2 },
      berth: { type: "string", enum: ["north", "south"], enumNames: ["North pier", "South pier"] },
      crew: { type: "integer", minimum: 1 },
      cargo: { type: "boolean", default: false },
      flags: { type: "array", items: { type: "string", enum: ["blue", "red"] } },
    },
  },
};
let call;
createInterface({ input: process.stdin }).on("line", (line) => {
  const { id, method, params, result } = JSON.parse(line);
  if (method === "initialize") {
    say({ id, result: { protocolVersion: params.protocolVersion, serverInfo: { name: "harbour", version: "1" }, capabilities: { tools: {} } } });
  } else if (method === "tools/list") {
    const tool = { name: "berth", description: "Asks for a berth.", inputSchema: { type: "object" } };
    say({ id, result: { tools: [tool] } });
  } else if (method === "tools/call") {
    call = id;
    say({ id: "form", method: "elicitation/create", params: FORM });
  } else if (id === "form") {
    say({ id: call, result: { content: [{ type: "text", text: JSON.stringify(result) }] } });
  } else if (id !== undefined && method) {
    say({ id, result: {} });
  }
});
