// The part of a report that speaks of a device: results.extra.conformance of a report in the Common Test Report Format.
import type { CTRFReport } from "ctrf";
import { z } from "zod";

const count = z.int().min(0);

const set = z.strictObject({
  name: z.enum(["must-pass", "operators", "models", "stress"]),
  /** Test files that were run, of how many. */
  files: count,
  ofFiles: count,
  passed: count,
  failed: count,
  skipped: count,
  seconds: z.number().min(0),
  /** All of its files were run, without --only. */
  isComplete: z.boolean(),
});

export const conformance = z.strictObject({
  formatVersion: z.literal(1),
  /** When the run began, in ISO 8601. */
  date: z.iso.datetime(),
  device: z.strictObject({
    /** As programs name it: "openreg:0". */
    name: z.string().min(1),
    /** As its backend names it. */
    description: z.string(),
    /** "cpu", "dml", or the name of a backend from outside. */
    backend: z.string(),
    /** The version of the driver, or of the backend. */
    version: z.string().nullable(),
    isHardware: z.boolean(),
    memoryInBytes: z.number().min(0).nullable(),
    /** DirectML's: "6.4"; null where DirectML is not what runs. */
    featureLevel: z.string().nullable(),
  }),
  versions: z.strictObject({ dxtensor: z.string(), node: z.string(), directml: z.string().nullable() }),
  system: z.strictObject({ platform: z.string(), arch: z.string(), name: z.string() }),
  sets: z.array(set),
  /** Tests of the library's that are in no set; the levels do not depend on them. Only where such tests were run. */
  outside: z
    .strictObject({ files: z.array(z.string()), passed: count, failed: count, skipped: count, seconds: z.number().min(0) })
    .optional(),
  /** What ran on the software adapter instead. Calls are a lower bound. */
  fellBack: z.array(z.strictObject({ operation: z.string(), reason: z.string(), calls: count })),
  /** Regular expression of --only; null: everything was run. */
  only: z.string().nullable(),
});

/** Of a report of several runs. */
export const conformanceRuns = z.record(z.string().min(1), conformance);

export type Conformance = z.infer<typeof conformance>;
export type SetResult = z.infer<typeof set>;

const extraOf = (report: CTRFReport): Readonly<Record<string, unknown>> => report.results.extra ?? {};

/** The part of a report; undefined where it has none. */
export const partOf = (report: CTRFReport): unknown => extraOf(report)["conformance"];

/** The parts of a report of several runs, by the run: the first name of its tests' suites. Undefined where the report is of one run. */
export const runsOf = (report: CTRFReport): unknown => extraOf(report)["conformanceRuns"];

/** As JSON Schema, for other programs. */
export const jsonSchema = (): object => ({
  title: "results.extra.conformance of a report of dxtensor's tests on a device, and each value of results.extra.conformanceRuns",
  ...z.toJSONSchema(conformance),
});
