// The timeline of a run: turns, calls, verdicts, what came of them. One record makes one line, or becomes part of the line of the
// call that it is about.

import { h, label, pretty, say, short, spent, took, visible } from "./dom.js";

const CUT = 400;

export class Timeline {
  constructor() {
    this.element = h("ol", { class: "timeline", "aria-label": "What happened" });
    this.calls = new Map();
    this.seen = -1;
    this.draft = null;
    this.before = "";
  }

  /** Takes in a record; one that was there already is not shown twice. */
  add(record) {
    if (record.seq <= this.seen) return;
    this.seen = record.seq;
    this.settle(record);
    const draw = DRAWN[record.event];
    const line = draw ? draw(record, this) : this.line(record, "", record.event);
    if (line) this.element.append(line);
    this.before = record.event;
  }

  /** Takes in what is seen between two records: a model's words as they come, the progress of a tool. */
  glimpse(glimpse) {
    if (glimpse.event === "text") {
      this.draft ??= this.element.appendChild(h("li", { class: "entry reply draft" }, h("p", { class: "text" })));
      this.draft.firstChild.append(visible(glimpse.text));
    } else if (glimpse.event === "progress") {
      const call = this.calls.get(glimpse.of);
      if (call) {
        call.progress.textContent = short(`${glimpse.message}${glimpse.percent == null ? "" : ` ${Math.round(glimpse.percent)} %`}`, 120);
        call.progress.title = visible((glimpse.label ?? []).join(", "));
        call.progress.hidden = false;
      }
    }
  }

  /** What a model was saying is said: the record has it whole. */
  settle(record) {
    if (this.draft && (record.event === "replied" || record.event === "attempted")) {
      this.draft.remove();
      this.draft = null;
    }
  }

  line(record, tone, ...children) {
    return h("li", { class: `entry ${tone}`, "data-seq": record.seq }, children);
  }
}

function whole(name, value) {
  const text = pretty(value);
  if (text.length <= 80 && !text.includes("\n")) return h("code", { class: "value" }, text);
  const inner = h("pre", {});
  const open = h("details", { ontoggle: () => { if (!inner.firstChild) inner.append(text); } },
    h("summary", {}, name, " ", h("code", { class: "value" }, short(text.replace(/\s+/g, " "), 80))), inner);
  return open;
}

function content(content) {
  if (content === "empty" || content === undefined) return null;
  if ("inline" in content) return whole("", content.inline);
  const bytes = content.stored?.bytes ?? content.size?.bytes;
  return h("span", { class: "faint" }, `${bytes} bytes`);
}

const TONES = { allow: "good", ask: "warn", deny: "bad" };
const WORDS = { allow: "allowed", ask: "asks", deny: "denied" };

function why(record) {
  const { verdict } = record;
  const told = verdict.rule && verdict.verdict === "allow" ? verdict.rule : verdict.reason ?? verdict.text ?? "";
  return h("details", { class: "why" }, h("summary", {}, "why"),
    h("p", {}, short(told, 800)),
    (verdict.allow ?? verdict.lines ?? []).map((line) => h("pre", { class: "line" }, line)),
    (record.weighed ?? []).map((one) => h("p", {}, h("code", {}, one.argument), ` ${one.kind} `, h("code", {}, short(one.value, 120)), " ", one.witness || "no witness")),
    label(record.label));
}

function judged(record, timeline) {
  const { verdict } = record;
  const call = { result: h("div", { class: "result" }), progress: h("span", { class: "faint", hidden: true }), inside: new Inside() };
  timeline.calls.set(record.seq, call);
  const around = timeline.calls.get(record.parent);
  call.isInner = around !== undefined && record.seq !== record.parent;
  const line = timeline.line(record, "call",
    h("p", {}, h("span", { class: `state ${TONES[verdict.verdict]}` }, WORDS[verdict.verdict]), " ", h("strong", {}, short(record.subject, 120)),
      h("span", { class: "faint" }, ` ${record.effect === "call" ? "" : `${record.effect} `}by ${record.origin}`), " ", call.progress),
    content(record.content), call.result, call.inside.element, why(record));
  if (verdict.verdict === "deny") say(`${record.subject} was denied`);
  if (!call.isInner) return line;
  around.inside.add(line, verdict.verdict);
  return null;
}

