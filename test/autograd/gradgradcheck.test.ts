import { expect, test } from "vitest";
import { watching } from "../../src/autograd/tape.ts";
import { own } from "../../src/core/definition.ts";
import * as dx from "../../src/index.ts";
import { clean, eachDevice } from "../device.ts";
import { isWhole, share } from "../share.ts";
import { ELSEWHERE, RARE, UNSEEN } from "./rare-rows.ts";
import { ROWS, values, type Fn, type Row } from "./rows.ts";

const classes = (device: dx.Device): dx.Tensor => dx.tensor([2, 0], { dtype: "int64", device });
/** x, each element far above or far below those of the other operand. */
const apart = (x: dx.Tensor): dx.Tensor => x.square().add(dx.tensor([8, -8, 8], { device: x.device }));
const image = [1, 2, 3, 3] as const;

/** Layers, losses and activations, and operands of another dtype. */
const MORE: readonly Row[] = [
  ["maximum and minimum, apart", (a, b) => [dx.maximum(a!.square(), apart(b!)), dx.minimum(a!.square(), apart(b!))], [[2, 3], [3]]],
  [
    "matmul",
    dx.matmul as Fn,
    [
      [2, 3],
      [3, 2],
    ],
  ],
  [
    "matmul of batches",
    dx.matmul as Fn,
    [
      [2, 1, 2, 2],
      [2, 2, 1],
    ],
  ],
  ["matmul of vectors", (a, b) => [dx.matmul(a!, b!), dx.outer(a!, b!)], [[3], [3]]],
  ["addmm", (c, a, b) => dx.addmm(c!, a!, b!, { alpha: 0.5, beta: 2 }), [[2], [2, 3], [3, 2]]],
  ["linear", (x, w, b) => dx.linear(x!, w!, b), [[2, 3], [2, 3], [2]]],
  ["conv2d", (x, w, b) => dx.conv2d(x!, w!, b, { padding: 1, stride: 2 }), [[...image], [2, 2, 2, 2], [2]]],
  [
    "convTranspose1d",
    (x, w) => dx.convTranspose1d(x!, w!, null, { stride: 2 }),
    [
      [1, 2, 3],
      [2, 1, 2],
    ],
  ],
  ["maxPool2d", (x) => dx.maxPool2d(x!, 2, { stride: 1 }), [[...image]]],
  ["avgPool2d", (x) => dx.avgPool2d(x!, 2, { stride: 1 }), [[...image]]],
  ["adaptiveAvgPool1d", (x) => dx.adaptiveAvgPool1d(x!, 2), [[1, 1, 5]]],
  ["softmax", (x) => [dx.softmax(x!, 1), dx.logSoftmax(x!, 0)], [[2, 3]]],
  ["layerNorm", (x, w, b) => dx.layerNorm(x!, [4], w, b, { eps: 0.1 }), [[2, 4], [4], [4]]],
  ["batchNorm", (x, w, b) => dx.batchNorm(x!, null, null, w, b, { training: true, eps: 0.1 }), [[4, 2], [2], [2]]],
  ["groupNorm", (x) => dx.groupNorm(x!, 1, null, null, { eps: 0.1 }), [[1, 2, 2]]],
  ["groupNorm with weights", (x, w, b) => dx.groupNorm(x!, 2, w!, b!, { eps: 0.1 }), [[1, 4, 2], [4], [4]]],
  ["embedding", (w) => dx.embedding(classes(w!.device), w!), [[3, 2]]],
  ["crossEntropy", (x) => dx.crossEntropy(x!, classes(x!.device)), [[2, 3]]],
  ["nllLoss", (x) => dx.nllLoss(dx.logSoftmax(x!, 1), classes(x!.device)), [[2, 3]]],
  [
    "mseLoss",
    (x, y) => dx.mseLoss(x!, y!),
    [
      [2, 2],
      [2, 2],
    ],
  ],
  ["smoothL1Loss", (x) => dx.smoothL1Loss(x!, dx.zeros([3], { device: x!.device }), { beta: 0.35 }), [[3]], 0.6, 1.4],
  ["binaryCrossEntropyWithLogits", (x) => dx.binaryCrossEntropyWithLogits(x!, dx.full([3], 0.3, { device: x!.device })), [[3]], 0.4, 2],
  ...(["silu", "gelu", "softplus", "mish", "tanhshrink", "logSigmoid"] as const).map((n): Row => [n, dx[n] as Fn, [[2, 2]]]),
  ["gelu by tanh", (x) => dx.gelu(x!, { approximate: "tanh" }), [[2, 2]]],
  ["prelu", dx.prelu as Fn, [[3], [1]], 0.3, 1.5],
  ...(["relu", "leakyRelu", "elu", "selu", "celu", "softsign"] as const).map((n): Row => [n, dx[n] as Fn, [[4]], 0.3, 1.5]),
  ["square, three times over", (x) => dx.square(dx.square(x!)), [[2, 2]], 0.5, 1.2],
  ["pow of simple numbers", (x) => [dx.pow(x!, 0.5), dx.pow(x!, -1), dx.pow(x!, 2)], [[3]], 0.8, 2],
  ["a factor of integers", (x) => dx.mul(x!.square(), dx.tensor([1, 2, 3], { dtype: "int64", device: x!.device })), [[2, 3]]],
  ["a mask as a factor", (x) => dx.mul(x!.square(), dx.gt(x!.detach(), 0)), [[2, 3]]],
  ["a factor of float16", (x) => dx.mul(x!.square(), dx.tensor([0.5, 2], { dtype: "float16", device: x!.device })), [[2, 2]]],
  [
    "a write into a view",
    (x, v) => {
      const y = x!.square();
      y.select(0, 0).mul_(v!);
      y.t().select(0, 1).copy_(v!.select(0, 0));
      return y.square();
    },
    [[2, 2], [2]],
  ],
];

