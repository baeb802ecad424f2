/**
 * Chains of views, arithmetic, reductions and in-place writes over random shapes: the eager result, that of the compiled function in three
 * calls with other data, and their gradients are those of a float64 reference in plain JavaScript. fast-check shrinks failing chains.
 */
import * as fc from "fast-check";
import { expect, test } from "vitest";
import * as dx from "../../src/index.ts";
import { clean, eachDevice, numbers } from "../device.ts";
import {
  broadcastAt,
  computed,
  constant,
  gradients,
  reshaped,
  unary,
  viewed,
  type Reference,
  type Scalar,
  type Step,
} from "./reference.ts";

/** Raw numbers from which a step is made once the shape before it is known. */
type Seed = readonly [kind: number, a: number, b: number, c: number];

const pick = <T>(list: readonly T[], n: number): T => list[n % list.length]!;
const axisText = (shape: readonly number[], axis: number): string => `axis ${axis} of [${shape.join(", ")}]`;

const view = (text: string, run: Step["run"], shape: readonly number[], from: (at: readonly number[]) => readonly number[]): Step => ({
  text,
  run,
  expect: (x) => viewed(x, shape, from),
});

/** The views of a tensor of some shape; null where one does not apply. */
function viewStep(shape: readonly number[], [, kind, a, b]: Seed): Step {
  const rank = shape.length;
  const axis = rank === 0 ? 0 : a % rank;
  const length = shape[axis] ?? 0;
  const without = shape.filter((_, i) => i !== axis);
  const inserted = (at: readonly number[], value: number): number[] => [...at.slice(0, axis), value, ...at.slice(axis)];
  const options: Step[] = [
    {
      text: "reshape to a line",
      run: (x) => x.reshape([-1]),
      expect: (x) => reshaped(x, [x.elements.length]),
    },
    view(
      "unsqueeze",
      (x) => x.unsqueeze(axis),
      inserted(shape, 1),
      (at) => at.filter((_, i) => i !== axis),
    ),
  ];
  if (rank > 0 && length > 0) {
    const start = b % length;
    options.push(
      view(
        `select ${start}, ${axisText(shape, axis)}`,
        (x) => x.select(axis, start),
        without,
        (at) => inserted(at, start),
      ),
      view(
        `narrow from ${start}, ${axisText(shape, axis)}`,
        (x) => x.narrow(axis, start, length - start),
        shape.map((d, i) => (i === axis ? length - start : d)),
        (at) => at.map((c, i) => (i === axis ? c + start : c)),
      ),
      view(
        `every second, ${axisText(shape, axis)}`,
        (x) => x.slice(axis, 0, length, 2),
        shape.map((d, i) => (i === axis ? Math.ceil(d / 2) : d)),
        (at) => at.map((c, i) => (i === axis ? c * 2 : c)),
      ),
    );
  }
  if (rank > 1) {
    const other = (axis + 1 + (b % (rank - 1))) % rank;
    const swap = <T>(list: readonly T[]): T[] => list.map((v, i) => (i === axis ? list[other]! : i === other ? list[axis]! : v));
    options.push(view(`transpose ${axis} and ${other}`, (x) => x.transpose(axis, other), swap(shape), swap));
  }
  if (length === 1)
    options.push(
      view(
        "squeeze",
        (x) => x.squeeze(axis),
        without,
        (at) => inserted(at, 0),
      ),
    );
  return pick(options, kind);
}

const unaries: readonly (readonly [string, (x: dx.Tensor) => dx.Tensor, (v: number) => number, (v: number) => number])[] = [
  ["sin", (x) => dx.sin(x), Math.sin, Math.cos],
  ["tanh", (x) => dx.tanh(x), Math.tanh, (v) => 1 - Math.tanh(v) ** 2],
  ["square", (x) => dx.mul(dx.square(x), 0.25), (v) => (v * v) / 4, (v) => v / 2],
  ["mul by a number", (x) => dx.mul(x, -1.5), (v) => v * -1.5, () => -1.5],
  ["sigmoid", (x) => dx.sigmoid(x), (v) => 1 / (1 + Math.exp(-v)), (v) => Math.exp(-v) / (1 + Math.exp(-v)) ** 2],
  ["add a number", (x) => dx.add(x, 0.5), (v) => v + 0.5, () => 1],
];

