/** Softmax, logSoftmax, layerNorm, RMSNorm, cross entropy, over rows: see row-block.ts. */
import type { Float, Int, Uint } from "../numbers.ts";
import type { FloatElement } from "./elementwise.ts";
import type { Kernel, Numbers } from "./kernel.ts";
import { rowKernel, type Row, type RowScope, type Steps } from "./row-block.ts";

export const softmax = (e: FloatElement, columns: number): Kernel =>
  rowKernel("softmax", columns, e, { x: e }, { y: e }, { rowInputs: ["x"] }, function* (row, s) {
    const max = yield* row.max(({ x }) => x!);
    const share = s.f32(1).div(yield* row.sum(({ x }) => x!.sub(max).exp()));
    yield* row.write("y", [], ({ x }) => x!.sub(max).exp().mul(share));
  });

export const logSoftmax = (e: FloatElement, columns: number): Kernel =>
  rowKernel("logSoftmax", columns, e, { x: e }, { y: e }, { rowInputs: ["x"] }, function* (row) {
    const max = yield* row.max(({ x }) => x!);
    const sum = (yield* row.sum(({ x }) => x!.sub(max).exp())).log();
    yield* row.write("y", [], ({ x }) => x!.sub(max).sub(sum));
  });

/** dx = (dy - Σ dy y) y. */
export const softmaxBackward = (e: FloatElement, columns: number): Kernel =>
  rowKernel("softmaxBackward", columns, e, { y: e, dy: e }, { dx: e }, { rowInputs: ["y", "dy"] }, function* (row) {
    const dot = yield* row.sum(({ y, dy }) => y!.mul(dy!));
    yield* row.write("dx", [], ({ y, dy }) => dy!.sub(dot).mul(y!));
  });

/** dx = dy - e^y Σ dy. */
export const logSoftmaxBackward = (e: FloatElement, columns: number): Kernel =>
  rowKernel("logSoftmaxBackward", columns, e, { y: e, dy: e }, { dx: e }, { rowInputs: ["y", "dy"] }, function* (row) {
    const sum = yield* row.sum(({ dy }) => dy!);
    yield* row.write("dx", [], ({ y, dy }) => dy!.sub(y!.exp().mul(sum)));
  });

/** layerNorm, or RMSNorm, which leaves the mean where it is. */
export type Norm = "layerNorm" | "rmsNorm";

/** What a row's normalisation subtracts (null: nothing) and multiplies by. */
function* normalOf(norm: Norm, row: Row, s: RowScope): Steps<{ readonly mean: Float | null; readonly scale: Float }> {
  if (norm === "layerNorm") {
    const { mean, variance } = yield* row.moments("x");
    return { mean, scale: variance.add(s.params.eps).rsqrt() };
  }
  const squares = yield* row.sum(({ x }) => x!.square());
  return { mean: null, scale: squares.div(row.columns.toFloat()).add(s.params.eps).rsqrt() };
}

const centered = (x: Float, mean: Float | null): Float => (mean === null ? x : x.sub(mean));

/** shared: which of "weight" and "bias" exist. */
const forward = (norm: Norm, e: FloatElement, columns: number, shared: readonly string[]): Kernel => {
  const inputs = { x: e, ...Object.fromEntries(shared.map((name) => [name, e])) };
  return rowKernel(`${norm} ${shared.join(" ")}`, columns, e, inputs, { y: e }, { rowInputs: ["x"], shared }, function* (row, s) {
    const { mean, scale } = yield* normalOf(norm, row, s);
    yield* row.write("y", shared, ({ x, weight, bias }) => {
      const normal = centered(x!, mean).mul(scale);
      if (bias !== undefined) return normal.fma(weight!, bias);
      return weight === undefined ? normal : normal.mul(weight);
    });
  });
};
export const layerNorm = (e: FloatElement, columns: number): Kernel => forward("layerNorm", e, columns, ["weight", "bias"]);
export const rmsNorm = (e: FloatElement, columns: number): Kernel => forward("rmsNorm", e, columns, ["weight"]);
export const rmsNormPlain = (e: FloatElement, columns: number): Kernel => forward("rmsNorm", e, columns, []);

