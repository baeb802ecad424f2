import { describe, expect, it } from "vitest";
import { validateStrict } from "ctrf";
import { agrees, differs, type Case, type Context, type Result } from "../../src/verify/case.ts";
import { known, type DeviceFacts } from "../../src/verify/known.ts";
import { ctrfReport, failures, jsonReport, passes, summaryText, type Setting } from "../../src/verify/report.ts";
import { run, type Summary } from "../../src/verify/run-cases.ts";
import { allCases, matcher } from "../../src/verify/cases/suite.ts";

// Cases that look at nothing of a device need none.
const context = {} as Context;
const facts: DeviceFacts = { featureLevel: 0x6200, microsoft: true, waveLanes: 8 };
const setting: Setting = {
  version: "1.2.3",
  device: "dml:0",
  deviceName: "a GPU",
  reference: "cpu",
  referenceName: "cpu",
  seed: 7,
  quick: true,
  strict: false,
};

const made = (id: string, result: Result | (() => Result)): Case => ({ id, run: () => (typeof result === "function" ? result() : result) });
const runAll = (cases: readonly Case[], deviceFacts = facts, signal = new AbortController().signal): Promise<Summary> =>
  run(cases, context, { facts: deviceFacts, isWhole: true, signal, onReport: () => {} });

const int64 = "operator/ELEMENT_WISE_MAX/1/i64/packed";

describe("a run", () => {
  it("passes what agrees, fails what differs, and says how to repeat it", async () => {
    const summary = await runAll([
      made("a/1", agrees),
      made("a/2", differs("wrong")),
      made("a/3", { kind: "skipped", reason: "no kernel" }),
    ]);
    expect(summary.reports.map((r) => r.status)).toEqual(["passed", "failed", "skipped"]);
    expect([passes(summary), failures(summary, false)]).toEqual([1, 1]);
    expect(summaryText(summary, setting).split("\n").at(-1)).toBe("1 passed, 1 failed");
  });

  it("takes an exception for a failure, with its stack", async () => {
    const { reports } = await runAll([
      made("a/1", () => {
        throw new RangeError("off the end");
      }),
    ]);
    expect(reports[0]).toMatchObject({ status: "failed", messages: [expect.stringContaining("RangeError: off the end")] });
  });

  it("lets listed differences pass where they are listed, and only there", async () => {
    expect((await runAll([made(int64, differs("low halves"))])).reports[0]).toMatchObject({
      status: "known",
      messages: [expect.stringContaining("int64")],
    });
    expect((await runAll([made(int64.replace("i64", "u64"), differs("?"))])).reports[0]!.status).toBe("failed");
    expect((await runAll([made(int64, differs("?"))], { ...facts, microsoft: false })).reports[0]!.status).toBe("failed");
  });

  it("lets DirectML.dll refuse a reduction of int64 for lack of a translation, on waves of 32 lanes only", async () => {
    const id = "operator/REDUCE/10/i64/packed";
    const refused = (name: string, code = "E_NOTIMPL"): Case =>
      made(
        id,
        differs(
          `refused: REDUCE: IDMLDevice::CompileOperator failed: ${code} (0x80004001)\n  REDUCE function=${name} input=i64[2,3,4,5] axes=[1]`,
        ),
      );
    const status = async (one: Case, waveLanes: number): Promise<string> =>
      (await runAll([one], { featureLevel: 0x6400, microsoft: true, waveLanes })).reports[0]!.status;
    expect(await status(refused("SUM_SQUARE"), 32)).toBe("known");
    expect(await status(refused("MULTIPLY"), 32)).toBe("known");
    expect(await status(refused("MULTIPLY"), 8)).toBe("failed");
    expect(await status(refused("SUM"), 32)).toBe("failed");
    expect(await status(refused("MULTIPLY", "E_INVALIDARG"), 32)).toBe("failed");
    expect(await status(made(id, differs("output: 1 of 2 elements differ\n  REDUCE function=MULTIPLY input=i64[2]")), 32)).toBe("failed");
  });

  it("needs every element of a finding explained", async () => {
    const id = "special/ELEMENT_WISE_SIN/1/f32";
    const element = (x: number) => ({
      type: { name: "f32", id: 1, bits: 32, kind: "float" as const },
      index: 3,
      got: 1,
      want: 0.5,
      inputs: [x],
    });
    const finding = (...xs: number[]): Result => ({
      kind: "differs",
      findings: [{ label: "output", text: "?", elements: xs.map(element) }],
    });
    expect((await runAll([made(id, finding(1e30))])).reports[0]!.status).toBe("known");
    const mixed = (await runAll([made(id, finding(1e30, 0.5))])).reports[0]!;
    expect(mixed.status).toBe("failed");
    expect(mixed.messages[0]).toContain("at 3, of 0.5: 1 instead of 0.5");
  });

  it("names entries that no longer show, which fail in strict mode", async () => {
    const summary = await runAll([made(int64, agrees)]);
    expect(summary.outdated).toHaveLength(1);
    expect([failures(summary, false), failures(summary, true)]).toEqual([0, 1]);
    expect(summaryText(summary, setting)).toContain("note: listed as a known difference");
  });

  it("stops when it is told to", async () => {
    const stop = new AbortController();
    const cases = [
      made("a/1", () => {
        stop.abort();
        return agrees;
      }),
      made("a/2", agrees),
    ];
    const summary = await runAll(cases, facts, stop.signal);
    expect(summary.reports).toHaveLength(1);
    expect(summary.stopped).toBe(true);
    expect(summaryText(summary, setting)).toContain("stopped before the end");
  });

  it("writes reports that tools can read", async () => {
    const summary = await runAll([made("operator/GEMM/1/f32/packed", agrees), made("a/2", differs("wrong")), made(int64, differs("low"))]);
    const ctrf = ctrfReport(summary, setting, 1000, 2000);
    validateStrict(ctrf as never);
    expect(ctrf).toMatchObject({ results: { summary: { tests: 3, passed: 2, failed: 1, skipped: 0 } } });
    expect(jsonReport(summary, setting)).toMatchObject({ passed: 2, failed: 1, known: 1, seed: 7, device: "dml:0" });
  });
});

