/** PyTorch's bfloat16 results on the CPU, compared with eager calls; checks of the recorded file. Part 1 of 3. */
import { expect, test } from "vitest";
import { bfloat16Cases, bfloat16Known, bfloat16Tests } from "./bfloat16-suite.ts";
import { outOfScope } from "./scope.ts";

test("nearly all results in bfloat16 are the rounded ones of float32, with no bit of tolerance", () => {
  const inScope = bfloat16Cases.filter((c) => outOfScope(c) === null && !bfloat16Known.has(c.id));
  expect(inScope.length).toBeGreaterThan(1000);
  expect(inScope.filter((c) => c.compare!.every((how) => how === "exact")).length / inScope.length).toBeGreaterThan(0.92);
  expect(inScope.filter((c) => c.grads !== undefined).length).toBeGreaterThan(750);
});

bfloat16Tests({}, 1);
