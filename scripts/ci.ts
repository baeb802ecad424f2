// npm run ci: the suites of .ci/suites.yaml. .ci/run installs the development dependencies and then runs this.
import { parseArgs } from "node:util";
import { ScriptError, main, root } from "./tools/project.ts";
import { sum } from "./tools/counts.ts";
import { changesOfLastDay, changesSince } from "./lib/changed.ts";
import { installTools, quickLackOf } from "./lib/ci/needs.ts";
import { budgetOf, order, plan, type Entry } from "./lib/ci/plan.ts";
import { runSuites, summaryOf, type Outcome } from "./lib/ci/run.ts";
import { limitOf, readTable, suitesNamed, tableFile, type Suite } from "./lib/ci/table.ts";

const help = `npm run ci [-- SUITE... | --all | --list] [OPTIONS]

Runs suites of .ci/suites.yaml. Without a name: those that always run, those whose paths the commits of the last day touched, and the others,
beginning at another one each day, until the minutes are over. That is .ci/run, which installs the development dependencies first.

  SUITE...        these suites alone
  --all           every suite, however long it takes
  --list          the table; runs nothing
  --dry-run       what would run, when, and why; runs nothing
  --minutes N     the others start only in the first N minutes (DXTENSOR_CI_MINUTES, else 40); suites that changed may take twice that
  --base REF      what changed since the branch left REF, instead of the last day
  --date DATE     the day of the rotation, as 2026-11-27 (default: today, UTC)
  --json          one line of JSON on stdout: of --list the suites; of --dry-run {since, runs, left, ends}; else {ok, passed, failed, ran, skipped}
  --help          this text

A failed test makes the exit status 1. A suite that needs something that the machine lacks (docker, the package archive, root) is left out and named.
The last line is "N passed, N failed". With CI set, programs that are missing are installed by apt.`;

const listed = (s: Suite) => ({ ...s, limit: limitOf(s) });

function showTable(suites: readonly Suite[]): string {
  const width = Math.max(...suites.map(({ name }) => name.length));
  return suites
    .map((s) => {
      const marks = [...(s.always === undefined ? [] : ["always"]), ...(s.needs.length > 0 ? [`needs ${s.needs.join(", ")}`] : [])];
      const tail = marks.length > 0 ? ` (${marks.join("; ")})` : "";
      return `${s.name.padEnd(width)} ${String(s.minutes).padStart(3)} min  ${s.about}${tail}`;
    })
    .join("\n");
}

function minutesOf(text: string): number {
  const minutes = Number(text);
  if (!(minutes > 0)) throw new ScriptError("USAGE", `--minutes takes a positive number; received "${text}".`);
  return minutes;
}

function dateOf(text: string): string {
  if (!/^\d{4}-\d{2}-\d{2}$/.test(text) || Number.isNaN(Date.parse(text)))
    throw new ScriptError("USAGE", `--date takes a day as 2026-11-27; received "${text}".`);
  return text;
}

const chosen = (suites: readonly Suite[]): Entry[] => suites.map((suite) => ({ suite, why: "always", reason: "asked for" }));

await main(
  async () => {
    const { values, positionals } = parseArgs({
      options: {
        all: { type: "boolean", default: false },
        list: { type: "boolean", default: false },
        "dry-run": { type: "boolean", default: false },
        json: { type: "boolean", default: false },
        minutes: { type: "string", default: process.env.DXTENSOR_CI_MINUTES || "40" },
        base: { type: "string" },
        date: { type: "string", default: new Date().toISOString().slice(0, 10) },
      },
      allowPositionals: true,
    });
    // .ci/run says when it began: npm ci is part of the time.
    const began = Number(process.env.DXTENSOR_CI_BEGAN || Date.now() / 1000) * 1000;
    const elapsed = (): number => (Date.now() - began) / 60_000;
    const say = (text: string): void => void (values.json ? process.stderr : process.stdout).write(text);
    const suites = readTable();
    const named = suitesNamed(suites, positionals);
    if (values.all && named.length > 0) throw new ScriptError("USAGE", "--all is every suite: it goes with no names.");
    if (values.list) {
      const some = named.length > 0 ? named : suites;
      console.log(values.json ? JSON.stringify(some.map(listed)) : showTable(some));
      return 0;
    }
    const budget = values.all || named.length > 0 ? null : budgetOf(minutesOf(values.minutes));
    let entries = chosen(values.all ? suites : named);
    let since = "";
    if (budget !== null) {
      const changes = values.base === undefined ? changesOfLastDay() : changesSince(values.base);
      entries = order(suites, changes.paths, dateOf(values.date));
      since = changes.paths === null ? changes.since : `${changes.paths.length} files changed ${changes.since}`;
      say(`ci: ${since}\n`);
    }
    if (values["dry-run"]) {
      const { entries: runs, left, ends } = plan(entries, budget ?? { minutes: Infinity, max: Infinity }, { cannot: quickLackOf });
      const told = ({ suite, why, reason }: Entry) => ({ name: suite.name, why, reason, minutes: suite.minutes });
      if (values.json)
        console.log(
          JSON.stringify({
            since,
            runs: runs.map((e) => ({ ...told(e), begins: e.begins })),
            left: left.map((e) => ({ ...told(e), refusal: e.refusal })),
            ends,
          }),
        );
      else {
        for (const { suite, reason, begins } of runs)
          say(`at ${String(Math.round(begins)).padStart(3)} min  ${suite.name} (${suite.minutes} min): ${reason}\n`);
        for (const { suite, reason, refusal } of left) say(`left out    ${suite.name} (${reason}): ${refusal}\n`);
        say(`about ${Math.round(ends)} minutes\n`);
      }
      return 0;
    }
    const isInstalled = process.env.CI ? await installTools() : true;
    if (!isInstalled) say("\n!!!! ci: apt could not install what is missing; suites may fail for it\n");
    const outcome: Outcome = await runSuites(entries, budget, { elapsed, write: say, clone: process.env.CI ? root : null });
    const { passed, failed } = sum(outcome.ran.map((r) => ({ ...r, skipped: 0 })));
    const ok = failed === 0 && passed > 0;
    say(`\n==== done  (${elapsed().toFixed(1)} min; ${tableFile})\n${summaryOf(outcome)}\n`);
    if (values.json) console.log(JSON.stringify({ ok, passed, failed, ...outcome }));
    else say(`${passed} passed, ${failed} failed\n`);
    return ok ? 0 : 1;
  },
  help,
  { tellsFailures: true },
);
