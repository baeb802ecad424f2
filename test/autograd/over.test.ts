/**
 * The cost of an in-place write of a slice is proportional to the slice: the rest of the storage is not copied. Results are checked element by
 * element; earlier reads keep the old values.
 */
import { describe, expect, it } from "vitest";
import * as dx from "../../src/index.ts";
import { nativeDevice } from "../../src/runtime/devices.ts";
import { eachDevice, modes } from "../device.ts";
import { expectClose } from "../tolerance.ts";

const { s } = dx;
const shape = [3, 5, 4] as const;
const count = 60;
const base = (): number[] => Array.from({ length: count }, (_, i) => i + 1);
const at = (i: number, j: number, k: number): number => (i * 5 + j) * 4 + k;

/** What each element is afterwards: null where it stays. */
type Expected = (i: number, j: number, k: number, old: number) => number | null;
interface Case {
  readonly write: (x: dx.Tensor, source: dx.Tensor) => unknown;
  /** Of the source, whose elements are 100, 101, …. */
  readonly source: readonly number[];
  readonly expected: Expected;
}

const int = (...list: number[]): dx.Tensor => dx.tensor(list, { dtype: "int32" });
const CASES: { readonly [name: string]: Case } = {
  "indexCopy_ of rows": {
    source: [3, 2, 4],
    write: (x, v) => x.indexCopy_(1, int(4, 0), v),
    expected: (i, j, k) => (j === 4 ? 100 + i * 8 + k : j === 0 ? 104 + i * 8 + k : null),
  },
  "indexCopy_ along the first axis": {
    source: [1, 5, 4],
    write: (x, v) => x.indexCopy_(0, int(1), v),
    expected: (i, j, k) => (i === 1 ? 100 + j * 4 + k : null),
  },
  "indexCopy_ of nothing": {
    source: [3, 0, 4],
    write: (x, v) => x.indexCopy_(1, dx.zeros([0], { dtype: "int32" }), v),
    expected: () => null,
  },
  "indexFill_ with an index twice": {
    source: [1],
    write: (x) => x.indexFill_(2, int(3, 1, 3), -7),
    expected: (_i, _j, k) => (k === 3 || k === 1 ? -7 : null),
  },
  "indexAdd_ of one row": {
    source: [3, 1, 4],
    write: (x, v) => x.indexAdd_(1, int(2), v),
    expected: (i, j, k, old) => (j === 2 ? old + 100 + i * 4 + k : null),
  },
  "indexAdd_ with an index twice, and alpha": {
    source: [2, 5, 4],
    write: (x, v) => x.indexAdd_(0, int(2, 2), v, { alpha: 2 }),
    expected: (i, j, k, old) => (i === 2 ? old + 2 * (100 + j * 4 + k + 120 + j * 4 + k) : null),
  },
  scatter_: {
    source: [1, 2, 4],
    write: (x, v) => x.scatter_(1, dx.tensor([[[0, 1, 2, 3], [4, 4, 3, 2]]], { dtype: "int64" }), v), // prettier-ignore
    expected: (i, j, k) => {
      if (i !== 0) return null;
      const row = [[0, 1, 2, 3][k], [4, 4, 3, 2][k]].indexOf(j);
      return row < 0 ? null : 100 + row * 4 + k;
    },
  },
  indexPut_: {
    source: [2, 4],
    write: (x, v) => x.indexPut_([int(0, 2), int(1, 3)], v),
    expected: (i, j, k) => (i === 0 && j === 1 ? 100 + k : i === 2 && j === 3 ? 104 + k : null),
  },
  "indexPut_ that adds": {
    source: [2, 4],
    write: (x, v) => x.indexPut_([int(1, 1), int(3, 3)], v, { accumulate: true }),
    expected: (i, j, k, old) => (i === 1 && j === 3 ? old + 204 + 2 * k : null),
  },
  put_: {
    source: [3],
    write: (x, v) => x.put_(int(0, 59, -2), v),
    expected: (i, j, k) => ({ 0: 100, 59: 101, 58: 102 })[at(i, j, k)] ?? null,
  },
  "set by a list": { source: [1], write: (x) => x.set([":", [1, 3]], -1), expected: (_i, j) => (j === 1 || j === 3 ? -1 : null) },
  "set by slices": { source: [1], write: (x) => x.set([":", s(1, 3)], -1), expected: (_i, j) => (j === 1 || j === 2 ? -1 : null) },
  "set by a step": {
    source: [1],
    write: (x) => x.set([":", s(0, null, 2), s(1, 3)], -1),
    expected: (_i, j, k) => (j % 2 === 0 && (k === 1 || k === 2) ? -1 : null),
  },
  "narrow and copy_": {
    source: [3, 1, 4],
    write: (x, v) => x.narrow(1, 3, 1).copy_(v),
    expected: (i, j, k) => (j === 3 ? 100 + i * 4 + k : null),
  },
  "a packed range": {
    source: [1, 5, 4],
    write: (x, v) => x.narrow(0, 2, 1).copy_(v),
    expected: (i, j, k) => (i === 2 ? 100 + j * 4 + k : null),
  },
  "select and fill_": { source: [1], write: (x) => x.select(1, 4).fill_(9), expected: (_i, j) => (j === 4 ? 9 : null) },
  "a column": { source: [1], write: (x) => x.select(2, 0).fill_(9), expected: (_i, _j, k) => (k === 0 ? 9 : null) },
  "a slice that changes by itself": {
    source: [1],
    write: (x) => x.select(1, 1).mul_(2),
    expected: (_i, j, _k, old) => (j === 1 ? old * 2 : null),
  },
  "a transposed view": {
    source: [4, 3],
    write: (x, v) => x.select(1, 2).t().copy_(v),
    expected: (i, j, k) => (j === 2 ? 100 + k * 3 + i : null),
  },
  "rows of a view": {
    source: [3, 1, 2],
    write: (x, v) => x.narrow(2, 1, 2).indexCopy_(1, int(4), v),
    expected: (i, j, k) => (j === 4 && (k === 1 || k === 2) ? 100 + i * 2 + k - 1 : null),
  },
  "a source that lies in the target": {
    source: [1],
    write: (x) => x.indexCopy_(1, int(0), x.narrow(1, 4, 1)),
    expected: (i, j, k) => (j === 0 ? at(i, 4, k) + 1 : null),
  },
  "a slice that moves by one": {
    source: [1],
    write: (x) => x.narrow(1, 1, 4).copy_(x.narrow(1, 0, 4)),
    expected: (i, j, k) => (j > 0 ? at(i, j - 1, k) + 1 : null),
  },
  "two rows, one after the other": {
    source: [3, 1, 4],
    write: (x, v) => {
      x.indexCopy_(1, int(1), v);
      x.indexCopy_(1, int(3), v.mul(2));
    },
    expected: (i, j, k) => (j === 1 ? 100 + i * 4 + k : j === 3 ? 2 * (100 + i * 4 + k) : null),
  },
};

