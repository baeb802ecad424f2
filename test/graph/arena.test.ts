import { expect, it } from "vitest";
import { Arena } from "../../src/graph/arena.ts";

it("what is free is used again, at multiples of 256 bytes, and nothing that lives is overlapped", () => {
  const arena = new Arena();
  const [a, b, c] = [arena.take(100), arena.take(300), arena.take(1)];
  expect([a, b, c, arena.size]).toEqual([0, 256, 768, 1024]);
  arena.free(b);
  expect([arena.take(257), arena.take(1), arena.size]).toEqual([256, 1024, 1280]);
  arena.free(a);
  expect([arena.take(256), arena.size]).toEqual([0, 1280]);
});

it("keeps random ranges apart", () => {
  const arena = new Arena();
  const live = new Map<number, number>();
  let state = 7;
  const random = (n: number): number => (state = (Math.imul(state, 1664525) + 1013904223) >>> 0) % n;
  for (let i = 0; i < 500; i++) {
    const [first] = live.keys();
    if (live.size > 12 && first !== undefined) {
      arena.free(first);
      live.delete(first);
    }
    const size = 1 + random(2000);
    const at = arena.take(size);
    for (const [from, length] of live) expect(at + size <= from || from + length <= at).toBe(true);
    expect(at + size).toBeLessThanOrEqual(arena.size);
    live.set(at, size);
  }
});
