/** worker.terminate() inside any call of the addon ends the worker and nothing else. */
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, it } from "vitest";
import { loadBinding, hostEnvironment } from "../../src/native/load-addon.ts";
import { addonPaths, libraryPaths } from "../../src/native/paths.ts";
import { isWhole } from "../share.ts";

interface Story {
  readonly ended: number;
  readonly expected: number;
  readonly cases: string[];
}

/** Ends workers in a process of its own: what would end that shows as its exit status. */
async function end(times: number, module: string, ...names: string[]): Promise<Story> {
  const addon = addonPaths(hostEnvironment()).find((path) => existsSync(path))!;
  const library = libraryPaths(hostEnvironment()).software!;
  const program = fileURLToPath(new URL("./ended.mjs", import.meta.url));
  const { stdout } = await promisify(execFile)(process.execPath, [program, addon, library, module, String(times), ...names]);
  // V8 writes "Failing script:" and its text to standard output where a thread ends while its context is made (Node 22, about once in
  // fifty runs): the story is the last line.
  return JSON.parse(stdout.trimEnd().split("\n").at(-1)!) as Story;
}

/** Of each case, or of every eighth; there are more than sixty. */
const TIMES = isWhole ? 3 : 1 / 8;

it("ends workers inside every exported call, while they compile, read, upload and train", async () => {
  const { ended, expected, cases } = await end(TIMES, new URL("../../dist/bundle/dxtensor.js", import.meta.url).href);
  expect(expected).toBe(Math.ceil(cases.length * TIMES));
  expect(ended).toBe(expected);
  const exported = Object.entries(loadBinding()).flatMap(([name, value]) => (typeof value === "function" ? [name] : []));
  for (const name of exported) expect(cases, "an exported call without a case").toContain(`${name}, wrong`);
}, 600_000);

// V8 loses the end of a thread inside of what makes a promise, about once in ten times (Node 20 and 22).
it("ends workers that swallow every error and make promises without end", async () => {
  const times = isWhole ? 20 : 10;
  expect((await end(times, "", "synchronize", "read")).ended).toBe(2 * times);
}, 120_000);
