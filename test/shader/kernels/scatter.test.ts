import { expect, it } from "vitest";
import { embeddingBackward, foldedRows, foldLongRows, foldRows, scatterRows, summedRows } from "../../../src/shader/kernels/scatter.ts";
import { launch, numbers } from "./support.ts";

it("adds rows by index; indices outside are left out", () => {
  const [rows, columns, count] = [6, 5, 40];
  const dy = numbers(count * columns, 1).map(Math.round);
  const index = numbers(count, 2, 7).map(Math.trunc);
  const expected = new Array<number>(rows * columns).fill(0);
  index.forEach((row, i) => {
    for (let c = 0; c < columns; c++) if (row >= 0 && row < rows) expected[row * columns + c]! += dy[i * columns + c]!;
  });
  const buffers = {
    dy: { shape: [count, columns], values: dy },
    index: { shape: [count], values: index },
    dweight: { shape: [rows, columns] },
  };
  expect(launch(embeddingBackward(), buffers).dweight).toEqual(expected);
});

it.each([
  [5, 40],
  [8, 16],
  [1, 3],
])("adds rows of %i columns by %i indices in their order; indices outside are left out", (columns, count) => {
  const rows = 6;
  const dy = numbers(count * columns, 1);
  const index = Array.from({ length: count }, (_, i) => [i % rows, 2, rows, 0xffffffff][i % 4]!);
  const expected = new Array<number>(rows * columns).fill(0);
  index.forEach((row, i) => {
    for (let c = 0; c < columns; c++)
      if (row < rows) expected[row * columns + c] = Math.fround(expected[row * columns + c]! + dy[i * columns + c]!);
  });
  const buffers = {
    dy: { shape: [count, columns], values: dy },
    index: { shape: [count], values: index },
    dweight: { shape: [rows, columns] },
  };
  expect(launch(summedRows(columns), buffers)["dweight"]).toEqual(expected);
});

it.each([
  ["f32", 4, [NaN, 1, -2, 0, 5, NaN, -3, -Infinity]],
  ["f32", 1, [2, -1, Infinity]],
  ["i32", 4, [-(2 ** 31), 5, -6, 7, 8, -9, 2 ** 31 - 1, 0]],
  ["u32", 1, [2 ** 32 - 1, 0, 2 ** 31]],
] as const)("folds rows of %s by index: the greatest and the least, %i columns", (element, columns, values) => {
  const count = values.length / columns;
  const indices = Array.from({ length: count }, (_, i) => (i === 2 ? 9 : 1));
  for (const which of ["max", "min"] as const) {
    const buffers = {
      values: { shape: [count, columns], values: [...values] },
      indices: { shape: [count], values: indices },
      y: { shape: [2, columns] },
    };
    const keys = launch(foldRows(element, which, columns), buffers)["y"]!;
    const bits = launch(foldedRows(element, which), { keys: { shape: [2, columns], values: keys }, y: { shape: [2, columns] } })["y"]!;
    const words = Uint32Array.from(bits);
    const found = [...(element === "f32" ? new Float32Array(words.buffer) : element === "i32" ? new Int32Array(words.buffer) : words)];
    const wins = which === "max" ? Math.max : Math.min;
    // The third row's index is none.
    const column = (c: number): number[] => values.filter((_, i) => i % columns === c && Math.floor(i / columns) < 2);
    expect(found.slice(columns)).toEqual(Array.from({ length: columns }, (_, c) => wins(...column(c))));
    const none = {
      f32: which === "max" ? -Infinity : Infinity,
      i32: which === "max" ? -(2 ** 31) : 2 ** 31 - 1,
      u32: which === "max" ? 0 : 2 ** 32 - 1,
    };
    expect(found.slice(0, columns)).toEqual(new Array<number>(columns).fill(none[element]));
  }
});

it.each([32, 16, 8] as const)("writes rows of numbers of %i bits by index, the last of equal indices, and nothing else", (bits) => {
  const [outer, n, k, inner] = [2, 7, 5, 3];
  const max = 2 ** Math.min(bits, 24);
  const packed = (values: readonly number[]): number[] => {
    const bytes = new Uint8Array(Math.ceil((values.length * bits) / 32) * 4);
    const of = { 32: Uint32Array, 16: Uint16Array, 8: Uint8Array }[bits];
    new of(bytes.buffer).set(values);
    return [...new Uint32Array(bytes.buffer)];
  };
  const x = Array.from({ length: outer * n * inner }, (_, i) => (i * 31) % max);
  const updates = Array.from({ length: outer * k * inner }, (_, i) => max - 1 - i);
  for (const isShared of [true, false]) {
    // The fourth index is none.
    const list = [5, 0, 5, 9, 6];
    const indices = isShared ? list : updates.map((_, i) => list[(Math.floor(i / inner) + (i % inner)) % k]!);
    const expected = [...x];
    updates.forEach((v, at) => {
      const [o, j, c] = [Math.floor(at / (k * inner)), Math.floor(at / inner) % k, at % inner];
      const index = isShared ? list[j]! : indices[at]!;
      if (index < n) expected[(o * n + index) * inner + c] = v;
    });
    const words = { x: packed(x), updates: packed(updates) };
    const buffers = {
      x: { shape: [words.x.length], values: words.x },
      indices: { shape: [indices.length], values: indices },
      updates: { shape: [words.updates.length], values: words.updates },
      y: { shape: [words.x.length], values: words.x },
    };
    const params = { count: updates.length, n, k, inner, width: 1 };
    expect(launch(scatterRows(bits, isShared, true), buffers, params)["y"]).toEqual(packed(expected));
  }
});

it("adds numbers of 64 bits by index, word by word with a carry", () => {
  const numbers64 = BigInt64Array.of(2n ** 32n - 1n, -1n, 1n, 2n ** 62n);
  const buffers = {
    values: { shape: [4, 1, 2], values: [...new Uint32Array(numbers64.buffer)] },
    indices: { shape: [4], values: [0, 1, 0, 1] },
    y: { shape: [2, 1, 2] },
  };
  const words = launch(foldLongRows(true, "max", "sum", 1), buffers)["y"]!;
  expect([...new BigInt64Array(Uint32Array.from(words).buffer)]).toEqual([2n ** 32n, 2n ** 62n - 1n]);
});
