/** CI's table of suites, the choice for a day, and the run of the suites. */
import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { execa } from "execa";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { budgetOf, order, plan, refusal, type Entry } from "../scripts/lib/ci/plan.ts";
import { runSuites, summaryOf } from "../scripts/lib/ci/run.ts";
import { globMatches, limitOf, parseTable, readTable, suitesNamed, type Suite } from "../scripts/lib/ci/table.ts";
import { share } from "./share.ts";

const suite = (name: string, fields: Partial<Suite> = {}): Suite => ({
  name,
  about: name,
  command: "true",
  required: false,
  paths: [`${name}/**`],
  minutes: 5,
  needs: [],
  env: {},
  ...fields,
});
const names = (list: readonly { readonly suite: Suite }[]): string[] => list.map((e) => e.suite.name);
const date = "2026-11-27";

describe("the table", () => {
  const suites = readTable();
  /** Files below what a glob begins with. */
  const filesBelow = (glob: string): string[] => {
    const fixed = glob.slice(0, glob.indexOf("*") < 0 ? glob.length : glob.indexOf("*"));
    if (fixed === glob) return existsSync(glob) ? [glob] : [];
    const folder = fixed.slice(0, fixed.lastIndexOf("/"));
    return existsSync(folder)
      ? readdirSync(folder, { recursive: true, encoding: "utf8" }).map((name) => `${folder}/${name.replaceAll("\\", "/")}`)
      : [];
  };

  it("has no glob that matches no file", () => {
    const globs = [...new Set(suites.flatMap(({ paths }) => paths))];
    expect(globs.length).toBeGreaterThan(40);
    expect(globs.filter((glob) => !filesBelow(glob).some((path) => globMatches(glob, path)))).toEqual([]);
    expect(
      ["src/nowhere/**", "scripts/nothing.ts", "scripts/lib/nothing*"].filter((glob) =>
        filesBelow(glob).some((path) => globMatches(glob, path)),
      ),
    ).toEqual([]);
  });

  it("runs commands and test files that are there", () => {
    const { scripts } = JSON.parse(readFileSync("package.json", "utf8")) as { scripts: Record<string, string> };
    const files = readdirSync("test", { recursive: true, encoding: "utf8" }).map((name) => `test/${name.replaceAll("\\", "/")}`);
    for (const { command } of suites) {
      for (const [, name] of command.matchAll(/npm run (\S+)/g)) expect(Object.keys(scripts)).toContain(name);
      for (const [, name] of command.matchAll(/run\.mjs (\S+)/g)) expect([name, existsSync(`scripts/${name}.ts`)]).toEqual([name, true]);
      for (const filter of /(?:--typescript|"\$NODE") (.*)$/.exec(command)?.[1]?.split(" ") ?? [])
        expect([filter, files.some((file) => file.endsWith(".test.ts") && file.includes(filter))]).toEqual([filter, true]);
    }
  });

  it("runs each test whole that takes a share of its cases elsewhere", () => {
    const files = readdirSync("test", { recursive: true, encoding: "utf8" }).map((name) => `test/${name.replaceAll("\\", "/")}`);
    const sharing = files.filter((file) => file.endsWith(".ts") && /from "[./]+\/share\.ts"/.test(readFileSync(file, "utf8")));
    const filters = suites.flatMap(({ command, env }) =>
      env.DXTENSOR_TESTS === "all" ? / test\/.*$/.exec(command)![0].trim().split(" ") : [],
    );
    expect(sharing.length).toBeGreaterThan(8);
    expect(sharing.filter((file) => !filters.some((filter) => file.includes(filter)))).toEqual([]);
  });

  it("names each mistake", () => {
    const one = { name: "a", about: "a", command: "true", minutes: 1, paths: ["a"] };
    for (const [fields, message] of [
      [{ minutes: -1 }, /suites\.0\.minutes/],
      [{ needs: ["gpu"] }, /suites\.0\.needs/],
      [{ pahts: [] }, /pahts/],
      [{ name: "A b" }, /suites\.0\.name/],
      [{ paths: [] }, /"a" depends on no paths/],
    ] as const)
      expect(() => parseTable(JSON.stringify({ suites: [{ ...one, ...fields }] }))).toThrow(message);
    expect(() => parseTable(JSON.stringify({ suites: [one, one] }))).toThrow('two suites "a"');
    expect(() => parseTable("suites: [")).toThrow("is no YAML");
    expect(() => suitesNamed(suites, ["lint", "lnit"])).toThrow('There is no suite "lnit"');
    expect(names(suitesNamed(suites, ["lint"]).map((s) => ({ suite: s })))).toEqual(["lint"]);
  });

  it("reads globs", () => {
    const has = (glob: string, ...paths: string[]): boolean[] => paths.map((path) => globMatches(glob, path));
    expect(has("src/**", "src/a.ts", "src/a/b.ts", "srca/b.ts", "x/src/a.ts")).toEqual([true, true, false, false]);
    expect(has("src/**/*.ts", "src/a.ts", "src/a/b/c.ts", "src/a.json")).toEqual([true, true, false]);
    expect(has("a/x-*", "a/x-1.ts", "a/x-1/b.ts", "a/y")).toEqual([true, false, false]);
    expect(has("a+b.ts", "a+b.ts", "aab.ts", "a+bxts")).toEqual([true, false, false]);
  });
});

