/**
 * Random in-place writes by index against the same in plain JavaScript: every dtype and axis, views, several writes and reads in one call, eagerly and compiled, each
 * three times with other data. Tensors are small, or so large that only the indexed elements are read and written.
 */
import { describe, expect, it } from "vitest";
import * as dx from "../../src/index.ts";
import { eachDevice } from "../device.ts";
import { isWhole } from "../share.ts";

/** A tensor of the reference: all elements in row-major order. */
interface Plain {
  readonly shape: readonly number[];
  readonly data: number[];
}

function generator(seed: number): (n: number) => number {
  let state = (seed * 2654435761) >>> 0 || 1;
  return (n) => {
    state ^= state << 13;
    state >>>= 0;
    state ^= state >>> 17;
    state ^= state << 5;
    state >>>= 0;
    return state % n;
  };
}

const sizeOf = (shape: readonly number[]): number => shape.reduce((n, d) => n * d, 1);
const stridesOf = (shape: readonly number[]): number[] => shape.map((_, i) => sizeOf(shape.slice(i + 1)));
const coordinates = (at: number, shape: readonly number[]): number[] => stridesOf(shape).map((s, i) => Math.floor(at / s) % shape[i]!);
const flat = (at: readonly number[], shape: readonly number[]): number => stridesOf(shape).reduce((n, s, i) => n + s * at[i]!, 0);

type Fold = "set" | "sum" | "prod" | "amax" | "amin";
const FOLDS: { readonly [F in Fold]: (a: number, b: number) => number } = {
  set: (_, b) => b,
  sum: (a, b) => a + b,
  prod: (a, b) => a * b,
  amax: Math.max,
  amin: Math.min,
};

/** Folds values into x at indices, in order; without self the first value at an index replaces the element. */
function fold(x: Plain, indices: readonly number[], values: readonly number[], how: Fold, includeSelf = true): void {
  const seen = new Set<number>();
  indices.forEach((p, i) => {
    x.data[p] = includeSelf || seen.has(p) ? FOLDS[how](x.data[p]!, values[i]!) : values[i]!;
    seen.add(p);
  });
}

/** A write: its tensors are made in each call from numbers; it changes a tensor and the reference alike. */
interface Write {
  readonly name: string;
  /** Shapes and limits of the integers of each further tensor: an index (below limit) or values. */
  readonly inputs: readonly { readonly shape: readonly number[]; readonly limit: number; readonly kind: "index" | "distinct" | "values" }[];
  readonly run: (x: dx.Tensor, inputs: readonly dx.Tensor[]) => unknown;
  readonly plain: (x: Plain, inputs: readonly number[][]) => void;
}

/** Flat indices of rows along an axis, in the order of a source of shape [.., k, ..]. */
function rowIndices(shape: readonly number[], axis: number, index: readonly number[]): number[] {
  const wide = shape.map((d, i) => (i === axis ? index.length : d));
  return Array.from({ length: sizeOf(wide) }, (_, at) => {
    const c = coordinates(at, wide);
    c[axis] = index[c[axis]!]!;
    return flat(c, shape);
  });
}

/** Flat indices of an index of as many axes along one of them. */
function elementIndices(shape: readonly number[], axis: number, index: readonly number[], indexShape: readonly number[]): number[] {
  return index.map((i, at) => {
    const c = coordinates(at, indexShape);
    c[axis] = i;
    return flat(c, shape);
  });
}

type Random = (n: number) => number;

