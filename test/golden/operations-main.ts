/** Writes the source of docs/operators.json: the facts of each operation, and the feature levels on which it falls back. Run by scripts/operators.ts. */
import { writeFileSync } from "node:fs";
import { resolve } from "node:path";
import * as dx from "../../src/index.ts";
import { nativeDevice } from "../../src/runtime/devices.ts";
import { allFacts, bfloat16Counts, fallingBack } from "./operations.ts";
import { runFolder } from "./report.ts";

/** Simulated adapters of feature levels that rise, "rtx-3070@5.0", …; the software adapter's own level is above them. */
const levels = process.env["DXTENSOR_SIMULATE"]!.split(",").map((name) => name.split("@")[1]!);
const HIGHEST = "6.4";

const numberOf = (level: string): number => {
  const [major, minor] = level.split(".").map(Number) as [number, number];
  return (major << 12) + (minor << 8);
};

const folder = resolve("test/golden");
const facts = dx.withDevice("cpu", () => allFacts(folder));
const brief = bfloat16Counts(dx.withDevice("cpu", () => runFolder(resolve(folder, "bfloat16"), {})));
const lowest: Record<string, string> = Object.fromEntries(Object.keys(facts).map((name) => [name, HIGHEST]));
for (const level of levels.toReversed()) {
  const device = levels.map((_, i) => `dml:${i}`).find((d) => nativeDevice(dx.device(d)).capabilities.featureLevel === numberOf(level));
  if (device === undefined) throw new Error(`No simulated adapter of feature level ${level}.`);
  const falls = fallingBack(folder, device);
  // What falls back on one level says nothing of those below.
  const above = levels[levels.indexOf(level) + 1] ?? HIGHEST;
  for (const name of Object.keys(facts)) if (!falls.has(name) && lowest[name] === above) lowest[name] = level;
}
const spaces = Object.fromEntries((["fft", "linalg", "masked"] as const).map((space) => [space, Object.keys(dx[space])]));
writeFileSync(process.argv[2]!, JSON.stringify({ facts, lowest, spaces, brief }));
