// Runs the official conformance suite of MCP, and holds every scenario to what `skipped.json` says of it: one that fails
// and is not listed there is a failure, and so is one that is listed and passes.
//
//   node run.mjs [server] [client]     both, where nothing is said
//
// Whose scenarios these are is the suite's to say: what each revision of the protocol requires was frozen when it shipped.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parse } from "yaml";

import { FOLDER, SUITE, ended } from "./suite.mjs";

const REVISIONS = ["2025-11-25", "2026-07-28"];
const SIDES = { server: "./server.mjs" };

const skipped = JSON.parse(readFileSync(join(FOLDER, "skipped.json"), "utf8"));
const required = (revision) => parse(readFileSync(join(SUITE, "requirements", `${revision}.yaml`), "utf8"));

// What came of one scenario, against what is listed of it; nothing where they agree.
function wrong(side, revision, scenario, outcome) {
  const reason = skipped[side]?.[revision]?.[scenario];
  if (outcome.passed && reason) return `${side} ${revision} ${scenario}: passes, and skipped.json lists it`;
  if (!outcome.passed && !reason) return `${side} ${revision} ${scenario}: ${outcome.why}`;
  return undefined;
}

async function run(side) {
  const { begin } = await import(SIDES[side]);
  const under = await begin();
  const problems = [];
  try {
    for (const revision of REVISIONS) {
      const { [side]: scenarios, not_scored: others = [] } = required(revision);
      const extra = others.filter((other) => other.leg === side).map((other) => other.scenario);
      const counts = { passed: 0, skipped: 0, beyond: 0 };
      for (const scenario of [...scenarios, ...extra]) {
        const outcome = await under.scenario(scenario, revision);
        const scored = scenarios.includes(scenario);
        // What a revision does not require is shown, and counts for nothing either way.
        if (!scored) {
          if (outcome.passed) counts.beyond += 1;
          continue;
        }
        const problem = wrong(side, revision, scenario, outcome);
        if (problem) problems.push(problem);
        if (outcome.passed) counts.passed += 1;
        else if (!problem) counts.skipped += 1;
      }
      const unknown = Object.keys(skipped[side]?.[revision] ?? {}).filter((name) => !scenarios.includes(name));
      problems.push(...unknown.map((name) => `${side} ${revision} ${name}: listed in skipped.json, and no scenario`));
      console.log(
        `${side} ${revision}: ${counts.passed} of ${scenarios.length} required scenarios pass, ` +
          `${counts.skipped} do not apply (skipped.json says why of each), ${counts.beyond} of ${extra.length} others pass`,
      );
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
await ended();
process.exit(problems.length ? 1 : 0);
