// One run: its timeline as it happens, and which sources reached which sink.

import { events, get, post } from "./api.js";
import { failure, fill, h, say, short, spent, state, time } from "./dom.js";
import { card } from "./questions.js";
import { Timeline } from "./timeline.js";

const GOES_ON = new Set(["running"]);
const IS_LEFT = new Set(["waiting", "paused", "unfinished"]);

export async function run(main, signal, name, view = "timeline") {
  const seen = await get(`/v1/runs/${encodeURIComponent(name)}`, signal);
  const head = h("div");
  const body = h("div");
  const tab = (to, word, here) => h("a", { href: `#/runs/${encodeURIComponent(seen.run)}${to}`, "aria-current": here && "page" }, word);
  fill(main,
    h("h1", {}, short(seen.subject, 60)),
    head,
    h("nav", { class: "tabs", "aria-label": "Views of the run" }, tab("", "Timeline", view === "timeline"), tab("/flow", "Flow", view === "flow")),
    body);
  heading(head, seen);
  if (view === "flow") await flow(body, seen, signal);
  else live(body, head, seen, signal);
}

/** The run in a few words, and what can be done with it. */
function heading(head, seen) {
  const end = h("div");
  const act = (verb, word, tone) => h("button", { class: tone, onclick: async () => {
    try {
      await post(`/v1/runs/${encodeURIComponent(seen.run)}/${verb}`);
      dispatchEvent(new HashChangeEvent("hashchange"));
    } catch (error) {
      fill(end, failure(error.error ?? error));
    }
  } }, word);
  const left = IS_LEFT.has(seen.state);
  const asked = (seen.questions ?? []).length > 0;
  fill(head,
    h("p", { class: "facts" }, state(seen.state), h("code", {}, seen.run), time(seen.records?.[0]?.at), usage(seen.usage)),
    seen.goal && h("p", { class: "goal" }, short(seen.goal, 2000)),
    h("div", { class: "asks" }, cards(seen.questions ?? [])),
    seen.answer && h("div", { class: "card" }, h("h2", {}, "Answer"), h("pre", { class: "text" }, short(seen.answer, 100_000))),
    seen.error && failure(seen.error),
    h("p", { class: "acts" }, left && !asked && act("resume", "Go on"), (left || GOES_ON.has(seen.state)) && act("cancel", "Cancel", "danger")),
    end);
}

const again = () => dispatchEvent(new HashChangeEvent("hashchange"));

function cards(questions) {
  return questions.map((question) => card(question, again));
}

const LOOKS = 20;
const LOOK_MS = 250;

/** Shows what a server asks in the middle of a call that is under way. Its question is on record a moment before it can be
 * answered. */
async function asks(head, run, signal) {
  for (let look = 0; look < LOOKS && !signal.aborted; look += 1) {
    const { questions } = await get(`/v1/runs/${encodeURIComponent(run)}`, signal);
    if (questions.length > 0) {
      head.querySelector(".asks")?.replaceChildren(...cards(questions));
      say("A server asks you something");
      return;
    }
    await new Promise((go) => setTimeout(go, LOOK_MS));
  }
}

const isForm = (record) => record.event === "judged" && record.verdict.verdict === "ask" && record.subject.startsWith("form of ");
const ends = new Set(["answered", "expired"]);

/** What the run took so far; at its end the server has counted all of it. */
function usage(usage) {
  return h("span", { class: "faint spent" }, spent(usage, (read, written) => `${read} tokens read, ${written} written`));
}

/** Two usages together. */
function sum(one, other) {
  const add = (key) => (one?.[key] ?? 0) + (other?.[key] ?? 0);
  const cost = { micros: (one?.cost?.micros ?? 0) + (other?.cost?.micros ?? 0), unknown: (one?.cost?.unknown ?? 0) + (other?.cost?.unknown ?? 0) };
  return { input_tokens: add("input_tokens"), output_tokens: add("output_tokens"), cost };
}

