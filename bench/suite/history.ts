/** The history of measurements: a line of JSON for each run. */
import { appendFileSync, existsSync, mkdirSync, readFileSync } from "node:fs";
import { dirname } from "node:path";
import * as z from "zod";
import { valueOf, type Result } from "./rounds.ts";

const runSchema = z.object({
  date: z.string(),
  commit: z.string(),
  machine: z.string(),
  device: z.string(),
  /** The version of dxtensor. */
  version: z.string().optional(),
  /** What the run was taken from, if this program did not measure it: a file of the repository. */
  source: z.string().optional(),
  rows: z.array(
    z.object({
      name: z.string(),
      group: z.string(),
      unit: z.string(),
      /** By peer, in the unit. */
      values: z.record(z.string(), z.number()),
      resident: z.record(z.string(), z.number()),
      /** Peers whose result is not the first peer's. */
      disagreeing: z.array(z.string()),
    }),
  ),
});
export type Run = z.infer<typeof runSchema>;
export type Row = Run["rows"][number];

/** Results further apart than this are not the same. */
export const TOLERANCE = 2e-3;

export const rowOf = ({ workload, measured }: Result): Row => ({
  name: workload.name,
  group: workload.group,
  unit: workload.unit,
  values: Object.fromEntries(measured.map((m) => [m.peer, Number(valueOf(workload, m.seconds).toPrecision(4))])),
  resident: Object.fromEntries(measured.map((m) => [m.peer, Math.round(m.resident)])),
  disagreeing: measured.filter((m) => m.distance !== null && !(m.distance <= TOLERANCE)).map((m) => m.peer),
});

const isOurs = (peer: string): boolean => peer.startsWith("dxtensor");

/** Our better form by the best peer; null without a peer. */
export function ratioOf({ values }: Row): number | null {
  const best = (ours: boolean): number => Math.max(...Object.entries(values).flatMap(([peer, v]) => (isOurs(peer) === ours ? [v] : [])));
  const [mine, theirs] = [best(true), best(false)];
  return Number.isFinite(mine) && Number.isFinite(theirs) ? mine / theirs : null;
}

export function append(file: string, run: Run): void {
  mkdirSync(dirname(file), { recursive: true });
  appendFileSync(file, `${JSON.stringify(run)}\n`);
}

export function read(file: string): Run[] {
  if (!existsSync(file)) return [];
  return readFileSync(file, "utf8")
    .split("\n")
    .filter((line) => line !== "")
    .map((line, i) => {
      const parsed = runSchema.safeParse(JSON.parse(line));
      if (!parsed.success) throw new Error(`${file}:${i + 1}: ${z.prettifyError(parsed.error)}`);
      return parsed.data;
    });
}
