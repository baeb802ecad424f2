import { expect, it } from "vitest";
import * as dx from "../../../src/index.ts";
import { planRegion } from "../../../src/graph/plan/graph-region.ts";
import { eachDevice, numbers } from "../../device.ts";
import { build } from "../build.ts";

/** Losses and the last weights of six steps, so that state, flat gradients and statistics all count. */
function train(
  device: string,
  regions: "whole" | "head" | "none" | undefined,
): { losses: number[]; weights: number[]; dispatches: number } {
  dx.manualSeed(3);
  const network = dx.nn.sequential(
    dx.nn.conv2d(1, 3, 3),
    dx.nn.batchNorm2d(3),
    dx.nn.relu(),
    dx.nn.maxPool2d(2),
    dx.nn.flatten(),
    dx.nn.linear(27, 5),
  );
  network.to(device);
  const optimizer = dx.optim.adam(network.parameters(), { lr: 0.01 });
  const step = dx.compile(
    (x: dx.Tensor, y: dx.Tensor) => {
      const loss = dx.crossEntropy(network.forward(x), y);
      loss.backward();
      optimizer.step();
      optimizer.zeroGrad();
      return loss;
    },
    { name: "step", ...(regions === undefined ? {} : { regions }) },
  );
  const generator = new dx.Generator(5);
  const x = dx.randn([8, 1, 8, 8], { device, generator });
  const y = dx.tensor([0, 1, 2, 3, 4, 0, 1, 2], { device, dtype: "int32" });
  const losses = Array.from({ length: 6 }, () => numbers(step(x, y))[0]!);
  const weights = network.parameters().flatMap((p) => numbers(p));
  const { dispatches } = step.explain();
  step.dispose();
  for (const t of [x, y, ...network.parameters(), ...network.buffers()]) t.dispose();
  return { losses, weights, dispatches };
}

/** state += x, and the state's second half as it was. */
function accumulating(overwrites: boolean): ReturnType<typeof planRegion> {
  const { graph, g, input } = build();
  const [state, x] = [input(8), input(8)];
  const half = g.reinterpret(state, { sizes: [4], byteOffset: 16 });
  graph.outputs = [g.elementWiseNegate(half)];
  graph.state = [{ buffer: state.value, value: g.elementWiseAdd(state, x) }];
  return planRegion(graph, "test", overwrites);
}

it("new state is written over the old where the device compiles such graphs, else to scratch and copied", () => {
  const over = accumulating(true);
  expect(over.scratch).toBe(0);
  expect(over.steps).toHaveLength(1);
  // The program's slots: state, x, result, scratch. The graph's inputs: half of the state, the state, x.
  expect(over.steps[0]).toMatchObject({
    inputs: [
      [0, 16, 16],
      [0, 0, 32],
      [1, 0, 32],
    ],
    outputs: [
      [2, 0, 16],
      [0, 0, 32],
    ],
  });
  expect(over.dispatchables[0]).toMatchObject({
    overwrites: [
      [1, 0, 16],
      [1, 1, 0],
    ],
  });
  const copied = accumulating(false);
  expect(copied.scratch).toBeGreaterThanOrEqual(32);
  expect(copied.steps[1]).toEqual({
    group: 1,
    copy: [
      [3, 0, 32],
      [0, 0, 32],
    ],
  });
  expect(copied.dispatchables[0]).not.toHaveProperty("overwrites");
});

