/** Small matrices, column by column. */
import { expect } from "vitest";

export const columns = (...list: readonly (readonly number[])[]): Float64Array => Float64Array.from(list.flat());

export function near(got: ArrayLike<number>, want: ArrayLike<number>): void {
  expect(got.length).toBe(want.length);
  for (let i = 0; i < want.length; i++) expect(got[i]).toBeCloseTo(want[i]!, 10);
}
