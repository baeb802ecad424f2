/** A backend's settings of autocast(): other lists of operations, and the dtypes of casts. */
import { expect, test } from "vitest";
import * as dx from "../../src/index.ts";
import { backend as openreg } from "../../packages/openreg/src/backend.ts";
import { clean, numbers } from "../device.ts";

if (dx.backend.list().every(({ name }) => name !== openreg.name)) dx.backend.register(openreg);

test("openreg has softplus and cross on lists of its own, all others on PyTorch's", () =>
  clean(
    "openreg:0",
    () => {
      const x = dx.tensor([1, 2, 3]);
      const half = x.to("float16");
      const inside = (): string[] =>
        [
          dx.softplus(x),
          half.cross(half),
          dx.softplus(half),
          x.cross(x),
          x.reshape([1, 3]).matmul(x),
          half.exp(),
          dx.nn.softplus()(x),
          dx.nn.functional.softplus(x),
        ].map((t) => t.dtype);
      const own = ["float16", "float16", "float16", "float32", "float16", "float32", "float16", "float16"];
      expect(dx.autocast("float16", inside)).toEqual(own);
      const run = dx.compile((t: dx.Tensor) => dx.autocast("float16", () => [dx.softplus(t), t.cross(t)]));
      for (let i = 0; i < 3; i++) expect(run(dx.tensor([i, 1, 2])).map((t) => t.dtype)).toEqual(["float16", "float32"]);
      run.dispose();
      // Elsewhere the lists are PyTorch's.
      expect(dx.autocast("float16", () => dx.softplus(dx.ones([3], { device: "cpu" })).dtype)).toBe("float32");
    },
    { collect: true },
  ));

test("a network trains on openreg inside autocast, with GradScaler, as on cpu", async () => {
  const train = (device: string): Promise<number[]> => {
    // The default generator keeps its state.
    dx.withDevice(device, () => dx.randn([1]).dispose());
    return clean(
      device,
      () => {
        const { nn, optim } = dx;
        const layers = [nn.linear(4, 8), nn.linear(8, 1)];
        dx.noGrad(() => {
          for (const l of layers) for (const p of l.parameters()) p.copy_(dx.arange(p.size).mul(0.1).sin().mul(0.3).reshape(p.shape));
        });
        const model = nn.sequential(layers[0]!, nn.relu(), layers[1]!);
        const optimizer = optim.adam(model.parameters(), { lr: 0.01 });
        const scaler = optim.gradScaler({ initScale: 256 });
        const step = dx.compile(
          (x: dx.Tensor) => {
            optimizer.zeroGrad();
            const loss = nn.functional.mseLoss(model(x), x.sum(1, { keepDims: true }));
            scaler.scale(loss).backward();
            scaler.stepOnDevice(optimizer);
            scaler.update();
            return loss.detach();
          },
          { autocast: "float16" },
        );
        const losses: number[] = [];
        for (let i = 0; i < 8; i++) losses.push(Number(step(dx.arange(8).add(i).mul(0.2).cos().reshape([2, 4])).itemSync()));
        step.dispose();
        optimizer.dispose();
        scaler.dispose();
        return losses;
      },
      { collect: true },
    );
  };
  const [there, here] = [await train("openreg:0"), await train("cpu")];
  there.forEach((v, i) => expect(Math.abs(v - here[i]!)).toBeLessThan(2e-3 * (1 + Math.abs(here[i]!))));
  expect(there.at(-1)!).not.toBe(there[0]);
});

test("a backend that casts to bfloat16 alone, and statements that are refused", async () => {
  const like = (name: string, autocast: unknown): dx.backend.Backend => ({ ...openreg, name, autocast: autocast as object });
  dx.backend.register(like("onlybf", { dtypes: ["bfloat16"] }));
  await dx.withDevice("onlybf:0", async () => {
    const x = dx.ones([2, 2]);
    expect(dx.autocast("bfloat16", () => x.matmul(x).dtype)).toBe("bfloat16");
    expect(numbers(x.matmul(x))).toEqual([2, 2, 2, 2]);
    expect(() => dx.autocast("float16", () => x.matmul(x))).toThrow(/onlybf:0 casts to: bfloat16/);
    // Operations on no list need no cast.
    expect(dx.autocast("float16", () => x.add(x).dtype)).toBe("float32");
  });
  for (const [wrong, text] of [
    [{ dtypes: ["float32"] }, /backend.autocast.dtypes/],
    [{ dtypes: "float16" }, /backend.autocast.dtypes/],
    [{ operations: { add: "lower" } }, /on one of autocast's lists/],
    [{ operations: { exp: "higher" } }, /backend.autocast.operations.exp/],
  ] as const)
    expect(() => dx.backend.register(like("wrongone", wrong))).toThrow(text);
  expect(dx.backend.list().map(({ name }) => name)).not.toContain("wrongone");
});
