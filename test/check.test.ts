/** Which tests a change touches: by imports, nearest first, as many as fit into the time; and C++ programs by ninja's knowledge. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Test } from "ctrf";
import { execa } from "execa";
import { describe, expect, it } from "vitest";
import { touchedPrograms } from "../scripts/lib/check/native.ts";
import { keepSeconds, usualSeconds } from "../scripts/tools/test-seconds.ts";
import { withinTime, readTexts, relatedTests } from "../scripts/lib/check/related.ts";

const texts = new Map([
  ["src/index.ts", 'export * from "./ops/sort.ts";\nexport * from "./ops/pad.ts";'],
  ["src/ops/sort.ts", 'import { axis } from "../shape.ts";\nexport function sort() {}\nexport const topk = 1;'],
  ["src/ops/pad.ts", "export function pad() {}"],
  ["src/shape.ts", "export const axis = 1;"],
  ["test/ops/sort.test.ts", 'import * as dx from "../../src/index.ts";'],
  ["test/ops/names.test.ts", 'import * as dx from "../../src/index.ts"; dx.topk(); dx.sort();'],
  ["test/ops/pad.test.ts", 'import * as dx from "../../src/index.ts"; dx.pad();'],
  ["test/inner.test.ts", 'import { topk } from "../src/ops/sort.ts";'],
  ["test/child.test.ts", 'const program = new URL("./child.mjs", import.meta.url);'],
  ["test/child.mjs", ""],
  ["test/alone.test.ts", ""],
]);
const files = (...changed: string[]): string[] => relatedTests(texts, changed).map(({ file }) => file);

describe("tests that a change touches", () => {
  it("are the one at its path, direct importers, those that name what it exports, then all that reach it", () => {
    expect(files("src/ops/sort.ts")).toEqual([
      "test/ops/sort.test.ts",
      "test/inner.test.ts",
      "test/ops/names.test.ts",
      "test/ops/pad.test.ts",
    ]);
    expect(files("src/shape.ts").at(0)).toBe("test/inner.test.ts");
    expect(files("test/child.mjs")).toEqual(["test/child.test.ts"]);
    expect(files("test/alone.test.ts")).toEqual(["test/alone.test.ts"]);
    expect(files("test/ops/recorded.json")).toEqual(["test/ops/names.test.ts", "test/ops/pad.test.ts", "test/ops/sort.test.ts"]);
    expect(files("README.md", "native/dml/queue.cpp", "src/gone.ts")).toEqual([]);
  });

  it("are as many as fit, but all that changed or lie at a change's path", () => {
    const related = relatedTests(texts, ["src/ops/sort.ts"]);
    expect(withinTime(related, 2, () => 1)).toEqual({ files: ["test/ops/sort.test.ts", "test/inner.test.ts"], left: 2 });
    expect(withinTime(related, 2, (file) => (file.includes("inner") ? 5 : 1)).files).toEqual([
      "test/ops/sort.test.ts",
      "test/ops/names.test.ts",
    ]);
    expect(withinTime(related, 0.1, () => 1)).toEqual({ files: ["test/ops/sort.test.ts"], left: 3 });
    expect(withinTime(related, Infinity, () => 1).left).toBe(0);
  });

  it("are found in this repository", () => {
    const own = readTexts(".");
    const related = relatedTests(own, ["src/ops/sort/sort.ts"]);
    expect(related[0]).toEqual(expect.objectContaining({ file: "test/ops/sort/sort.test.ts", distance: 0 }));
    expect(related.length).toBeGreaterThan(100);
    expect(relatedTests(own, ["scripts/lib/check/related.ts"]).map(({ file }) => file)).toEqual(["test/check.test.ts"]);
  });
});

it("C++ programs are touched by their sources, their headers, and what they open", () => {
  expect(touchedPrograms(["src/index.ts", "README.md"])).toEqual([]);
  expect(touchedPrograms(["CMakeLists.txt"])).toEqual(["kernel_test", "abi_suite", "dml_stress"]);
  expect(touchedPrograms(["native/test/kernel_fuzz.cpp"])).toEqual(["kernel_test"]);
  expect(touchedPrograms(["native/test/dml_worker.h"])).toEqual(["dml_stress"]);
  expect(touchedPrograms(["native/schema/schema.h"])).toEqual(["kernel_test", "abi_suite", "dml_stress"]);
  expect(touchedPrograms(["native/addon/addon.cpp"])).toEqual([]);
});

describe("npm run check", () => {
  const check = (...args: string[]) => execa(process.execPath, ["scripts/run.mjs", "check", ...args], { reject: false, stdin: "ignore" });

  it("lists what it would run", { timeout: 120_000 }, async () => {
    const { exitCode, stdout } = await check("--list", "--json", "--base", "HEAD");
    const answer = JSON.parse(stdout) as { ok: boolean; tests: string[]; changed: number };
    expect([exitCode, answer.ok, answer.changed >= 0, Array.isArray(answer.tests)]).toEqual([0, true, true, true]);
  });

  it("refuses what it does not know", { timeout: 120_000 }, async () => {
    for (const [args, message] of [
      [["--seconds", "0"], "--seconds takes a positive number"],
      [["--base", "nowhere"], 'there is no commit "nowhere"'],
    ] as const) {
      const { exitCode, stderr } = await check(...args);
      expect([exitCode, stderr]).toEqual([1, expect.stringContaining(message)]);
    }
  });
});

it("keeps how long test files take, of each run those that ran whole", () => {
  const folder = mkdtempSync(join(tmpdir(), "dxtensor-seconds-"));
  try {
    const file = join(folder, "build", "seconds.json");
    const test = (filePath: string, duration: number, status: Test["status"] = "passed"): Test => ({
      name: "a",
      filePath,
      duration,
      status,
    });
    expect(usualSeconds(file)("a")).toBe(4);
    keepSeconds(file, [test("a", 500), test("a", 1500), test("b", 7000, "failed"), test("c", 4000), test("c", 0, "skipped")]);
    keepSeconds(file, [test("a", 9000), test("b", 1), test("b", 0, "skipped"), { name: "of no file", duration: 1, status: "failed" }]);
    expect(["a", "b", "c", "d"].map(usualSeconds(file))).toEqual([10, 8, 5, 4]);
    writeFileSync(file, "{");
    expect(usualSeconds(file)("a")).toBe(4);
    keepSeconds(file, [test("a", 1000)]);
    expect(usualSeconds(file)("a")).toBe(2);
  } finally {
    rmSync(folder, { recursive: true });
  }
});
