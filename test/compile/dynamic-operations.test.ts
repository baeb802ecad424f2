/**
 * Every operation with axes of any size: eager calls are compared with compiled ones of one program for each bucket, forward and with gradients, for sizes that
 * are larger and smaller than those before. The lists say which operations are recorded for each size instead.
 */
import { afterAll, beforeAll, expect, it } from "vitest";
import * as dx from "../../src/index.ts";
import { isFloat } from "../../src/core/dtype.ts";
import { lowerings } from "../../src/verify/cases/lowerings.ts";
import { checkIndices, eachDevice } from "../device.ts";
import { isWhole, share } from "../share.ts";
import { casesOf, partCases, type SizedCase } from "./dynamic-cases.ts";

/** 5 and 6 have one bucket, 7 and 8 another; 1 and 2 programs of their own. */
const SIZES = [5, 6, 7, 8, 1, 2, 11, 6];
const TOLERANCE = { float16: 1e-2, bfloat16: 5e-2 } as Partial<Record<dx.DType, number>>;

/** Where all cases are taken, calls without gradients too. */
const WITH_GRADIENTS = isWhole ? [false, true] : [true];

/** As many operations as the axis is long, transforms and kernels of its length, and norms over it. */
const PARTS_RECORDED = ["avgPool", "dft", "groupNorm", "interpolate", "slice", "unfold"];
/** Along some axis: channels, classes, kernels, features that set a scale, data of adaptive pooling, and generators made inside too. */
const SAMPLES_RECORDED = [
  "add",
  "avgPool",
  "batchNorm",
  "conv",
  "convInteger",
  "convTranspose",
  "crossEntropy",
  "data",
  "dft",
  "groupNorm",
  "gruScan",
  "intMm",
  "interpolate",
  "lstmScan",
  "maxPool",
  "maxPoolIndices",
  "maxUnpool",
  "nllLoss",
  "nonzero",
  "pad",
  "projectedLstm",
  "qlinearConv",
  "qlinearMatmul",
  "random",
  "recurrentLayer",
  "recurrentNode",
  "roiAlign",
  "roiPool",
  "scaledDotProductAttention",
  "valueScale2d",
  "view",
];

const values = (t: dx.Tensor): number[] => [...dx.noGrad(() => t.detach()).dataSync()].map(Number);

/** Results, and with `gradients` those of a weighted sum of them. */
function callOf(c: SizedCase, gradients: boolean): (...inputs: dx.Tensor[]) => dx.Tensor[] {
  return (...inputs) => {
    const results = [c.run(...inputs)].flat() as dx.Tensor[];
    const roots = results.filter((t) => t.requiresGrad);
    const shown = results.map((t) => t.detach());
    if (!gradients || roots.length === 0) return shown;
    // Weights that differ by element, and by no more than rounding where results of thousands do.
    const weight = (t: dx.Tensor): dx.Tensor => dx.softsign(t.detach().to("float32")).add(1.5);
    const loss = roots.map((t) => t.mul(weight(t)).sum()).reduce((a, b) => a.add(b));
    const wanted = inputs.filter((t) => t.requiresGrad);
    return [...shown, ...dx.grad(loss, wanted, { allowUnused: true }).filter((t) => t !== null)];
  };
}

/** In what two results differ; null: in nothing but rounding. */
function difference(got: readonly dx.Tensor[], want: readonly dx.Tensor[], isRandom: boolean): string | null {
  const kinds = (list: readonly dx.Tensor[]): string => list.map((t) => `${t.dtype}[${t.shape.join()}]`).join(" ");
  if (kinds(got) !== kinds(want)) return `${kinds(got)} for ${kinds(want)}`;
  if (isRandom) return null;
  for (const [i, t] of want.entries()) {
    const [a, b] = [values(got[i]!), values(t)];
    const most = (TOLERANCE[t.dtype] ?? 1e-4) * Math.max(1, ...b.filter(Number.isFinite).map(Math.abs));
    const at = b.findIndex((v, k) => !(Object.is(v, a[k]) || v === a[k] || Math.abs(v - a[k]!) <= most));
    if (at >= 0) return `result ${i}, element ${at}: ${a[at]} for ${b[at]}`;
  }
  return null;
}

/** What eager calls refuse for a size is no case of it. */
function attempt(run: () => dx.Tensor[]): dx.Tensor[] | null {
  try {
    return run();
  } catch (error) {
    if (error instanceof dx.DxError) return null;
    throw error;
  }
}

interface Judged {
  readonly calls: number;
  readonly wrong: string[];
  /** Why each size has a program of its own; null: they share one. */
  readonly recorded: string | null;
}

function judge(c: SizedCase, gradients: boolean): Judged {
  const call = callOf(c, gradients);
  const input = (n: number, seed: number): dx.Tensor[] =>
    c.inputs(n, seed).map((t) => (gradients && isFloat(t.dtype) ? t.requiresGrad_() : t));
  const compiled = dx.compile(call, { dynamic: c.axes });
  const wrong: string[] = [];
  let [calls, programs, large] = [0, 0, 0];
  let isRandom = false;
  for (const [i, n] of SIZES.entries()) {
    const want = attempt(() => call(...input(n, i)));
    if (want === null) continue;
    calls++;
    // Seen at any size: few elements may be alike by chance.
    isRandom ||= difference(call(...input(n, i)), want, false) !== null;
    const found = difference(compiled(...input(n, i)), want, isRandom);
    if (found !== null) wrong.push(`size ${n}, call ${i}: ${found}`);
    if (i < 4) [programs, large] = [compiled.programs, large + 1];
  }
  // What runs on the host is not compiled.
  if (compiled.programs === 0) return { calls, wrong, recorded: null };
  const reasons = compiled.explain().recordings.filter((r) => !r.startsWith("sizes "));
  compiled.dispose();
  return { calls, wrong, recorded: large > 2 && programs > 2 ? (reasons[0] ?? "no reason") : null };
}

/** Judges all; gives the operations that are recorded for each size. */
function judged(cases: readonly SizedCase[]): string[] {
  const names = new Set<string>();
  let calls = 0;
  for (const c of cases)
    for (const gradients of WITH_GRADIENTS)
      dx.scope(() => {
        const { calls: own, wrong, recorded } = judge(c, gradients);
        expect([c.name, gradients, wrong]).toEqual([c.name, gradients, []]);
        calls += own;
        if (recorded !== null) names.add(/^\w+/.exec(recorded)![0]);
      });
  expect(calls).toBeGreaterThan(5 * cases.length);
  return [...names].toSorted();
}

eachDevice("operations with dynamic sizes", () => {
  // Smaller sizes leave indices of the samples out of range, where results are undefined: eager calls refuse them on every device.
  let restore: () => void;
  beforeAll(() => void (restore = checkIndices()));
  afterAll(() => restore());

  it("parts of axes, writes, and sizes as numbers", { timeout: 600_000 }, () => {
    const recorded = judged(share(partCases(), 8));
    expect(recorded.filter((name) => !PARTS_RECORDED.includes(name))).toEqual([]);
    if (isWhole) expect(recorded).toEqual(PARTS_RECORDED);
  });

  it("the samples of all families", { timeout: 3_000_000 }, () => {
    const all = (lowerings as Parameters<typeof casesOf>[0][]).flatMap(casesOf);
    const recorded = judged(share(all, 80));
    expect(recorded.filter((name) => !SAMPLES_RECORDED.includes(name))).toEqual([]);
    if (isWhole) expect(recorded).toEqual(SAMPLES_RECORDED);
  });
});
