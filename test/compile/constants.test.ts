import { expect, it } from "vitest";
import * as dx from "../../src/index.ts";
import { eachDevice, numbers } from "../device.ts";

eachDevice("constants of a compiled function", (device) => {
  const compiled = (fn: (x: dx.Tensor) => dx.Tensor): dx.Compiled<[dx.Tensor], dx.Tensor> => dx.compile(fn, { regions: "none" });
  const operators = (step: { explain(): dx.Explanation }): string[] => step.explain().nodes.map((n) => n.operator);

  it("are uploaded once instead of filled at each call", () => {
    const x = dx.tensor([1, 2, 3, 4], { device });
    const step = compiled((t) => t.add(dx.arange(4, { device, dtype: "float32" })).mul(dx.full([4], 2.5, { device })));
    expect(numbers(step(x))).toEqual([2.5, 7.5, 12.5, 17.5]);
    expect(numbers(step(x))).toEqual([2.5, 7.5, 12.5, 17.5]);
    expect(operators(step)).toEqual(["ELEMENT_WISE_ADD", "ELEMENT_WISE_MULTIPLY"]);
    step.dispose();
  });

  it.each(["int32", "uint8", "float16"] as const)("are right in %s", (dtype) => {
    const x = dx.tensor([3, 1, 2], { device, dtype });
    const fn = (t: dx.Tensor): dx.Tensor => t.add(dx.full([3], 7, { device, dtype }));
    const step = compiled(fn);
    expect(numbers(step(x))).toEqual(numbers(fn(x)));
    expect(operators(step).filter((name) => name.startsWith("FILL"))).toEqual([]);
    step.dispose();
  });

  it("stay filled on the device where they are large or a result", () => {
    const x = dx.tensor([1], { device });
    const large = compiled((t) => t.add(dx.arange(1000, { device, dtype: "float32" })));
    expect(numbers(large(x)).slice(-2)).toEqual([999, 1000]);
    expect(operators(large)).toContain("FILL_VALUE_SEQUENCE");
    const result = dx.compile((t: dx.Tensor) => [t.add(1), dx.full([2], 5, { device })] as const, { regions: "none" });
    expect(result(x).map(numbers)).toEqual([[2], [5, 5]]);
    large.dispose();
    result.dispose();
  });

  it("lie between the pieces of a flat gradient, which no JOIN moves", () => {
    const train = (regions: "none" | "whole"): { losses: number[]; program: dx.Explanation } => {
      dx.manualSeed(2);
      const network = dx.nn.sequential(dx.nn.linear(3, 5), dx.nn.linear(5, 2));
      network.to(device);
      const optimizer = dx.optim.sgd(network.parameters(), { lr: 0.01, momentum: 0.9 });
      const step = dx.compile(
        (x: dx.Tensor) => {
          const loss = network.forward(x).pow(2).mean();
          loss.backward();
          optimizer.step();
          optimizer.zeroGrad();
          return loss;
        },
        { regions },
      );
      const x = dx.tensor([1, 2, 3, 4, 5, 6], { shape: [2, 3], device });
      const losses = Array.from({ length: 5 }, () => numbers(step(x))[0]!);
      const program = step.explain();
      step.dispose();
      return { losses, program };
    };
    const { losses, program } = train("none");
    train("whole").losses.forEach((loss, i) => expect(losses[i]).toBeCloseTo(loss, 4));
    expect(losses[4]).toBeLessThan(losses[0]!);
    expect(program.nodes.filter((n) => n.operator === "JOIN")).toHaveLength(1);
    expect(program.dispatches).toBe(program.nodes.length - 1);
  });
});
