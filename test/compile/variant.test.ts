import { expect, it } from "vitest";
import * as dx from "../../src/index.ts";
import { clean, eachDevice, numbers } from "../device.ts";

eachDevice("a program for several sizes", (device) => {
  it("is recorded once, replayed for all of them, and leaves no buffer behind", async () =>
    clean(
      device,
      () => {
        const f = dx.compile((x: dx.Tensor) => x.mul(2).sum(1), { dynamic: [0, 1] });
        const sizes = [
          [13, 9],
          [14, 10],
          [16, 12],
          [15, 11],
        ] as const;
        const call = (): void => {
          for (const [n, m] of sizes) expect(numbers(f(dx.ones([n, m])))).toEqual(new Array<number>(n).fill(2 * m));
        };
        call();
        const before = dx.counters();
        call();
        const after = dx.counters();
        expect(after.operatorsCompiled + after.graphsCompiled).toBe(before.operatorsCompiled + before.graphsCompiled);
        expect(after.replays - before.replays).toBe(sizes.length);
        expect(f.programs).toBe(1);
        f.dispose();
      },
      { collect: true },
    ));
});