/** Whether the device writes what an index names without a copy of the rest. */
const writesParts = (device: string): boolean => device === "cpu" || nativeDevice(dx.device(device)).capabilities.runsShaders;

const sourceOf = ({ source }: Case, dtype: dx.DType = "float32"): dx.Tensor => {
  const size = source.reduce((n, d) => n * d, 1);
  return dx
    .arange(100, 100 + size, { dtype: "int32" })
    .to(dtype)
    .reshape(source);
};
const wanted = ({ expected }: Case, from: readonly number[] = base()): number[] =>
  from.map((old, n) => expected(Math.floor(n / 20), Math.floor(n / 4) % 5, n % 4, old) ?? old);
const made = (dtype: dx.DType = "float32"): dx.Tensor => dx.tensor(base(), { dtype }).reshape(shape);

eachDevice("writes of a part", (device) => {
  for (const [name, c] of Object.entries(CASES)) {
    describe(name, () => {
      for (const mode of modes)
        it(`of an argument, ${mode.name}`, () => {
          const result = mode.run(
            (x, v) => {
              const own = x.clone();
              c.write(own, v);
              return own;
            },
            made(),
            sourceOf(c),
          );
          expectClose(result, wanted(c));
        });

      it("of state, eagerly and compiled: again and again, with what was read before", () => {
        for (const compiled of [false, true]) {
          const cache = made();
          const view = cache.reshape(-1);
          const body = (v: dx.Tensor): dx.Tensor => {
            const before = cache.mul(1);
            c.write(cache, v);
            return before;
          };
          const f = compiled ? dx.compile(body) : body;
          for (let call = 0; call < 4; call++) {
            // What calls before left is not what this one is about.
            dx.noGrad(() => cache.copy_(made().add(call)));
            const old = cache.add(0);
            const before = f(sourceOf(c));
            const from = base().map((v) => v + call);
            expectClose(old, from);
            expectClose(before, from);
            if (!name.includes("lies in") && !name.includes("moves by")) {
              expectClose(cache, wanted(c, from));
              expectClose(view, wanted(c, from));
            }
          }
        }
      });

      it("of other dtypes", () => {
        for (const dtype of ["float16", "bfloat16", "int32", "int64", "uint8"] as const) {
          if (dtype === "uint8" && wanted(c).some((v) => v < 0 || v > 255)) continue;
          if (dtype === "bfloat16" && wanted(c).some((v) => Math.abs(v) > 256)) continue;
          const x = made(dtype);
          c.write(x, sourceOf(c, dtype));
          expectClose(x.to("float32"), wanted(c));
        }
      });
    });
  }

  it("counts versions, so that a saved tensor that was changed is noticed", () => {
    const w = dx.ones([4, 2], { requiresGrad: true });
    for (const write of [
      (x: dx.Tensor) => x.indexCopy_(0, int(1), dx.zeros([1, 2])),
      (x: dx.Tensor) => x.narrow(1, 0, 1).fill_(0),
      (x: dx.Tensor) => x.indexAdd_(0, int(1), dx.ones([1, 2])),
    ]) {
      const x = dx.ones([4, 2]);
      const y = w.mul(x).sum();
      write(x);
      expect(() => y.backward()).toThrow(/in-place operation changed it/);
    }
  });

  it("records gradients as before where somebody wants them", () => {
    const x = dx.ones([3, 2], { requiresGrad: true });
    const v = dx.full([1, 2], 5, { requiresGrad: true });
    const y = x.mul(2);
    y.indexCopy_(0, int(1), v);
    y.mul(y).sum().backward();
    expect(x.grad!.toArraySync()).toEqual([[8, 8], [0, 0], [8, 8]]); // prettier-ignore
    expect(v.grad!.toArraySync()).toEqual([[10, 10]]);
    const cache = dx.zeros([3, 2]);
    cache.indexCopy_(0, int(2), v);
    cache.mul(3).sum().backward();
    expect(v.grad!.toArraySync()).toEqual([[13, 13]]);
  });

  it("stays in the buffer while gradients are recorded that read nothing of it", () => {
    const handleOf = (t: dx.Tensor): number => t.storage.handle;
    const column = (t: dx.Tensor): unknown => t.narrow(0, 0, 4).select(1, 3).toArraySync();
    const x = dx.full([4096, 256], 3, { requiresGrad: true });
    const rows = dx.full([2, 256], 5, { requiresGrad: true });
    const y = x.mul(2);
    const cache = dx.zeros([4096, 256]);
    const before = [handleOf(y), handleOf(cache)];
    for (const target of [y, cache]) {
      target.indexCopy_(0, int(1, 2), rows);
      target.indexCopy_(0, int(2, 3), rows.mul(2));
      target.scatter_(0, dx.zeros([1, 256], { dtype: "int64" }), rows.narrow(0, 0, 1));
    }
    if (writesParts(device)) expect([handleOf(y), handleOf(cache)]).toEqual(before);
    expect([column(y), column(cache)]).toEqual([
      [5, 5, 10, 10],
      [5, 5, 10, 10],
    ]);
    const weights = dx.tensor([1, 2, 3, 4]).reshape(4, 1);
    y.narrow(0, 0, 4).mul(weights).sum().backward();
    expect([column(x.grad!), x.grad!.index(4, 3).itemSync(), rows.grad!.select(1, 3).toArraySync()]).toEqual([
      [0, 0, 0, 0],
      0,
      [1 + 2 + 6, 8],
    ]);
    cache.narrow(0, 0, 4).mul(weights).sum().backward();
    expect(rows.grad!.select(1, 3).toArraySync()).toEqual([18, 16]);
  });

  it("is noticed by what was saved before, and refused before anything is written", () => {
    const x = dx.ones([3, 2], { requiresGrad: true });
    const rows = dx.full([1, 2], 5, { requiresGrad: true });
    const y = x.mul(2);
    const squares = y.square().sum();
    y.indexCopy_(0, int(1), rows);
    expect(() => squares.backward()).toThrow(dx.AutogradError);
    const base = dx.ones([3, 2]);
    const view = dx.noGrad(() => base.reshape(3, 2, 1).reshape(3, 2));
    expect(() => view.indexCopy_(0, int(1), rows)).toThrow(dx.AutogradError);
    expect(base.toArraySync()).toEqual([[1, 1], [1, 1], [1, 1]]); // prettier-ignore
  });

  it("through a view keeps its gradient apart from that of the rest", () => {
    const x = dx.ones([4, 3], { requiresGrad: true });
    const v = dx.full([3], 5, { requiresGrad: true });
    const y = x.mul(2);
    y.select(0, 1).copy_(v);
    y.t().select(0, 2).mul_(3);
    y.reshape(2, 6).narrow(1, 5, 1).fill_(0);
    const weights = dx.arange(1, 13, { dtype: "float32" }).reshape(4, 3);
    y.mul(weights).sum().backward();
    expect(x.grad!.toArraySync()).toEqual([[2, 4, 18], [0, 0, 0], [14, 16, 54], [20, 22, 0]]); // prettier-ignore
    expect(v.grad!.toArraySync()).toEqual([4, 5, 0]);
  });

  it("a leaf changes inside noGrad, and its gradient stays", () => {
    const x = dx.ones([3, 2], { requiresGrad: true });
    x.sum().backward();
    dx.noGrad(() => x.indexFill_(0, int(0), 4));
    expect([x.toArraySync(), x.grad!.toArraySync(), x.requiresGrad]).toEqual([[[4, 4], [1, 1], [1, 1]], [[1, 1], [1, 1], [1, 1]], true]); // prettier-ignore
  });

  it("a refused write changes nothing", () => {
    const x = dx.ones([3, 2]);
    if (device === "cpu") expect(() => x.indexCopy_(0, int(3), dx.zeros([1, 2]))).toThrow(dx.IndexError);
    expect(() => x.indexCopy_(0, int(1), dx.zeros([1, 3]))).toThrow(dx.ShapeError);
    expect(x.toArraySync()).toEqual([[1, 1], [1, 1], [1, 1]]); // prettier-ignore
  });

  it("a row of a large tensor is written without a buffer for the whole", async () => {
    const cache = dx.zeros([4096, 256]);
    const row = dx.ones([1, 256]);
    const index = int(7);
    const writes: readonly (() => unknown)[] = [
      () => cache.narrow(0, 3, 1).copy_(row),
      () => cache.reshape(2, 2048, 256).select(1, 9).fill_(2),
      ...(writesParts(device)
        ? [
            () => cache.indexCopy_(0, index, row),
            () => cache.indexFill_(0, index, 3),
            () => cache.set([[1, 2]], 5),
            () => cache.scatter_(0, dx.full([1, 256], 8, { dtype: "int64" }), 6),
            () => cache.indexPut_([int(9)], dx.tensor(2)),
            () => cache.put_(int(-1), dx.ones([1])),
            () => cache.indexAdd_(0, index, row),
            () => cache.indexAdd_(0, int(7, 9, 7), dx.ones([3, 256])),
            () => cache.indexReduce_(0, int(11, 12, 11), dx.ones([3, 256]), "amax"),
            () => cache.scatterAdd_(0, dx.full([1, 256], 13, { dtype: "int64" }), row),
            () => cache.scatterReduce_(0, dx.full([2, 256], 13, { dtype: "int64" }), dx.ones([2, 256]), "prod"),
            () => cache.put_(int(-1, 5), dx.ones([2]), { accumulate: true }),
            () => cache.indexPut_([int(20, 20)], dx.ones([2, 256]), { accumulate: true }),
            () => cache.select(1, 7).fill_(1),
            () => cache.diagonal().fill_(0),
          ]
        : []),
    ];
    for (const write of writes) {
      write();
      await dx.synchronize();
      const before = cache.storage.handle;
      write();
      expect(cache.storage.handle).toBe(before);
    }
    expect(cache.narrow(0, 0, 4).select(1, 0).toArraySync()).toEqual(writesParts(device) ? [0, 5, 5, 1] : [0, 0, 0, 1]);
  });

  it("writes into large tensors mean what they mean into small ones: aliases, gradients, refusals", () => {
    const made = (): dx.Tensor =>
      dx
        .arange(2048, { dtype: "float32" })
        .reshape(2048, 1)
        .mul(dx.ones([1, 64]))
        .contiguous();
    const column = (x: dx.Tensor, ...rows: number[]): number[] => rows.map((r) => x.index(r, 5).itemSync() as number);
    for (const compiled of [false, true]) {
      const run = (fn: (x: dx.Tensor) => unknown): dx.Tensor => {
        const x = made();
        const f = compiled ? dx.compile(() => void fn(x)) : (): void => void fn(x);
        f();
        return x;
      };
      // The source, or the index, lies in the target.
      expect(
        column(
          run((x) => x.indexAdd_(0, int(2, 3), x.narrow(0, 3, 2))),
          1,
          2,
          3,
          4,
        ),
      ).toEqual([1, 5, 7, 4]);
      expect(
        column(
          run((x) => x.indexCopy_(0, int(2, 3), x.narrow(0, 1, 2))),
          1,
          2,
          3,
          4,
        ),
      ).toEqual([1, 1, 2, 4]);
      expect(
        column(
          run((x) => x.narrow(0, 1, 3).copy_(x.narrow(0, 0, 3))),
          0,
          1,
          2,
          3,
          4,
        ),
      ).toEqual([0, 0, 1, 2, 4]);
      expect(
        column(
          run((x) => x.t().indexAdd_(1, int(2, 2), dx.ones([64, 2]))),
          1,
          2,
          3,
        ),
      ).toEqual([1, 4, 3]);
      expect(
        column(
          run((x) => x.put_(int(-1, 5), dx.tensor([7, 8]), { accumulate: true })),
          0,
          1,
        ),
      ).toEqual([8, 1]);
      const rows = dx
        .arange(2 ** 17, { dtype: "int32" })
        .reshape(2048, 64)
        .remainder(2048)
        .contiguous();
      const f = (): unknown => rows.scatterAdd_(0, rows.narrow(0, 0, 1), rows.narrow(0, 7, 1));
      if (compiled) dx.compile(() => void f())();
      else f();
      expect([rows.index(3, 3).itemSync(), rows.index(0, 0).itemSync()]).toEqual([((3 * 64 + 3) % 2048) + ((7 * 64 + 3) % 2048), (7 * 64) % 2048]); // prettier-ignore
    }
    const v = dx.full([2, 64], 3, { requiresGrad: true });
    for (const write of [
      (x: dx.Tensor) => x.indexAdd_(0, int(1, 1), v, { alpha: 2 }),
      (x: dx.Tensor) => x.scatterAdd_(0, dx.ones([2, 64], { dtype: "int64" }), v.mul(2)),
      (x: dx.Tensor) => x.indexPut_([int(1, 1)], v.mul(2), { accumulate: true }),
    ]) {
      const x = made();
      write(x);
      expect([x.requiresGrad, ...column(x, 0, 1, 2)]).toEqual([true, 0, 13, 2]);
      expect(dx.grad(x.mul(x).sum(), [v])[0]!.index(0, 0).itemSync()).toBe(2 * 13 * 2);
    }
    const w = dx.ones([64], { requiresGrad: true });
    const x = made();
    const y = x.mul(w).sum();
    x.indexAdd_(0, int(1), dx.ones([1, 64]));
    expect(() => y.backward()).toThrow(/in-place operation changed it/);
    const wide = dx.ones([1, 64]).expand(2048, 64);
    expect(() => wide.indexAdd_(0, int(1), dx.ones([1, 64]))).toThrow(dx.ShapeError);
    expect(() => wide.scatterAdd_(0, dx.ones([1, 64], { dtype: "int64" }), dx.ones([1, 64]))).toThrow(dx.ShapeError);
    if (device !== "cpu") return;
    for (const bad of [2048, -1]) {
      expect(() => x.indexAdd_(0, int(bad), dx.ones([1, 64]))).toThrow(dx.IndexError);
      expect(() => x.scatterReduce_(0, dx.full([1, 64], bad, { dtype: "int64" }), dx.ones([1, 64]), "amax")).toThrow(dx.IndexError);
    }
    expect(column(x, 0, 1, 2047)).toEqual([0, 2, 2047]);
  });

  it("compiled functions write rows into the memory of state and of arguments", () => {
    const row = dx.ones([1, 64]);
    const [first, second] = [int(3), int(3, 9)];
    const writes: readonly ((x: dx.Tensor, v: dx.Tensor) => unknown)[] = [
      (x, v) => x.indexCopy_(0, first, v),
      (x, v) => {
        x.indexCopy_(0, first, v);
        x.indexFill_(0, second, 2);
      },
      (x, v) => {
        x.indexCopy_(0, first, v);
        const sum = x.index(3).sum();
        x.indexCopy_(0, second, v.expand(2, 64));
        return sum;
      },
      (x, v) => {
        x.indexAdd_(0, second, v.expand(2, 64));
        x.scatterAdd_(0, dx.full([1, 64], 5, { dtype: "int64" }), v);
      },
    ];
    for (const write of writes) {
      const [eager, state, argument] = [0, 1, 2].map(() => dx.zeros([2048, 64])) as [dx.Tensor, dx.Tensor, dx.Tensor];
      const compiled = dx.compile((v: dx.Tensor) => write(state, v));
      const overArgument = dx.compile((x: dx.Tensor, v: dx.Tensor) => write(x, v));
      const handles = (): number[] => [state, argument].map((t) => t.storage.handle);
      const before = handles();
      for (let call = 1; call < 5; call++) {
        const v = row.mul(call);
        write(eager, v);
        compiled(v);
        overArgument(argument, v);
        expectClose(state, [...(eager.dataSync() as Float32Array)]);
        expectClose(argument, [...(eager.dataSync() as Float32Array)]);
      }
      expect(handles()).toEqual(before);
      if (!writesParts(device)) continue;
      for (const { copies, kernels } of [compiled.explain(), overArgument.explain()])
        expect([copies, kernels.filter(({ kernel }) => kernel === "copy").length]).toEqual([0, 0]);
    }
  });
});
