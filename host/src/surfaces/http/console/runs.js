// The list of runs, and the form that starts one.

import { get, post } from "./api.js";
import { failure, field, fill, h, say, short, state, time, typing } from "./dom.js";

const LOOK_MS = 2000;

export async function runs(main, signal) {
  const [{ agents }, first] = await Promise.all([get("/v1/agents", signal), get("/v1/runs?limit=50", signal)]);
  const list = h("div", { class: "list" });
  fill(main, h("h1", {}, "Runs"), starter(agents), list);
  draw(list, first.runs);
  const again = setInterval(async () => {
    if (document.hidden) return;
    const next = await get("/v1/runs?limit=50", signal).catch(() => undefined);
    if (next && !signal.aborted) draw(list, next.runs);
  }, LOOK_MS);
  signal.addEventListener("abort", () => clearInterval(again));
}

function starter(agents) {
  if (agents.length === 0) {
    return h("p", { class: "note" }, "No agent is configured: write ", h("code", {}, "[agents.NAME]"), " in ", h("code", {}, "lazaret.toml"), ". Tools and scripts work without one.");
  }
  const agent = h("select", {}, agents.map((one) => h("option", { value: one.name }, one.name)));
  const prompt = h("textarea", { rows: 3, required: true });
  const session = h("input", { autocomplete: "off" });
  const end = h("div");
  const form = h("form", { class: "card" });
  const typed = typing(form);
  form.append(
    h("h2", {}, "Start a run"),
    field("Agent", agent), field("What it shall do", prompt), field("Session", session, "to go on with what was said; may stay empty"),
    typed.remark, h("p", {}, h("button", { class: "main" }, "Start")), end);
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    try {
      const wish = { agent: agent.value, prompt: prompt.value, typed: typed.typed, surface: "react" };
      const begun = await post("/v1/runs", session.value.trim() ? { ...wish, session: session.value.trim() } : wish);
      location.hash = `#/runs/${encodeURIComponent(begun.run)}`;
    } catch (error) {
      fill(end, failure(error.error ?? error));
    }
  });
  return form;
}

let before = "";

function draw(list, runs) {
  const now = JSON.stringify(runs);
  if (now === before && list.firstChild) return;
  before = now;
  if (runs.length === 0) {
    fill(list, h("p", { class: "faint" }, "No runs yet."));
    return;
  }
  const row = (run) => h("li", {},
    h("a", { href: `#/runs/${encodeURIComponent(run.run)}`, class: "row" },
      state(run.state),
      h("span", { class: "what" }, h("strong", {}, short(run.subject, 60)), " ", h("span", { class: "faint" }, short(run.goal || "", 120))),
      run.imported && h("span", { class: "chip outside" }, "imported"),
      h("span", { class: "faint" }, time(run.startedAt))));
  fill(list, h("ul", { class: "rows" }, runs.map(row)));
  const waiting = runs.filter((run) => run.state === "waiting").length;
  if (waiting > 0) say(`${waiting} ${waiting === 1 ? "run waits" : "runs wait"} for an answer`);
}
