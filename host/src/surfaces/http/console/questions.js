// Questions that wait for a person.

import { get, post } from "./api.js";
import { failure, fill, h, label, pretty, say, short, time, visible } from "./dom.js";

const LOOK_MS = 2000;

export async function questions(main, signal) {
  const list = h("div");
  fill(main, h("h1", {}, "Questions"), list);
  let before = "";
  const draw = async () => {
    const { questions } = await get("/v1/questions", signal);
    const now = questions.map((question) => question.question).join();
    if (now === before && list.firstChild) return;
    before = now;
    fill(list, questions.length === 0 ? h("p", { class: "faint" }, "Nothing waits for an answer.") : questions.map((question) => card(question, draw)));
    if (questions.length > 0) say(`${questions.length} ${questions.length === 1 ? "question waits" : "questions wait"}`);
  };
  await draw();
  const again = setInterval(() => { if (!document.hidden) draw().catch(() => {}); }, LOOK_MS);
  signal.addEventListener("abort", () => clearInterval(again));
}

/** One question, with what was done to reach it, and its answers. `done` is called when one was given. */
export function card(question, done) {
  const end = h("div");
  const late = question.until && question.until <= Date.now();
  const answer = (said, word, tone) => h("button", { class: tone, onclick: async () => {
    for (const button of buttons) button.disabled = true;
    try {
      await post(`/v1/questions/${encodeURIComponent(question.question)}`, { answer: said });
      say(said === "deny" ? "Denied" : "Allowed");
      dispatchEvent(new Event("lazaret-answered"));
      await done();
    } catch (error) {
      fill(end, failure(error.error ?? error));
      for (const button of buttons) button.disabled = false;
    }
  } }, word);
  const many = (question.values ?? []).length > 0;
  const buttons = [answer("allow", "Allow", "main"), many && answer("always", "Allow, and these values for this run"), answer("deny", "Deny", "danger")].filter(Boolean);
  const args = question.args?.inline ?? question.args;
  return h("section", { class: "card question", "aria-label": "Question" },
    h("h2", {}, visible(question.text)),
    (question.reasons ?? []).map((reason) => h("p", { class: "because" }, visible(reason))),
    h("dl", {},
      h("dt", {}, "would call"), h("dd", {}, h("strong", {}, short(question.tool ?? "", 80)),
        question.classes && h("span", { class: "faint" }, ` ${question.classes.effect}, risk ${question.classes.risk}`)),
      h("dt", {}, "with"), h("dd", {}, h("pre", {}, pretty(args === "empty" ? {} : args))),
      h("dt", {}, "under"), h("dd", {}, label(question.label)),
      h("dt", {}, "rule"), h("dd", {}, short(question.rule ?? "", 300)),
      h("dt", {}, "run"), h("dd", {}, h("a", { href: `#/runs/${encodeURIComponent(question.run)}` }, question.run), " ", time(question.at)),
      question.until && [h("dt", {}, "until"), h("dd", {}, time(question.until))]),
    (question.lines ?? []).length > 0 && h("details", {}, h("summary", {}, "a line that makes this the last question of its kind"), question.lines.map((line) => h("pre", { class: "line" }, line))),
    late ? h("p", { class: "note" }, "Its time is over: that counts as no.") : h("p", { class: "acts" }, buttons), end);
}
