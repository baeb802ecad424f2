/** Functions that rows.ts lacks: special ones, those of several operands, recurrent cells, windows; and which definitions have no row. */
import * as dx from "../../src/index.ts";
import { gruStep, lstmStep } from "../../src/ops/recurrent/recurrent-cell.ts";
import type { Fn, Row } from "./rows.ts";

const like = (x: dx.Tensor, list: readonly number[]): dx.Tensor => dx.tensor(list, { device: x.device });
const { functional } = dx.nn;

export const RARE: readonly Row[] = [
  ...(["erfc", "erfcx", "i0", "i0e", "i1", "i1e", "ndtr", "logNdtr", "deg2rad", "rad2deg"] as const).map((n): Row => [
    n,
    dx[n] as Fn,
    [[2, 2]],
    -1.1,
    1.3,
  ]),
  ...(["digamma", "lgamma", "entr", "sinc"] as const).map((n): Row => [n, dx[n] as Fn, [[2, 2]], 1.2, 2.4]),
  ...(["besselJ0", "besselJ1", "modifiedBesselI0", "modifiedBesselI1"] as const).map((n): Row => [n, dx[n], [[3]], -1.6, 1.9]),
  ...(["besselY0", "besselY1", "modifiedBesselK0", "modifiedBesselK1"] as const).map((n): Row => [n, dx[n], [[3]], 1.2, 2.6]),
  ["erfinv", dx.erfinv, [[3]], -0.6, 0.6],
  ...(["ndtri", "logit"] as const).map((n): Row => [n, dx[n] as Fn, [[3]], 0.25, 0.75]),
  ...(["ceil", "floor", "round", "trunc", "angle"] as const).map((n): Row => [
    `${n}: steps`,
    (x) => dx[n](x!).mul(x!.square()),
    [[3]],
    0.1,
    0.4,
  ]),
  [
    "functions with parameters",
    (x) => [
      dx.scaledTanh(x!, { alpha: 1.5, beta: 0.7 }),
      dx.thresholdedRelu(x!, { alpha: 0.1 }).mul(x!),
      dx.linearActivation(x!, { alpha: -2, beta: 0.25 }),
      dx.parametricSoftplus(x!, { alpha: 2, beta: 1.5 }),
    ],
    [[2, 2]],
    0.4,
    1.6,
  ],
  [
    "activations that choose",
    (x) => [
      dx.hardtanh(x!, { minVal: -0.3, maxVal: 0.7 }).mul(x!),
      dx.hardshrink(x!, { lambd: 0.2 }).square(),
      dx.softshrink(x!, { lambd: 0.2 }).square(),
      dx.threshold(x!, 0.2, 0.5).square(),
    ],
    [[2, 2]],
    0.35,
    1.6,
  ],
  ["extremes of all", (x) => [dx.max(x!).square(), dx.min(x!).square(), dx.median(x!).square()], [[2, 3]]],
  ["nanToNum and nansum", (x) => [dx.nanToNum(x!).square(), dx.nansum(x!.square(), 0)], [[2, 2]]],
  ["polar", (a, b) => dx.viewAsReal(dx.polar(a!, b!)), [[3], [3]], 0.4, 1.6],
  ["mean2", (a, b) => dx.mean2(a!, b!), [[2, 3], [3]]],
  ["valueScale2d", (x) => dx.valueScale2d(x!, -2, [1]), [[1, 1, 2, 3]]],
  ["max: roiPool", (x) => dx.roiPool(x!, dx.tensor([[0, 0, 0, 2, 2]], { device: x!.device }), { outputSize: 2 }), [[1, 1, 3, 3]]],
  ["interpolate", (x) => dx.interpolate(x!, { size: [3, 5], mode: "bilinear" }), [[1, 1, 2, 3]]],
  ["frexp: the fraction", (x) => dx.frexp(x!).mantissa, [[3]], 1.1, 1.9],
  ...(["hardSwish", "hardSigmoid"] as const).map((n): Row => [n, functional[n] as Fn, [[2, 2]], -1.5, 1.5]),
  ["polygamma", (x) => dx.polygamma(1, x!), [[3]], 1.5, 2.5],
  ["zeta by its second operand", (x) => dx.zeta(2.5, x!), [[3]], 1.5, 2.5],
  ["igamma, igammac by their second operand", (x) => [dx.igamma(1.5, x!), dx.igammac(1.5, x!)], [[3]], 0.8, 2],
  ["lerp", (a, b, w) => dx.lerp(a!, b!, w!), [[2, 2], [2], [1]]],
  [
    "addcmul, addcdiv",
    (a, b, c) => [dx.addcmul(a!, b!, c!, { value: 0.5 }), dx.addcdiv(a!, b!, c!, { value: 0.5 })],
    [[2, 2], [2], [2]],
    0.7,
    1.6,
  ],
  ["atan2, hypot", (a, b) => [dx.atan2(a!, b!), dx.hypot(a!, b!)], [[2, 2], [2]], 0.6, 1.7],
  ["logaddexp, logaddexp2", (a, b) => [dx.logaddexp(a!, b!), dx.logaddexp2(a!, b!)], [[2, 2], [2]]],
  ["xlogy, xlog1py", (a, b) => [dx.xlogy(a!, b!), dx.xlog1py(a!, b!)], [[2, 2], [2]], 0.6, 1.7],
  ["copysign", (a, b) => dx.copysign(a!.square(), b!), [[2, 2], [2]], 0.5, 1.5],
  [
    "extremes, apart",
    (a, b) => [dx.fmax(a!.square(), b!.sub(9)), dx.fmin(a!.square(), b!.add(9)), dx.clampMax(a!.square(), b!.add(9))],
    [[2, 2], [2]],
  ],
  ["fmod, remainder", (x) => [dx.fmod(x!, 0.7), dx.remainder(x!, 0.7)].map((t) => t.mul(x!)), [[3]], 0.8, 1.3],
  ["div, floored: steps", (x) => dx.div(x!, 2, { roundingMode: "floor" }).mul(x!), [[3]], 0.3, 1.6],
  [
    "swiglu",
    (x, gate) => dx.swiglu(x!, gate!),
    [
      [2, 2],
      [2, 2],
    ],
  ],
  ["nextafter", (a, b) => dx.nextafter(a!, b!).mul(a!), [[3], [3]], 0.3, 1.6],
  ["logcumsumexp", (x) => dx.logcumsumexp(x!, 1), [[2, 3]]],
  ["cummax", (x) => dx.cummax(x!, 1).values, [[2, 3]]],
  // Two clouds apart: their differences in float32 are exact enough for finite ones.
  [
    "cdist by products",
    (a, b) => dx.cdist(a!, b!.add(3), { computeMode: "useMmForEuclidDist" }),
    [
      [2, 3],
      [4, 3],
    ],
  ],
  ["topk", (x) => dx.topk(x!, 2, 1).values, [[2, 3]]],
  ["binaryCrossEntropy", (x) => dx.binaryCrossEntropy(x!, like(x!, [0, 1, 0.3])), [[3]], 0.25, 0.75],
  ["rmsNorm", (x, w) => dx.rmsNorm(x!, [3], w!, { eps: 0.1 }), [[2, 3], [3]]],
  [
    "scaledDotProductAttention",
    (q, k, v) => dx.scaledDotProductAttention(q!, k!, v!, { isCausal: true }),
    [
      [1, 2, 2],
      [1, 2, 2],
      [1, 2, 2],
    ],
  ],
  ["unfold and fold", (x) => functional.fold(functional.unfold(x!, 2).square(), 3, 2), [[1, 1, 3, 3]]],
  [
    "maxUnpool2d",
    (x) => {
      const { values, indices } = functional.maxPool2dWithIndices(x!, 2);
      return functional.maxUnpool2d(values.square(), indices, 2);
    },
    [[1, 1, 4, 4]],
  ],
  ["sort", (x) => dx.sort(x!, 1).values.square(), [[2, 3]]],
  [
    "lstmStep",
    (x, h, c) => lstmStep(x!, h!, c!),
    [
      [1, 8],
      [1, 8],
      [1, 2],
    ],
  ],
  [
    "gruStep",
    (x, h, s) => gruStep(x!, h!, s!),
    [
      [1, 6],
      [1, 6],
      [1, 2],
    ],
  ],
  ...(["lstm", "gru", "tanh", "relu"] as const).map((kind): Row => {
    const gates = { lstm: 4, gru: 3, tanh: 1, relu: 1 }[kind];
    return [
      `a recurrent layer of ${kind}, of samples of several lengths`,
      (x, states, input, hidden, inputBias, hiddenBias) => {
        const weights = { input: input!, hidden: hidden!, inputBias: inputBias!, hiddenBias: hiddenBias! };
        const { output, hidden: last } = dx.recurrent(kind, x!, [weights, weights], {
          bidirectional: true,
          lengths: [3, 2],
          hidden: states!,
          cell: kind === "lstm" ? states!.mul(0.5) : null,
        });
        return [output, last];
      },
      [[3, 2, 1], [2, 2, 2], [gates * 2, 1], [gates * 2, 2], [gates * 2], [gates * 2]],
      // Away from relu's kink.
      kind === "relu" ? 0.2 : -1.5,
      kind === "relu" ? 0.6 : 1.5,
    ];
  }),
  [
    "an LSTM with projected hidden states, of samples of several lengths",
    (x, states, cells, input, hidden, projection) => {
      const weights = { input: input!, hidden: hidden!, projection: projection! };
      const { output, hidden: last } = dx.recurrent("lstm", x!, [weights, weights], {
        bidirectional: true,
        lengths: [3, 2],
        hidden: states!,
        cell: cells!,
      });
      return [output, last];
    },
    [
      [3, 2, 1],
      [2, 2, 1],
      [2, 2, 2],
      [8, 1],
      [8, 1],
      [1, 2],
    ],
    -1.5,
    1.5,
  ],
  [
    "cumprod's gradient",
    (x) => dx.enableGrad(() => dx.grad(dx.cumprod(x!, 0).square().sum(), [x!], { createGraph: true })[0]!),
    [[3]],
    0.6,
    1.4,
  ],
];

/**
 * Definitions whose gradients other tests check, of two orders too: those of complex numbers and of the host, and what recurrent layers are in
 * compiled functions alone (test/ops/recurrent/recurrent.test.ts).
 */
export const ELSEWHERE = /^(linalg\.|dft$|(lstm|gru)Scan$)/;

/** Definitions whose gradient is no derivative of what they compute, or one that a finite difference cannot see. */
export const UNSEEN: readonly string[] = [
  // Straight through, and scaled on purpose.
  "fakeQuantize",
  "scaledGradient",
  // Rounds: the difference of neighbours is not the slope.
  "to",
  // Take integers and bool only.
  "bitwiseAnd",
  "bitwiseOr",
  "bitwiseXor",
  "bitwiseLeftShift",
  "bitwiseRightShift",
  "gcd",
  "lcm",
  // Only where shaders are chosen; their own tests compare their gradients.
  "pairDft",
  "blockAttention",
  // Reads codes; test/nn/quantized compares the gradient of its input.
  "packedLinear",
];
