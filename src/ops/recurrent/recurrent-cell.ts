/** The elementwise part of recurrent cells: one operation forward, one backward. @package */
import { leading } from "../../core/padded-axes.ts";
import { isGradEnabled } from "../../autograd/grad-mode.ts";
import type { GraphBuilder } from "../../graph/builder.generated.ts";
import { call, dispatch } from "../../dispatch/dispatch.ts";
import { DTYPES } from "../../core/dtype.ts";
import { ShapeError } from "../../core/errors.ts";
import { showShape, type Shape } from "../../core/shape.ts";
import type { Expr } from "../../graph/graph.ts";
import type { Tensor } from "../../core/tensor.ts";
import { define, type Definition } from "../../core/definition.ts";
import { sigmoid } from "../elementwise/activation.ts";
import { add, mul, sub } from "../elementwise/binary.ts";
import { zerosLike } from "../creation/creation.ts";
import { cat, chunk } from "../shape/join.ts";
import { tanh } from "../elementwise/unary.ts";
import { sample, type Sample, real } from "../declare/sample.ts";

/** Throws ShapeError unless each tensor has one column for each gate and hidden unit. */
function requireGates(
  operation: string,
  gates: number,
  state: { readonly shape: Shape },
  ...tensors: readonly { readonly shape: Shape }[]
): void {
  const wanted = gates * state.shape[1]!;
  for (const { shape } of tensors)
    if (shape[1] !== wanted)
      throw new ShapeError(operation, "fromInput", `of ${wanted} columns, ${gates} for each hidden unit`, showShape(shape));
}

/** The k-th of `count` equal parts of x's columns. */
function column(g: GraphBuilder, x: Expr, k: number, count: number): Expr {
  const [n, width] = x.sizes as [number, number];
  const h = width / count;
  const offset = x.byteOffset + k * h * x.strides[1]! * DTYPES[x.dtype].sizeInBytes;
  return g.reinterpret(x, { sizes: [n, h], strides: x.strides, byteOffset: offset });
}
const columns = (g: GraphBuilder, x: Expr, count: number): Expr[] => Array.from({ length: count }, (_, k) => column(g, x, k, count));
const joined = (g: GraphBuilder, parts: readonly Expr[]): Expr => {
  const [n, h] = parts[0]!.sizes as [number, number];
  return g.join(
    parts.map((p) => g.packed(p)),
    { output: { sizes: [n, h * parts.length] }, axis: 1 },
  );
};
/** y (1 - y), the sigmoid's slope; 1 - y², that of tanh. */
const sigmoidSlope = (g: GraphBuilder, y: Expr): Expr => g.elementWiseMultiply(y, g.elementWiseIdentity(y, { scaleBias: [-1, 1] }));
const tanhSlope = (g: GraphBuilder, y: Expr): Expr => g.elementWiseIdentity(g.elementWiseMultiply(y, y), { scaleBias: [-1, 1] });

/** The gates of an LSTM in PyTorch's order: input, forget, cell, output. */
function lstmGates(g: GraphBuilder, fromInput: Expr, fromHidden: Expr): [Expr, Expr, Expr, Expr] {
  const [i, f, c, o] = columns(g, g.elementWiseAdd(fromInput, fromHidden), 4) as [Expr, Expr, Expr, Expr];
  return [g.activationSigmoid(i), g.activationSigmoid(f), g.activationTanh(c), g.activationSigmoid(o)];
}

/** Inputs: the gates' sums from the input and from the hidden state, [N, 4H] each, and the cell [N, H]. Outputs: hidden and cell, [N, H]. */
const lstmOp: Definition<undefined> = define({
  name: "lstmCell",
  infer: ([a, b, c]) => {
    requireGates("lstmCell", 4, c!, a!, b!);
    return [c!, c!];
  },
  padded: leading(1, 3),
  lower: (g, [a, b, c]) => {
    const [i, f, z, o] = lstmGates(g, a!, b!);
    const cell = g.elementWiseAdd(g.elementWiseMultiply(f, c!), g.elementWiseMultiply(i, z));
    return [g.elementWiseMultiply(o, g.elementWiseTanh(cell)), cell];
  },
  grad: (dh, { inputs: [a, b, c], dys: [, dc] }) => {
    if (!isGradEnabled()) {
      const [gates, before] = dispatch(lstmGradOp, [a!, b!, c!, dh, dc ?? zerosLike(dh)], undefined);
      return [gates!, gates!, before!];
    }
    const [gi, gf, gz, go] = chunk(add(a!, b!), 4, 1) as [Tensor, Tensor, Tensor, Tensor];
    const [i, f, z, o] = [sigmoid(gi), sigmoid(gf), tanh(gz), sigmoid(go)];
    const t = tanh(add(mul(f, c!), mul(i, z)));
    const inner = mul(mul(dh, o), sub(1, mul(t, t)));
    const d = dc == null ? inner : add(inner, dc);
    const slope = (y: Tensor): Tensor => mul(y, sub(1, y));
    const gates = cat(
      [mul(mul(d, z), slope(i)), mul(mul(d, c!), slope(f)), mul(mul(d, i), sub(1, mul(z, z))), mul(mul(dh, t), slope(o))],
      1,
    );
    return [gates, gates, mul(d, f)];
  },
  saves: { outputs: false },
});