/** The input that is asked for, made in another way from a leaf. */
type Made = (shape: readonly number[]) => { readonly leaf: readonly number[]; readonly see: (leaf: dx.Tensor) => dx.Tensor };
const LAYOUTS: readonly (readonly [string, Made])[] = [
  ["packed", (shape) => ({ leaf: shape, see: (x) => x })],
  ["strided", (shape) => ({ leaf: [...shape].reverse(), see: (x) => x.permute(shape.map((_, i) => shape.length - 1 - i)) })],
  [
    "expanded",
    (shape) => ({ leaf: shape.map((d, i) => (i === shape.length - 1 && shape.length > 1 ? 1 : d)), see: (x) => x.expand([...shape]) }),
  ],
];

/** Rows that take seconds each, of which one is checked unless all are asked for. */
const SLOW = /LSTM with projected|recurrent layer of \w+, of samples|segmentReduce/;

/** Of equal elements an extreme has no gradient, and the norms none of a constant row: they stay out of the expanded layout. */
const TIES = /^(amax|amin|max|min|norm|std|layerNorm|batchNorm|groupNorm|maxPool2d|maximum|minimum|topk|a write)/;

eachDevice("second gradients agree with finite differences", (device) => {
  const rows = [...ROWS.filter(([n]) => n !== "maximum" && n !== "minimum"), ...MORE, ...RARE];
  const slow = rows.filter(([n]) => SLOW.test(n)).slice(1);
  const taken = share(isWhole ? rows : rows.filter((row) => !slow.includes(row)), 2);
  test.each(taken.map((row, i) => ({ row, i, name: row[0] })))(
    "$name",
    { timeout: 300_000 },
    ({ name, i, row: [, fn, shapes, low = -1.5, high = 1.5] }) =>
      clean(
        device,
        () => {
          // Packed, and every fifth row of fewer than 40 elements one of the others, unless all are asked for: time grows with their square.
          const isSmall = shapes.reduce((n, shape) => n + shape.reduce((a, b) => a * b, 1), 0) < 40;
          const others = isWhole ? LAYOUTS.slice(1) : i % 5 === 0 && isSmall ? [LAYOUTS[1 + ((i / 5) % 2)]!] : [];
          for (const [layout, make] of [LAYOUTS[0]!, ...others]) {
            if (layout === "expanded" && TIES.test(name)) continue;
            const made = shapes.map((shape) => make(shape));
            const leaves = made.map(({ leaf }, i) => {
              const n = leaf.reduce((a, b) => a * b, 1);
              return dx.tensor(new Float32Array(values(n + i, low, high).slice(i)), { shape: leaf, requiresGrad: true });
            });
            const seen = (...inputs: dx.Tensor[]): dx.Tensor | readonly dx.Tensor[] => fn(...inputs.map((x, i) => made[i]!.see(x)));
            expect([layout, dx.gradgradcheck(seen, leaves, { absolute: 5e-3, relative: 1e-2 })]).toEqual([layout, true]);
          }
        },
        { collect: true },
      ),
  );

  test("each definition with a rule is among them", () =>
    clean(
      device,
      () => {
        const recorded = new Set<string>();
        for (const [, fn, shapes, low = -1.5, high = 1.5] of [...ROWS, ...MORE, ...RARE]) {
          const leaves = shapes.map((shape, i) => {
            const n = shape.reduce((a, b) => a * b, 1);
            return dx.tensor(new Float32Array(values(n + i, low, high).slice(i)), { shape, requiresGrad: true });
          });
          const { nodes } = watching(() => {
            const outputs = [fn(...leaves)].flat() as dx.Tensor[];
            const sum = outputs.map((t) => t.square().sum()).reduce((a, b) => a.add(b));
            return dx.grad(sum, leaves, { createGraph: true, allowUnused: true });
          });
          for (const node of nodes) recorded.add(node.name);
        }
        const lacking = own.filter((d) => d.grad !== null && !recorded.has(d.name) && !ELSEWHERE.test(d.name)).map((d) => d.name);
        expect([...new Set(lacking)].toSorted()).toEqual(UNSEEN.toSorted());
      },
      { collect: true },
    ));

  test("a second gradient that is cut is found", () =>
    clean(
      device,
      () => {
        const cut = dx.defineFunction<[dx.Tensor], dx.Tensor>({
          forward: (c, x) => {
            c.saveForBackward(x);
            return x.square();
          },
          backward: (c, dy) => dy.mul(c.saved[0]!.detach()).mul(2),
        });
        const x = dx.tensor([1, 2], { requiresGrad: true });
        expect(dx.gradcheck(cut, [x])).toBe(true);
        expect(() => dx.gradgradcheck(cut, [x])).toThrow(/gradient of inputs\[0\] at element 0/);
      },
      { collect: true },
    ));
});
