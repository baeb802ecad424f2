/** vmap() of operations, and gradients through it in both directions, as recorded of torch.func (recorded/vmap.py). */
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import * as dx from "../../src/index.ts";
import { clean, eachDevice } from "../device.ts";
import { expectClose } from "../tolerance.ts";
import { operations, type Operation } from "./operations.ts";
import { share } from "../share.ts";

interface Row {
  readonly case: string;
  readonly inDims: readonly (number | null)[];
  readonly shape: readonly number[];
  readonly values: readonly number[];
  readonly gradients?: readonly (readonly number[])[];
}
const rows = JSON.parse(readFileSync(new URL("recorded/vmap.json", import.meta.url), "utf8")) as readonly Row[];

const BATCH = 3;
const loose = { rtol: 1e-4, atol: 1e-4 };

function argumentsOf({ shapes, ints = [] }: Operation, inDims: Row["inDims"]): dx.Tensor[] {
  return shapes.map((own, k) => {
    const dim = inDims[k] ?? null;
    const shape = dim === null ? own : [BATCH, ...own];
    const n = shape.reduce((a, b) => a * b, 1);
    const limit = ints[k] ?? null;
    const t =
      limit !== null
        ? dx.tensor(
            Int32Array.from({ length: n }, (_, i) => (i * 7 + k * 5 + Math.floor(i / 3)) % limit),
            { shape },
          )
        : dx.tensor(
            Float32Array.from({ length: n }, (_, i) => (((i * 37 + k * 17 + ((i * i) % 11)) % 46) - 22.5) / 16),
            { shape },
          );
    return dim === null || dim === 0 ? t : t.movedim(0, dim);
  });
}

const weighted = (y: dx.Tensor): dx.Tensor => y.mul(dx.arange(1, y.size + 1, { dtype: "float32" }).reshape(y.shape)).sum();

test("every recorded operation has its call here", () => {
  expect(Object.keys(operations).sort()).toEqual([...new Set(rows.map((r) => r.case))].sort());
});

eachDevice("vmap of", (device) => {
  // Every third, unless all are asked for.
  for (const name of share(Object.keys(operations), 3)) {
    const operation = operations[name]!;
    const { fn, ints = [] } = operation;
    const own = rows.filter((r) => r.case === name);
    const floats = operation.shapes.flatMap((_, k) => (ints[k] ?? null) === null ? [k] : []); // prettier-ignore

    test(`${name} gives PyTorch's values and gradients`, () =>
      clean(
        device,
        () => {
          dx.resetFallbackStats();
          for (const row of own) {
            const args = argumentsOf(operation, row.inDims);
            const options = { inDims: row.inDims };
            const y = dx.vmap(fn, options)(...args);
            expect(y.shape).toEqual(row.shape);
            expectClose(y, row.values, loose);
            if (row.gradients === undefined) continue;
            const loss = (...a: dx.Tensor[]): dx.Tensor => weighted(fn(...a));
            const found = dx.vmap(dx.gradOf(loss, { argnums: floats }), options)(...args);
            found.forEach((g, i) => {
              expectClose(g, row.gradients![i]!, loose);
            });
            // The gradient of all samples' sum: that of each, where the argument has a batch axis, else their sum.
            const leaves = args.map((t, k) => (floats.includes(k) ? t.detach().requiresGrad_() : t));
            dx.vmap(
              loss,
              options,
            )(...leaves)
              .sum()
              .backward();
            floats.forEach((k, i) => {
              const dim = row.inDims[k] ?? null;
              const { grad, shape } = leaves[k]!;
              const expected = found[i]!;
              const whole = dim === null ? expected.sum(0) : dim === 0 ? expected : expected.movedim(0, dim);
              expectClose(grad ?? dx.zeros(shape), whole.toArraySync(), loose);
            });
          }
          const loops = dx.fallbackStats().filter((f) => f.kind === "vmap");
          if (operation.loops !== true) expect(loops.map((f) => f.operation)).toEqual([]);
        },
        { collect: true },
      ));
  }
});
