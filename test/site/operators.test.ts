/** The page of operators: rows, backends, and the list of missing operators, all from docs/operators.json. */
import { expect, it } from "vitest";
import { readTable } from "../../scripts/lib/operators-page.ts";
import { onnxUse, operatorsPage, rowsOf } from "../../scripts/site/operators.ts";

const table = readTable();
const rows = rowsOf(table);
const rowOf = (name: string) => rows.find((row) => row.name === name)!;

it("a row for each operation, with where it runs", () => {
  const all = table.families.flatMap((f) => f.operations);
  expect(rows.map((row) => row.name)).toEqual(all.map((o) => o.name));
  expect(rowOf("matmul").backends).toEqual(["cpu", "dml", "openreg"]);
  // openreg has no convolution, and a host operation is no device's.
  expect(rowOf("conv2d").backends).toEqual(["cpu", "dml"]);
  for (const o of all.filter((one) => one.ways?.includes("host") === true)) expect(rowOf(o.name).backends).toEqual(["cpu"]);
  // Nothing is claimed of what no recorded case has shown.
  for (const o of all.filter((one) => one.pytorch === undefined)) expect(rowOf(o.name).backends).toEqual([]);
  expect(rowOf("relu")).toMatchObject({
    gradient: 1,
    level: "5.0",
    status: "complete",
    dtypes: expect.arrayContaining(["bfloat16"]) as unknown,
  });
});

it("what comes next lists each operation that is partly done, the most used first, and each operator without a counterpart", () => {
  const page = operatorsPage(table);
  const [, open = ""] = /### Cases that do not pass yet\n([\s\S]*?)\n###/.exec(page) ?? [];
  const listed = [...open.matchAll(/^\| `(\w+)` \|.*\| (\d+) \| (\d+) \|$/gm)].map(([, name, aten, onnx]) => ({
    name: name!,
    use: Number(aten) + Number(onnx),
  }));
  const partly = rows.filter((row) => row.status === "partly").map((row) => row.name);
  expect(listed.map(({ name }) => name).toSorted()).toEqual(partly.toSorted());
  expect(listed.length).toBeGreaterThan(10);
  expect(onnxUse().get("add")).toBeGreaterThan(10);
  expect(listed[0]!.name).toBe("add");
  expect(listed[0]!.use).toBeGreaterThan(listed.at(-1)!.use);
  for (const { name } of table.aten.filter((a) => a.none !== undefined)) expect(page).toContain(`| \`${name}\` |`);
});
