import { describe, expect, it } from "vitest";
import { operation } from "../../src/shader/operations.ts";
import { build, floats, run, words } from "./support.ts";

it("rounds ties to even, and what comes to 0 keeps its sign", () => {
  const { apply } = operation("round.f32");
  expect([-0.5, 0.5, -1.5, 2.5, -0.3, -0].map((x) => apply(x, 0, 0))).toEqual([-0, 0, -2, 2, -0, -0]);
});

describe("what the evaluator sees", () => {
  it("accesses outside: 0 is read, nothing is written, and both are told", () => {
    const shader = build({ x: "f32", out: "f32" }, {}, 8, (s) => {
      s.buffers.out.store(s.local, s.buffers.x.load(s.local.add(4)));
    });
    const out = words([9, 9, 9, 9, 9, 9, 7, 7]);
    const { faults } = run(shader, { buffers: { x: words([1, 2, 3, 4, 5, 6]), out }, uniforms: { "out.size": 6 } });
    expect(floats(out)).toEqual([5, 6, 0, 0, 0, 0, 7, 7]);
    expect(faults.map((f) => [f.kind, f.memory, f.at, f.thread])).toEqual([
      ["outside", "x", 6, 2],
      ["outside", "out", 6, 6],
    ]);
    expect(faults[0]!.place).toContain("evaluate.test.ts");
  });

  it("races in shared memory, between groups, and none across a barrier", () => {
    const shared = (withBarrier: boolean): string[] =>
      run(
        build({ out: "f32" }, {}, 8, (s) => {
          const tile = s.shared("f32", 8);
          tile.store(s.local, s.local.toFloat());
          if (withBarrier) s.barrier();
          s.buffers.out.store(s.local, tile.load(s.local.xor(1)));
        }),
        { buffers: { out: new Uint32Array(8) } },
      ).faults.map((f) => `${f.kind} ${f.memory}`);
    expect(shared(true)).toEqual([]);
    expect(shared(false)).toEqual(["race shared0"]);
    const groups = build({ out: "f32" }, {}, 8, (s) => s.buffers.out.store(s.local, 1));
    expect(run(groups, { groups: 2, buffers: { out: new Uint32Array(8) } }).faults.map((f) => f.kind)).toEqual(["race"]);
    const atomic = build({ out: "u32" }, {}, 8, (s) => s.buffers.out.atomicAdd(0, 1));
    const out = new Uint32Array(1);
    expect(run(atomic, { groups: 3, buffers: { out } }).faults).toEqual([]);
    expect([...out]).toEqual([24]);
  });

  it("shared memory that nobody wrote, and what is printed", () => {
    const lines: string[] = [];
    const shader = build({ out: "f32" }, {}, 4, (s) => {
      const tile = s.shared("u32", 4);
      s.if(s.local.lt(2), () => tile.store(s.local, s.local));
      s.barrier();
      const seen = tile.load(s.local);
      s.if(s.local.ge(1).and(s.local.lt(3)), () => s.print("seen", s.local, seen.lt(2)));
    });
    const { faults } = run(shader, { groups: 1, buffers: { out: new Uint32Array(1) }, print: (l) => lines.push(l) });
    expect(faults.map((f) => [f.kind, f.at])).toEqual([["unwritten", 2]]);
    expect(lines).toEqual(["group 0, thread 1: seen 1, 1", "group 0, thread 2: seen 2, 0"]);
  });

  it("a loop without an end", () => {
    const shader = build({ out: "f32" }, {}, 2, (s) =>
      s.while(
        () => s.bool(true),
        () => s.buffers.out.store(s.local, 1),
      ),
    );
    expect(() => run(shader, { buffers: { out: new Uint32Array(2) }, trips: 100 })).toThrow("this loop does not end");
  });

  it("break and continue of each thread", () => {
    const shader = build({ out: "u32" }, {}, 4, (s) => {
      const n = s.variable(s.u32(0));
      s.for(0, 10, (i) => {
        s.if(i.gt(s.local.mul(3)), () => s.break());
        s.if(i.and(1).eq(1), () => s.continue());
        n.value = n.value.add(i);
      });
      s.buffers.out.store(s.local, n.value);
    });
    const out = new Uint32Array(4);
    run(shader, { buffers: { out } });
    expect([...out]).toEqual([0, 2, 12, 20]);
  });

  it("adds floats by a loop that no other thread can come between", () => {
    const shader = build({ x: "f32", out: "f32" }, {}, 8, (s) => {
      s.buffers.out.atomicAdd(s.thread.mod(3), s.buffers.x.load(s.thread));
    });
    const out = new Uint32Array(2);
    run(shader, { groups: 2, buffers: { x: words(Array.from({ length: 16 }, (_, i) => i)), out } });
    expect(floats(out)).toEqual([45, 35]);
  });
});
