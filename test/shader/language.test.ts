import { describe, expect, it } from "vitest";
import { ShaderError } from "../../src/core/errors.ts";
import { printShader } from "../../src/shader/print-shader.ts";
import { simplify } from "../../src/shader/simplify.ts";
import { build, floats, run, words } from "./support.ts";

/** The error of a function, and the line that it names. */
function refusal(fn: () => unknown): ShaderError {
  try {
    fn();
  } catch (error) {
    expect(error).toBeInstanceOf(ShaderError);
    return error as ShaderError;
  }
  throw new Error("nothing was refused");
}
/** The number of the line that calls it, `down` lines further. */
function line(down: number): number {
  return Number(/language\.test\.ts:(\d+)/.exec(new Error().stack!.split("\n")[2]!)![1]) + down;
}

describe("what breaks the rules is refused, and the line is named", () => {
  it("a barrier that not all threads reach", () => {
    const at = line(4);
    const error = refusal(() =>
      build({ out: "f32" }, {}, 8, (s) => {
        s.if(s.local.lt(4), () => {
          s.barrier();
        });
      }),
    );
    expect(error.message).toContain("not all threads of a group reach this barrier");
    expect(error.place).toContain(`language.test.ts:${at}`);
  });

  it("a barrier in a loop that threads leave one by one", () => {
    const shaderOf = (leave: (s: Parameters<Parameters<typeof build<{ x: "f32"; out: "f32" }, {}>>[3]>[0]) => void): unknown =>
      build({ x: "f32", out: "f32" }, {}, 8, (s) =>
        s.for(0, 4, () => {
          leave(s);
          s.barrier();
        }),
      );
    expect(refusal(() => shaderOf((s) => s.if(s.local.eq(3), () => s.break()))).message).toContain("not all threads");
    expect(refusal(() => shaderOf((s) => s.if(s.buffers.x.load(s.local).lt(0), () => s.continue()))).message).toContain("not all threads");
    expect(shaderOf((s) => s.if(s.buffers.x.load(s.group).lt(0), () => s.break()))).toBeDefined();
  });

  it("a barrier behind a variable that differs between threads", () => {
    expect(
      refusal(() =>
        build({ out: "f32" }, {}, 8, (s) => {
          const n = s.variable(s.u32(0));
          s.if(s.local.lt(2), () => {
            n.value = 1;
          });
          s.if(n.value.eq(1), () => s.barrier());
        }),
      ).message,
    ).toContain("not all threads");
  });

  it("a value that is used outside of the part that computed it", () => {
    const error = refusal(() =>
      build({ x: "f32", out: "f32" }, {}, 8, (s) => {
        let kept = s.f32(0);
        s.if(s.local.lt(4), () => {
          kept = s.buffers.x.load(s.local);
        });
        s.buffers.out.store(s.local, kept);
      }),
    );
    expect(error.message).toContain("keep it in a variable");
    expect(error.place).toMatch(/language\.test\.ts:\d+/);
  });

  it("JavaScript's operators, values of other types, numbers that do not fit", () => {
    const messages = [
      refusal(() => build({ x: "f32", out: "f32" }, {}, 8, (s) => s.f32((s.buffers.x.load(0) as unknown as number) + 1))),
      refusal(() => build({ x: "f32", out: "f32" }, {}, 8, (s) => s.buffers.x.load(0).add(s.local as never))),
      refusal(() => build({ out: "f32" }, {}, 8, (s) => s.local.add(-1))),
      refusal(() => build({ out: "f32" }, {}, 8, (s) => s.i32(2 ** 31))),
      refusal(() => build({ x: "f32", out: "f32" }, {}, 8, (s) => s.buffers.x.store(0, 1))),
      refusal(() => build({ out: "f16" }, {}, 8, (s) => s.buffers.out.atomicAdd(0, 1))),
      refusal(() => build({ out: "f32" }, {}, 8, (s) => s.buffers.out.stores(0, [1, 2, 3, 4, 5]))),
      refusal(() => build({ out: "f32" }, {}, 8, (s) => s.shared("f32", 8193))),
      refusal(() => build({ out: "f32" }, {}, 8, (s) => s.break())),
      refusal(() => build({ out: "f32" }, {}, 8, (s) => s.for(0, 4, () => undefined, { step: 0 }))),
    ].map((e) => e.message);
    const parts = [
      "not JavaScript's operators",
      "expected a float or a number, received a uint or an integer",
      "-1 is no unsigned 32-bit integer",
      "2147483648 is no 32-bit integer",
      "x is an input: only outputs are written",
      "atomics take int32 and uint32",
      "5 elements of out at once",
      "32772 bytes of shared memory",
      "break outside of a loop",
      "a loop whose step is 0",
    ];
    parts.forEach((part, i) => expect(messages[i]).toContain(part));
  });
});

