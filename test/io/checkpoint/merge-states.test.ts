/** The states of ranks as one state. */
import { expect, it } from "vitest";
import { mergeStates, type RankEntry, type RankState } from "../../../src/io/checkpoint/merge-states.ts";
import type { Json } from "../../../src/io/checkpoint/format.ts";

/** A rank with one tensor an entry. */
const rank = (state: Json, entries: readonly Partial<RankEntry>[]): RankState => ({
  state,
  tensors: entries.map(({ name }) => ({ entry: name! })),
  arrays: [],
  entries: entries.map((entry) => ({ name: "", dtype: "float32", shape: [4], isCommon: false, ...entry })),
});

it("keys of all ranks, values of the first that has them, numbers in one list", () => {
  const { state, tensors, writes } = mergeStates("save", [
    rank({ a: 1, only: { $tensor: 0 }, list: [1, { $map: [["k", 1]] }], o: { $state: { of: "X", state: { s: { 0: { $tensor: 0 } } } } } }, [
      { name: "x" },
    ]),
    rank({ a: 2, b: null, list: [2], o: { $state: { of: "X", state: { s: { 1: { $tensor: 0 } } } } } }, [{ name: "x" }]),
  ]);
  expect(state).toEqual({
    a: 1,
    only: { $tensor: 0 },
    list: [1, { $map: [["k", 1]] }],
    o: { $state: { of: "X", state: { s: { 0: { $tensor: 0 }, 1: { $tensor: 1 } } } } },
    b: null,
  });
  expect(tensors).toEqual([{ entry: "x" }, { entry: "x#2" }]);
  expect(writes).toEqual([[{ entry: "x", name: "x", shape: [4] }], [{ entry: "x", name: "x#2", shape: [4] }]]);
});

it("what all have alike is written once, by the rank with the least; what differs by the first", () => {
  const entries = [{ name: "large", shape: [100], isCommon: true }, { name: "small", isCommon: true }, { name: "buffer" }];
  const own = rank({ t: [0, 1, 2].map((id) => ({ $tensor: id })) }, entries);
  const { writes } = mergeStates("save", [own, own]);
  expect(writes.map((list) => list.map(({ name }) => name))).toEqual([["large", "buffer"], ["small"]]);
});

it("parts are one tensor, without the zeros at their end", () => {
  const part = (start: number) =>
    rank({ w: { $tensor: 0 }, n: { $numbers: 0 } }, [{ name: "w", shape: [3], part: { shape: [2, 2], start, length: 3 } }]);
  const { divided, writes, tensors } = mergeStates("save", [part(0), part(3), part(6)]);
  expect(divided).toEqual({
    w: {
      dtype: "float32",
      shape: [2, 2],
      parts: [
        { entry: "w[0:3]", start: 0 },
        { entry: "w[3:4]", start: 3 },
      ],
    },
  });
  expect(writes).toEqual([[{ entry: "w", name: "w[0:3]", shape: [3] }], [{ entry: "w", name: "w[3:4]", shape: [1] }], []]);
  expect(tensors).toEqual([{ entry: "w" }]);
  expect(() => mergeStates("save", [part(0)])).toThrow(/state.w must be in parts that are the whole tensor; received 3 of 4 elements/);
  expect(() => mergeStates("save", [part(0), rank({ w: { $tensor: 0 } }, [{ name: "w", shape: [2, 2] }])])).toThrow(
    /another tensor on rank 1/,
  );
});
