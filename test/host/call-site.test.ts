import { expect, it } from "vitest";
import { callSite } from "../../src/host/call-site.ts";
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
