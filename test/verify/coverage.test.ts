/** Each definition is judged: a case of `dxtensor verify` runs it with its gradient, or one trains with it. */
import { expect, it } from "vitest";
import { own } from "../../src/core/definition.ts";
import { agrees } from "../../src/verify/case.ts";
import { loweringCases } from "../../src/verify/cases/lowering-cases.ts";
import { trainingCases } from "../../src/verify/cases/training.ts";
import { Side } from "../../src/verify/side.ts";

/** What no case reaches. */
const apart = [
  // The nodes of an optimizer's step once more, over counters whose rates have changed; SGD, Lion, 8-bit Lion and Muon count nothing.
  /^\w+Recount$/,
  /^(?:sgd|lion|lion8bit|muon)Step$/,
  // Only where shaders are chosen: test/fft/shader-transforms and test/ops/block-attention compare them with float64.
  /^(?:pairDft|blockAttention(?:QueryGradient|KeyGradient)?)$/,
];

it("each definition has a case of verify: docs/internals/operations.md, To add an operation", { timeout: 300_000 }, async () => {
  const lowered = new Set<string>();
  const restore = own.map((definition) => {
    const d = definition as { lower: (typeof definition)["lower"] };
    const { lower } = d;
    d.lower = (...args) => {
      lowered.add(definition.name);
      return lower(...args);
    };
    return () => void (d.lower = lower);
  });
  const [device, reference] = [new Side("cpu"), new Side("cpu")];
  try {
    for (const c of [...loweringCases(true), ...trainingCases(true)])
      expect([c.id, await c.run({ device, reference, seed: 1 } as never)]).toEqual([c.id, agrees]);
  } finally {
    for (const again of restore) again();
  }
  const lacking = own
    .filter((d) => d.host === undefined && !lowered.has(d.name) && !apart.some((names) => names.test(d.name)))
    .map((d) => d.name);
  expect([...new Set(lacking)].toSorted()).toEqual([]);
  expect(lowered.size).toBeGreaterThan(250);
});