describe("a day's plan", () => {
  const first = suite("build", { always: "first", required: true, minutes: 10 });
  const last = suite("ignored", { always: "last", minutes: 1 });
  const others = ["a", "b", "c", "d"].map((name) => suite(name));
  const all = [first, ...others, last];
  const on = (changed: readonly string[] | null, day = date, minutes = 30): ReturnType<typeof plan> =>
    plan(order(all, changed, day), budgetOf(minutes));

  it("begins the rotation at another suite each day", () => {
    const begins = [26, 27, 28, 29, 30].map((day) => names(on([], `2026-11-${day}`).entries)[1]!);
    expect(new Set(begins.slice(0, 4)).size).toBe(4);
    expect(begins[4]).toBe(begins[0]);
    expect(names(on([]).entries)).toEqual(names(on([]).entries));
    expect(names(on([]).entries)).toHaveLength(6);
  });

  it("runs what always runs, then what changed, then others while there is time", () => {
    const { entries, left, ends } = on(["c/x.ts"], date, 20);
    expect(names(entries).slice(0, 2)).toEqual(["build", "c"]);
    expect(entries.map(({ why }) => why)).toEqual(["always", "changed", "rotation", "always"]);
    expect(entries[1]!.reason).toBe("c/x.ts changed");
    expect(left.map((e) => e.refusal)).toEqual(["the 20 minutes were over", "the 20 minutes were over"]);
    expect(ends).toBe(21);
  });

  it("never leaves out what changed, until twice the minutes are over", () => {
    const { entries, left } = on(["a/x", "b/x", "c/x", "d/x"], date, 15);
    expect(names(entries)).toHaveLength(6);
    expect(left).toEqual([]);
    const short = on(["a/x", "b/x", "c/x", "d/x"], date, 10);
    expect(short.left.map((e) => [e.why, e.refusal])).toEqual(
      Array.from({ length: 2 }, () => ["changed", "it takes 5 minutes, and 20 of 20 were over"]),
    );
  });

  it("takes everything as changed where nobody knows what did", () => {
    expect(on(null).entries.filter(({ why }) => why === "changed")).toHaveLength(4);
  });

  it("gives a long suite its day, and no other the time that is left for it", () => {
    const long = suite("long", { minutes: 25 });
    const entry = (s: Suite): Entry => ({ suite: s, why: "rotation", reason: "" });
    expect(refusal(entry(long), { elapsed: 20, hasRotated: false }, budgetOf(40))).toBeNull();
    expect(refusal(entry(long), { elapsed: 20, hasRotated: true }, budgetOf(40))).toBe("it takes 25 minutes, and 20 of 40 were over");
    expect(refusal(entry(long), { elapsed: 60, hasRotated: false }, budgetOf(40))).toBe("it takes 25 minutes, and 60 of 80 were over");
    expect(refusal({ ...entry(long), why: "always" }, { elapsed: 1000, hasRotated: true }, budgetOf(40))).toBeNull();
  });

  it("gives each suite of the table a day within as many days as there are", () => {
    const suites = readTable();
    const seen = new Set(
      Array.from({ length: suites.length }, (_, i) => {
        const day = new Date(Date.parse(date) + i * 86_400_000).toISOString().slice(0, 10);
        return names(plan(order(suites, [], day), budgetOf(40)).entries);
      }).flat(),
    );
    expect(suites.map((s) => s.name).filter((name) => !seen.has(name))).toEqual([]);
  });
});

