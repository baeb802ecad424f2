/**
 * One group of threads for each row: softmax, logSoftmax, layerNorm, RMSNorm, cross entropy. A row that fits is read once and kept in
 * registers; a longer one is read once for each pass.
 */
import { sizeOf } from "../../shape.ts";
import type { LaunchFacts } from "../compiled.ts";
import type { Scope } from "../language.ts";
import type { Bool, Float, Int, Uint } from "../numbers.ts";
import type { FloatElement } from "./elementwise.ts";
import { GroupReduction, kernel, read, write, type Kernel, type Numbers } from "./kernel.ts";

type Names = { readonly [name: string]: FloatElement | "i32" };
type RowParams = { readonly rows: "u32"; readonly eps: "f32"; readonly ignored: "u32" };
type RowScope = Scope<Names, RowParams>;

/** How a row of so many columns is worked on. */
interface Plan {
  readonly threads: number;
  /** Elements of one access. */
  readonly width: number;
  /** Accesses that a thread keeps; 0: it reads again in each pass. */
  readonly kept: number;
  /** All that threads keep is inside of the row: nothing is asked, and a driver begins all accesses at once, for which larger groups lack registers. */
  readonly isFull: boolean;
}

/** Accesses of 16 bytes of a thread, as long as a group may have more threads. */
const EACH = 4;
/** Numbers that a thread keeps of one input. */
const MOST_KEPT = 64;

function planOf(columns: number, element: FloatElement, inputs: number): Plan {
  const widest = element === "f16" ? 8 : 4;
  const width = columns % widest === 0 ? widest : 1;
  const accesses = Math.ceil(columns / width);
  const threads = Math.min(1024, Math.max(32, 2 ** Math.ceil(Math.log2(columns / (EACH * widest)))));
  const each = Math.ceil(accesses / threads);
  const kept = 2 ** Math.ceil(Math.log2(each));
  const isKept = kept * width * inputs <= MOST_KEPT;
  return { threads, width, kept: isKept ? kept : 0, isFull: isKept && accesses === threads * kept && threads <= 512 };
}

/** Part of a row: `width` elements of each input from a column on. */
interface Piece {
  readonly column: Uint;
  /** In the tensor. */
  readonly place: Uint;
  readonly values: { readonly [input: string]: Float[] };
  /** null: surely inside of the row. */
  readonly inside: Bool | null;
}

class Row {
  readonly index: Uint;
  readonly columns: Uint;
  /** Accesses of a row. */
  readonly #units: Uint;
  readonly #s: RowScope;
  readonly #plan: Plan;
  readonly #inputs: readonly string[];
  #pieces: Piece[] | null = null;
  readonly #reduction: GroupReduction<RowParams>;

  constructor(s: RowScope, plan: Plan, inputs: readonly string[]) {
    this.#s = s;
    this.#plan = plan;
    this.#inputs = inputs;
    this.index = s.group;
    this.columns = s.buffers[inputs[0]!]!.dim(-1);
    this.#units = this.columns.div(plan.width);
    this.#reduction = new GroupReduction(s);
  }

