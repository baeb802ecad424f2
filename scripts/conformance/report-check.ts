// Whether a report is one: its format, and whether its numbers are those of its tests.
import { validateStrict, type CTRFReport, type Test } from "ctrf";
import type { z } from "zod";
import { conformance, conformanceRuns, partOf, runsOf, type Conformance } from "./schema.ts";
import { SETS, filesOf, setOf } from "./sets.ts";

/** What is wrong with a report. */
export class ReportError extends Error {
  override readonly name = "ReportError";
}

const fail = (where: string, text: string): never => {
  throw new ReportError(`${where}: ${text}`);
};

function parse(text: string, file: string): CTRFReport {
  let report: unknown;
  try {
    report = JSON.parse(text);
  } catch (error) {
    fail(file, `it is no JSON: ${(error as Error).message}`);
  }
  try {
    validateStrict(report);
  } catch (error) {
    const { errors } = error as {
      readonly errors?: readonly { readonly instancePath?: string; readonly path?: string; readonly message?: string }[];
    };
    const [first] = errors ?? [];
    fail(file, first === undefined ? (error as Error).message : `${first.instancePath ?? first.path ?? ""} ${first.message ?? ""}`.trim());
  }
  return report as CTRFReport;
}

function parsed<T>(schema: z.ZodType<T>, value: unknown, where: string, file: string): T {
  const checked = schema.safeParse(value);
  if (checked.success) return checked.data;
  const [issue] = checked.error.issues;
  return fail(file, `${where}${issue!.path.map((key) => `.${String(key)}`).join("")}: ${issue!.message}`);
}

/** The test files of a version. */
interface Files {
  readonly version: string;
  readonly files: readonly string[];
}

/** Tests are bundled as .mjs. */
const withoutEnding = (file: string): string => file.replace(/\.(ts|mjs)$/, "");

/** Throws ReportError for files that the version does not have, and for sets of another size. */
function requireFiles({ sets }: Conformance, tests: readonly Test[], files: readonly string[], file: string): void {
  const known = new Set(files.map(withoutEnding));
  const unknown = tests.find((test) => !known.has(withoutEnding(test.filePath ?? "")));
  if (unknown !== undefined) fail(file, `there is no test file ${unknown.filePath ?? ""}`);
  for (const { name, ofFiles } of sets) {
    const count = filesOf(
      SETS.find((set) => set.name === name)!,
      files,
    ).length;
    if (ofFiles !== count) fail(file, `results.extra.conformance.sets.${name}.ofFiles is ${ofFiles}, the set has ${count} files`);
  }
}

function same(file: string, where: string, said: number, counted: number): void {
  if (said !== counted) fail(file, `${where} is ${said}, the report has ${counted} such tests`);
}

/** Throws ReportError where the numbers of a part are not those of its tests. at: where the part is. */
function requireNumbers(part: Conformance, all: readonly Test[], at: string, file: string, installed?: Files): void {
  const outsideFiles = new Set(part.outside?.files);
  const isOutside = ({ filePath = "" }: Test): boolean => outsideFiles.has(filePath);
  const tests = all.filter((test) => !isOutside(test));
  if (installed?.version === part.versions.dxtensor) requireFiles(part, tests, installed.files, file);
  const counts = (where: string, said: { passed: number; failed: number; skipped: number }, mine: readonly Test[]): void => {
    const count = (status: string): number => mine.filter((test) => test.status === status).length;
    same(file, `${where}.passed`, said.passed, count("passed"));
    same(file, `${where}.failed`, said.failed, count("failed"));
    same(file, `${where}.skipped`, said.skipped, mine.length - count("passed") - count("failed"));
  };
  if (part.outside !== undefined) counts(`${at}.outside`, part.outside, all.filter(isOutside));
  const names = new Set<string>();
  for (const set of part.sets) {
    if (names.has(set.name)) fail(file, `${at}.sets: ${set.name} occurs twice`);
    names.add(set.name);
    const mine = tests.filter((test) => setOf(test.filePath ?? "")?.name === set.name);
    const where = `${at}.sets.${set.name}`;
    counts(where, set, mine);
    same(file, `${where}.files`, set.files, new Set(mine.map((test) => test.filePath)).size);
    const began = new Set(mine.flatMap(({ name, filePath = "" }) => (name === filePath ? [] : [filePath])));
    if (set.isComplete && began.size !== set.files) fail(file, `${where}.isComplete is true, and a file ended before its tests were known`);
    if (set.isComplete && (set.files !== set.ofFiles || part.only !== null))
      fail(file, `${where}.isComplete is true, and files are missing`);
  }
  const stray = tests.find((test) => !names.has(setOf(test.filePath ?? "")?.name ?? ""));
  if (stray !== undefined) fail(file, `the test "${stray.name}" of ${stray.filePath ?? "no file"} belongs to no set of the report`);
}

/** A report with its parts: one for each run that it has, by its name; "" in a report of one run. */
export interface CheckedReport {
  readonly report: CTRFReport;
  readonly parts: Readonly<Record<string, Conformance>>;
}

/**
 * The report in a text. Throws ReportError for what is none, and for one whose numbers are not those of its tests. installed: the test files that are here;
 * a report of the same version is compared with them.
 */
export function checkReports(text: string, file: string, installed?: Files): CheckedReport {
  const report = parse(text, file);
  const { summary, tests } = report.results;
  const [part, runs] = [partOf(report), runsOf(report)];
  if (part === undefined && runs === undefined)
    fail(
      file,
      "results.extra.conformance is missing: it is no report of `dxtensor conformance`, of the matrix, of pack:gpu or of verify:linux and verify:windows",
    );
  for (const status of ["passed", "failed", "skipped", "pending", "other"] as const)
    same(file, `results.summary.${status}`, summary[status], tests.filter((test) => test.status === status).length);
  same(file, "results.summary.tests", summary.tests, tests.length);
  if (part !== undefined) {
    const one = parsed(conformance, part, "results.extra.conformance", file);
    requireNumbers(one, tests, "results.extra.conformance", file, installed);
    return { report, parts: { "": one } };
  }
  const parts = parsed(conformanceRuns, runs, "results.extra.conformanceRuns", file);
  for (const [run, one] of Object.entries(parts))
    requireNumbers(one, tests.filter((test) => test.suite?.[0] === run), `results.extra.conformanceRuns.${run}`, file, installed); // prettier-ignore
  return { report, parts };
}

/** The same for a report of one run. */
export function checkReport(text: string, file: string, installed?: Files): CTRFReport {
  const { report, parts } = checkReports(text, file, installed);
  return parts[""] === undefined ? fail(file, "it is a report of several runs") : report;
}
