/** worker.terminate() inside any call of the addon ends the worker and nothing else. */
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, it } from "vitest";
import { loadBinding, surroundings } from "../../src/native/load.ts";
import { addonPaths, libraryPaths } from "../../src/native/paths.ts";

/** Of each case; there are more than sixty. */
const TIMES = 3;

it("ends hundreds of workers inside every exported call, while they compile, read, upload and train", async () => {
  const addon = addonPaths(surroundings()).find((path) => existsSync(path))!;
  const library = libraryPaths(surroundings()).software!;
  const module = new URL("../../dist/bundle/dxtensor.js", import.meta.url).href;
  const program = fileURLToPath(new URL("./ended.mjs", import.meta.url));
  // A process of its own: what would end it shows as its exit code.
  const { stdout } = await promisify(execFile)(process.execPath, [program, addon, library, module, String(TIMES)]);
  const { ended, cases } = JSON.parse(stdout) as { ended: number; cases: string[] };
  expect(ended).toBe(cases.length * TIMES);
  const exported = Object.entries(loadBinding()).flatMap(([name, value]) => (typeof value === "function" ? [name] : []));
  for (const name of exported) expect(cases, "an exported call without a case").toContain(`${name}, wrong`);
}, 600_000);
