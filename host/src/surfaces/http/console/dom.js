// Elements and words of the page. What comes from outside becomes text, never markup: nothing here parses HTML.

/** An element with attributes (`on…` are listeners), and children that are elements or text. */
export function h(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else if (value === true) element.setAttribute(key, "");
    else element.setAttribute(key, String(value));
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

/** Replaces all that an element holds. */
export function fill(element, ...children) {
  element.replaceChildren(...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

/** Characters that are there and not seen, or that turn the line around, shown by their numbers. */
export function visible(text) {
  return String(text).replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff\u{e0000}-\u{e007f}]/gu,
    (sign) => `\\u{${sign.codePointAt(0).toString(16)}}`);
}

/** A text that is cut, where it is long. */
export function short(text, most = 160) {
  const signs = [...visible(text)];
  return signs.length > most ? `${signs.slice(0, most).join("")}…` : signs.join("");
}

/** A value as people read it. */
export function pretty(value) {
  return visible(typeof value === "string" ? value : JSON.stringify(value, null, 2) ?? "");
}

const TONES = { operator: "own", user: "own", tool: "tool", web: "outside", mcp: "outside", file: "file", note: "note", secret: "secret", scalar: "note" };

/** The sources of a label, each with the colour of its sort; the word stands there as well. */
export function label(sources = []) {
  if (sources.length === 0) return h("span", { class: "faint" }, "nobody");
  const chip = (source) => h("li", { class: `chip ${TONES[source.split(/[:/]/)[0]] ?? "outside"}` }, short(source, 60));
  return h("ul", { class: "label", "aria-label": "Sources" }, sources.map(chip));
}

const STATES = { done: "good", running: "busy", waiting: "warn", paused: "warn", unfinished: "warn" };

/** The state of a run. */
export function state(word) {
  return h("span", { class: `state ${STATES[word] ?? "bad"}` }, word);
}

/** A moment, as the reader's own clock has it. */
export function time(ms) {
  if (ms === undefined || ms === null) return h("span", {}, "");
  const at = new Date(ms);
  return h("time", { datetime: at.toISOString(), title: at.toISOString() }, at.toLocaleString());
}

/** How long something took. */
export function took(us) {
  if (us < 1000) return `${us} µs`;
  if (us < 1e6) return `${(us / 1000).toFixed(1)} ms`;
  return `${(us / 1e6).toFixed(1)} s`;
}

/** What models took: tokens, and what those cost, as far as their prices are known; nothing where none was asked. */
export function spent(usage, tokens) {
  if (!usage || !(usage.input_tokens || usage.output_tokens)) return "";
  const { micros = 0, unknown = 0 } = usage.cost ?? {};
  const known = micros > 0 || unknown === 0 ? [`cost ${(micros / 1e6).toFixed(6).replace(/(\.\d\d\d*?)0+$/, "$1")}`] : [];
  const rest = unknown === 0 ? [] : [micros > 0 ? "more is unknown" : "cost unknown"];
  return [tokens(usage.input_tokens ?? 0, usage.output_tokens ?? 0), ...known, ...rest].join(", ");
}

/** What went wrong: the sentence, where, and what to do. */
export function failure(error) {
  const issues = (error.issues ?? []).map((issue) => h("li", {}, h("code", {}, issue.path || "/"), " ", short(issue.message, 400)));
  const hints = (error.hints ?? []).map((hint) => h("li", {}, h("code", {}, visible(hint))));
  return h("div", { class: "failure", role: "alert" },
    h("p", {}, h("strong", {}, error.code ?? "ERROR"), " ", visible(error.message ?? String(error))),
    issues.length > 0 && h("ul", {}, issues),
    hints.length > 0 && h("ul", { class: "hints" }, hints));
}

/** Says something to whoever reads the page with their ears; everybody else sees it. */
export function say(text) {
  document.getElementById("said").textContent = text;
}

/** A field with its name; `within` tells it from one of the same name elsewhere on the page. */
export function field(name, control, remark, within = "") {
  const id = `f-${`${within}${name}`.replace(/[^a-zA-Z0-9]/g, "-")}`;
  control.id = id;
  return h("p", { class: "field" }, h("label", { for: id }, name, remark && h("span", { class: "faint" }, ` ${remark}`)), control);
}

/** Whether all that was put into these fields was typed. What was pasted or dropped was written by nobody knows whom, so its
 * words are no witnesses (the server is told). */
export function typing(form, pasted = false) {
  let typed = !pasted;
  const remark = h("p", { class: "note", hidden: typed }, "Something was pasted: its words do not count as yours, so more may be asked.");
  const taint = () => { typed = false; remark.hidden = false; };
  form.addEventListener("paste", taint);
  form.addEventListener("drop", taint);
  const forget = () => { typed = true; remark.hidden = true; };
  form.addEventListener("reset", forget);
  return { remark, forget, get typed() { return typed; } };
}
