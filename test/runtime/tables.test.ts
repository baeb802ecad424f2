import { expect, it } from "vitest";
import { device } from "../../src/core/device.ts";
import * as dx from "../../src/index.ts";
import { clearTables, tableBytes, tableTensors, type TableSpec } from "../../src/runtime/tables.ts";

const cpu = device("cpu");

it("a table is computed and uploaded once, until it is cleared", () => {
  clearTables();
  let made = 0;
  const spec: TableSpec = {
    key: "test",
    shape: [3],
    make: () => {
      made++;
      return [Float32Array.of(1, 2, 3), Float32Array.of(4, 5, 6)];
    },
  };
  const first = dx.scope(() => void tableTensors(cpu, [spec])) ?? tableTensors(cpu, [spec]);
  expect([made, tableBytes(cpu), first.map((t) => t.toArraySync())]).toEqual([
    1,
    24,
    [
      [1, 2, 3],
      [4, 5, 6],
    ],
  ]);
  clearTables();
  expect(tableBytes(cpu)).toBe(0);
  tableTensors(cpu, [spec, { ...spec, key: "other" }]);
  expect([made, tableBytes(cpu)]).toEqual([3, 48]);
  clearTables();
});

it("past its budget the one not used for longest goes", () => {
  const large = (key: string): TableSpec => ({
    key,
    shape: [5 * 2 ** 20],
    make: () => [new Float32Array(5 * 2 ** 20)],
  });
  for (const key of ["a", "b", "c"]) tableTensors(cpu, [large(key)]);
  const [a] = tableTensors(cpu, [large("a")]);
  tableTensors(cpu, [large("d")]);
  expect(tableBytes(cpu)).toBe(3 * 20 * 2 ** 20);
  expect(tableTensors(cpu, [large("a")])[0]).toBe(a);
  clearTables();
});
