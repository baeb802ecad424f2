/** Lists that say any length: refused before memory is taken for what they lack. */
import { expect, test } from "vitest";
import * as dx from "../../src/index.ts";
import { nativeDevice } from "../../src/runtime/devices.ts";

test("lists of 2^32 - 1 holes are errors at once", () => {
  const { binding, id } = nativeDevice(dx.device("cpu"));
  const holes = new Array<never>(2 ** 32 - 1);
  const step = { group: 0, dispatch: 0, inputs: [[0, 0, 4]], outputs: [[1, 0, 4]] };
  const program = { name: "", inputs: [4], outputs: [4], scratch: 0, dispatchables: [], steps: [step] };
  const start = performance.now();
  const create = (description: object) => () => binding.createProgram(id, { ...program, ...description } as never);
  expect(() => binding.load("software", { folders: holes } as never)).toThrow("load: paths.folders: expected at most 1048576 items");
  expect(() => binding.load("software", { folders: [1] } as never)).toThrow("load: paths.folders: expected strings");
  expect(create({ steps: holes })).toThrow("expected at most 1048576 items");
  for (const key of ["inputs", "outputs"]) expect(create({ steps: [{ ...step, [key]: holes }] })).toThrow("expected at most 1048576 items");
  expect(performance.now() - start).toBeLessThan(2000);
});
