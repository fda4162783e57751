// Runs the official conformance suite of MCP, and holds every check to what `skipped.json` says of it: one that fails and is
// not listed there is a failure, and so is one that is listed and passes.
//
//   node run.mjs [server] [client]     all sides that there are, where nothing is said
//
// In `skipped.json` stands, by side, revision and scenario, why it does not apply: one reason for all of its checks, or one
// for each by its name. Whose scenarios these are is the suite's to say: what each revision of the protocol requires was
// frozen when it shipped.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parse } from "yaml";

import { FOLDER, SUITE, ended } from "./suite.mjs";

const REVISIONS = ["2025-11-25", "2026-07-28"];
const SIDES = { server: "./server.mjs", client: "./client.mjs" };

const skipped = JSON.parse(readFileSync(join(FOLDER, "skipped.json"), "utf8"));
const required = (revision) => parse(readFileSync(join(SUITE, "requirements", `${revision}.yaml`), "utf8"));

// Where the checks that failed and those that are listed are not the same.
function wrong(listed, failed) {
  if (typeof listed === "string") return failed.size ? [] : ["passes, and skipped.json lists it"];
  const names = Object.keys(listed ?? {});
  const problems = [...failed].filter(([name]) => !names.includes(name)).map(([name, why]) => `${name}: ${why}`);
  const passing = names.filter((name) => !failed.has(name));
  return [...problems, ...passing.map((name) => `${name}: passes, and skipped.json lists it`)];
}

async function run(side) {
  const { begin } = await import(SIDES[side]);
  const under = await begin();
  const problems = [];
  try {
    for (const revision of REVISIONS) {
      const { [side]: scenarios, not_scored: others = [] } = required(revision);
      const listed = skipped[side]?.[revision] ?? {};
      const counts = { passed: 0, in_part: 0, skipped: 0 };
      for (const scenario of scenarios) {
        const failed = await under.scenario(scenario, revision);
        const found = wrong(listed[scenario], failed);
        problems.push(...found.map((problem) => `${side} ${revision} ${scenario}: ${problem}`));
        if (!failed.size) counts.passed += 1;
        else if (!found.length) counts[typeof listed[scenario] === "string" ? "skipped" : "in_part"] += 1;
      }
      const unknown = Object.keys(listed).filter((name) => !scenarios.includes(name));
      problems.push(...unknown.map((name) => `${side} ${revision} ${name}: listed in skipped.json, and no scenario`));
      console.log(
        `${side} ${revision}: ${counts.passed} of ${scenarios.length} required scenarios pass whole, ${counts.in_part} but for ` +
          `checks that do not apply, ${counts.skipped} do not apply (skipped.json says why of each)`,
      );
      // What a revision does not require counts for nothing either way.
      const extra = others.filter((other) => other.leg === side).map((other) => other.scenario);
      const passing = [];
      for (const scenario of extra) {
        if (!(await under.scenario(scenario, revision)).size) passing.push(scenario);
      }
      if (extra.length) console.log(`  beyond that ${passing.length} of ${extra.length} others: ${passing.join(", ") || "none"}`);
    }
  } finally {
    await under.end();
  }
  return problems;
}

const sides = process.argv.length > 2 ? process.argv.slice(2) : Object.keys(SIDES);
const problems = [];
for (const side of sides) problems.push(...(await run(side)));
for (const problem of problems) console.log(`WRONG ${problem}`);
ended();
process.exit(problems.length ? 1 : 0);
