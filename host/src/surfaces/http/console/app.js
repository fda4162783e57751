// The console: which page is shown, and what waits for an answer.

import { forgetToken, get, setToken, takeToken } from "./api.js";
import { failure, fill, h } from "./dom.js";
import { questions } from "./questions.js";
import { run } from "./run.js";
import { runs } from "./runs.js";
import { scripts } from "./scripts.js";
import { tool, tools } from "./tools.js";

const PAGES = [
  [/^\/runs$/, runs, "Runs"],
  [/^\/runs\/([^/]+)$/, run, "Run"],
  [/^\/runs\/([^/]+)\/(flow)$/, run, "Flow"],
  [/^\/questions$/, questions, "Questions"],
  [/^\/tools$/, tools, "Tools"],
  [/^\/tools\/([^/]+)$/, tool, "Tool"],
  [/^\/scripts$/, scripts, "Scripts"],
];

const LOOK_MS = 3000;
const main = document.getElementById("main");
let leave = new AbortController();

/** Shows the page of the address. What the one before still waited for is given up. */
async function show() {
  if (!takeToken()) return enter();
  const path = location.hash.replace(/^#/, "") || "/runs";
  if (!path.startsWith("/")) return undefined;
  leave.abort();
  leave = new AbortController();
  const { signal } = leave;
  for (const link of document.querySelectorAll("nav a")) {
    const here = path === link.hash.slice(1) || path.startsWith(`${link.hash.slice(1)}/`);
    if (here) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  const page = PAGES.map(([form, page, title]) => [form.exec(path), page, title]).find(([found]) => found);
  if (!page) return fill(main, h("h1", {}, "There is no such page"), h("p", {}, h("a", { href: "#/runs" }, "Runs")));
  const [found, draw, title] = page;
  document.title = `${title} · Lazaret`;
  try {
    await draw(main, signal, ...found.slice(1).map(decodeURIComponent));
    if (!signal.aborted && document.activeElement === document.body) main.focus({ preventScroll: true });
  } catch (error) {
    if (!signal.aborted) fill(main, h("h1", {}, title), failure(error.error ?? { code: "ERROR", message: error.message }));
  }
  return look();
}

/** Asks for the token, where there is none that holds. */
function enter() {
  leave.abort();
  document.title = "Lazaret";
  const token = h("input", { type: "password", autocomplete: "off", required: true, id: "token", spellcheck: "false" });
  const form = h("form", { onsubmit: (event) => { event.preventDefault(); setToken(token.value.trim()); show(); } },
    h("p", { class: "field" }, h("label", { for: "token" }, "Token"), token),
    h("p", {}, h("button", { class: "main" }, "Open")));
  fill(main, h("h1", {}, "Who is there?"),
    h("p", {}, "The server shows its token once, when it first starts; ", h("code", {}, "lazaret serve --show-token"), " shows it again."), form);
  token.focus();
}

/** How many questions wait, beside the name of their page. */
async function look() {
  const count = document.getElementById("open");
  try {
    const { questions } = await get("/v1/questions");
    count.textContent = String(questions.length);
    count.setAttribute("aria-label", `${questions.length} open`);
    count.hidden = questions.length === 0;
  } catch {
    count.hidden = true;
  }
}

addEventListener("hashchange", show);
addEventListener("lazaret-token", () => { forgetToken(); enter(); });
addEventListener("lazaret-answered", look);
setInterval(() => { if (!document.hidden && takeToken()) look(); }, LOOK_MS);
show();
