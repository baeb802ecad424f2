/** Training runs that PyTorch made, step by step: losses, gradients, weights. Eager and compiled. */
import { join } from "node:path";
import { expect, test } from "vitest";
import * as dx from "../../src/index.ts";
import { clean, eachDevice } from "../device.ts";
import { goldenFolder } from "../golden/folder.ts";
import { readTrace, runTrace, traceFiles } from "../golden/traces.ts";

const folder = join(goldenFolder, "traces");

eachDevice("training runs", (device) => {
  for (const file of traceFiles(folder)) {
    const trace = readTrace(join(folder, file));
    for (const compiled of [false, true]) {
      test(`${trace.title} (${trace.id})${compiled ? ", compiled" : ""}`, async () => {
        // The default generator's state stays.
        dx.withDevice(device, () => {
          dx.rand([1]).dispose();
        });
        await clean(
          device,
          () => {
            const { result, reason } = runTrace(trace, { compiled });
            expect(reason ?? result).toBe("passed");
          },
          { collect: compiled },
        );
      });
    }
  }
});