describe("a run", () => {
  const run = async (
    suites: readonly Suite[],
    { minutes = 1000, why = "always" as Entry["why"], elapsed = () => performance.now() / 60_000, clone = null as string | null } = {},
  ) => {
    let text = "";
    const entries = suites.map((s): Entry => ({ suite: s, why, reason: "asked for" }));
    const outcome = await runSuites(entries, budgetOf(minutes), { elapsed, write: (piece) => void (text += piece), clone });
    return { ...outcome, text, counts: outcome.ran.map(({ name, passed, failed }) => [name, passed, failed]) };
  };

  it("fails a suite that leaves files behind, and says what they hold", async () => {
    const clone = mkdtempSync(join(tmpdir(), "dxtensor-ci-clone-"));
    try {
      await execa("git", ["init", "-q", clone]);
      writeFileSync(join(clone, ".gitignore"), "/build/\n");
      writeFileSync(join(clone, "edited"), "");
      const { counts, text, ran } = await run(
        [
          suite("tidy", { command: `mkdir "${clone}/build"; echo x > "${clone}/build/made"; echo y > "${clone}/edited"` }),
          suite("untidy", { command: `echo 'text "a"' > "${clone}/größe"; echo "3 passed, 0 failed"` }),
          suite("after", {}),
        ],
        { clone },
      );
      expect(counts).toEqual([
        ["tidy", 1, 0],
        ["untidy", 3, 1],
        ["after", 1, 0],
      ]);
      const line = /^untidy: left behind größe \(9 bytes, \d{4}-.*Z, begins "text \\"a\\"\\n"\)$/;
      expect(ran[1]!.told.at(-1)).toEqual([expect.stringMatching(line)]);
      expect(text).toContain(ran[1]!.told.at(-1)![0]!);
    } finally {
      rmSync(clone, { recursive: true });
    }
  });

  it("counts by the last line of counts, else by the exit status", async () => {
    const { counts, text } = await run([
      suite("lines", { command: 'echo "1 passed, 0 failed"; echo "7 passed, 2 failed"; exit 1' }),
      suite("silent", {}),
      suite("status", { command: 'echo "7 passed, 0 failed"; exit 3' }),
      suite("signal", { command: "kill -9 $$" }),
      suite("variables", { command: 'echo "$X passed, 0 failed"; test -d "$DXTENSOR_CI_FOLDER"', env: { X: "5" } }),
    ]);
    expect(counts).toEqual([
      ["lines", 7, 2],
      ["silent", 1, 0],
      ["status", 7, 1],
      ["signal", 0, 1],
      ["variables", 5, 0],
    ]);
    expect(text).toContain("==== lines: asked for");
  });

  it("shows failures once more at the end", async () => {
    const lines = [
      " × adds 3ms",
      "fine",
      " FAIL  test/a.test.ts > adds",
      "AssertionError: expected 1 to be 2",
      "  | npm error",
      " ❯ a.ts:3",
      "fine",
    ];
    const outcome = await run([suite("bad", { command: `printf '%s\\n' ${lines.map((l) => `'${l}'`).join(" ")}; exit 1` }), suite("good")]);
    const summary = summaryOf(outcome);
    expect(summary).toContain(
      "failures of bad: 1\n    FAIL  test/a.test.ts > adds\n    AssertionError: expected 1 to be 2\n      | npm error\n    bad: ended with status 1",
    );
    expect(summary).not.toContain("fine");
    expect(summary).toMatch(/ran {6}good .*1 passed, 0 failed; asked for/);
  });

  it("shows the failures of C++ programs and of lint, and the end of an output that names none", async () => {
    const outcome = await run([
      suite("native", { command: 'echo "FAILED gemm: 3 cases"; echo "    difference"; echo "5 passed, 1 failed"; exit 1' }),
      suite("lint", { command: 'echo "lint: oxlint: FAILED (3.1 s)"; echo "lint: prettier: ok (1.0 s)"; exit 1' }),
      suite("silent", { command: "seq 1 40; exit 1" }),
    ]);
    const summary = summaryOf(outcome);
    expect(summary).toContain("failures of native: 1\n    FAILED gemm: 3 cases\n        difference\n");
    expect(summary).toContain("failures of lint: 1\n    lint: oxlint: FAILED (3.1 s)\n    lint: ended with status 1");
    expect(summary).toMatch(/failures of silent: 1\n.*\b29\n.*\n {4}silent: ended with status 1/s);
  });

  it("is told in sixty lines, however many suites fail", async () => {
    const noise = Array.from({ length: 50 }, (_, i) => `echo " FAIL  test/${i}.test.ts > a"; echo "Error: ${i}"`).join("; ");
    const suites = Array.from({ length: 5 }, (_, i) => suite(`bad${i}`, { command: `${noise}; exit 1` }));
    const summary = summaryOf(await run(suites)).split("\n");
    expect(summary.length).toBeLessThan(60);
    expect(summary.filter((line) => line.startsWith("    and ")).length).toBe(5);
    expect(summary.filter((line) => line === "    Error: 0").length).toBe(5);
  });

  it("continues after a failure, but not after one of a suite that all others need", async () => {
    const bad = suite("bad", { command: "false" });
    expect((await run([bad, suite("next")])).counts).toHaveLength(2);
    const { counts, skipped, text } = await run([{ ...bad, required: true }, suite("next")]);
    expect(counts).toEqual([["bad", 0, 1]]);
    expect(skipped).toEqual([{ name: "next", why: "bad failed", usualMinutes: 5 }]);
    expect(text).toContain("!!!! SKIPPED: next: bad failed");
  });

  it("ends a suite at its limit, and that is a failure", async () => {
    const { counts, ran } = await run([suite("endless", { command: "tail -f /dev/null", limit: 0.005 })]);
    expect(counts).toEqual([["endless", 0, 1]]);
    expect(ran[0]!.told.join()).toContain("endless: not done after");
  });

  it("when the time is over in the middle of a suite, that is none, unless it had failed before", async () => {
    const options = { minutes: 2.505, why: "changed" as const, elapsed: () => 5 };
    const { counts, skipped } = await run([suite("endless", { command: "tail -f /dev/null", minutes: 0.001 })], options);
    expect(counts).toEqual([]);
    expect(skipped[0]!.why).toContain("when the time was over; nothing had failed so far");
    const failed = await run([suite("endless", { command: 'echo "not ok 1"; tail -f /dev/null', minutes: 0.001 })], options);
    expect(failed.counts).toEqual([["endless", 0, 1]]);
  });

  it("leaves out, loudly, what the machine lacks something for, and this version of Node", async () => {
    const major = Number(process.versions.node.split(".")[0]);
    const { skipped, ran } = await run([suite("other-node", { node: major }), suite("plain")]);
    expect(skipped).toEqual([{ name: "other-node", why: `this is Node ${major}: npm test runs on it`, usualMinutes: 5 }]);
    expect(ran.map(({ name }) => name)).toEqual(["plain"]);
  });
});

