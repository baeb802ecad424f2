/** The indices of a thread's elements, by the interpreter. */
import { expect, it } from "vitest";
import { mergedAxes } from "../../../../src/graph/passes/fuse/access.ts";
import { isUniform, laneOf, mapLanes, type AnyScope, type Lanes } from "../../../../src/graph/passes/fuse/lanes.ts";
import { build, run } from "../../../shader/support.ts";

const WIDTH = 4;

/** For each element of packed sizes, the index that an access has, and how the lanes of the first thread are. */
function indices(sizes: readonly number[], strides: readonly number[], offset: number) {
  const count = sizes.reduce((a, b) => a * b, 1);
  let kind = "";
  const shader = build({ out: "u32" }, {}, count / WIDTH, (scope) => {
    const s = scope as unknown as AnyScope;
    const at: Lanes = { kind: "run", base: s.thread.mul(WIDTH), step: 1, alignment: WIDTH };
    const lanes = mapLanes(s, { offset, axes: mergedAxes(sizes, strides) }, at, WIDTH);
    kind = lanes.kind === "each" ? "each" : isUniform(lanes) ? "one" : `steps of ${lanes.step}, aligned to ${lanes.alignment}`;
    scope.buffers.out.stores(
      scope.thread.mul(WIDTH),
      Array.from({ length: WIDTH }, (_, k) => laneOf(lanes, k)),
    );
  });
  const out = new Uint32Array(count);
  expect(run(shader, { buffers: { out } }).faults).toEqual([]);
  return { kind, out: [...out] };
}

const expected = (sizes: readonly number[], strides: readonly number[], offset: number): number[] =>
  sizes.reduce<number[]>((list, d, i) => list.flatMap((at) => Array.from({ length: d }, (_, k) => at + k * strides[i]!)), [offset]);

it.each([
  [[8, 4], [4, 1], 0, "steps of 1, aligned to 4"],
  [[8, 4], [4, 1], 3, "steps of 1, aligned to 1"],
  [[8, 4], [1, 8], 0, "steps of 8, aligned to 1"],
  [[8, 4], [0, 1], 8, "steps of 1, aligned to 4"],
  [[8, 4], [1, 0], 0, "steps of 0"],
  [[4, 6], [0, 1], 0, "each"],
  [[2, 3, 4], [1, 8, 2], 5, "steps of 2"],
  [[8, 4], [0, 0], 7, "one"],
] as const)("of sizes %j at strides %j from %i", (sizes, strides, offset, kind) => {
  const made = indices(sizes, strides, offset);
  expect(made.out).toEqual(expected(sizes, strides, offset));
  if (kind === "steps of 0") expect(made.kind).toBe("one");
  else expect(made.kind.startsWith(kind)).toBe(true);
});