const rowWrite = (shape: readonly number[], random: Random, isBool: boolean): Write => {
  const axis = random(shape.length);
  const d = shape[axis]!;
  const how = random(6);
  const isOnce = how === 0;
  const most = isOnce ? Math.min(d, 6) : Math.min(2 * d, random(4) === 0 ? 300 : 6);
  const k = random(8) === 0 ? 0 : 1 + random(most);
  const wide = shape.map((n, i) => (i === axis ? k : n));
  const inputs = (values: readonly number[] | null): Write["inputs"] => [
    { shape: [k], limit: d, kind: isOnce ? "distinct" : "index" },
    ...(values === null ? [] : [{ shape: values, limit: isBool ? 2 : 3, kind: "values" as const }]),
  ];
  const indicesOf = (index: readonly number[]): number[] => rowIndices(shape, axis, index);
  if (how === 0)
    return {
      name: `indexCopy_ ${axis} ${k}`,
      inputs: inputs(wide),
      run: (x, [i, v]) => x.indexCopy_(axis, i!, v!),
      plain: (x, [i, v]) => fold(x, indicesOf(i!), v!, "set"),
    };
  if (how === 1)
    return {
      name: `indexFill_ ${axis} ${k}`,
      inputs: inputs(null),
      run: (x, [i]) => x.indexFill_(axis, i!, 1),
      plain: (x, [i]) => fold(x, indicesOf(i!), indicesOf(i!).map(() => 1), "set"), // prettier-ignore
    };
  if (how < 4) {
    const alpha = isBool ? 1 : 1 + random(2);
    return {
      name: `indexAdd_ ${axis} ${k} ${alpha}`,
      inputs: inputs(wide),
      run: (x, [i, v]) => x.indexAdd_(axis, i!, v!, { alpha }),
      plain: (x, [i, v]) => fold(x, indicesOf(i!), v!.map((n) => alpha * n), "sum"), // prettier-ignore
    };
  }
  const reduce = (["prod", "amax", "amin"] as const)[random(3)]!;
  const includeSelf = random(2) === 0;
  return {
    name: `indexReduce_ ${reduce} ${axis} ${k} ${includeSelf}`,
    inputs: inputs(wide),
    run: (x, [i, v]) => x.indexReduce_(axis, i!, v!, reduce, { includeSelf }),
    plain: (x, [i, v]) => fold(x, indicesOf(i!), v!, reduce, includeSelf),
  };
};

const elementWrite = (shape: readonly number[], random: Random, isBool: boolean): Write => {
  const axis = random(shape.length);
  const d = shape[axis]!;
  const how = random(4);
  // Indices that are set are distinct along the axis.
  const indexShape = shape.map((n, i) => (i === axis ? (how === 0 ? 1 : 1 + random(Math.min(d, 4))) : 1 + random(Math.min(n, 40))));
  const inputs: Write["inputs"] = [
    { shape: indexShape, limit: d, kind: "index" },
    { shape: indexShape, limit: isBool ? 2 : 3, kind: "values" },
  ];
  const indicesOf = (index: readonly number[]): number[] => elementIndices(shape, axis, index, indexShape);
  if (how === 0)
    return {
      name: `scatter_ ${axis} ${indexShape.join()}`,
      inputs,
      run: (x, [i, v]) => x.scatter_(axis, i!, v!),
      plain: (x, [i, v]) => fold(x, indicesOf(i!), v!, "set"),
    };
  if (how === 1)
    return {
      name: `scatterAdd_ ${axis} ${indexShape.join()}`,
      inputs,
      run: (x, [i, v]) => x.scatterAdd_(axis, i!, v!),
      plain: (x, [i, v]) => fold(x, indicesOf(i!), v!, "sum"),
    };
  const reduce = (["sum", "prod", "amax", "amin"] as const)[random(4)]!;
  const includeSelf = random(2) === 0;
  return {
    name: `scatterReduce_ ${reduce} ${axis} ${indexShape.join()} ${includeSelf}`,
    inputs,
    run: (x, [i, v]) => x.scatterReduce_(axis, i!, v!, reduce, { includeSelf }),
    plain: (x, [i, v]) => fold(x, indicesOf(i!), v!, reduce, includeSelf),
  };
};

const flatWrite = (shape: readonly number[], random: Random, isBool: boolean): Write => {
  const size = sizeOf(shape);
  const accumulate = random(2) === 0;
  const kind = accumulate ? "index" : "distinct";
  const k = 1 + random(Math.min(5, size));
  const how: Fold = accumulate ? "sum" : "set";
  const limit = isBool ? 2 : 3;
  if (random(2) === 0)
    return {
      name: `put_ ${k} ${accumulate}`,
      inputs: [{ shape: [k], limit: size, kind }, { shape: [k], limit, kind: "values" }], // prettier-ignore
      run: (x, [i, v]) => x.put_(i!, v!, { accumulate }),
      plain: (x, [i, v]) => fold(x, i!, v!, how),
    };
  const rows = 1 + random(Math.min(5, shape[0]!));
  const rest = shape.slice(1);
  return {
    name: `indexPut_ ${rows} ${accumulate}`,
    inputs: [{ shape: [rows], limit: shape[0]!, kind }, { shape: [rows, ...rest], limit, kind: "values" }], // prettier-ignore
    run: (x, [i, v]) => x.indexPut_([i!], v!, { accumulate }),
    plain: (x, [i, v]) => fold(x, rowIndices(shape, 0, i!), v!, how),
  };
};