/** What a call has done on its way, folded away as long as all of it was allowed. */
class Inside {
  constructor() {
    this.lines = h("ol", { class: "timeline" });
    this.summary = h("summary");
    this.element = h("details", { hidden: true }, this.summary, this.lines);
  }

  add(line, verdict) {
    this.lines.append(line);
    this.element.hidden = false;
    const count = this.lines.childElementCount;
    this.summary.textContent = `${count} ${count === 1 ? "effect" : "effects"} inside`;
    if (verdict !== "allow") this.element.open = true;
  }
}

function finished(record, timeline) {
  const call = timeline.calls.get(record.of);
  if (!call) return null;
  call.progress.hidden = true;
  const held = record.told?.$handle;
  const end = record.end === "done" ? h("span", { class: "state good" }, "done") : h("span", { class: "state bad" }, record.code ?? "failed");
  const bytes = record.content?.size?.bytes;
  call.result.replaceChildren(
    h("p", {}, end, " ", held && h("span", { class: "chip note" }, `held as ${held}`), " ", h("span", { class: "faint" }, [record.spent?.us ? took(record.spent.us) : "", bytes ? `${bytes} bytes` : ""].filter(Boolean).join(", ")),
      record.spent?.repeated && h("span", { class: "faint" }, " given again, not made again")),
    (record.end === "done" ? bytes === undefined && content(record.content) : h("p", {}, short(record.message ?? "", CUT))) || "",
    call.isInner ? "" : label(record.label));
  return null;
}

function replied(record, timeline) {
  const { reply } = record;
  const tokens = spent(reply.usage, (read, written) => `${read} + ${written} tokens`);
  return timeline.line(record, "reply",
    h("p", { class: "text" }, short(reply.text ?? "", 20_000)),
    h("p", { class: "faint" }, [reply.calls?.length ? `wishes for ${reply.calls.map((call) => call.tool).join(", ")}` : "", tokens].filter(Boolean).join(" · ")),
    label(record.label));
}

function stopped(record, timeline) {
  const done = record.end === "done";
  const answer = record.content?.inline;
  return timeline.line(record, `end ${done ? "good" : "bad"}`,
    h("p", {}, h("span", { class: `state ${done ? "good" : "bad"}` }, done ? "done" : record.code), record.turns ? h("span", { class: "faint" }, ` after ${record.turns} turns`) : ""),
    answer !== undefined && h("pre", { class: "text" }, short(pretty(answer), 20_000)),
    !done && h("p", {}, short(record.message ?? "", CUT)));
}

const plain = (tone, words) => (record, timeline) => timeline.line(record, tone, h("p", {}, words(record)));

const waits = plain("warn", (record) => (record.questions?.length ? "The run waits for an answer." : "The run was left."));

const DRAWN = {
  started: (record, timeline) => timeline.line(record, "begin",
    h("p", {}, h("strong", {}, short(record.subject, 80)), h("span", { class: "faint" }, ` over ${record.surface}`)), label(record.label)),
  prompted: plain("turn", (record) => `Turn ${record.turn} of ${record.turns_max} · ${record.model}`),
  replied,
  judged,
  finished,
  observed: () => null,
  attempted: plain("warn", (record) => `${record.model ?? "A model"} gave no reply: ${short(record.message ?? record.setback ?? "", CUT)}`),
  // One that was just answered is left for a moment, until it goes on.
  paused: (record, timeline) => (record.questions?.length || timeline.before !== "answered" ? waits(record, timeline) : null),
  answered: plain("", (record) => `Somebody answered: ${record.answer}.`),
  expired: plain("warn", () => "Nobody answered in time, which counts as no."),
  resumed: plain("", () => "The run goes on."),
  scripted: plain("", () => "A script begins in a sandbox of its own."),
  rested: plain("", () => "A wait is over."),
  compacted: plain("", () => "Older turns were folded into a summary."),
  overspent: plain("warn", () => "A budget is used up."),
  brought: plain("", (record) => `Begins with what run ${record.from} held as ${record.handle}.`),
  stopped,
};