describe("the suite", () => {
  const listed = new Map<string, readonly string[]>();
  const ids = (featureLevel: number, quick: boolean): readonly string[] => {
    const key = `${featureLevel} ${quick}`;
    if (!listed.has(key))
      listed.set(
        key,
        [...allCases({ featureLevel, quick })].map((c) => c.id),
      );
    return listed.get(key)!;
  };

  it("gives each case an id of its own, and the quick set is part of the whole", () => {
    const whole = ids(0x6400, false);
    expect(new Set(whole).size).toBe(whole.length);
    const all = new Set(whole);
    const quick = ids(0x6400, true);
    expect(quick.filter((id) => !all.has(id))).toEqual([]);
    expect(quick.length).toBeLessThan(whole.length / 2);
  });

  it("grows with the feature level", () => {
    expect(ids(0x5000, true).length).toBeLessThan(ids(0x6400, true).length);
    expect(ids(0x5000, true).some((id) => id.includes("ACTIVATION_GELU"))).toBe(false);
    expect(ids(0x6400, true).some((id) => id.includes("ACTIVATION_GELU"))).toBe(true);
  });

  it("filters by words or by a regular expression", () => {
    expect(matcher("GEMM f16")("operator/GEMM/1/f16/packed")).toBe(true);
    expect(matcher("GEMM f16")("operator/GEMM/1/f32/packed")).toBe(false);
    expect(matcher("/^refusal\\/.*1$/")("refusal/GEMM/1")).toBe(true);
    expect(() => matcher("/(/")).toThrow(SyntaxError);
  });

  it("has a case for every entry of the known differences", () => {
    const whole = [0x5000, 0x6200, 0x6400].flatMap((level) => ids(level, false));
    expect(known.filter((entry) => !whole.some((id) => entry.cases.test(id)))).toEqual([]);
  });
});
