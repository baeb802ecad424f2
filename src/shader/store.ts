/**
 * Stored measurements of this machine: `dxtensor shaders --measure` writes one file for each adapter into the user's cache folder. A file of another
 * adapter, driver, library or version of the package is ignored, with a reason.
 */
import { mkdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import type { Capabilities } from "../dml/capabilities.ts";
import type { AdapterDescription, LoadReport, RuntimeKind } from "../native/binding.ts";
import { packageVersion, hostEnvironment } from "../native/load-addon.ts";
import { cacheFolder } from "../native/paths.ts";
import { SHADERS } from "./choice.ts";
import type { Measurement } from "./measured.ts";

/** What a measurement holds for: texts by name. */
export type MeasuredFor = Readonly<Record<string, string>>;

export interface Stored {
  /** When, as ISO 8601 has it. */
  readonly time: string;
  readonly measurements: readonly Measurement[];
}

/** What a device's file says: its measurements, why it does not count, or that there is none. */
export type Found = { readonly stored: Stored } | { readonly problem: string } | null;

export interface Measured {
  readonly runtime: RuntimeKind;
  readonly adapter: AdapterDescription;
  readonly capabilities: Pick<Capabilities, "featureLevel">;
}

const FORMAT = 1;
/** A file of ours has some 20 KB. */
const MAX_BYTES = 2 ** 20;

/** The libraries by size: reading versions out of them would take longer than what is won. */
function librariesOf({ libraries }: LoadReport): string {
  return libraries.map(({ name, path }) => `${name} ${basename(path)} ${statSync(path).size}`).toSorted().join(", "); // prettier-ignore
}

export const measuredFor = ({ adapter, capabilities }: Measured, report: LoadReport): MeasuredFor => ({
  dxtensor: packageVersion(),
  adapter: adapter.name,
  driver: adapter.driverVersion,
  runtime: report.direct3d,
  featureLevel: capabilities.featureLevel.toString(16),
  libraries: librariesOf(report),
});

/** The file of an adapter. */
export function storePath({ runtime, adapter }: Pick<Measured, "runtime" | "adapter">): string {
  const name = `${runtime}-${adapter.name}`.toLowerCase().replace(/[^a-z0-9]+/g, "-");
  return join(cacheFolder(hostEnvironment()), "shaders", `${name}.json`);
}

const isRecord = (x: unknown): x is Record<string, unknown> => typeof x === "object" && x !== null && !Array.isArray(x);
const isSeconds = (x: unknown): boolean => typeof x === "number" && Number.isFinite(x) && x > 0;

function isMeasurement(x: unknown): x is Measurement {
  if (!isRecord(x)) return false;
  return (
    (SHADERS as readonly unknown[]).includes(x.shader) &&
    (x.dtype === "float32" || x.dtype === "float16") &&
    (x.place === "alone" || x.place === "compiled") &&
    Number.isSafeInteger(x.extent) &&
    (x.extent as number) > 0 &&
    isSeconds(x.directml) &&
    (x.byShader === null || isSeconds(x.byShader)) &&
    typeof x.isWrong === "boolean"
  );
}

/** What a file's text says, for these circumstances. */
export function parseStored(text: string, wanted: MeasuredFor): Exclude<Found, null> {
  let content: unknown;
  try {
    content = JSON.parse(text);
  } catch {
    return { problem: "it is no JSON" };
  }
  if (!isRecord(content) || content.format !== FORMAT || !isRecord(content.for)) return { problem: `it is not of format ${FORMAT}` };
  for (const [name, value] of Object.entries(wanted))
    if (content.for[name] !== value)
      return { problem: `it was measured with another ${name}: ${JSON.stringify(content.for[name])}, here ${JSON.stringify(value)}` };
  const { time, measurements } = content;
  if (typeof time !== "string" || !Array.isArray(measurements)) return { problem: "it has no measurements" };
  const wrong = measurements.findIndex((m) => !isMeasurement(m));
  if (wrong >= 0) return { problem: `its measurement ${wrong} is none` };
  return { stored: { time, measurements: measurements as Measurement[] } };
}

/** Never throws: whatever is the matter with the file, DirectML's operators are right. */
export function readStored(device: Measured, report: LoadReport): Found {
  const path = storePath(device);
  try {
    const stat = statSync(path, { throwIfNoEntry: false });
    if (stat === undefined) return null;
    if (!stat.isFile() || stat.size > MAX_BYTES) return { problem: "it is no file of at most a mebibyte" };
    return parseStored(readFileSync(path, "utf8"), measuredFor(device, report));
  } catch (error) {
    return { problem: (error as Error).message };
  }
}

/** Another process reads the old file or the new one, never a part. */
export function writeStored(device: Measured, report: LoadReport, stored: Stored): string {
  const path = storePath(device);
  mkdirSync(dirname(path), { recursive: true });
  const temporary = `${path}.${process.pid}.new`;
  writeFileSync(temporary, `${JSON.stringify({ format: FORMAT, for: measuredFor(device, report), ...stored }, null, 1)}\n`);
  renameSync(temporary, path);
  return path;
}

/** Whether there was one. */
export function forgetStored(device: Pick<Measured, "runtime" | "adapter">): boolean {
  const path = storePath(device);
  const isThere = statSync(path, { throwIfNoEntry: false }) !== undefined;
  rmSync(path, { force: true });
  return isThere;
}
