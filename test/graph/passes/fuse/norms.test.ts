/** Norms as regions, forward and backward: what they give, and in how many launches. */
import { expect, it } from "vitest";
import * as dx from "../../../../src/index.ts";
import { eachDevice } from "../../../device.ts";

const numbers = (t: dx.Tensor): number[] => ([t.toArraySync()] as unknown[]).flat(10 as 0).map(Number);

type Norm = (x: dx.Tensor, gain: dx.Tensor, shift: dx.Tensor) => dx.Tensor;
const NORMS: readonly (readonly [string, readonly number[], number, Norm])[] = [
  ["group norm", [2, 6, 5, 7], 6, (x, gain, shift) => dx.groupNorm(x, 3, gain, shift)],
  ["group norm of one group", [3, 4, 20], 4, (x, gain, shift) => dx.groupNorm(x, 1, gain, shift)],
  ["RMS norm", [3, 5, 24], 24, (x, gain) => dx.rmsNorm(x, [24], gain)],
  ["layer norm", [3, 5, 24], 24, (x, gain, shift) => dx.layerNorm(x, [24], gain, shift)],
];

eachDevice("norms in regions", (name) => {
  const device = dx.device(name);
  it.each(NORMS)("%s", (_, shape, channels, norm) => {
    const random = (seed: number, ...sizes: number[]): dx.Tensor => dx.randn(sizes, { device, generator: new dx.Generator(seed) });
    const inputs = [random(1, ...shape), random(2, channels), random(3, channels), random(4, ...shape)] as const;
    const forward = (x: dx.Tensor, gain: dx.Tensor, shift: dx.Tensor): dx.Tensor => dx.tanh(norm(x.mul(2), gain, shift));
    const all = (x: dx.Tensor, gain: dx.Tensor, shift: dx.Tensor, dy: dx.Tensor): dx.Tensor[] => {
      const leaves = [x, gain, shift].map((t) => t.detach().requiresGrad_()) as [dx.Tensor, dx.Tensor, dx.Tensor];
      const y = forward(...leaves);
      y.mul(dy).sum().backward();
      return [y.detach(), ...leaves.flatMap(({ grad }) => (grad === null ? [] : [grad]))];
    };
    const [alone, both, plain] = [dx.compile(forward, { fuse: "always" }), dx.compile(all, { fuse: "always" }), dx.compile(all, { fuse: "off" })]; // prettier-ignore
    const [x, gain, shift] = inputs;
    for (let call = 0; call < 3; call++) {
      const [by, expected] = [both(...inputs).map(numbers), plain(...inputs).map(numbers)];
      expect(by).toHaveLength(expected.length);
      for (const [i, values] of [numbers(alone(x, gain, shift)), ...by].entries()) {
        const other = expected[Math.max(0, i - 1)]!;
        expect(Math.max(...values.map((v, k) => Math.abs(v - other[k]!)))).toBeLessThan(1e-4);
      }
    }
    expect(alone.explain().dispatches).toBe(1);
    // The rows, and what is summed over them for gain and shift.
    expect(both.explain().dispatches).toBe(2);
    for (const f of [alone, both, plain]) f.dispose();
  });
});
