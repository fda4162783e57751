// Elements and words of the page. What comes from outside becomes text, never markup: nothing here parses HTML; and no
// character of that text is there without being seen.

// The host's own lists (`words/id.rs`, `words/inert.rs`): a test compares them with these.
const HIDDEN = /[\u{0}-\u{8}\u{b}-\u{1f}\u{7f}-\u{9f}\u{ad}\u{34f}\u{61c}\u{115f}-\u{1160}\u{17b4}-\u{17b5}\u{180b}-\u{180f}\u{200b}-\u{200f}\u{2028}-\u{202e}\u{2060}-\u{206f}\u{2800}\u{3164}\u{e000}-\u{f8ff}\u{fdd0}-\u{fdef}\u{fe00}-\u{fe0f}\u{feff}\u{ffa0}\u{fff0}-\u{fffc}\u{fffe}-\u{ffff}\u{1bca0}-\u{1bca3}\u{1d159}\u{1d173}-\u{1d17a}\u{1fffe}-\u{1ffff}\u{2fffe}-\u{2ffff}\u{3fffe}-\u{3ffff}\u{4fffe}-\u{4ffff}\u{5fffe}-\u{5ffff}\u{6fffe}-\u{6ffff}\u{7fffe}-\u{7ffff}\u{8fffe}-\u{8ffff}\u{9fffe}-\u{9ffff}\u{afffe}-\u{affff}\u{bfffe}-\u{bffff}\u{cfffe}-\u{cffff}\u{dfffe}-\u{dffff}\u{e0000}-\u{e0fff}\u{efffe}-\u{effff}\u{f0000}-\u{10ffff}]/u;
const COMBINING = /[\u{300}-\u{36f}\u{483}-\u{489}\u{1ab0}-\u{1aff}\u{1dc0}-\u{1dff}\u{20d0}-\u{20ff}\u{fe20}-\u{fe2f}]/u;
/** Marks on one character that are writing; more are a curtain. */
const MARKS = 4;

/** Characters that are there and not seen, that turn the line around or cover others, shown by their numbers. */
export function visible(text) {
  const all = String(text).replaceAll("\r\n", "\n");
  if (!HIDDEN.test(all) && !COMBINING.test(all)) return all;
  let marks = 0;
  return Array.from(all, (sign) => {
    marks = COMBINING.test(sign) ? marks + 1 : 0;
    return HIDDEN.test(sign) || marks > MARKS ? `\\u{${sign.codePointAt(0).toString(16)}}` : sign;
  }).join("");
}

/** What stands in an element: without what is nothing, and every text as one that is seen. */
function inside(children) {
  const there = children.flat().filter((child) => child !== null && child !== undefined && child !== false);
  return there.map((child) => (typeof child === "string" ? visible(child) : child));
}

/** An element with attributes (`on…` are listeners), and children that are elements or text. */
export function h(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else if (value === true) element.setAttribute(key, "");
    else element.setAttribute(key, value.rawJSON ?? String(value));
  }
  element.append(...inside(children));
  return element;
}

/** Replaces all that an element holds. */
export function fill(element, ...children) {
  element.replaceChildren(...inside(children));
  return element;
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
  document.getElementById("said").textContent = visible(text);
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
