/** A promise is always truthy: the types of the tests (test/strict/vitest.d.ts) refuse matchers of one that is not awaited. */
import { expect, it } from "vitest";
import * as dx from "../../src/index.ts";

it("an expectation of a promise takes resolves and rejects alone", async () => {
  const x = dx.ones([2]);
  // @ts-expect-error TS2339: a promise has no toBe().
  expect(() => expect(dx.allclose(x, x)).toBe(true)).toThrow("expected");
  // @ts-expect-error TS2339: nor toBeTruthy(), which says nothing of it.
  expect(dx.allclose(x, x.add(1))).toBeTruthy();
  await expect(dx.allclose(x, x)).resolves.toBe(true);
  await expect(dx.allclose(x, x.add(1))).resolves.toBe(false);
});
