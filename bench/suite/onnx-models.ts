/** The workloads as ONNX models. */
import type { OnnxNode } from "../onnxruntime/onnx.ts";
import { whole } from "./data.ts";
import { encoder, net } from "./onnx-nets.ts";
import { floats, integers, made, node, numbers, type OnnxWorkload, type Values } from "./onnx-values.ts";
import type { Kind } from "./workloads.ts";

/** Gates in ONNX's order i, o, f, c, of rows in PyTorch's i, f, c, o. */
function gates({ shape, data }: Values): Values {
  const part = data.length / 4;
  const parts = [0, 3, 1, 2].map((i) => (data as Float32Array).subarray(i * part, (i + 1) * part));
  return { shape: [1, ...shape], data: Float32Array.from(parts.flatMap((p) => [...p])) };
}

function lstm({ length, batch, inputs, width }: Kind & { kind: "lstm" }): OnnxWorkload {
  const [w, r, b, c] = [[4 * width, inputs], [4 * width, width], [4 * width], [4 * width]].map((shape, i) =>
    gates(floats(i + 2, shape, 0.125)),
  );
  const bias: Values = { shape: [1, 8 * width], data: Float32Array.from([...(b!.data as Float32Array), ...(c!.data as Float32Array)]) };
  const x = floats(1, [length, batch, inputs], 2);
  return made(
    [node("LSTM", ["x", "w", "r", "b"], "y", { hidden_size: { i: width } })],
    [length, 1, batch, width],
    { x },
    { w: w!, r: r!, b: bias },
  );
}

function elementwise({ op, n }: Kind & { kind: "elementwise" }): OnnxWorkload {
  const x = (i: number): Values => floats(i, [n], 4);
  const chain = (first: readonly OnnxNode[], c: string): OnnxNode[] => [
    ...first,
    node("Relu", ["q"], "r"),
    node("Mul", ["r", c], "s"),
    node("Tanh", ["x"], "t"),
    node("Add", ["s", "t"]),
  ];
  const affine = [node("Mul", ["x", "a"], "p"), node("Add", ["p", "b"], "q")];
  switch (op) {
    case "add":
      return made([node("Add", ["x", "b"])], [n], { x: x(1), b: x(2) });
    case "tanh":
      return made([node("Tanh", ["x"])], [n], { x: x(1) });
    case "scalars":
      return made(chain(affine, "c"), [n], { x: x(1) }, { a: numbers(1.5), b: numbers(0.25), c: numbers(0.75) });
    case "tensors":
      return made(chain(affine, "c"), [n], { x: x(1), a: x(2), b: x(3), c: x(4) });
  }
}

function order(rows: number, columns: number, count: number, largest: boolean): OnnxWorkload {
  const attributes = { axis: { i: 1 }, largest: { i: largest ? 1 : 0 }, sorted: { i: 1 } };
  const first: OnnxNode = { type: "TopK", inputs: ["x", "k"], outputs: ["y", "indices"], attributes };
  return made([first], [rows, count], { x: floats(1, [rows, columns], 4) }, { k: integers([count]) });
}