describe("simplify", () => {
  it("folds constants, merges equal expressions, drops what nobody reads, unrolls within the budget", () => {
    const shader = build({ x: "f32", out: "f32" }, {}, 8, (s) => {
      const { x, out } = s.buffers;
      const sum = s.variable(s.f32(2).mul(3));
      s.for(0, 3, (i) => {
        sum.value = sum.value.add(x.load(i.add(s.local)));
      });
      x.load(s.local.add(1)).exp();
      out.store(s.local.mul(1).add(0), sum.value.mul(s.f32(4).sqrt()));
      s.if(s.bool(false), () => out.store(0, 1));
    });
    expect(printShader(simplify(shader)).split("\n")).toEqual([
      "shader test, 8 threads",
      "in x: f32",
      "out out: f32",
      "uniform x.size: u32",
      "uniform out.size: u32",
      "var v0: f32 = 6.0",
      expect.stringMatching(/^%\d+ = v0$/),
      expect.stringMatching(/^%\d+ = load x\[local\]$/),
      expect.stringMatching(/^%\d+ = add\.f32 %\d+, %\d+$/),
      expect.stringMatching(/^v0 = %\d+$/),
      expect.stringMatching(/^%\d+ = v0$/),
      expect.stringMatching(/^%\d+ = add\.u32 1u, local$/),
      expect.stringMatching(/^%\d+ = load x\[%\d+\]$/),
      expect.stringMatching(/^%\d+ = add\.f32 %\d+, %\d+$/),
      expect.stringMatching(/^v0 = %\d+$/),
      expect.stringMatching(/^%\d+ = v0$/),
      expect.stringMatching(/^%\d+ = add\.u32 2u, local$/),
      expect.stringMatching(/^%\d+ = load x\[%\d+\]$/),
      expect.stringMatching(/^%\d+ = add\.f32 %\d+, %\d+$/),
      expect.stringMatching(/^v0 = %\d+$/),
      expect.stringMatching(/^%\d+ = v0$/),
      expect.stringMatching(/^%\d+ = mul\.f32 %\d+, 2\.0$/),
      expect.stringMatching(/^store out\[local\] = %\d+$/),
    ]);
  });

  it("leaves loops beyond the budget, and those that say so", () => {
    const hasLoop = (trips: number, unroll?: boolean): boolean =>
      printShader(
        simplify(
          build({ x: "f32", out: "f32" }, {}, 8, (s) => {
            const sum = s.variable(s.f32(0));
            s.for(0, trips, (i) => (sum.value = sum.value.add(s.buffers.x.load(i))), unroll === undefined ? {} : { unroll });
            s.buffers.out.store(s.local, sum.value);
          }),
        ),
      ).includes("\nfor ");
    expect([hasLoop(100), hasLoop(200), hasLoop(4, false), hasLoop(200, true)]).toEqual([false, true, true, false]);
  });
});

describe("what functions mean", () => {
  const xs = [-12, -3, -0.9, -0.3, -0.15, -1e-4, 0, 1e-3, 0.19, 0.21, 0.7, 1.5, 4, 11];
  const erf = (x: number): number => {
    let sum = 0;
    for (let n = 0, term = x; n < 400; n++, term *= (-x * x) / n) sum += term / (2 * n + 1);
    return Math.abs(x) > 5 ? Math.sign(x) : (2 / Math.sqrt(Math.PI)) * sum;
  };
  it.each([
    ["tanh", Math.tanh],
    ["erf", erf],
    ["exp", Math.exp],
    ["sigmoid", (x: number) => 1 / (1 + Math.exp(-x))],
  ] as const)("%s", (name, reference) => {
    const shader = build({ x: "f32", out: "f32" }, {}, xs.length, (s) => s.buffers.out.store(s.local, s.buffers.x.load(s.local)[name]()));
    const out = new Uint32Array(xs.length);
    run(shader, { buffers: { x: words(xs), out } });
    floats(out).forEach((y, i) => {
      const expected = reference(Math.fround(xs[i]!));
      expect(Math.abs(y - expected)).toBeLessThanOrEqual(1e-6 * Math.abs(expected) + 1e-12);
    });
  });
});