  /** unit: counts accesses. */
  #read(unit: Uint, inside: Bool | null): Piece {
    const { width } = this.#plan;
    const place = this.index.mul(this.#units).add(unit);
    const at = (inside === null ? place : inside.select(place, 0)).mul(width);
    const values = Object.fromEntries(this.#inputs.map((name) => [name, read(this.#s.buffers[name] as Numbers, at, width, true)]));
    return { column: unit.mul(width), place: place.mul(width), values, inside };
  }

  /** Once for each part of the row that this thread has. */
  pass(fn: (piece: Piece) => void): void {
    const { threads, kept, isFull } = this.#plan;
    const first = this.#s.local;
    if (kept === 0) {
      this.#s.for(first, this.#units, (unit) => fn(this.#read(unit, null)), { step: threads });
      return;
    }
    this.#pieces ??= Array.from({ length: kept }, (_, i) => {
      const unit = first.add(i * threads);
      return this.#read(unit, isFull ? null : unit.lt(this.#units));
    });
    this.#pieces.forEach(fn);
  }

  /** Combines what fn gives for each element of the row; `none` stands outside of it. */
  reduce(
    none: number,
    combine: (a: Float, b: Float) => Float,
    fn: (values: { readonly [input: string]: Float }, column: Uint) => Float,
  ): Float {
    const s = this.#s;
    const result = s.variable(s.f32(none));
    this.pass(({ values, inside, column }) => {
      for (let k = 0; k < this.#plan.width; k++) {
        const x = fn(Object.fromEntries(this.#inputs.map((name) => [name, values[name]![k]!])), column.add(k));
        result.value = combine(result.value, inside === null ? x : inside.select(x, none));
      }
    });
    return this.#reduction.reduce(result.value, combine);
  }

  sum(fn: (values: { readonly [input: string]: Float }, column: Uint) => Float): Float {
    return this.reduce(0, (a, b) => a.add(b), fn);
  }

  max(fn: (values: { readonly [input: string]: Float }) => Float): Float {
    return this.reduce(-Infinity, (a, b) => a.max(b), fn);
  }

  /** Writes what fn gives for each element. extra: inputs of one row, read at the columns. */
  write(output: string, extra: readonly string[], fn: (values: { readonly [input: string]: Float }, column: Uint) => Float): void {
    const s = this.#s;
    this.pass(({ values, inside, column, place }) => {
      const put = (): void => {
        const more = Object.fromEntries(extra.map((name) => [name, read(s.buffers[name] as Numbers, column, this.#plan.width, true)]));
        const made = Array.from({ length: this.#plan.width }, (_, k) =>
          fn(Object.fromEntries([...this.#inputs, ...extra].map((name) => [name, (values[name] ?? more[name])![k]!])), column.add(k)),
        );
        write(s.buffers[output] as Numbers, place, made, true);
      };
      if (inside === null) put();
      else s.if(inside, put);
    });
  }
}

function rowKernel(
  name: string,
  columns: number,
  element: FloatElement,
  inputs: Names,
  outputs: Names,
  rowInputs: readonly string[],
  body: (row: Row, s: RowScope) => void,
): Kernel {
  const plan = planOf(columns, element, rowInputs.length);
  const groups = ({ shapes }: LaunchFacts): number => {
    const shape = shapes[rowInputs[0]!]!;
    return sizeOf(shape) / shape.at(-1)!;
  };
  const key = `${name} ${element} ${plan.threads} ${plan.width} ${plan.kept}${plan.isFull ? " full" : ""}`;
  return kernel(key, { inputs, outputs, params: { rows: "u32", eps: "f32", ignored: "u32" }, threads: plan.threads, groups }, (s) => {
    const scope = s as unknown as RowScope;
    // A large grid has a few groups too many.
    scope.if(scope.group.lt(scope.params.rows), () => body(new Row(scope, plan, rowInputs), scope));
  });
}

export const softmax = (e: FloatElement, columns: number): Kernel =>
  rowKernel("softmax", columns, e, { x: e }, { y: e }, ["x"], (row, s) => {
    const most = row.max(({ x }) => x!);
    const share = s.f32(1).div(row.sum(({ x }) => x!.sub(most).exp()));
    row.write("y", [], ({ x }) => x!.sub(most).exp().mul(share));
  });

export const logSoftmax = (e: FloatElement, columns: number): Kernel =>
  rowKernel("logSoftmax", columns, e, { x: e }, { y: e }, ["x"], (row) => {
    const most = row.max(({ x }) => x!);
    const sum = row.sum(({ x }) => x!.sub(most).exp()).log();
    row.write("y", [], ({ x }) => x!.sub(most).sub(sum));
  });

/** dx = (dy - Σ dy y) y. */
export const softmaxBackward = (e: FloatElement, columns: number): Kernel =>
  rowKernel("softmaxBackward", columns, e, { y: e, dy: e }, { dx: e }, ["y", "dy"], (row) => {
    const dot = row.sum(({ y, dy }) => y!.mul(dy!));
    row.write("dx", [], ({ y, dy }) => dy!.sub(dot).mul(y!));
  });

export const layerNorm = (e: FloatElement, columns: number): Kernel =>
  rowKernel("layerNorm", columns, e, { x: e, weight: e, bias: e }, { y: e }, ["x"], (row, s) => {
    const n = row.columns.toFloat();
    const mean = row.sum(({ x }) => x!).div(n);
    const scale = row
      .sum(({ x }) => x!.sub(mean).square())
      .div(n)
      .add(s.params.eps)
      .rsqrt();
    row.write("y", ["weight", "bias"], ({ x, weight, bias }) => x!.sub(mean).mul(scale).fma(weight!, bias!));
  });

/** With z = dy * weight and h = (x - mean) * scale: dx = scale (z - mean(z) - h mean(z h)). */
export const layerNormBackward = (e: FloatElement, columns: number): Kernel =>
  rowKernel("layerNormBackward", columns, e, { x: e, dy: e, weight: e }, { dx: e }, ["x", "dy"], (row, s) => {
    const n = row.columns.toFloat();
    const weight = s.buffers["weight"] as Numbers;
    const mean = row.sum(({ x }) => x!).div(n);
    const scale = row
      .sum(({ x }) => x!.sub(mean).square())
      .div(n)
      .add(s.params.eps)
      .rsqrt();
    const z = row.sum(({ dy }, column) => dy!.mul(weight.load(column))).div(n);
    const zh = row.sum(({ x, dy }, column) => dy!.mul(weight.load(column)).mul(x!.sub(mean).mul(scale))).div(n);
    row.write("dx", ["weight"], ({ x, dy, weight: w }) => dy!.mul(w!).sub(z).sub(x!.sub(mean).mul(scale).mul(zh)).mul(scale));
  });

export const rmsNorm = (e: FloatElement, columns: number): Kernel =>
  rowKernel("rmsNorm", columns, e, { x: e, weight: e }, { y: e }, ["x"], (row, s) => {
    const scale = row
      .sum(({ x }) => x!.square())
      .div(row.columns.toFloat())
      .add(s.params.eps)
      .rsqrt();
    row.write("y", ["weight"], ({ x, weight }) => x!.mul(scale).mul(weight!));
  });

export const rmsNormPlain = (e: FloatElement, columns: number): Kernel =>
  rowKernel("rmsNormPlain", columns, e, { x: e }, { y: e }, ["x"], (row, s) => {
    const scale = row
      .sum(({ x }) => x!.square())
      .div(row.columns.toFloat())
      .add(s.params.eps)
      .rsqrt();
    row.write("y", [], ({ x }) => x!.mul(scale));
  });

/** With z = dy * weight: dx = scale (z - x scale² mean(z x)). */
export const rmsNormBackward = (e: FloatElement, columns: number): Kernel =>
  rowKernel("rmsNormBackward", columns, e, { x: e, dy: e, weight: e }, { dx: e }, ["x", "dy"], (row, s) => {
    const n = row.columns.toFloat();
    const weight = s.buffers["weight"] as Numbers;
    const scale = row
      .sum(({ x }) => x!.square())
      .div(n)
      .add(s.params.eps)
      .rsqrt();
    const zx = row.sum(({ x, dy }, column) => dy!.mul(weight.load(column)).mul(x!)).div(n);
    const factor = zx.mul(scale).mul(scale);
    row.write("dx", ["weight"], ({ x, dy, weight: w }) => dy!.mul(w!).sub(x!.mul(factor)).mul(scale));
  });

/** The class of a row; as an unsigned number one that does not count is no column. */
function classOf(row: Row, s: RowScope): Uint {
  const place = (s.buffers["target"]!.load(row.index) as Int).bits();
  return place.eq(s.params.ignored).select(0xffffffff, place);
}

/** The logarithms of each row's probabilities, minus that of its target (0 where the target is no column), and whether it counts. */
export const crossEntropy = (e: FloatElement, columns: number): Kernel =>
  rowKernel("crossEntropy", columns, e, { x: e, target: "i32" }, { logs: e, loss: "f32", counted: "f32" }, ["x"], (row, s) => {
    const place = classOf(row, s);
    const most = row.max(({ x }) => x!);
    const sum = row.sum(({ x }) => x!.sub(most).exp()).log();
    row.write("logs", [], ({ x }) => x!.sub(most).sub(sum));
    const isThere = place.lt(row.columns);
    const own = (s.buffers["x"] as Numbers).load(isThere.select(row.index.mul(row.columns).add(place), 0));
    s.if(s.local.eq(0), () => {
      (s.buffers["loss"] as Numbers).store(row.index, isThere.select(sum.sub(own.sub(most)), 0));
      (s.buffers["counted"] as Numbers).store(row.index, isThere.select(s.f32(1), 0));
    });
  });

/** dx = scale (e^logs - [column = target]) in rows that count, else 0; a scale for each row, or one for all. */
export const crossEntropyBackward = (e: FloatElement, columns: number): Kernel =>
  rowKernel("crossEntropyBackward", columns, e, { logs: e, target: "i32", scale: e }, { dx: e }, ["logs"], (row, s) => {
    const place = classOf(row, s);
    const scales = s.buffers["scale"] as Numbers;
    const scale = scales.load(scales.size.eq(1).select(0, row.index));
    const isThere = place.lt(row.columns);
    row.write("dx", [], ({ logs }, column) => {
      const distance = logs!.exp().sub(column.eq(place).select(s.f32(1), 0));
      return isThere.select(distance.mul(scale), 0);
    });
  });
