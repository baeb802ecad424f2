/** A call that compiles for long prints one message on a terminal. The test sets the clock. */
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import * as dx from "../../src/index.ts";
import { Notice, terminal } from "../../src/compile/notice.ts";

const real = { ...terminal };
let lines: string[];
let clock: number;

beforeEach(() => {
  lines = [];
  clock = 0;
  delete process.env.DXTENSOR_PROGRESS;
  Object.assign(terminal, { now: () => clock, isTerminal: () => true, write: (line: string) => void lines.push(line) });
});

afterEach(() => {
  Object.assign(terminal, real);
  delete process.env.DXTENSOR_PROGRESS;
});

function recorded(notice: Notice, operations: number, msEach: number): void {
  for (let i = 0; i < operations; i++) {
    clock += msEach;
    notice.count();
  }
}

describe("Notice", () => {
  it("says nothing of what takes less than two seconds", () => {
    const notice = new Notice("step");
    recorded(notice, 1000, 0.5);
    notice.compiles(900);
    expect(lines).toEqual([]);
  });

  it("says it once, with how many operations there are so far", () => {
    const notice = new Notice("step");
    recorded(notice, 5000, 1);
    notice.compiles(4000);
    expect(lines).toHaveLength(1);
    expect(lines[0]).toMatch(/^dxtensor: compiling step: 2,048 operations after 2\.0 s\. .*DXTENSOR_PROGRESS=0.*\n$/);
  });

  it("says it before the device's compiler begins, where that will take long", () => {
    const notice = new Notice("step");
    recorded(notice, 100, 9);
    expect(lines).toEqual([]);
    notice.compiles(20000);
    expect(lines[0]).toContain("compiling step: 20,000 operations after 0.9 s");
  });

  it("is for terminals, unless DXTENSOR_PROGRESS says otherwise", () => {
    const said = (isTerminal: boolean, progress: string | undefined): boolean => {
      lines = [];
      terminal.isTerminal = () => isTerminal;
      if (progress === undefined) delete process.env.DXTENSOR_PROGRESS;
      else process.env.DXTENSOR_PROGRESS = progress;
      recorded(new Notice("step"), 1000, 10);
      return lines.length > 0;
    };
    expect([said(true, undefined), said(false, undefined)]).toEqual([true, false]);
    expect([said(true, "0"), said(false, "1")]).toEqual([false, true]);
    expect(() => said(true, "perhaps")).toThrow(dx.ValueError);
  });
});

describe("a compiled function", () => {
  const steps = (x: dx.Tensor): dx.Tensor => {
    for (let i = 0; i < 300; i++) {
      x = x.add(1);
      clock += 10;
    }
    return x;
  };

  it("says it in its first call alone", () => {
    dx.withDevice("cpu", () => {
      const f = dx.compile(steps);
      const results = [1, 2, 3].map((v) => f(dx.tensor([v])).toArraySync());
      expect(results).toEqual([[301], [302], [303]]);
      expect(lines).toHaveLength(1);
      expect(lines[0]).toContain("compiling steps: 256 operations after 2.5 s");
    });
  });
});
