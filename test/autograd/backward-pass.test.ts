import { expect, it } from "vitest";
import { currentPass, inPass, type BackwardPass } from "../../src/autograd/backward-pass.ts";

it("nests, and calls what waits for the end, also after an error", () => {
  const ended: string[] = [];
  const seen: (BackwardPass | null)[] = [];
  inPass(() => {
    const outer = currentPass()!;
    outer.ends.push(() => ended.push("outer"));
    expect(() =>
      inPass(() => {
        seen.push(outer, currentPass());
        currentPass()!.ends.push(() => ended.push("inner"));
        throw new RangeError("mine");
      }),
    ).toThrow(RangeError);
    expect(currentPass()).toBe(outer);
  });
  expect(seen[0]).not.toBe(seen[1]);
  expect([ended, currentPass()]).toEqual([["inner", "outer"], null]);
});
