import { expect, it } from "vitest";
import { ProgramLru } from "../../src/runtime/operator-cache.ts";

const make = (capacity: number) => {
  const released: string[] = [];
  const lru = new ProgramLru<{ dropped: boolean; name: string }>(capacity, (v) => released.push(v.name));
  return {
    lru,
    released,
    put: (operation: number, key: number) => lru.set(operation, key, { dropped: false, name: `${operation}:${key}` }),
  };
};

it("drops the oldest quarter of the operation that has most, not what was asked for last", () => {
  const { lru, released, put } = make(9);
  put(2, 0);
  for (let k = 0; k < 8; k++) put(1, k);
  const first = lru.get(1, 0)!;
  put(1, 8);
  expect(released).toEqual(["1:1", "1:2"]);
  expect([lru.size, lru.operations, lru.get(1, 0) === first, lru.get(1, 1), lru.get(2, 0)!.name]).toEqual([8, 2, true, undefined, "2:0"]);
});

it("marks what it drops, and releases it only where its owner lives", () => {
  const { lru, released, put } = make(9);
  const [a, b, c] = [put(1, 0), put(2, 0), put(2, 1)];
  lru.drop((v) => v === a, true);
  lru.drop((v) => v === b, false);
  expect([a.dropped, b.dropped, c.dropped, released, lru.size, lru.operations]).toEqual([true, true, false, ["1:0"], 1, 1]);
});
