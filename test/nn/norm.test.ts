import { expect, it } from "vitest";
import type { Run } from "../../src/compile/trace.ts";
import { tracer } from "../../src/core/tracer.ts";
import * as dx from "../../src/index.ts";

const { nn } = dx;

/** What a step gives and leaves behind, as numbers. */
const numbersOf = (...tensors: (dx.Tensor | null)[]): number[] =>
  tensors.flatMap((t) => (t === null ? [] : Array.from(t.dataSync() as Iterable<number | bigint>, Number)));

type Norm = ReturnType<typeof nn.batchNorm2d>;

const stepOf = (norm: Norm, scale: dx.Tensor) => (x: dx.Tensor) => {
  const y = norm.forward(norm.forward(dx.mul(x, scale)));
  const loss = dx.sum(dx.mul(y, y.sin()));
  norm.zeroGrad();
  scale.grad = null;
  if (loss.requiresGrad) loss.backward();
  return loss;
};

/** The same calls eagerly and compiled; `change` alters the layer before call i. */
function isAlike(make: () => Norm, change: (norm: Norm, i: number) => void): void {
  const [eager, traced] = [false, true].map((compiles) => {
    const norm = make();
    const scale = dx.tensor([0.5, 2, -1], { requiresGrad: true }).reshape([1, 3, 1, 1]).detach().requiresGrad_();
    const step = stepOf(norm, scale);
    const run = compiles ? dx.compile(step) : step;
    return [0, 1, 2, 3, 4, 5].map((i) => {
      change(norm, i);
      const x = dx.randn([4, 3, 2, 2], { generator: new dx.Generator(i) });
      const loss = run(x);
      return numbersOf(loss, scale.grad, norm.weight?.grad ?? null, norm.runningMean, norm.runningVariance, norm.batchesTracked);
    });
  });
  expect(traced!.map((list) => list.length)).toEqual(eager!.map((list) => list.length));
  for (const [i, list] of traced!.entries()) list.forEach((v, k) => expect(v).toBeCloseTo(eager![i]![k]!, 4));
}

it("is one part of a trace, which a later call follows as a whole", () => {
  const norm = nn.batchNorm2d(3);
  const kinds: unknown[] = [];
  const run = dx.compile((x: dx.Tensor) => {
    const y = norm.forward(x);
    kinds.push((tracer() as Run).at.event!.kind);
    return y;
  });
  for (let i = 0; i < 3; i++) run(dx.ones([2, 3, 2, 2]));
  expect(kinds).toEqual(["region", "region", "region"]);
  expect(numbersOf(norm.batchesTracked)).toEqual([3]);
  expect(run.programs).toBe(1);
});

it.each([0.1, null])("trains as eagerly, with statistics by momentum %s, in evaluation too", (momentum) => {
  isAlike(
    () => nn.batchNorm2d(3, { momentum }),
    (norm, i) => (i === 3 ? norm.eval() : norm.train()),
  );
});

it("sees another weight, a frozen one, and other statistics", () => {
  isAlike(
    () => nn.batchNorm2d(3),
    (norm, i) => {
      if (i === 2) norm.weight = new nn.Parameter(dx.tensor([2, 3, 4]));
      if (i === 4) norm.bias!.requiresGrad_(false);
      if (i === 5) norm.loadStateDict({ ...norm.stateDict(), running_mean: dx.tensor([5, 6, 7]) });
    },
  );
});

it("follows no part where gradients are recorded now and were not", () => {
  const norm = nn.batchNorm2d(3);
  const w = dx.ones([1], { requiresGrad: true });
  const run = dx.compile((x: dx.Tensor, records: boolean) => {
    const y = records ? norm.forward(dx.mul(x, w)) : dx.noGrad(() => norm.forward(dx.mul(x, w)));
    return y.requiresGrad;
  });
  const x = dx.randn([4, 3, 2, 2]);
  expect([true, false, true, false].map((records) => run(x, records))).toEqual([true, false, true, false]);
});

it("keeps hooks and gradients of its result", () => {
  const norm = nn.batchNorm2d(3);
  const x = dx.randn([4, 3, 2, 2], { generator: new dx.Generator(1) });
  const step = (scale: number): dx.Tensor => {
    const y = norm.forward(x);
    y.registerHook((dy) => dx.mul(dy, scale));
    dx.sum(dx.mul(y, x)).backward();
    const { grad } = norm.bias!;
    norm.bias!.grad = null;
    norm.weight!.grad = null;
    return grad!;
  };
  const run = dx.compile(step);
  for (const scale of [2, 3, 2]) {
    const [a, b] = [run(scale), step(scale)];
    numbersOf(a).forEach((v, i) => expect(v).toBeCloseTo(numbersOf(b)[i]!, 4));
  }
});

it("refuses a disposed input in a later call too", () => {
  const norm = nn.batchNorm2d(3);
  const run = dx.compile((x: dx.Tensor, disposes: boolean) => {
    const y = dx.mul(x, 2);
    if (disposes) y.dispose();
    return norm.forward(y);
  });
  const x = dx.randn([4, 3, 2, 2]);
  run(x, false);
  expect(() => run(x, true)).toThrow(dx.DisposedError);
  expect(numbersOf(run(x, false)).every(Number.isFinite)).toBe(true);
  expect(numbersOf(norm.batchesTracked)).toEqual([2]);
});

it("is the same part in the copies that functionalCall() makes", () => {
  const norm = nn.batchNorm2d(3);
  const weight = dx.tensor([1, 2, 3]);
  let steps = 0;
  const run = dx.compile((x: dx.Tensor) => {
    const y = nn.functionalCall(norm, { weight: dx.mul(weight, 2) }, x);
    // Events that could follow the same: one more for each call that found no part.
    for (let step = (tracer() as Run).at.parent!.first; step !== null; step = step.sibling) steps++;
    return y;
  });
  for (let i = 0; i < 4; i++) run(dx.ones([2, 3, 2, 2]));
  expect(run.programs).toBe(1);
  expect(steps).toBe(4);
});
