/** Replays of a recording: which arguments are copied, several in one submission, and how many lists it has. */
import { expect, it, vi } from "vitest";
import * as dx from "../../src/index.ts";
import { nativeDevice } from "../../src/runtime/devices.ts";
import { eachDevice, isDirectml, isMicrosoft } from "../device.ts";

/** The queue's thread counts: what it is asked to read comes after. */
const copies = (fn: () => dx.Tensor): number => {
  dx.zeros([1], { device: "cpu" }).dataSync();
  const before = dx.counters("cpu").replayCopies;
  fn().dataSync();
  return dx.counters("cpu").replayCopies - before;
};

it("an argument is copied when it is another one, was written to, or shows another part", () => {
  dx.withDevice("cpu", () => {
    // With lists asked for, a program of few dispatches is recorded too.
    const f = dx.compile((x: dx.Tensor) => x.mul(2), { lists: 3 });
    const all = dx.tensor([1, 2, 3, 4]);
    const [a, b] = [all.slice(0, 0, 2), all.slice(0, 2, 4)];
    f(a);
    const same = copies(() => f(a));
    expect(copies(() => f(b)) - same).toBe(1);
    expect(copies(() => f(b))).toBe(same);
    b.add_(1);
    expect(copies(() => f(b)) - same).toBe(1);
    expect(f(b).toArraySync()).toEqual([8, 10]);
    f.dispose();
  });
});

{
  const N = 192;
  const CALLS = 40;
  /** What 40 calls give, with eager operations on arguments and results between them. */
  const run = (device: string, lists: number): { results: number[]; submissions: number } =>
    dx.withDevice(device, () =>
      dx.scope(() => {
        const state = dx.zeros([N]);
        const a = dx.eye(N);
        const f = dx.compile(
          (x: dx.Tensor) => {
            state.add_(dx.matmul(dx.matmul(a, a), x).slice(1, 0, 1).reshape([N]));
            return state.mul(2);
          },
          { lists },
        );
        const args = [dx.ones([N, N]), dx.full([N, N], 3)];
        f(args[0]!).dataSync();
        const before = dx.counters(device);
        const results: dx.Tensor[] = [];
        for (let i = 0; i < CALLS; i++) {
          const x = args[i % 7 === 3 ? 1 : 0]!;
          const y = f(x);
          if (i % 10 === 5) x.add_(y.slice(0, 0, 1));
          results.push(i % 4 === 0 ? y.add(1) : y);
        }
        const numbers = results.map((y) => y.toArraySync() as number[]);
        const after = dx.counters(device);
        if (isDirectml(device)) expect(after.replays - before.replays).toBe(CALLS);
        for (const row of numbers) expect(new Set(row).size).toBe(1);
        f.dispose();
        return { results: numbers.map((row) => row[0]!), submissions: after.submissions - before.submissions };
      }),
    );

  eachDevice("replays while the device has other work", (device) => {
    it("are submitted together", () => {
      const [alone, together] = [run(device, 3), run(device, 15)];
      expect(together.results).toEqual(alone.results);
      const host = { state: 0, args: [1, 3] };
      const expected = Array.from({ length: CALLS + 1 }, (_, call) => {
        const i = call - 1;
        const which = i % 7 === 3 ? 1 : 0;
        host.state += host.args[which]!;
        const y = host.state * 2;
        if (i % 10 === 5) host.args[which]! += y;
        return i % 4 === 0 ? y + 1 : y;
      }).slice(1);
      expect(together.results).toEqual(expected);
      // A GPU does such a step before the next one is there; a device from outside has no lists.
      if (isDirectml(device) && !isMicrosoft(device)) expect(together.submissions).toBeLessThan(alone.submissions);
    });
  });
}

it("a program of few dispatches that is replayed often gets more lists on hardware, and fewer again when its state moves", () => {
  dx.withDevice("cpu", () => {
    const native = nativeDevice(dx.device("cpu"));
    const { adapter } = native;
    const describe = (as: typeof adapter): void => void Object.assign(native, { adapter: as });
    describe({ ...adapter, isHardware: true });
    const record = vi.spyOn(native.binding, "record");
    try {
      const state = dx.zeros([2]);
      const f = dx.compile((x: dx.Tensor) => state.add_(x.mul(2).exp().sin().add(1).sqrt()).neg(), { regions: "none", fuse: "off" });
      const x = dx.ones([2]);
      for (let i = 0; i < 40; i++) dx.scope(() => void f(x));
      const lists = (): number[] => record.mock.calls.map((call) => call[2]);
      expect(lists()).toEqual([3, 15]);
      state.mul_(10);
      dx.scope(() => void f(x));
      expect(lists()).toEqual([3, 15, 3]);
      f.dispose();
    } finally {
      vi.restoreAllMocks();
      describe(adapter);
    }
  });
});
