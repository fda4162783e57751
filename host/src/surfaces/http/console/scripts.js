// Scripts: an editor, and what comes of running what stands in it.

import { post } from "./api.js";
import { failure, field, fill, h, typing } from "./dom.js";
import { outcome } from "./tools.js";

const KEPT = "lazaret-script";
const PASTED = "lazaret-script-pasted";
const FIRST = "// The body of an async function, in JavaScript or TypeScript. What it returns is shown.\nconst text = \"one two three\";\nreturn await tools.text.count({ text });\n";

export async function scripts(main) {
  const source = h("textarea", { rows: 16, spellcheck: "false", class: "code", autocapitalize: "off", autocomplete: "off" });
  source.value = sessionStorage.getItem(KEPT) ?? FIRST;
  const end = h("div", { class: "outcome" });
  const form = h("form", { class: "card" });
  // A text that comes back comes as it was: what was pasted stays pasted.
  const typed = typing(form, sessionStorage.getItem(PASTED) !== null);
  form.addEventListener("paste", () => sessionStorage.setItem(PASTED, "yes"));
  form.addEventListener("drop", () => sessionStorage.setItem(PASTED, "yes"));
  const go = h("button", { class: "main" }, "Run");
  form.append(field("Script", source, "Ctrl+Enter runs it; Tab leaves it"), typed.remark, h("p", { class: "acts" }, go), end);
  source.addEventListener("input", () => {
    sessionStorage.setItem(KEPT, source.value);
    if (source.value === "") {
      sessionStorage.removeItem(PASTED);
      typed.forget();
    }
  });
  source.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) form.requestSubmit();
  });
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    go.disabled = true;
    fill(end, h("p", { class: "faint" }, "running …"));
    try {
      outcome(end, await post("/v1/scripts", { source: source.value, typed: typed.typed, surface: "react" }));
    } catch (error) {
      fill(end, failure(error.error ?? error));
    } finally {
      go.disabled = false;
    }
  });
  fill(main, h("h1", {}, "Scripts"), h("p", { class: "faint" }, "It runs in a sandbox of its own, with no files and no network, and calls tools through the same gate as everybody."), form);
}