describe("npm run ci", () => {
  const ci = (...args: string[]) => execa(process.execPath, ["scripts/run.mjs", "ci", ...args], { reject: false, stdin: "ignore" });

  it("lists the table for people and programs", async () => {
    const listed = JSON.parse((await ci("--list", "--json")).stdout) as { name: string; limit: number }[];
    const suites = readTable();
    expect(listed.map(({ name, limit }) => [name, limit])).toEqual(suites.map((s) => [s.name, limitOf(s)]));
    const { stdout } = await ci("--list");
    expect(stdout.split("\n")).toHaveLength(suites.length);
  });

  it("plans without running, alike on one date and otherwise on the next", { timeout: 120_000 }, async () => {
    const planned = async (...args: string[]) => {
      const { runs, left } = JSON.parse((await ci("--dry-run", "--json", "--base", "HEAD", ...args)).stdout) as Record<
        "runs" | "left",
        { name: string }[]
      >;
      return [...runs, ...left].map(({ name }) => name);
    };
    const [one, same, next] = [await planned("--date", date), await planned("--date", date), await planned("--date", "2026-11-28")];
    expect(one).toEqual(same);
    expect(one).not.toEqual(next);
    expect(one.toSorted()).toEqual(
      readTable()
        .map(({ name }) => name)
        .toSorted(),
    );
    expect(one.slice(0, 5)).toEqual(["build", "lint", "test", "start", "docs"]);
  });

  it("refuses what it does not know", { timeout: 120_000 }, async () => {
    const cases: readonly (readonly [args: readonly string[], message: string])[] = [
      [["nothing"], 'There is no suite "nothing"'],
      [["--all", "lint"], "--all is every suite"],
      [["--minutes", "no"], "--minutes takes a positive number"],
      [["--date", "2026-13-50"], "--date takes a day"],
      [["--dry-run", "--base", "nowhere"], 'there is no commit "nowhere"'],
    ];
    // Each starts a program: two, unless all are asked for.
    for (const [args, message] of share(cases, 3)) {
      const { exitCode, stderr } = await ci(...args);
      expect([exitCode, stderr]).toEqual([1, expect.stringContaining(message)]);
    }
    const { exitCode, stdout } = await ci("nothing", "--json");
    expect([exitCode, JSON.parse(stdout)]).toEqual([1, expect.objectContaining({ ok: false, code: "SUITE" })]);
  });
});

