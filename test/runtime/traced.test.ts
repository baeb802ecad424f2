import { expect, it } from "vitest";
import * as dx from "../../src/index.ts";
import { requireReal } from "../../src/runtime/traced.ts";

it("a tensor that was kept from a compiled function is named with it, by any eager use", async () => {
  let kept: dx.Tensor | undefined;
  const f = dx.compile(
    (x: dx.Tensor) => {
      kept = x.mul(2);
      return kept.add(1);
    },
    { name: "leaky" },
  );
  f(dx.ones([2]));
  const uses: (() => unknown)[] = [
    () => kept!.add(1),
    () => kept!.toArraySync(),
    () => kept!.add_(1),
    () => dx.ones([2]).copy_(kept!),
    () => kept!.view(2, 1).sum(),
    () => f(kept!),
    () => requireReal("test", [kept!]),
  ];
  for (const use of uses) expect(use).toThrow(/made inside the compiled function leaky and kept/);
  await expect((async () => kept!.toArray())()).rejects.toThrow(dx.TraceError);
  expect(() => requireReal("test", [dx.ones([2])])).not.toThrow();
  f.dispose();
});
