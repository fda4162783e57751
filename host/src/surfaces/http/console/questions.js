// Questions that wait for a person.

import { get, number, post } from "./api.js";
import { failure, field, fill, h, label, pretty, say, short, time, visible } from "./dom.js";

const LOOK_MS = 2000;

export async function questions(main, signal) {
  const list = h("div");
  fill(main, h("h1", {}, "Questions"), list);
  let before;
  const cards = new Map();
  const draw = async () => {
    const { questions } = await get("/v1/questions", signal);
    const now = questions.map((question) => question.question).join();
    if (now === before) return;
    before = now;
    if (questions.length === 0) {
      cards.clear();
      fill(list, h("p", { class: "faint" }, "Nothing waits for an answer."));
      return;
    }
    if (cards.size === 0) fill(list);
    place(list, cards, questions, draw);
    say(`${questions.length} ${questions.length === 1 ? "question waits" : "questions wait"}`);
  };
  await draw();
  const again = setInterval(() => { if (!document.hidden) draw().catch(() => {}); }, LOOK_MS);
  signal.addEventListener("abort", () => clearInterval(again));
}

/** Whoever is about to click must not find another question under the pointer: each stays where it is, one that waits no longer
 * leaves a line in its place, and what is new comes last. */
function place(list, cards, questions, draw) {
  const waiting = new Set(questions.map((question) => question.question));
  for (const [name, there] of cards) {
    if (waiting.has(name)) continue;
    there.replaceWith(h("p", { class: "faint" }, "A question that stood here waits no longer."));
    cards.delete(name);
  }
  for (const question of questions) {
    if (cards.has(question.question)) continue;
    const there = card(question, draw);
    cards.set(question.question, there);
    list.append(there);
  }
}

/** One question, with what was done to reach it, and its answers. `done` is called when one was given. */
export function card(question, done) {
  return question.form ? asked(question, done) : wished(question, done);
}

/** Sends an answer; what is wrong with it is shown in `end`, and it can be given again. */
async function send(question, body, { end, buttons, done }) {
  const able = buttons.filter((button) => !button.disabled);
  for (const button of able) button.disabled = true;
  try {
    await post(`/v1/questions/${encodeURIComponent(question.question)}`, body);
    say(body.answer === "deny" ? "Denied" : "Allowed");
    dispatchEvent(new Event("lazaret-answered"));
    await done();
  } catch (error) {
    fill(end, failure(error.error ?? error));
    for (const button of able) button.disabled = false;
  }
}

const over = (question) => question.until && question.until <= Date.now();

/** Where a question comes from, and until when it can be answered. */
function around(question) {
  return [
    h("dt", {}, "under"), h("dd", {}, label(question.label)),
    h("dt", {}, "rule"), h("dd", {}, short(question.rule ?? "", 300)),
    h("dt", {}, "run"), h("dd", {}, h("a", { href: `#/runs/${encodeURIComponent(question.run)}` }, question.run), " ", time(question.at)),
    ...(question.until ? [h("dt", {}, "until"), h("dd", {}, time(question.until))] : []),
  ];
}

/** Whether something may be called. */
function wished(question, done) {
  const end = h("div");
  const buttons = [];
  const answer = (said, word, tone) => h("button", { class: tone, onclick: () => send(question, { answer: said }, { end, buttons, done }) }, word);
  const many = (question.values ?? []).length > 0;
  buttons.push(...[answer("allow", "Allow", "main"), many && answer("always", "Allow, and these values for this run"), answer("deny", "Deny", "danger")].filter(Boolean));
  const args = question.args?.inline ?? question.args;
  const held = inHandles(question, args, buttons.slice(0, -1));
  return h("section", { class: "card question", "aria-label": "Question" },
    h("h2", {}, visible(question.text)),
    (question.reasons ?? []).map((reason) => h("p", { class: "because" }, visible(reason))),
    (question.records ?? []).map((record) => h("p", { class: "because" }, "where ", visible(record))),
    h("dl", {},
      h("dt", {}, "would call"), h("dd", {}, h("strong", {}, short(question.tool ?? "", 80)),
        question.classes && h("span", { class: "faint" }, ` ${question.classes.effect}, risk ${question.classes.risk}`)),
      h("dt", {}, "with"), h("dd", {}, given(question.args, args), held),
      around(question)),
    (question.lines ?? []).length > 0 && h("details", {}, h("summary", {}, "a line that makes this the last question of its kind"), question.lines.map((line) => h("pre", { class: "line" }, line))),
    over(question) ? h("p", { class: "note" }, "Its time is over: that counts as no.") : h("p", { class: "acts" }, buttons), end);
}

