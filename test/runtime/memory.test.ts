/** Memory that runs out is an error that can be caught: the host's while bytes are read, the machine's and the container's. */
import { execFileSync } from "node:child_process";
import { totalmem } from "node:os";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import * as dx from "../../src/index.ts";
import { isWhole } from "../share.ts";

it.runIf(isWhole && process.platform === "linux")(
  "reading more than the host has memory for is an OutOfMemoryError, and work continues",
  () => {
    const program = fileURLToPath(new URL("./short.mjs", import.meta.url));
    const module = new URL("../../dist/index.js", import.meta.url).href;
    const limited = 'ulimit -v 4000000 && exec "$@"';
    const out = execFileSync("bash", ["-c", limited, "bash", process.execPath, program, module], { encoding: "utf8" });
    const { errors, sum, last } = JSON.parse(out) as { errors: { name: string; kind: string }[]; sum: number[]; last: number };
    expect(errors.map(({ name, kind }) => [name, kind])).toEqual(Array.from({ length: 4 }, () => ["OutOfMemoryError", "outOfMemory"]));
    expect([sum, last]).toEqual([[2, 3, 4], 2]);
  },
  240_000,
);

it("the software adapter's limit leaves the machine some of its memory", () => {
  const { limitInBytes } = dx.memoryStatistics("cpu");
  expect(limitInBytes).toBeGreaterThan(0);
  expect(limitInBytes).toBeLessThan(totalmem());
  expect(dx.deviceInfo("cpu").sharedMemoryInBytes).toBeLessThanOrEqual(totalmem());
});