/** Outputs: the gradients of the gates' sums [N, 4H] and of the previous cell. */
const lstmGradOp: Definition<undefined> = define({
  name: "lstmCellGradient",
  infer: ([a, , c]) => [a!, c!],
  padded: leading(1, 5),
  lower: (g, [a, b, c, dh, dc]) => {
    const [i, f, z, o] = lstmGates(g, a!, b!);
    const t = g.elementWiseTanh(g.elementWiseAdd(g.elementWiseMultiply(f, c!), g.elementWiseMultiply(i, z)));
    const product = (...list: Expr[]): Expr => list.reduce((x, y) => g.elementWiseMultiply(x, y));
    const d = g.elementWiseAdd(dc!, product(dh!, o, tanhSlope(g, t)));
    const gates = [
      product(d, z, sigmoidSlope(g, i)),
      product(d, c!, sigmoidSlope(g, f)),
      product(d, i, tanhSlope(g, z)),
      product(dh!, t, sigmoidSlope(g, o)),
    ];
    return [joined(g, gates), product(d, f)];
  },
  grad: null,
});

/** The gates of a GRU in PyTorch's order (reset, update), its candidate, and the candidate's sum from the hidden state. */
function gruGates(g: GraphBuilder, fromInput: Expr, fromHidden: Expr): [Expr, Expr, Expr, Expr] {
  const [xr, xz, xn] = columns(g, fromInput, 3) as [Expr, Expr, Expr];
  const [hr, hz, hn] = columns(g, fromHidden, 3) as [Expr, Expr, Expr];
  const r = g.activationSigmoid(g.elementWiseAdd(xr, hr));
  const z = g.activationSigmoid(g.elementWiseAdd(xz, hz));
  return [r, z, g.activationTanh(g.elementWiseAdd(xn, g.elementWiseMultiply(r, hn))), hn];
}

/** Inputs: the gates' sums from the input and from the hidden state, [N, 3H] each, and the hidden state [N, H]. */
const gruOp: Definition<undefined> = define({
  name: "gruCell",
  infer: ([a, b, h]) => {
    requireGates("gruCell", 3, h!, a!, b!);
    return [h!];
  },
  padded: leading(1, 3),
  lower: (g, [a, b, h]) => {
    const [, z, n] = gruGates(g, a!, b!);
    return [g.elementWiseAdd(n, g.elementWiseMultiply(z, g.elementWiseSubtract(h!, n)))];
  },
  grad: (dy, { inputs: [a, b, h] }) => {
    if (!isGradEnabled()) return dispatch(gruGradOp, [a!, b!, h!, dy], undefined);
    const [xr, xz, xn] = chunk(a!, 3, 1) as [Tensor, Tensor, Tensor];
    const [hr, hz, hn] = chunk(b!, 3, 1) as [Tensor, Tensor, Tensor];
    const [r, z] = [sigmoid(add(xr, hr)), sigmoid(add(xz, hz))];
    const n = tanh(add(xn, mul(r, hn)));
    const dn = mul(mul(dy, sub(1, z)), sub(1, mul(n, n)));
    const dr = mul(mul(dn, hn), mul(r, sub(1, r)));
    const dz = mul(mul(dy, sub(h!, n)), mul(z, sub(1, z)));
    return [cat([dr, dz, dn], 1), cat([dr, dz, mul(dn, r)], 1), mul(dy, z)];
  },
  saves: { outputs: false },
});

const gruGradOp: Definition<undefined> = define({
  name: "gruCellGradient",
  infer: ([a, b, h]) => [a!, b!, h!],
  padded: leading(1, 4),
  lower: (g, [a, b, h, dy]) => {
    const [r, z, n, hn] = gruGates(g, a!, b!);
    const product = (...list: Expr[]): Expr => list.reduce((x, y) => g.elementWiseMultiply(x, y));
    const dn = product(dy!, g.elementWiseIdentity(z, { scaleBias: [-1, 1] }), tanhSlope(g, n));
    const dr = product(dn, hn, sigmoidSlope(g, r));
    const dz = product(dy!, g.elementWiseSubtract(h!, n), sigmoidSlope(g, z));
    return [joined(g, [dr, dz, dn]), joined(g, [dr, dz, product(dn, r)]), product(dy!, z)];
  },
  grad: null,
});

/** @internal Hidden state and cell after one step. */
export function lstmStep(fromInput: Tensor, fromHidden: Tensor, cell: Tensor): [hidden: Tensor, cell: Tensor] {
  return dispatch(lstmOp, [fromInput, fromHidden, cell], undefined) as [Tensor, Tensor];
}
/** @internal The hidden state after one step. */
export const gruStep = (fromInput: Tensor, fromHidden: Tensor, hidden: Tensor): Tensor =>
  call(gruOp, [fromInput, fromHidden, hidden], undefined);

/** Cases of `dxtensor verify`. */
export const samples = (): readonly Sample[] => [
  sample("composed", "a step of an LSTM", [real([2, 12]), real([2, 12]), real([2, 3])], (x, h, c) => lstmStep(x!, h!, c!)),
  sample("composed", "a step of a GRU", [real([2, 9]), real([2, 9]), real([2, 3])], (x, h, c) => gruStep(x!, h!, c!)),
];