const sliceWrite = (shape: readonly number[], random: Random, isBool: boolean): Write => {
  const axis = random(shape.length);
  const d = shape[axis]!;
  const step = 1 + random(3);
  const start = random(d);
  const index = Array.from({ length: Math.ceil((d - start) / step) }, (_, i) => start + i * step);
  const part = shape.map((n, i) => (i === axis ? index.length : n));
  if (random(2) === 0)
    return {
      name: `select fill_ ${axis} ${start}`,
      inputs: [],
      run: (x) => x.select(axis, start).fill_(1),
      plain: (x) => fold(x, rowIndices(shape, axis, [start]), rowIndices(shape, axis, [start]).map(() => 1), "set"), // prettier-ignore
    };
  return {
    name: `slice copy_ ${axis} ${start} ${step}`,
    inputs: [{ shape: part, limit: isBool ? 2 : 3, kind: "values" }],
    run: (x, [v]) => x.slice(axis, start, d, step).copy_(v!),
    plain: (x, [v]) => fold(x, rowIndices(shape, axis, index), v!, "set"),
  };
};

const WRITES = [rowWrite, rowWrite, elementWrite, flatWrite, sliceWrite];

/** The layout of the written tensor in its storage: the view of the storage, and its index in the reference. */
interface Layout {
  readonly storage: (shape: readonly number[]) => number[];
  readonly view: (x: dx.Tensor) => dx.Tensor;
  readonly indexOf: (at: readonly number[], shape: readonly number[]) => number[];
}
const LAYOUTS: { readonly [name: string]: Layout } = {
  packed: { storage: (s) => [...s], view: (x) => x, indexOf: (at) => [...at] },
  transposed: {
    storage: (s) => [...s].reverse(),
    view: (x) => x.permute(...x.shape.map((_, i) => x.rank - 1 - i)),
    indexOf: (at) => [...at].reverse(),
  },
  cut: { storage: (s) => s.map((d) => d + 2), view: (x) => x.shape.reduce((v, d, i) => v.narrow(i, 1, d - 2), x), indexOf: (at) => at.map((c) => c + 1) }, // prettier-ignore
  row: { storage: (s) => [3, ...s], view: (x) => x.select(0, 1), indexOf: (at) => [1, ...at] },
};

const DTYPES = ["float32", "float16", "int32", "int64", "uint8", "bool", "bfloat16"] as const;
const WAYS = ["eager", "state", "argument", "state, no regions", "state, one region"] as const;

interface Program {
  readonly shape: readonly number[];
  readonly dtype: dx.DType;
  readonly index: "int32" | "int64";
  readonly layout: string;
  readonly writes: readonly Write[];
  /** After which writes a row is read. */
  readonly reads: readonly boolean[];
}

function programOf(seed: number): { program: Program; random: Random } {
  const random = generator(seed);
  const dtype = DTYPES[random(DTYPES.length)]!;
  const rank = 1 + random(5);
  const isLarge = random(6) === 0;
  const shape = Array.from({ length: rank }, () => 1 + random(6));
  if (isLarge) {
    const long = random(rank);
    shape[long] = Math.ceil((66000 / sizeOf(shape)) * shape[long]!);
  }
  const layout = Object.keys(LAYOUTS)[random(2) * random(4)]!;
  const count = 1 + random(3);
  const writes = Array.from({ length: count }, () => WRITES[random(WRITES.length)]!(shape, random, dtype === "bool"));
  return { program: { shape, dtype, index: random(2) === 0 ? "int32" : "int64", layout, writes, reads: writes.map(() => random(2) === 0) }, random }; // prettier-ignore
}

/** Bools hold whether a number is not 0; a sum of two that hold is one that holds. */
const held = (x: number, dtype: dx.DType): number => (dtype === "bool" ? Number(x !== 0) : dtype === "uint8" ? x & 255 : x);

