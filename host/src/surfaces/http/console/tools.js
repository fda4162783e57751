// Tools: what can be called, and a form to call one.

import { fromJson, get, number, post } from "./api.js";
import { failure, field, fill, h, label, pretty, say, short, took, typing, visible } from "./dom.js";
import { card } from "./questions.js";

export async function tools(main, signal) {
  const { tools } = await get("/v1/tools?surface=react", signal);
  const search = h("input", { type: "search", autocomplete: "off" });
  const list = h("ul", { class: "rows" });
  const draw = () => {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    const found = tools.filter((tool) => words.every((word) => `${tool.name} ${tool.description}`.toLowerCase().includes(word)));
    fill(list, found.length === 0 ? h("li", { class: "faint" }, "No tool has all these words.") : found.map((tool) => h("li", {},
      h("a", { class: "row", href: `#/tools/${encodeURIComponent(tool.name)}` }, h("strong", {}, tool.name), effect(tool),
        h("span", { class: "what faint" }, short(tool.description.split("\n")[0], 140))))));
  };
  search.addEventListener("input", draw);
  fill(main, h("h1", {}, "Tools"), field("Look for", search), list);
  draw();
}

const EFFECTS = { pure: "good", "read-only": "good", destructive: "bad" };

function effect(tool) {
  return h("span", { class: `state ${EFFECTS[tool.effect] ?? "warn"}` }, tool.effect);
}

export async function tool(main, signal, name) {
  const one = await get(`/v1/tools/${encodeURIComponent(name)}?surface=react`, signal);
  const schema = (word, schema) => h("details", {}, h("summary", {}, word), h("pre", {}, pretty(schema)));
  fill(main,
    h("h1", {}, one.name), h("p", {}, effect(one), " ", h("span", { class: "faint" }, `risk ${one.risk}, from ${one.plugin}`), one.needsApproval && " asks first"),
    h("p", { class: "text" }, visible(one.description)),
    caller(one), schema("Schema of its arguments", one.input), schema("Schema of its outcome", one.output),
    (one.examples ?? []).length > 0 && schema("Examples", one.examples));
}

/** The form: a field for each argument, or the whole as JSON. */
function caller(tool) {
  const end = h("div", { class: "outcome" });
  const form = h("form", { class: "card" });
  const typed = typing(form);
  const properties = Object.entries(tool.input?.properties ?? {});
  const required = new Set(tool.input?.required ?? []);
  properties.sort(([one], [other]) => required.has(other) - required.has(one));
  const fields = properties.map(([name, schema]) => ({ name, ...control(resolved(schema, tool.input), required.has(name)), schema }));
  const whole = h("textarea", { rows: 6, spellcheck: "false", class: "code" });
  const asJson = h("input", { type: "checkbox" });
  const simple = h("div", {}, fields.map((one) => field(one.name, one.input, short(one.schema.description ?? "", 160) + (required.has(one.name) ? "" : " (may stay empty)"))));
  const json = h("div", { hidden: true }, field("Arguments as JSON", whole));
  const asks = tool.requiresConfirmation;
  const confirm = h("input", { type: "checkbox", required: asks });
  const gathered = () => Object.fromEntries(fields.map((one) => [one.name, one.read()]).filter(([, value]) => value !== undefined));
  asJson.addEventListener("change", () => {
    if (asJson.checked) whole.value = JSON.stringify(gatheredOr(gathered), null, 2);
    simple.hidden = asJson.checked;
    json.hidden = !asJson.checked;
    for (const one of fields) one.input.disabled = asJson.checked;
  });
  if (fields.length === 0) { simple.append(h("p", { class: "faint" }, "It takes no arguments that its schema names.")); }
  form.append(h("h2", {}, "Call it"), simple, json, typed.remark,
    h("p", { class: "acts" }, h("label", {}, asJson, " as JSON"), asks && h("label", {}, confirm, " I confirm what it does"), h("button", { class: "main" }, "Call")), end);
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    try {
      const input = asJson.checked ? fromJson(whole.value || "{}") : gathered();
      fill(end, h("p", { class: "faint" }, "running …"));
      outcome(end, await post(`/v1/tools/${encodeURIComponent(tool.name)}/call`, { input, typed: typed.typed, confirm: confirm.checked, surface: "react" }));
    } catch (error) {
      fill(end, failure(error.error ?? { code: "INPUT", message: error.message }));
    }
  });
  return form;
}