/** null: training, or no operation of ONNX. */
export function onnxOf(what: Kind): OnnxWorkload | null {
  switch (what.kind) {
    case "matmul": {
      const { batch, m, k, n } = what;
      const s = batch > 1 ? [batch] : [];
      return made([node("MatMul", ["a", "b"])], [...s, m, n], { a: floats(1, [...s, m, k]), b: floats(2, [...s, k, n]) });
    }
    case "matvec":
      return made([node("MatMul", ["a", "x"])], [what.n], { a: floats(1, [what.n, what.n]), x: floats(2, [what.n]) });
    case "elementwise":
      return elementwise(what);
    case "sum": {
      const { m, n, axis } = what;
      const out = axis === null ? [] : [axis === 0 ? n : m];
      const axes = integers(axis === null ? [0, 1] : [axis]);
      return made([node("ReduceSum", ["x", "axes"], "y", { keepdims: { i: 0 } })], out, { x: floats(1, [m, n], 1, 0.25) }, { axes });
    }
    case "softmax":
      return made([node("Softmax", ["x"], "y", { axis: { i: -1 } })], [what.m, what.n], { x: floats(1, [what.m, what.n], 8) });
    case "layernorm":
      return made(
        [node("LayerNormalization", ["x", "w", "b"], "y", { axis: { i: -1 }, epsilon: 1e-5 })],
        [what.m, what.n],
        { x: floats(1, [what.m, what.n], 4) },
        { w: floats(2, [what.n], 1, 1), b: floats(3, [what.n]) },
      );
    case "transpose":
      return made([node("Transpose", ["x"], "y", { perm: [1, 0] })], [what.n, what.m], { x: floats(1, [what.m, what.n]) });
    case "gather": {
      const index = integers([...whole(2, what.count, what.rows)]);
      return made([node("Gather", ["x", "i"])], [what.count, what.columns], { x: floats(1, [what.rows, what.columns]), i: index });
    }
    case "concat": {
      const { m, n, axis } = what;
      const out = axis === 0 ? [2 * m, n] : [m, 2 * n];
      return made([node("Concat", ["a", "b"], "y", { axis: { i: axis } })], out, { a: floats(1, [m, n]), b: floats(2, [m, n]) });
    }
    case "conv": {
      const { batch, inputs, size, outputs, kernel, stride, groups } = what;
      const [edge, out] = [kernel >> 1, Math.ceil(size / stride)];
      const attributes = {
        kernel_shape: [kernel, kernel],
        pads: [edge, edge, edge, edge],
        strides: [stride, stride],
        group: { i: groups },
      };
      return made(
        [node("Conv", ["x", "w"], "y", attributes)],
        [batch, outputs, out, out],
        { x: floats(1, [batch, inputs, size, size], 2) },
        { w: floats(2, [outputs, inputs / groups, kernel, kernel]) },
      );
    }
    case "maxpool": {
      const { batch, channels, size } = what;
      const attributes = { kernel_shape: [3, 3], pads: [1, 1, 1, 1], strides: [2, 2] };
      return made([node("MaxPool", ["x"], "y", attributes)], [batch, channels, size / 2, size / 2], {
        x: floats(1, [batch, channels, size, size], 2),
      });
    }
    case "lstm":
      return lstm(what);
    case "sort":
      return order(what.rows, what.columns, what.columns, false);
    case "topk":
      return order(what.rows, what.columns, what.count, true);
    case "resize": {
      const { batch, channels, size, mode } = what;
      const attributes =
        mode === "bilinear"
          ? { mode: "linear", coordinate_transformation_mode: "half_pixel" }
          : { mode: "nearest", coordinate_transformation_mode: "asymmetric", nearest_mode: "floor" };
      return made(
        [node("Resize", ["x", "", "scales"], "y", attributes)],
        [batch, channels, 2 * size, 2 * size],
        { x: floats(1, [batch, channels, size, size], 2) },
        { scales: numbers(1, 1, 2, 2) },
      );
    }
    case "attention": {
      const { batch, heads, length, width } = what;
      const shape = [batch, heads, length, width];
      return made(
        [
          node("Transpose", ["k"], "kt", { perm: [0, 1, 3, 2] }),
          node("Mul", ["q", "scale"], "qs"),
          node("MatMul", ["qs", "kt"], "s"),
          node("Softmax", ["s"], "p", { axis: { i: -1 } }),
          node("MatMul", ["p", "v"]),
        ],
        shape,
        { q: floats(1, shape, 2), k: floats(2, shape, 2), v: floats(3, shape, 2) },
        { scale: numbers(1 / Math.sqrt(width)) },
      );
    }
    case "scatter": {
      const { rows, columns, count } = what;
      const index = integers(
        [...whole(2, count, rows)].flatMap((row) => new Array<number>(columns).fill(row)),
        [count, columns],
      );
      const zeros: Values = { shape: [rows, columns], data: new Float32Array(rows * columns) };
      return made([node("ScatterElements", ["x", "i", "v"], "y", { axis: { i: 0 }, reduction: "add" })], [rows, columns], {
        x: zeros,
        i: index,
        v: floats(1, [count, columns]),
      });
    }
    case "net":
      return net(what);
    case "encoder":
      return encoder(what);
    case "cast":
    case "tiny":
    case "train":
      return null;
  }
}