/** The timeline: what there is at once, and what happens as it happens. */
function live(body, head, seen, signal) {
  const timeline = new Timeline();
  fill(body, timeline.element);
  const records = seen.records ?? [];
  for (const record of records) timeline.add(record);
  if (!GOES_ON.has(seen.state)) return;
  const over = new Set(records.filter((record) => ends.has(record.event)).map((record) => record.question));
  if (!(seen.questions ?? []).length && records.some((record) => isForm(record) && !over.has(record.verdict.id))) asks(head, seen.run, signal).catch(() => {});
  const last = records.at(-1)?.seq;
  let so = seen.usage;
  (async () => {
    for await (const event of events(seen.run, last, signal)) {
      if (event.event === "record") {
        timeline.add(event.data);
        if (isForm(event.data)) asks(head, seen.run, signal).catch(() => {});
        if (ends.has(event.data.event)) head.querySelector(".asks")?.replaceChildren();
        if (event.data.event === "replied") {
          so = sum(so, event.data.reply.usage);
          head.querySelector(".spent")?.replaceWith(usage(so));
        }
      }
      else if (event.event === "glimpse") timeline.glimpse(event.data);
      else if (event.event === "end") {
        say(`The run is ${event.data.state}`);
        const now = await get(`/v1/runs/${encodeURIComponent(seen.run)}`, signal);
        heading(head, now);
        dispatchEvent(new Event("lazaret-answered"));
      }
    }
  })().catch((error) => { if (!signal.aborted) body.append(failure(error.error ?? error)); });
}

const CHIPS = { trusted: "own", untrusted: "outside", secret: "secret" };
const WORDS = { allow: "allowed", ask: "asked", deny: "denied" };

/** Each sink: what had influence on it, how far that is trusted, what steered it, who is the witness, and what it was given
 * in handles. */
async function flow(body, seen, signal) {
  const { flows } = await get(`/v1/runs/${encodeURIComponent(seen.run)}/flow`, signal);
  if (flows.length === 0) {
    fill(body, h("p", { class: "faint" }, "Nothing in this run could change anything: there was no sink."));
    return;
  }
  const value = (steered) => h("tr", {},
    h("td", {}, h("code", {}, short(steered.argument, 60))),
    h("td", {}, h("span", { class: "faint" }, steered.kind), " ", h("code", {}, short(steered.value, 120))),
    h("td", {}, steered.witness ? h("span", { class: "state good" }, short(steered.witness, 200)) : h("span", { class: "state warn" }, "no witness"),
      (steered.origins ?? []).map((origin) => h("div", { class: "faint" }, `also in ${short(origin.tool, 60)} ${short(origin.path, 60)}, record ${origin.seq}`))));
  const given = (one) => h("li", {}, h("code", {}, short(one.argument || "/", 60)), " = ", h("strong", {}, short(one.handle, 60)), ": ", short(one.said, 2000));
  const one = (flow) => h("li", { class: "card" },
    h("div", { class: "reach" },
      h("div", {}, h("h3", {}, "Sources"), h("ul", { class: "label" }, flow.sources.map((source) => h("li", { class: `chip ${CHIPS[source.secrecy === "secret" ? "secret" : source.integrity]}` },
        short(source.source, 60), h("span", { class: "class" }, ` ${source.integrity}, ${source.secrecy}`))))),
      h("div", { class: "arrow", "aria-hidden": "true" }, "→"),
      h("div", {}, h("h3", {}, "Sink"), h("p", {}, h("strong", {}, short(flow.subject, 80)), h("span", { class: "faint" }, ` by ${flow.origin}, record ${flow.seq}`)))),
    h("p", {}, h("span", { class: `state ${{ allow: "good", ask: "warn", deny: "bad" }[flow.verdict.verdict]}` }, WORDS[flow.verdict.verdict]), " ",
      short(flow.reason, 600)),
    (flow.verdict.allow ?? flow.verdict.lines ?? []).map((line) => h("pre", { class: "line" }, line)),
    flow.values.length > 0 && h("div", { class: "wide" }, h("table", {},
      h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "Argument"), h("th", { scope: "col" }, "Value"), h("th", { scope: "col" }, "Witness"))),
      h("tbody", {}, flow.values.map(value)))),
    flow.handles.length > 0 && [h("h3", {}, "Given in handles"), h("ul", { class: "plain" }, flow.handles.map(given))]);
  fill(body, h("ul", { class: "plain" }, flows.map(one)));
}