eachDevice("regions", (device) => {
  it("give the same training whatever is one graph", () => {
    const none = train(device, "none");
    const others = (["head", "whole"] as const).map((regions) => train(device, regions));
    expect(none.losses[5]!).toBeLessThan(none.losses[0]!);
    // Fewer dispatches each time: all alone, those before the first update together, all together.
    expect(others[0]!.dispatches).toBeLessThan(none.dispatches);
    expect(others[1]!.dispatches).toBe(1);
    for (const other of others) {
      other.losses.forEach((loss, i) => expect(loss).toBeCloseTo(none.losses[i]!, 4));
      other.weights.forEach((w, i) => expect(w).toBeCloseTo(none.weights[i]!, 3));
    }
  });

  it.each(["whole", "head", "none"] as const)("read the first part of a value, packed and strided: %s", (regions) => {
    const x = dx.tensor([1, 2, 3, 4, 5, 6], { device, dtype: "int32" });
    const f = dx.compile(
      (t: dx.Tensor) => {
        const whole = dx.cat([t.slice(0, 3, 6), t.slice(0, 0, 3)]);
        const first = whole.slice(0, 0, 3);
        return [
          t.slice(0, 0, 3).clone(),
          t.add(0),
          first.add(1),
          first.neg(),
          first.mul(first),
          whole.reshape([2, 3]).select(0, 0).clamp(5, 9),
          whole.slice(0, 0, 1).abs(),
        ];
      },
      { regions },
    );
    const want = [[1, 2, 3], [1, 2, 3, 4, 5, 6], [5, 6, 7], [-4, -5, -6], [16, 25, 36], [5, 5, 6], [4]];
    for (let call = 0; call < 3; call++) expect(f(x).map((t) => numbers(t))).toEqual(want);
    f.dispose();
    x.dispose();
  });

  // Microsoft's library drops an identity from a graph's input to its output, and copies what the input's first reader declares.
  const parts: Readonly<Record<string, (x: dx.Tensor) => dx.Tensor>> = {
    "cast of the first half": (x) => x.slice(0, 0, 3).to("float16"),
    "every other element": (x) => x.reshape([3, 2]).select(1, 0).abs(),
    "the transpose": (x) => x.reshape([2, 3]).t().neg(),
    "one element for all": (x) => x.slice(0, 0, 1).expand([5]).mul(2),
    "a matrix of four elements": (x) =>
      x
        .slice(0, 0, 4)
        .reshape([2, 2])
        .matmul(x.slice(0, 0, 4).reshape([2, 2])),
    "a sum of the second half": (x) => x.slice(0, 3, 6).sum(),
  };
  it.each(["whole", "head", "none"] as const)("copy all of a value that other nodes read in part: %s", (regions) => {
    for (const [name, part] of Object.entries(parts))
      for (const order of ["copied first", "copied last", "read from the copy", "copied onto itself"] as const) {
        const state = dx.zeros([6], { device });
        const body = (x: dx.Tensor): dx.Tensor => {
          if (order !== "copied last") state.copy_(order === "copied onto itself" ? state : x);
          const result = part(order.endsWith("first") || order.endsWith("last") ? x : state);
          if (order === "copied last") state.copy_(x);
          return result;
        };
        const f = dx.compile(body, { regions, lists: 2 });
        for (let call = 0; call < 3; call++) {
          const values = [1, 2, 3, 4, 5, 6].map((v) => v + call);
          const x = dx.tensor(values, { device });
          if (order === "copied onto itself") state.copy_(x);
          expect({ name, order, values: numbers(f(x)) }).toEqual({ name, order, values: numbers(part(x)) });
          expect({ name, order, values: numbers(state) }).toEqual({ name, order, values });
        }
        f.dispose();
        state.dispose();
      }
  });
});

const expectClose = (a: readonly number[], b: readonly number[]): void => {
  expect(a).toHaveLength(b.length);
  a.forEach((x, i) => expect(x).toBeCloseTo(b[i]!, 5));
};

eachDevice("additions to products", (device) => {
  it("a product and an addend of other sizes are one graph", () => {
    const generator = new dx.Generator(7);
    const [q, k, v] = [4, 2, 2].map((heads) => dx.randn([2, heads, 6, 8], { device, generator }));
    const attend = (mask: dx.Tensor): dx.Tensor =>
      dx.nn.functional.scaledDotProductAttention(q!, k!, v!, { attnMask: mask, enableGqa: true });
    const mask = dx.randn([6, 6], { device, generator });
    const whole = dx.compile((m: dx.Tensor) => attend(m.add(1)), { regions: "whole" });
    expectClose(numbers(whole(mask)), numbers(attend(mask.add(1))));
    // Of a permuted view, and first in the sum.
    const [a, b] = [dx.randn([12, 8], { device, generator }), dx.randn([8, 6], { device, generator })];
    const sum = (m: dx.Tensor): dx.Tensor => dx.add(m.permute(1, 0, 2).contiguous().reshape([12, 6]), dx.matmul(a, b));
    const compiled = dx.compile((m: dx.Tensor) => sum(m.mul(2)), { regions: "whole" });
    const moved = dx.randn([3, 4, 6], { device, generator });
    for (let i = 0; i < 2; i++) expectClose(numbers(compiled(moved)), numbers(sum(moved.mul(2))));
    for (const t of [q!, k!, v!, mask, a, b, moved]) t.dispose();
    for (const program of [whole, compiled]) program.dispose();
  });
});