/** The arguments of a call; of those that are not on record, that nobody is shown them. */
function given(kept, args) {
  const secret = kept?.size ?? kept?.stored;
  if (secret) return h("p", { class: "note" }, `its arguments (${secret.bytes} bytes) are secret, and are shown to nobody`);
  return h("pre", {}, pretty(args === "empty" ? {} : args));
}

/** What the handles in a call hold. Nobody says yes to what they have not been shown: until it is there, only no can be said. */
function inHandles(question, args, yes) {
  const place = h("div");
  if (!JSON.stringify(args ?? "").includes('"$handle"')) return place;
  for (const button of yes) button.disabled = true;
  get(`/v1/questions/${encodeURIComponent(question.question)}`).then((whole) => {
    fill(place, (whole.held ?? []).map(handed));
    for (const button of yes) button.disabled = false;
  }).catch((error) => fill(place, failure(error.error ?? error)));
  return place;
}

function handed({ argument, handle, text, more, file, bytes, secret }) {
  const named = (what) => h("p", {}, `in ${argument}: the handle ${short(handle, 60)} ${what}`);
  if (secret) return named("holds what is secret, and is not shown");
  if (file !== undefined) return named(`is the attached ${short(file, 120)}, ${bytes} bytes`);
  return h("div", {}, named("holds:"), h("pre", { class: "value" }, text), more > 0 && h("p", { class: "note" }, `cut here: ${more} characters more are not shown`));
}

/** What a server wants to know in the middle of a call. What it says is its own, and shown as that. */
function asked(question, done) {
  const { server, message, schema } = question.form;
  const end = h("div");
  const required = new Set(schema.required ?? []);
  const fields = Object.entries(schema.properties ?? {}).map(([name, schema]) => ({ name, schema, ...control(schema, required.has(name)) }));
  const remark = ({ name, schema }) => [schema.title, schema.description].filter(Boolean).map((said) => short(said, 160)).join(": ") + (required.has(name) ? "" : " (may stay empty)");
  const buttons = [h("button", { class: "main" }, "Send"), h("button", { type: "button", class: "danger", onclick: () => send(question, { answer: "deny" }, { end, buttons, done }) }, "Decline")];
  const form = h("form", { autocomplete: "off" }, fields.map((one) => field(short(one.name, 80), one.input, remark(one), question.question.slice(0, 12))), h("p", { class: "acts" }, buttons));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const content = Object.fromEntries(fields.map((one) => [one.name, one.read()]).filter(([, value]) => value !== undefined));
    send(question, { answer: "allow", content }, { end, buttons, done });
  });
  return h("section", { class: "card question", "aria-label": "Question" },
    h("h2", {}, `The server ${short(server, 80)} asks you`),
    h("blockquote", { class: "because" }, visible(message)),
    h("p", { class: "note" }, "What you send goes to that server, and nowhere else. Never give it a password or another secret: no honest server asks for one here."),
    h("dl", {}, around(question)),
    over(question) ? h("p", { class: "note" }, "Its time is over: the server was told nothing.") : form, end);
}

/** The values that a field offers, with what they are called. */
function offers(schema) {
  const titled = schema.oneOf ?? schema.anyOf;
  if (titled) return titled.map((one) => [one.const, one.title]);
  return schema.enum?.map((value, at) => [value, schema.enumNames?.[at] ?? value]);
}

/** A control for a field, and how its value is read; nothing where it was left empty. */
function control(schema, required) {
  const usual = schema.default;
  const options = (offers) => offers.map(([value, name]) => h("option", { value, selected: [usual].flat().includes(value) }, short(name, 80)));
  if (schema.type === "array") {
    const input = h("select", { multiple: true, required }, options(offers(schema.items) ?? []));
    return { input, read: () => (input.selectedOptions.length === 0 && !required ? undefined : [...input.selectedOptions].map((one) => one.value)) };
  }
  const offered = offers(schema);
  if (offered) {
    const input = h("select", { required }, h("option", { value: "" }, ""), options(offered));
    return { input, read: () => (input.value === "" ? undefined : input.value) };
  }
  if (schema.type === "boolean") {
    const input = h("select", { required }, h("option", { value: "" }, ""), options([["true", "yes"], ["false", "no"]]));
    if (usual !== undefined) input.value = String(usual);
    return { input, read: () => (input.value === "" ? undefined : input.value === "true") };
  }
  if (schema.type === "integer" || schema.type === "number") {
    const input = h("input", { type: "number", step: schema.type === "integer" ? 1 : "any", min: schema.minimum, max: schema.maximum, required, value: usual });
    return { input, read: () => (input.value === "" ? undefined : number(input.value)) };
  }
  // What is sent is what is seen.
  const input = h("input", { type: "text", spellcheck: "false", required, value: visible(usual ?? "") });
  return { input, read: () => (input.value === "" && !required ? undefined : input.value) };
}
