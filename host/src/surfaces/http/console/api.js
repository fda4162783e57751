// The one door to the server: its token, its JSON, its streams.

const KEY = "lazaret-token";

/** Takes the token out of the address, so that it stands in no history. */
export function takeToken() {
  const given = /^#token=(.+)$/.exec(location.hash);
  if (given) {
    sessionStorage.setItem(KEY, decodeURIComponent(given[1]));
    history.replaceState(null, "", "#/runs");
  }
  return sessionStorage.getItem(KEY) !== null;
}

export function setToken(token) { sessionStorage.setItem(KEY, token); }
export function forgetToken() { sessionStorage.removeItem(KEY); }

/** A failure as the server tells it. */
export class Refused extends Error {
  constructor(status, error) {
    super(error.message);
    this.status = status;
    this.error = error;
  }
}

function headers(body) {
  const headers = { authorization: `Bearer ${sessionStorage.getItem(KEY) ?? ""}`, accept: "application/json" };
  return body === undefined ? headers : { ...headers, "content-type": "application/json" };
}

async function send(method, path, body, more = {}) {
  let answer;
  try {
    answer = await fetch(path, { method, headers: { ...headers(body), ...more.headers }, body: body === undefined ? undefined : JSON.stringify(body), signal: more.signal, cache: "no-store" });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Refused(0, { code: "UNREACHABLE", message: "The server does not answer. Is `lazaret serve` still running?" });
  }
  if (answer.status === 401) dispatchEvent(new Event("lazaret-token"));
  return answer;
}

/** JSON whose whole numbers are shown, and sent on, as they are written: an id of 64 bits is more than a number of this language holds. */
export function fromJson(text) {
  return JSON.parse(text, (_, value, context) => (typeof value === "number" && context?.source ? number(context.source) : value));
}

/** A number as it is written; as text where this browser would make another one of it. */
export function number(text) {
  const value = Number(text);
  if (!/^-?\d+$/.test(text) || Number.isSafeInteger(value)) return value;
  return JSON.rawJSON?.(text) ?? text;
}

async function refusal(answer) {
  const told = await answer.text().then(fromJson).catch(() => ({}));
  return new Refused(answer.status, told.error ?? { code: `HTTP ${answer.status}`, message: answer.statusText });
}

export async function get(path, signal) {
  const answer = await send("GET", path, undefined, { signal });
  if (!answer.ok) throw await refusal(answer);
  return fromJson(await answer.text());
}

/** Sends a body. An envelope is an answer whatever it says; anything else that failed is thrown. */
export async function post(path, body = {}) {
  const answer = await send("POST", path, body);
  const told = await answer.text().then(fromJson).catch(() => undefined);
  if (told && typeof told.ok === "boolean" && told.meta?.invocationId) return told;
  if (!answer.ok) throw new Refused(answer.status, told?.error ?? { code: `HTTP ${answer.status}`, message: answer.statusText });
  return told;
}

/** What happens in a run, in order, from the record after `last` on: `{event, data, id}` each. It comes back by itself when the
 * connection breaks, and goes on where it was. */
export async function* events(run, last, signal) {
  for (let wait = 250; ; wait = Math.min(wait * 2, 10_000)) {
    try {
      const from = last === undefined ? {} : { "last-event-id": String(last) };
      const answer = await send("GET", `/v1/runs/${encodeURIComponent(run)}/events`, undefined, { signal, headers: { ...from, accept: "text/event-stream" } });
      if (!answer.ok) throw await refusal(answer);
      for await (const event of read(answer.body.getReader())) {
        wait = 250;
        if (event.id !== undefined) last = event.id;
        yield event;
        if (event.event === "end") return;
      }
    } catch (error) {
      if (error.name === "AbortError" || (error instanceof Refused && error.status >= 400 && error.status < 500)) throw error;
    }
    await new Promise((go) => setTimeout(go, wait));
    if (signal.aborted) return;
  }
}

async function* read(reader) {
  const decoder = new TextDecoder();
  let rest = "";
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      rest += decoder.decode(value, { stream: true });
      const blocks = rest.split(/\r?\n\r?\n/);
      rest = blocks.pop();
      for (const block of blocks) {
        const event = parse(block);
        if (event) yield event;
      }
    }
  } finally {
    reader.cancel().catch(() => {});
  }
}

function parse(block) {
  const event = { event: "message" };
  const lines = [];
  for (const line of block.split(/\r?\n/)) {
    const at = line.indexOf(":");
    if (at === 0) continue;
    const name = at < 0 ? line : line.slice(0, at);
    const value = at < 0 ? "" : line.slice(at + 1).replace(/^ /, "");
    if (name === "data") lines.push(value);
    else if (name === "id" || name === "event") event[name] = value;
  }
  if (lines.length === 0) return undefined;
  event.data = fromJson(lines.join("\n"));
  return event;
}
