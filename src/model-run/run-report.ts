/** A model's run as text, and as one line of JSON. */
import { columns, shapeText } from "../inspect/text.ts";
import type { ModelRunReport } from "./run-model.ts";

const msText = (value: number): string => `${value < 10 ? value.toFixed(3) : value.toFixed(1)} ms`;

const numberText = (value: number | null): string => (value === null ? "" : String(Number(value.toPrecision(6))));

/** Least, median, mean and greatest of the calls' times. */
export function timesOf(calls: readonly number[]): {
  readonly min: number;
  readonly median: number;
  readonly mean: number;
  readonly max: number;
} {
  const sorted = calls.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  const median = sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2;
  return { min: sorted[0]!, median, mean: calls.reduce((sum, t) => sum + t, 0) / calls.length, max: sorted.at(-1)! };
}

/** The whole report. */
export function describeRun({ file, device, nodes, inputs, outputs, times, slowest }: ModelRunReport): string {
  const parts = [`${file}: ${nodes.toLocaleString("en")} nodes on ${device}`];
  if (inputs.length > 0)
    parts.push(columns([["input", "dtype", "shape", "from"], ...inputs.map((i) => [i.name, i.dtype, shapeText(i.shape), i.from])]));
  const hasNans = outputs.some((o) => o.nans > 0);
  const hasFiles = outputs.some((o) => o.file !== null);
  parts.push(
    columns(
      [
        ["output", "dtype", "shape", "min", "max", "mean", ...(hasNans ? ["NaN"] : []), ...(hasFiles ? ["file"] : [])],
        ...outputs.map((o) => [
          o.name,
          o.dtype,
          shapeText(o.shape),
          ...[o.min, o.max, o.mean].map(numberText),
          ...(hasNans ? [String(o.nans)] : []),
          ...(hasFiles ? [o.file ?? ""] : []),
        ]),
      ],
      [3, 4, 5],
    ),
  );
  const rows = [
    ["load", msText(times.load)],
    ["first call", msText(times.first)],
  ];
  if (times.calls.length > 0) {
    const { min, median, mean, max } = timesOf(times.calls);
    rows.push([`${times.calls.length} more`, `${msText(median)} (median), ${msText(min)} to ${msText(max)}, mean ${msText(mean)}`]);
  }
  parts.push(columns(rows));
  if (slowest !== null) {
    if (slowest.length === 0) parts.push("No node has a time of its own on this device.");
    else parts.push(columns([["slowest nodes", "ms"], ...slowest.map((n) => [n.node, n.milliseconds.toFixed(3)])], [1]));
  }
  return parts.join("\n\n");
}

/** Numbers that JSON has none for are null. */
export const jsonOfRun = (report: ModelRunReport): string =>
  JSON.stringify({
    ok: true,
    ...report,
    times: { ...report.times, ...(report.times.calls.length > 0 ? timesOf(report.times.calls) : {}) },
  });