function computeStep(shape: readonly number[], [, kind, a, b]: Seed): Step {
  const rank = shape.length;
  const axis = rank === 0 ? 0 : a % rank;
  const [name, run, value, slope] = pick(unaries, b);
  const options: Step[] = [
    {
      text: name,
      run,
      expect: (x) => computed(x.shape, (at) => elementOf(x, at, (s) => unary(s, value(s.value), slope(s.value)))),
    },
    {
      text: "multiply by its mean",
      run: (x) =>
        dx.mul(x, dx.sum(x)).mul(
          1 /
            Math.max(
              1,
              shape.reduce((n, d) => n * d, 1),
            ),
        ),
      expect: (x) => {
        const n = Math.max(1, x.elements.length);
        const sum = totalOf(x.elements.map((c) => c.now));
        return computed(x.shape, (at) =>
          elementOf(x, at, (s) => ({
            value: (s.value * sum.value) / n,
            parents: [
              [s, sum.value / n],
              [sum, s.value / n],
            ],
          })),
        );
      },
    },
  ];
  if (rank > 0)
    options.push(
      {
        text: `sum over ${axisText(shape, axis)}`,
        run: (x) => dx.sum(x, axis),
        expect: (x) => {
          const kept = x.shape.filter((_, i) => i !== axis);
          return computed(kept, (at) =>
            totalOf(Array.from({ length: x.shape[axis]! }, (_, k) => broadcastAt(x, [...at.slice(0, axis), k, ...at.slice(axis)]))),
          );
        },
      },
      {
        text: `flip ${axisText(shape, axis)}`,
        run: (x) => dx.flip(x, axis),
        expect: (x) =>
          computed(x.shape, (at) =>
            broadcastAt(
              x,
              at.map((c, i) => (i === axis ? x.shape[axis]! - 1 - c : c)),
            ),
          ),
      },
      {
        text: `add its first along ${axisText(shape, axis)}`,
        run: (x) => dx.add(x, shape[axis] === 0 ? 0 : x.narrow(axis, 0, 1)),
        expect: (x) =>
          computed(x.shape, (at) => {
            const [s, t] = [
              broadcastAt(x, at),
              broadcastAt(
                x,
                at.map((c, i) => (i === axis ? 0 : c)),
              ),
            ];
            return {
              value: s.value + t.value,
              parents: [
                [s, 1],
                [t, 1],
              ],
            };
          }),
      },
      {
        text: "expand and mean",
        run: (x) => dx.mean(x.unsqueeze(0).expand([3, ...shape]), 0),
        expect: (x) => computed(x.shape, (at) => elementOf(x, at, (s) => unary(s, s.value, 1))),
      },
    );
  return pick(options, kind);
}

const elementOf = (x: Reference, at: readonly number[], of: (s: Scalar) => Scalar): Scalar => of(broadcastAt(x, at));
const totalOf = (list: readonly Scalar[]): Scalar => ({
  value: list.reduce((n, s) => n + s.value, 0),
  parents: list.map((s) => [s, 1] as const),
});

/** Writes in place; what is written depends on what was there. */
function writeStep(_shape: readonly number[], [, kind, a]: Seed): Step {
  const k = 0.5 + (a % 5) / 4;
  const write = (x: Reference, of: (s: Scalar) => Scalar): Reference => {
    for (const element of new Set(x.elements)) element.now = of(element.now);
    return x;
  };
  return pick<Step>(
    [
      { text: `mul_ ${k}`, run: (x) => x.mul_(k), expect: (x) => write(x, (s) => unary(s, s.value * k, k)) },
      { text: `add_ ${k}`, run: (x) => x.add_(k), expect: (x) => write(x, (s) => unary(s, s.value + k, 1)) },
      { text: "sin_", run: (x) => x.sin_(), expect: (x) => write(x, (s) => unary(s, Math.sin(s.value), Math.cos(s.value))) },
      { text: "zero_", run: (x) => x.zero_(), expect: (x) => write(x, () => constant(0)) },
    ],
    kind,
  );
}

interface Chain {
  readonly shape: readonly number[];
  readonly steps: readonly Step[];
}

/** The chain that the seeds stand for: each step is made for the shape that the ones before leave. */
function chainOf(shape: readonly number[], seeds: readonly Seed[]): Chain {
  const steps: Step[] = [];
  let now: Reference = { shape, elements: Array.from({ length: shape.reduce((n, d) => n * d, 1) }, () => ({ now: constant(1) })) };
  for (const seed of seeds) {
    const make = pick([viewStep, viewStep, computeStep, computeStep, writeStep], seed[0]);
    const step = make(now.shape, seed);
    steps.push(step);
    now = step.expect(now);
  }
  return { shape, steps };
}