describe("the nightly workflow", () => {
  interface Job {
    readonly needs?: string;
    readonly outputs?: Readonly<Record<string, string>>;
    readonly strategy?: { readonly matrix: string };
    readonly "timeout-minutes"?: string;
    readonly steps: readonly { readonly id?: string; readonly run?: string; readonly with?: object }[];
  }
  const { jobs } = parse(readFileSync(".github/workflows/nightly.yml", "utf8")) as { jobs: Readonly<Record<"plan" | "suite", Job>> };

  it("plans each suite of the table: its step is run as GitHub does", { timeout: 120_000 }, async () => {
    const folder = mkdtempSync(join(tmpdir(), "dxtensor-nightly-"));
    try {
      for (const name of ["package.json", "scripts", "node_modules", ".ci"]) symlinkSync(join(process.cwd(), name), join(folder, name));
      const { id, run } = jobs.plan.steps.at(-1)!;
      const output = join(folder, "output");
      await execa("bash", ["-e", "-c", run!], { cwd: folder, stdin: "ignore", env: { GITHUB_OUTPUT: output } });
      const [, name, value] = /^(\w+)=(.*)\n$/.exec(readFileSync(output, "utf8"))!;
      const suites = readTable();
      expect(JSON.parse(value!)).toEqual({ include: suites.map((s) => ({ suite: s.name, limit: limitOf(s) + 30 })) });
      expect(jobs.plan.outputs).toEqual({ [name!]: `\${{ steps.${id}.outputs.${name} }}` });
      expect(jobs.suite.strategy!.matrix).toBe(`\${{ fromJSON(needs.plan.outputs.${name}) }}`);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  it("runs one suite a job, and asks the matrix for nothing that the plan does not give", () => {
    expect(jobs.suite.needs).toBe("plan");
    const text = JSON.stringify(jobs.suite);
    expect(new Set([...text.matchAll(/matrix\.(\w+)/g)].map(([, key]) => key))).toEqual(new Set(["limit", "suite"]));
    expect(text).toContain("npm run ci -- ${{ matrix.suite }}");
  });
});
