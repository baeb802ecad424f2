/** Functions with a gradient, and inputs at which it is smooth: the cases of gradcheck and gradgradcheck. */
import * as dx from "../../src/index.ts";

/** Numbers of an irregular sequence in [low, high], away from each other, so that no extreme is a tie. */
export const values = (n: number, low: number, high: number): number[] =>
  Array.from({ length: n }, (_, i) => low + (high - low) * ((i * 0.6180339887 + 0.137) % 1));

export type Fn = (...inputs: dx.Tensor[]) => dx.Tensor | readonly dx.Tensor[];
/** Name, function, shapes of the inputs, range of their elements. */
export type Row = readonly [string, Fn, readonly (readonly number[])[], number?, number?];

const indices = (device: dx.Device): dx.Tensor => dx.tensor([2, 0, 0], { dtype: "int32", device });

export const ROWS: readonly Row[] = [
  ...(
    [
      "abs",
      "neg",
      "square",
      "exp",
      "exp2",
      "expm1",
      "sin",
      "cos",
      "tan",
      "atan",
      "sinh",
      "cosh",
      "tanh",
      "asinh",
      "erf",
      "sigmoid",
    ] as const
  ).map((n): Row => [n, dx[n] as Fn, [[2, 3]], -1.2, 1.3]),
  ...(["log", "log2", "log10", "log1p", "sqrt", "rsqrt", "reciprocal"] as const).map((n): Row => [n, dx[n] as Fn, [[2, 3]], 0.8, 3]),
  ...(["asin", "acos", "atanh"] as const).map((n): Row => [n, dx[n] as Fn, [[2, 3]], -0.6, 0.6]),
  ["acosh", dx.acosh, [[2, 3]], 1.6, 3],
  ["add", dx.add as Fn, [[2, 3], [3]]],
  [
    "sub",
    dx.sub as Fn,
    [
      [2, 1],
      [1, 3],
    ],
  ],
  [
    "mul",
    dx.mul as Fn,
    [
      [2, 3],
      [2, 1],
    ],
  ],
  ["div", dx.div as Fn, [[2, 3], []], 0.8, 2],
  ["pow", dx.pow as Fn, [[2, 3], [3]], 0.8, 2],
  ["pow of a number", (x) => dx.pow(2.5, x!), [[4]]],
  ["pow by a number", (x) => dx.pow(x!, 3), [[4]]],
  ["maximum", dx.maximum as Fn, [[2, 3], [3]]],
  [
    "minimum",
    dx.minimum as Fn,
    [
      [2, 3],
      [2, 1],
    ],
  ],
  ["clamp", (x) => dx.clamp(x!, -0.51, 0.49), [[2, 4]]],
  ["clamp by tensors", (x, a, b) => dx.clamp(x!, a!.sub(2), b!.add(0.3)), [[2, 3], [3], [3]]],
  ["clampMin", (x) => dx.clampMin(x!, 0.11), [[5]]],
  ["where", (x, y) => dx.where(dx.gt(x!.detach(), 0), x!, y!), [[2, 3], [3]]],
  ["maskedFill", (x) => dx.maskedFill(x!, dx.gt(x!.detach(), 0), 2), [[6]]],
  ["sum", (x) => [dx.sum(x!), dx.sum(x!, 0, { keepDims: true })], [[2, 3]]],
  ["mean", (x) => dx.mean(x!, [0, 2]), [[2, 3, 2]]],
  ["prod", (x) => [dx.prod(x!, 1), dx.prod(x!)], [[2, 3]], 0.5, 1.5],
  ["prod with a zero", (x) => dx.prod(dx.mul(x!, dx.tensor([1, 0, 1], { device: x!.device })), 0), [[3]], 0.5, 1.5],
  ["amax", (x) => dx.amax(x!, [0, 1]), [[2, 3, 2]]],
  ["amin", (x) => dx.amin(x!), [[2, 3]]],
  ["max", (x) => [dx.max(x!, 1).values, dx.max(x!)], [[2, 3]]],
  ["min", (x) => dx.min(x!, 0, { keepDims: true }).values, [[3, 2]]],
  ["var", (x) => [dx.var(x!), dx.var(x!, 1, { correction: 0 })], [[2, 4]]],
  ["std", (x) => dx.std(x!, 0), [[4, 2]]],
  ["logsumexp", (x) => dx.logsumexp(x!, 1), [[2, 3]]],
  ...([2, 1, 3, Infinity, -Infinity] as const).map((p): Row => [`norm ${p}`, (x) => dx.norm(x!, p, 1), [[2, 4]], 0.4, 2]),
  ["cumsum", (x) => dx.cumsum(x!, 1), [[2, 4]]],
  [
    "views",
    (x) => [
      x!.reshape(4, 3).t(),
      x!.permute(2, 0, 1).slice(0, 0, 3, 2),
      x!.narrow(1, 1, 1).squeeze(),
      x!.select(2, 1),
      x!.flatten(),
      x!.unsqueeze(0).expand(2, 2, 2, 3),
    ],
    [[2, 2, 3]],
  ],
  ["diagonal", (x) => [dx.diagonal(x!), dx.diagonal(x!, { offset: 1 }), dx.diagonal(x!, { offset: -1 })], [[3, 4]]],
  [
    "cat",
    (x, y) => dx.cat([x!, y!, x!], 1),
    [
      [2, 2],
      [2, 3],
    ],
  ],
  [
    "stack",
    (x, y) => dx.stack([x!, y!], 1),
    [
      [2, 2],
      [2, 2],
    ],
  ],
  ["split", (x) => dx.split(x!, 2, 1), [[2, 5]]],
  ["chunk", (x) => dx.chunk(x!, 2), [[3, 2]]],
  ["repeat", (x) => [x!.repeat(2, 3), x!.tile(2), x!.repeatInterleave(2, 0)], [[2, 2]]],
  ["flip", (x) => dx.flip(x!, [0, 1]), [[2, 3]]],
  ["roll", (x) => dx.roll(x!, [1, -1], [0, 1]), [[2, 3]]],
  [
    "pad",
    (x) => [
      dx.pad(x!, [1, 2], { value: 3 }),
      dx.pad(x!, [-1, 1]),
      dx.pad(x!, [2, 1, 1, 0], { mode: "reflect" }),
      dx.pad(x!, [1, 3], { mode: "replicate" }),
    ],
    [[2, 3]],
  ],
  ["tril and triu", (x) => [dx.tril(x!, -1), dx.triu(x!, 1)], [[3, 3]]],
  [
    "gather",
    (x) =>
      dx.gather(
        x!,
        1,
        dx.tensor(
          [
            [0, 2],
            [1, 1],
          ],
          { dtype: "int64", device: x!.device },
        ),
      ),
    [[2, 3]],
  ],
  ["indexSelect", (x) => [dx.indexSelect(x!, 0, indices(x!.device)), dx.indexSelect(x!, 1, indices(x!.device))], [[3, 3]]],
  ["index and set", (x, v) => x!.mul(1).set([":", 1], v!).index([1, 0], ":"), [[2, 3], [2]]],
  [
    "segmentReduce",
    (x) =>
      (["sum", "mean", "max", "min", "prod"] as const).map((how) =>
        dx.segmentReduce(x!, how, {
          lengths: dx.tensor([2, 0, 3], { dtype: "int32", device: x!.device }),
          initial: how === "prod" ? 2 : how === "max" ? -9 : how === "min" ? 9 : 0,
        }),
      ),
    [[5, 2]],
    0.5,
    1.5,
  ],
  [
    "put",
    (x, v) => [
      dx.put(x!, indices(x!.device), v!, { accumulate: true }),
      dx.put(x!, indices(x!.device).mul(-1).sub(1).index([0, 1]), v!.index([0, 1])),
    ],
    [[2, 3], [3]],
  ],
  [
    "repeatInterleave",
    (x) => [dx.repeatInterleaveSync(x!, indices(x!.device), 1), dx.repeatInterleaveSync(x!, indices(x!.device).index([0]))],
    [[2, 3]],
  ],
  [
    "layerNorm and groupNorm with their statistics",
    (x, w) => [dx.nativeLayerNorm(x!, [4], w!).output, dx.nativeGroupNorm(x!.reshape(1, 2, 4), 2).output],
    [[2, 4], [4]],
    0.5,
    1.5,
  ],
  [
    "weightNorm",
    (v, g) => [dx.weightNorm(v!, g!), dx.weightNorm(v!, g!.index([0]), null)],
    [
      [2, 3],
      [2, 1],
    ],
    0.5,
    1.5,
  ],
  ["reverseSequence", (x) => dx.reverseSequence(x!, dx.tensor([2, 3], { dtype: "int32", device: x!.device })), [[2, 3]]],
  [
    "roiAlign",
    (x) => dx.roiAlign(x!, dx.tensor([[0, 0.4, 0.3, 2.6, 1.7]], { device: x!.device }), { outputSize: 2, samplingRatio: 2 }),
    [[1, 1, 3, 3]],
  ],
  ["contiguous and clone", (x) => [x!.t().contiguous(), x!.t().clone()], [[2, 3]]],
];