function check(seed: number): void {
  const { program, random } = programOf(seed);
  const { shape, dtype, writes } = program;
  const layout = LAYOUTS[program.layout]!;
  const storage = layout.storage(shape);
  const positions = Array.from({ length: sizeOf(shape) }, (_, at) => flat(layout.indexOf(coordinates(at, shape), shape), storage));
  const numbers = (n: number, limit: number): number[] => Array.from({ length: n }, () => random(limit));
  const distinct = (n: number, limit: number): number[] => {
    const found = new Set<number>();
    while (found.size < n) found.add(random(limit));
    return [...found];
  };
  const tensorOf = (data: readonly number[], s: readonly number[], d: dx.DType): dx.Tensor => {
    const whole = dx.tensor(Int32Array.from(data), { shape: s });
    return d === "int32" ? whole : d === "bool" ? whole.ne(0) : whole.to(d);
  };
  for (const way of WAYS) {
    const counts = writes.map((w) => w.inputs.length);
    const body = (whole: dx.Tensor, inputs: readonly dx.Tensor[]): dx.Tensor[] => {
      const x = layout.view(whole);
      const read: dx.Tensor[] = [];
      let at = 0;
      writes.forEach((w, i) => {
        w.run(x, inputs.slice(at, at + counts[i]!));
        at += counts[i]!;
        if (program.reads[i]) read.push(x.select(0, 0).clone());
      });
      return read;
    };
    const buffer = tensorOf(numbers(sizeOf(storage), 3), storage, dtype);
    const options =
      way === "state, no regions" ? { regions: "none" as const } : way === "state, one region" ? { regions: "whole" as const } : {};
    const compiled = way === "eager" ? null : way === "argument" ? dx.compile(body as never, options) : dx.compile(((inputs: readonly dx.Tensor[]) => body(buffer, inputs)) as never, options); // prettier-ignore
    let shown = [...(buffer.to("float32").dataSync() as Float32Array)];
    for (let call = 0; call < 3; call++) {
      const drawn = writes.map((w) =>
        w.inputs.map((g) => (g.kind === "distinct" ? distinct(sizeOf(g.shape), g.limit) : numbers(sizeOf(g.shape), g.limit))),
      );
      const inputs = writes.flatMap((w, i) => w.inputs.map((g, k) => tensorOf(drawn[i]![k]!, g.shape, g.kind === "values" ? dtype : program.index))); // prettier-ignore
      const before = buffer.add(0);
      const old = shown;
      const read = (compiled === null ? body(buffer, inputs) : way === "argument" ? (compiled as never as typeof body)(buffer, inputs) : (compiled as never as (g: readonly dx.Tensor[]) => dx.Tensor[])(inputs)); // prettier-ignore
      const x: Plain = { shape, data: positions.map((p) => old[p]!) }; // prettier-ignore
      const expected: number[][] = [];
      writes.forEach((w, i) => {
        w.plain(x, drawn[i]!);
        x.data.forEach((v, at) => (x.data[at] = held(v, dtype)));
        if (program.reads[i]) expected.push(x.data.slice(0, sizeOf(shape.slice(1))));
      });
      shown = [...old];
      x.data.forEach((v, at) => (shown[positions[at]!] = v));
      const note = `seed ${seed}, ${way}, call ${call}: ${dtype}[${shape.join()}] ${program.layout}, ${writes.map((w) => w.name).join("; ")}`;
      const differs = (t: dx.Tensor, e: readonly number[]): number =>
        (t.to("float32").dataSync() as Float32Array).findIndex((v, i) => v !== e[i]);
      expect([note, differs(buffer, shown)]).toEqual([note, -1]);
      read.forEach((t, i) => expect([note, i, differs(t, expected[i]!)]).toEqual([note, i, -1]));
      expect([note, "before", differs(before, old)]).toEqual([note, "before", -1]);
      // Numbers stay small: bfloat16 holds whole ones up to 256.
      if (call < 2) {
        dx.noGrad(() => buffer.copy_(tensorOf((shown = numbers(sizeOf(storage), 3).map((v) => held(v, dtype))), storage, dtype)));
      }
    }
    (compiled as { dispose?: () => void } | null)?.dispose?.();
  }
}

/** DXTENSOR_TEST_SEEDS: more of them, for a long run. */
const SEEDS = Number(process.env["DXTENSOR_TEST_SEEDS"] ?? (isWhole ? 40 : 8));
const BY_SHADERS = isWhole ? 12 : 4;
const BATCH = Math.min(SEEDS, 20);

eachDevice("random writes by index", (device) => {
  it("by shaders, where the device runs them", { timeout: 600_000 }, () => {
    const before = process.env["DXTENSOR_SHADERS"];
    process.env["DXTENSOR_SHADERS"] = "on";
    // Another handle of the device has programs of its own.
    dx.closeDevice(device);
    try {
      for (let seed = 1001; seed <= 1000 + BY_SHADERS; seed++) check(seed);
    } finally {
      if (before === undefined) delete process.env["DXTENSOR_SHADERS"];
      else process.env["DXTENSOR_SHADERS"] = before;
      dx.closeDevice(device);
    }
  });

  describe("are those of plain JavaScript", () => {
    for (let first = 1; first <= SEEDS; first += BATCH)
      it(`seeds ${first} to ${first + BATCH - 1}`, { timeout: 600_000 }, () => {
        for (let seed = first; seed < first + BATCH; seed++) check(seed);
      });
  });
});
