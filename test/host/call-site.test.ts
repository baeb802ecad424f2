import { runInThisContext } from "node:vm";
import { expect, it } from "vitest";
import { callSite, formattedSite } from "../../src/host/call-site.ts";
import * as dx from "../../src/index.ts";

const line = (): number => Number(/call-site\.test\.ts:(\d+)/.exec(new Error().stack!.split("\n")[2]!)![1]);

it("is the first line outside of the library, however deep the library is in its own code", () => {
  expect([callSite(), line()]).toEqual([expect.stringMatching(/^at test.host.call-site\.test\.ts:\d+$/), expect.any(Number)]);
  const before = Error.stackTraceLimit;
  const f = dx.compile((x: dx.Tensor) => x.sum().toArraySync());
  let asked = 0;
  try {
    asked = line() + 1;
    f(dx.ones([2]));
  } catch (error) {
    expect((error as Error).message).toContain(`call-site.test.ts:${asked - 4}`);
  }
  expect(Error.stackTraceLimit).toBe(before);
});

/** fn, where stacks become text by a function of the program's, as with a tool that maps positions; or by the engine's. */
function preparing<T>(prepare: typeof Error.prepareStackTrace | undefined, fn: () => T): T {
  const before = Error.prepareStackTrace;
  Reflect.set(Error, "prepareStackTrace", prepare);
  try {
    return fn();
  } finally {
    expect(Error.prepareStackTrace).toBe(prepare);
    Error.prepareStackTrace = before;
  }
}

const sites = (): (string | null)[] => [callSite(), formattedSite()];
const nested = (depth: number): (string | null)[] => (depth === 0 ? sites() : nested(depth - 1));

it("is the same without a text of the stack", () => {
  preparing(undefined, () => {
    for (const depth of [0, 1, 60, 1]) {
      const [site, formatted] = nested(depth);
      expect([site, formatted]).toEqual([formatted, expect.stringMatching(/^at test.host.call-site\.test\.ts:\d+$/)]);
    }
    // In a text without a file.
    const inText = runInThisContext("(sites) => sites()") as (asked: typeof sites) => (string | null)[];
    expect(new Set(inText(sites)).size).toBe(1);
    const two = [callSite(), callSite()];
    expect(two[0]).toBe(two[1]);
  });
});

it("leaves Error as it was where its function for texts cannot be replaced", () => {
  const before = [Error.stackTraceLimit, Error.prepareStackTrace];
  Object.defineProperty(Error, "prepareStackTrace", { value: undefined, writable: false, configurable: true });
  try {
    const [site, formatted] = nested(1);
    expect([site, Error.stackTraceLimit]).toEqual([formatted, before[0]]);
  } finally {
    Object.defineProperty(Error, "prepareStackTrace", { value: before[1], writable: true });
  }
  expect([Error.stackTraceLimit, Error.prepareStackTrace]).toEqual(before);
});

it("names the lines of operations in loops, conditions and gradients of compiled functions", () => {
  const origins = (): string[] => {
    const f = dx.compile((x: dx.Tensor) => {
      const y = dx.vmap((row: dx.Tensor) => row.mul(2).softmax(-1).sum())(x);
      const z = dx.nn.functional.gelu(dx.nn.functional.layerNorm(x, [4]));
      return z.add(y.reshape([2, 1])).mean();
    });
    f(dx.ones([2, 4], { device: "cpu" }));
    const { nodes } = f.explain();
    f.dispose();
    return nodes.map((n) => n.origin);
  };
  const text: typeof Error.prepareStackTrace = (error, frames) => [String(error), ...frames.map((f) => `    at ${String(f)}`)].join("\n");
  const [quick, slow] = [preparing(undefined, origins), preparing(text, origins)];
  // A function of the program's that maps no positions gives those of a bundle.
  const shown = (list: readonly string[]): readonly string[] =>
    process.sourceMapsEnabled ? list.map((x) => x.replace(/ at .*/, "")) : list;
  expect(shown(quick)).toEqual(shown(slow));
  expect(quick.every((origin) => /call-site\.test\.ts:\d+$/.test(origin))).toBe(true);
});