function gatheredOr(gathered) {
  try { return gathered(); } catch { return {}; }
}

/** A schema with what it refers to in its own document, and with a choice of constants as an `enum`. */
function resolved(schema, root) {
  const part = schema.$ref ?? (schema.allOf?.length === 1 ? schema.allOf[0].$ref : undefined);
  const named = /^#\/(?:\$defs|definitions)\/([^/]+)$/.exec(part ?? "");
  const target = named ? { ...(root.$defs ?? root.definitions ?? {})[named[1]], ...schema, $ref: undefined, allOf: undefined } : schema;
  const options = (target.oneOf ?? target.anyOf ?? []).flatMap((one) => (one.type === "null" ? [] : one.const !== undefined ? [one.const] : one.enum ?? [undefined]));
  return options.length > 0 && !options.includes(undefined) ? { ...target, enum: options } : target;
}

/** A control for one argument, and how its value is read; nothing where it was left empty. */
function control(schema, required) {
  const options = schema.enum ?? (schema.const === undefined ? undefined : [schema.const]);
  if (options) {
    const input = h("select", { required }, h("option", { value: "" }, ""), options.map((option, at) => h("option", { value: String(at) }, option?.rawJSON ?? String(option))));
    return { input, read: () => (input.value === "" ? undefined : options[Number(input.value)]) };
  }
  const type = [schema.type].flat().find((type) => type !== "null");
  if (type === "boolean") {
    const input = h("input", { type: "checkbox" });
    return { input, read: () => (input.checked || required ? input.checked : undefined) };
  }
  if (type === "integer" || type === "number") {
    const input = h("input", { type: "number", step: type === "integer" ? 1 : "any", required });
    return { input, read: () => (input.value === "" ? undefined : number(input.value)) };
  }
  if (type === "string") {
    const input = h("textarea", { rows: 1, required: required && (schema.minLength ?? 0) > 0, spellcheck: "false" });
    return { input, read: () => (input.value === "" && !required ? undefined : input.value) };
  }
  const input = h("textarea", { rows: 3, required, spellcheck: "false", class: "code", placeholder: "JSON" });
  return { input, read: () => (input.value.trim() === "" ? undefined : fromJson(input.value)) };
}

/** What came of a call: the value or the failure, its label, logs, artifacts and what it took. */
export function outcome(end, envelope) {
  const { meta } = envelope;
  const run = (envelope.run ?? meta.invocationId.split(":")[0]);
  say(envelope.ok ? "Done" : `Failed: ${envelope.error.message}`);
  const asked = envelope.questions ?? [];
  fill(end,
    asked.length > 0 ? asked.map((question) => card(question, () => { location.hash = `#/runs/${encodeURIComponent(run)}`; }))
      : envelope.ok ? h("pre", { class: "value" }, pretty(envelope.data)) : failure(envelope.error),
    (envelope.logs ?? []).length > 0 && h("ul", { class: "logs" }, envelope.logs.map((log) => h("li", {}, h("span", { class: "faint" }, log.level), " ", short(log.message, 2000)))),
    (envelope.artifacts ?? []).map(brought),
    h("p", { class: "facts" }, label(meta.label), h("span", { class: "faint" }, took(meta.usage?.us ?? meta.durationMs * 1000)), run && h("a", { href: `#/runs/${encodeURIComponent(run)}` }, "record")));
}

/** A file that came with an outcome: to be read where it is text, and to be kept. */
function brought(artifact) {
  const name = short(artifact.name, 80);
  const keep = h("button", { type: "button", onclick: () => save(artifact) }, `Save ${name}`);
  return h("details", {}, h("summary", {}, `artifact ${name} (${short(artifact.mediaType, 80)}, ${artifact.bytes} bytes)`),
    h("p", {}, keep), artifact.text !== undefined && h("pre", {}, visible(artifact.text)));
}

/** Hands a file to the browser, as bytes of no kind, so that it opens none of them itself. */
function save(artifact) {
  const bytes = artifact.base64 === undefined ? artifact.text ?? "" : Uint8Array.from(atob(artifact.base64), (sign) => sign.charCodeAt(0));
  const url = URL.createObjectURL(new Blob([bytes], { type: "application/octet-stream" }));
  h("a", { href: url, download: visible(artifact.name) }).click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}