/** The chain over 1.25 x: what it made, and the whole of what it started from, which writes through views have changed. */
function run({ steps }: Chain, x: dx.Tensor): dx.Tensor {
  const base = dx.mul(x, 1.25);
  let now = base;
  for (const step of steps) now = step.run(now);
  return dx.add(dx.sum(now), dx.sum(dx.mul(base, 0.5)));
}

function expected({ shape, steps }: Chain, data: readonly number[]): { readonly value: number; readonly gradient: readonly number[] } {
  const leaves = data.map(constant);
  const base: Reference = { shape, elements: leaves.map((s) => ({ now: unary(s, s.value * 1.25, 1.25) })) };
  let now = base;
  for (const step of steps) now = step.expect(now);
  const total: Scalar = {
    value: 0,
    parents: [...now.elements.map((c) => [c.now, 1] as const), ...base.elements.map((c) => [c.now, 0.5] as const)],
  };
  const value = total.parents.reduce((n, [s, k]) => n + s.value * k, 0);
  return { value, gradient: gradients({ shape: [], elements: [{ now: total }] }, leaves) };
}

const shapes = fc.array(fc.integer({ min: 0, max: 4 }), { maxLength: 3 });
const seeds = fc.array(fc.tuple(fc.nat(4), fc.nat(11), fc.nat(11), fc.nat(11)), { maxLength: 7 });
/** Irregular numbers within ±1, other ones for each call. */
const dataOf = (shape: readonly number[], call: number): number[] =>
  Array.from({ length: shape.reduce((n, d) => n * d, 1) }, (_, i) => Math.fround(Math.sin(1 + 1.7 * i + 2.3 * call)));

function expectNear(got: readonly number[], want: readonly number[], what: string): void {
  const largest = Math.max(1, ...want.map(Math.abs));
  const isNear = got.length === want.length && want.every((w, i) => Math.abs(got[i]! - w) <= 2e-5 * largest + 1e-4 * Math.abs(w));
  if (!isNear) expect({ what, got }).toEqual({ what, got: want });
}

eachDevice("chains of operations", (device) => {
  const one = (chain: Chain): boolean => {
    const leaf = (call: number): dx.Tensor =>
      dx.tensor(Float32Array.from(dataOf(chain.shape, call)), { shape: [...chain.shape], device }).requiresGrad_();
    const withGradient = (x: dx.Tensor): readonly dx.Tensor[] => {
      const result = run(chain, x);
      return [result, ...(dx.grad(result, [x]) as dx.Tensor[])];
    };
    const compiled = dx.compile(withGradient);
    // What a gradient needs may have been written over: that is refused in each call, either way.
    const attempt = (fn: (x: dx.Tensor) => readonly dx.Tensor[], x: dx.Tensor): readonly dx.Tensor[] | null => {
      try {
        return fn(x);
      } catch (error) {
        if (error instanceof dx.AutogradError) return null;
        throw error;
      }
    };
    let refusals = 0;
    try {
      for (const call of [0, 1, 2]) {
        const { value, gradient } = expected(chain, dataOf(chain.shape, call));
        for (const [way, fn] of [
          ["eager", withGradient],
          ["compiled", compiled],
        ] as const) {
          const results = attempt(fn, leaf(call));
          if (results === null) {
            refusals++;
            continue;
          }
          const [result, found] = results;
          const what = `${way}, call ${call}: ${chain.steps.map((s) => s.text).join("; ")}`;
          expectNear(numbers(result!), [value], what);
          expectNear(numbers(found!), gradient, `gradient, ${what}`);
        }
      }
      const told = chain.steps.map((s) => s.text).join("; ");
      expect({ told, isSame: refusals === 0 || refusals === 6 }).toEqual({ told, isSame: true });
    } finally {
      compiled.dispose();
    }
    return refusals === 0;
  };

  test("are what the float64 reference says, eagerly and compiled, with their gradients", () =>
    clean(
      device,
      () => {
        let compared = 0;
        fc.assert(
          fc.property(shapes, seeds, (shape, list) => {
            dx.scope(() => {
              if (one(chainOf(shape, list))) compared++;
            });
          }),
          { seed: 20261122, numRuns: 150 },
        );
        expect(compared).toBeGreaterThan(100);
      },
      { collect: true },
    ));
});
