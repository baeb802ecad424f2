// Runs vitest and counts its results, from its report in the Common Test Report Format.
import { existsSync, readFileSync, rmSync } from "node:fs";
import { resolve } from "node:path";
import type { CTRFReport } from "ctrf";
import { execa } from "execa";
import type { Counts } from "./counts.ts";
import { keepSeconds } from "./test-seconds.ts";
import { at, root, tool } from "./project.ts";

type Report = Pick<CTRFReport, "results">;

/** Seconds of each test file, as npm run check plans with them. */
export const secondsFile = at("build", "test-seconds.json");

/** {passed, failed, skipped}. name: of the report in test-results, unless DXTENSOR_CTRF names another file. stdout: 2 where that is for results. isBuilt: the library for tests is what src is, and is tested. */
export async function runVitest(
  name: string,
  args: readonly string[],
  { stdout = "inherit", isBuilt = false }: { readonly stdout?: "inherit" | 2; readonly isBuilt?: boolean } = {},
): Promise<Counts> {
  const report = resolve(root, process.env.DXTENSOR_CTRF || at("test-results", name));
  rmSync(report, { force: true });
  const done = await execa(tool("vitest"), ["run", ...args], {
    cwd: root,
    stdio: ["ignore", stdout, "inherit"],
    reject: false,
    env: { DXTENSOR_CTRF: report, ...(isBuilt ? { DXTENSOR_TEST_LIBRARY: "built" } : {}) },
  });
  if (!existsSync(report)) return { passed: 0, failed: 1, skipped: 0 };
  const { tests, summary } = (JSON.parse(readFileSync(report, "utf8")) as Report).results;
  const { passed, failed, skipped, pending, other } = summary;
  keepSeconds(secondsFile, tests);
  // Vitest also fails for what is no test's failure, such as a file that does not load.
  return { passed, failed: done.exitCode === 0 ? failed : Math.max(failed, 1), skipped: skipped + pending + other };
}
