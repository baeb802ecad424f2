/** The harness itself: its command's report, and the page of differences. */
import { existsSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import * as dx from "../../src/index.ts";
import { devices, isMicrosoft } from "../device.ts";
import { readCases, readIndex, stridedOf, isTensor, tensorOf } from "./cases.ts";
import { differences, differencesPage } from "./differences.ts";
import { reportOf, runFolder } from "./report.ts";
import { runCase } from "./run.ts";
import { goldenFolder } from "./folder.ts";
import { PARTS, goldenParts } from "./suite.ts";
import { derivedEntry } from "./table/derived.ts";

const device = devices.find((d) => !isMicrosoft(d)) ?? devices[0]!;
const casesOf = (op: string) => readCases(join(goldenFolder, readIndex(goldenFolder).find((e) => e.op === op)!.file));

test("a report says which way each call ran", () => {
  const report = dx.withDevice(device, () =>
    reportOf(runFolder(goldenFolder, {}, { ops: (op) => op === "transpose" || op === "sqrt" }), {}),
  );
  expect(report.failed + report.missing).toBe(0);
  expect(report.passed).toBeGreaterThan(10);
  expect(report.passes[casesOf("transpose").find((c) => c.kind === "ok")!.id]).toBe("view");
  expect(report.passes[casesOf("sqrt").find((c) => c.kind === "ok" && c.dtype === "f32")!.id]).toBe("operator");
});

test("a wrong result fails, an unknown operation is missing, complex numbers are out of scope", () => {
  dx.withDevice(device, () => {
    const [good] = casesOf("sqrt").filter((c) => c.kind === "ok" && c.dtype === "f32" && isTensor(c.out) && c.out.shape.length > 0);
    expect(runCase(good!, []).result).toBe("passed");
    expect(runCase({ ...good!, op: "exp" }, []).result).toBe("failed");
    expect(runCase({ ...good!, op: "no_such_operation" }, []).result).toBe("missing");
    expect(runCase({ ...good!, args: [{ k: "complex", re: 1, im: 2 }] }, []).result).toBe("outOfScope");
  });
});

test("an operation of ours under PyTorch's name needs no line in a table, and no option is left out", () => {
  dx.withDevice(device, () => {
    const good = casesOf("logsumexp").find((c) => c.kind === "ok" && c.dtype === "f32")!;
    expect(runCase(good, []).result).toBe("passed");
    expect(runCase({ ...good, kwargs: { ...good.kwargs, rounding_up: true } }, [])).toMatchObject({
      result: "missing",
      reason: "the option roundingUp",
    });
    expect(derivedEntry("nn.functional.leaky_relu")).not.toBeNull();
    expect(derivedEntry("special.bessel_j0")).not.toBeNull();
    // Classes, other modules and what is nowhere are no operations.
    expect(
      ["Tensor", "nn.functional.logsumexp", "linalg.abs", "nn.linear.weight", "no_such"].filter((name) => derivedEntry(name) !== null),
    ).toEqual([]);
  });
});

test("factors that only a gauge can judge do not pass without one", () => {
  dx.withDevice(device, () => {
    const good = casesOf("sqrt").find((c) => c.kind === "ok" && c.dtype === "f32")!;
    expect(runCase({ ...good, compare: ["gauge"] }, [])).toMatchObject({ result: "missing", reason: "no gauge tells whether factors fit" });
  });
});

test("spread operands hold the recorded elements in views with gaps", () => {
  dx.withDevice(device, () =>
    dx.scope(() => {
      for (const c of casesOf("add").filter((k) => isTensor(k.input) && k.input.t === "f32" && k.input.data !== "")) {
        if (!isTensor(c.input)) continue;
        const spread = stridedOf(c.input);
        expect(spread.toArraySync()).toEqual(tensorOf(c.input).toArraySync());
        if (spread.size > 1) expect(spread.isContiguous).toBe(false);
        expect(spread.storageOffset).toBeGreaterThan(0);
      }
    }),
  );
});

test("each recorded operation is in one of the parts, which are about as large as each other", () => {
  const index = readIndex(goldenFolder);
  const parts = goldenParts();
  expect(parts).toHaveLength(PARTS);
  expect(
    parts
      .flat()
      .map((e) => e.op)
      .toSorted(),
  ).toEqual(index.map((e) => e.op).toSorted());
  const sizeOf = (entries: typeof index): number => entries.reduce((sum, e) => sum + statSync(join(goldenFolder, e.file)).size, 0);
  for (const part of parts) expect(sizeOf(part)).toBeLessThan(1.05 * (sizeOf(index) / PARTS));
});

test("differences are recorded cases, each listed once", () => {
  const ids = differences.flatMap((d) => d.ids);
  expect(new Set(ids).size).toBe(ids.length);
  const recorded = new Set(readIndex(goldenFolder).flatMap((e) => readCases(join(goldenFolder, e.file)).map((c) => c.id)));
  expect(ids.filter((id) => !recorded.has(id))).toEqual([]);
});

// Bundled for another machine the tests travel without the documentation.
const page = join(goldenFolder, "..", "..", "docs", "differences.md");
test.skipIf(!existsSync(page))("docs/differences.md is up to date", () => {
  expect(readFileSync(page, "utf8")).toBe(differencesPage());
});
