// Whether a report is one: its format, and whether its numbers are those of its tests.
import { validateStrict, type CTRFReport } from "ctrf";
import { conformance, partOf, type Conformance } from "./schema.ts";
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

function requirePart(report: CTRFReport, file: string): Conformance {
  const part = partOf(report);
  if (part === undefined) fail(file, "results.extra.conformance is missing: it is no report of `dxtensor conformance`");
  const checked = conformance.safeParse(part);
  if (checked.success) return checked.data;
  const [issue] = checked.error.issues;
  return fail(file, `results.extra.conformance${issue!.path.map((key) => `.${String(key)}`).join("")}: ${issue!.message}`);
}

/** The test files of a version. */
interface Files {
  readonly version: string;
  readonly files: readonly string[];
}

/** Throws ReportError for files that the version does not have, and for sets of another size. */
function requireFiles({ sets }: Conformance, tests: CTRFReport["results"]["tests"], files: readonly string[], file: string): void {
  const known = new Set(files);
  const unknown = tests.find((test) => !known.has(test.filePath ?? ""));
  if (unknown !== undefined) fail(file, `there is no test file ${unknown.filePath ?? ""}`);
  for (const { name, ofFiles } of sets) {
    const count = filesOf(
      SETS.find((set) => set.name === name)!,
      files,
    ).length;
    if (ofFiles !== count) fail(file, `results.extra.conformance.sets.${name}.ofFiles is ${ofFiles}, the set has ${count} files`);
  }
}

/**
 * The report in a text. Throws ReportError for what is none, and for one whose numbers are not those of its tests. installed: the test files that are here;
 * a report of the same version is compared with them.
 */
export function checkReport(text: string, file: string, installed?: Files): CTRFReport {
  const report = parse(text, file);
  const part = requirePart(report, file);
  const { summary, tests } = report.results;
  const same = (where: string, said: number, counted: number): void => {
    if (said !== counted) fail(file, `${where} is ${said}, the report has ${counted} such tests`);
  };
  for (const status of ["passed", "failed", "skipped", "pending", "other"] as const)
    same(`results.summary.${status}`, summary[status], tests.filter((test) => test.status === status).length);
  same("results.summary.tests", summary.tests, tests.length);
  if (installed?.version === part.versions.dxtensor) requireFiles(part, tests, installed.files, file);
  const names = new Set<string>();
  for (const set of part.sets) {
    if (names.has(set.name)) fail(file, `results.extra.conformance.sets: ${set.name} occurs twice`);
    names.add(set.name);
    const mine = tests.filter((test) => setOf(test.filePath ?? "")?.name === set.name);
    const where = `results.extra.conformance.sets.${set.name}`;
    const count = (status: string): number => mine.filter((test) => test.status === status).length;
    same(`${where}.passed`, set.passed, count("passed"));
    same(`${where}.failed`, set.failed, count("failed"));
    same(`${where}.skipped`, set.skipped, mine.length - count("passed") - count("failed"));
    same(`${where}.files`, set.files, new Set(mine.map((test) => test.filePath)).size);
    const began = new Set(mine.flatMap(({ name, filePath = "" }) => (name === filePath ? [] : [filePath])));
    if (set.isComplete && began.size !== set.files) fail(file, `${where}.isComplete is true, and a file ended before its tests were known`);
    if (set.isComplete && (set.files !== set.ofFiles || part.only !== null))
      fail(file, `${where}.isComplete is true, and files are missing`);
  }
  const stray = tests.find((test) => !names.has(setOf(test.filePath ?? "")?.name ?? ""));
  if (stray !== undefined) fail(file, `the test "${stray.name}" of ${stray.filePath ?? "no file"} belongs to no set of the report`);
  return report;
}