/**
 * With z = dy * weight and h = (x - mean) scale: dx = scale (z - mean(z) - h mean(z h)), RMSNorm's without mean(z). Of each row `scale` and
 * layerNorm's mean are results too, for the weight's gradient (columns.ts).
 */
export function normBackward(norm: Norm, e: FloatElement, columns: number, hasWeight: boolean): Kernel {
  const shared = hasWeight ? ["weight"] : [];
  const inputs = { x: e, dy: e, ...(hasWeight ? { weight: e } : {}) };
  const outputs = { dx: e, scale: "f32", ...(norm === "layerNorm" ? { mean: "f32" as const } : {}) } as const;
  const of = { rowInputs: ["x", "dy"], shared };
  return rowKernel(`${norm} backward ${hasWeight}`, columns, e, inputs, outputs, of, function* (row, s) {
    const n = row.columns.toFloat();
    const { mean, scale } = yield* normalOf(norm, row, s);
    const weighted = (dy: Float, weight: Float | undefined): Float => (weight === undefined ? dy : dy.mul(weight));
    const normal = (x: Float): Float => centered(x, mean).mul(scale);
    const sums = yield* row.sums(shared, ({ x, dy, weight }) => {
      const z = weighted(dy!, weight);
      return mean === null ? [z.mul(normal(x!))] : [z.mul(normal(x!)), z];
    });
    const [zh, z] = sums.map((sum) => sum.div(n));
    yield* row.write("dx", shared, ({ x, dy, weight }) => {
      const own = weighted(dy!, weight);
      return (z === undefined ? own : own.sub(z)).sub(normal(x!).mul(zh!)).mul(scale);
    });
    row.once(() => {
      (s.buffers["scale"] as Numbers).store(row.index, scale);
      if (mean !== null) (s.buffers["mean"] as Numbers).store(row.index, mean);
    });
  });
}

/** The class of a row; as an unsigned number one that does not count is no column. */
function classOf(row: Row, s: RowScope): Uint {
  const label = (s.buffers["target"]!.load(row.index) as Int).bits();
  return label.eq(s.params.ignored).select(0xffffffff, label);
}

/** The logarithms of each row's probabilities, minus that of its target (0 where the target is no column), and whether it counts. */
export const crossEntropy = (e: FloatElement, columns: number): Kernel =>
  rowKernel(
    "crossEntropy",
    columns,
    e,
    { x: e, target: "i32" },
    { logs: e, loss: "f32", counted: "f32" },
    { rowInputs: ["x"] },
    function* (row, s) {
      const label = classOf(row, s);
      const max = yield* row.max(({ x }) => x!);
      const sum = (yield* row.sum(({ x }) => x!.sub(max).exp())).log();
      yield* row.write("logs", [], ({ x }) => x!.sub(max).sub(sum));
      const isThere = label.lt(row.columns);
      const own = (s.buffers["x"] as Numbers).load(isThere.select(row.index.mul(row.columns).add(label), 0));
      s.if(s.local.eq(0), () => {
        (s.buffers["loss"] as Numbers).store(row.index, isThere.select(sum.sub(own.sub(max)), 0));
        (s.buffers["counted"] as Numbers).store(row.index, isThere.select(s.f32(1), 0));
      });
    },
  );

/** dx = scale (e^logs - [column = target]) in rows that count, else 0; a scale for each row, or one for all. */
export const crossEntropyBackward = (e: FloatElement, columns: number): Kernel =>
  rowKernel(
    "crossEntropyBackward",
    columns,
    e,
    { logs: e, target: "i32", scale: e },
    { dx: e },
    { rowInputs: ["logs"] },
    function* (row, s) {
      const label = classOf(row, s);
      const scales = s.buffers["scale"] as Numbers;
      const scale = scales.load(scales.size.eq(1).select(0, row.index));
      const isThere = label.lt(row.columns);
      yield* row.write("dx", [], ({ logs }, column) => {
        const distance = logs!.exp().sub(column.eq(label).select(s.f32(1), 0));
        return isThere.select(distance.mul(scale), 0);
      });
    },
  );
