/** A report as a table for a terminal. */
import { elementsOf, totalsOf, type FileReport, type ValueRow } from "./report.ts";

/** "98.4 MB" */
export function bytesText(bytes: number): string {
  const units = ["bytes", "kB", "MB", "GB", "TB"];
  let [value, unit] = [bytes, 0];
  while (value >= 1000 && unit < units.length - 1) [value, unit] = [value / 1000, unit + 1];
  return `${unit === 0 ? value : value.toFixed(1)} ${units[unit]}`;
}

const countText = (n: number): string => n.toLocaleString("en");

const MAX_TEXT = 100;
const MAX_NAME = 72;
const MAX_ITEMS = 4;

/** A value of metadata on one line. */
export function valueText(value: unknown): string {
  if (typeof value === "string") {
    const text = JSON.stringify(value).slice(1, -1);
    return text.length > MAX_TEXT ? `${text.slice(0, MAX_TEXT)}… (${countText(value.length)} characters)` : text;
  }
  if (typeof value === "object" && value !== null && "length" in value) {
    const list = Array.from(value as ArrayLike<unknown>);
    const shown = list.slice(0, MAX_ITEMS).map((item) => (typeof item === "string" ? JSON.stringify(item) : valueText(item)));
    return `[${shown.join(", ")}${list.length > MAX_ITEMS ? `, … ${countText(list.length)} items` : ""}]`;
  }
  if (typeof value === "object" && value !== null)
    return valueText(JSON.stringify(value, (_, inner: unknown) => (typeof inner === "bigint" ? String(inner) : inner)));
  return String(value);
}

/** Without the middle of a long one: ends of names tell more. */
const shortened = (name: string): string => (name.length > MAX_NAME ? `${name.slice(0, 24)}…${name.slice(25 - MAX_NAME)}` : name);

export const shapeText = (shape: ValueRow["shape"]): string => (shape === null ? "any" : `[${shape.map((d) => d ?? "?").join(", ")}]`);

/** Columns of equal width; those of `right` end with their width. */
export function columns(rows: readonly (readonly string[])[], right: readonly number[] = []): string {
  const widths = rows[0]?.map((_, i) => rows.reduce((n, row) => Math.max(n, row[i]!.length), 0)) ?? [];
  return rows.map((row) => row.map((text, i) => (right.includes(i) ? text.padStart(widths[i]!) : text.padEnd(widths[i]!))).join("  ").trimEnd()).join("\n"); // prettier-ignore
}

const sizeOf = ({ files }: FileReport): number => files.reduce((n, { sizeInBytes }) => n + sizeInBytes, 0);

function heading(report: FileReport): string {
  const { files, format } = report;
  const more = files.length > 1 ? ` and ${files.length - 1} more` : "";
  return `${files[0]!.path}${more}: ${format}, ${bytesText(sizeOf(report))}`;
}

/** The whole report. */
export function describe(report: FileReport): string {
  const { metadata, tensors, graph } = report;
  const parts = [heading(report)];
  const facts = Object.entries(metadata);
  if (facts.length > 0) parts.push(columns(facts.map(([key, value]) => [key, valueText(value)])));
  if (graph !== null) {
    const values = [
      ...graph.inputs.map((v) => ["input", v.name, v.dtype, shapeText(v.shape)]),
      ...graph.outputs.map((v) => ["output", v.name, v.dtype, shapeText(v.shape)]),
    ];
    if (values.length > 0) parts.push(columns(values));
    const counts = new Map<string, number>();
    for (const { type, domain } of graph.nodes) {
      const name = domain === "" ? type : `${domain}.${type}`;
      counts.set(name, (counts.get(name) ?? 0) + 1);
    }
    const sorted = [...counts].sort(([a, n], [b, m]) => m - n || (a < b ? -1 : 1));
    parts.push(`${countText(graph.nodes.length)} nodes: ${sorted.map(([name, n]) => `${name} ${n}`).join(", ")}`);
  }
  if (tensors.length > 0)
    parts.push(
      columns(
        [
          ["name", "dtype", "shape", "bytes"],
          ...tensors.map((t) => [shortened(t.name), t.dtype, shapeText(t.shape), t.sizeInBytes === null ? "?" : countText(t.sizeInBytes)]),
        ],
        [3],
      ),
    );
  if (tensors.length === 0) return parts.join("\n\n");
  const totals = totalsOf(tensors);
  const sum = { dtype: "all", tensors: tensors.length, elements: tensors.reduce((n, t) => n + elementsOf(t), 0), sizeInBytes: totals.reduce((n, t) => n + t.sizeInBytes, 0) }; // prettier-ignore
  parts.push(
    columns(
      [
        ["total", "tensors", "elements", "bytes", ""],
        ...[...(totals.length > 1 ? totals : []), sum].map((t) => [
          totals.length === 1 ? totals[0]!.dtype : t.dtype,
          countText(t.tensors),
          countText(t.elements),
          countText(t.sizeInBytes),
          t.sizeInBytes < 1000 ? "" : bytesText(t.sizeInBytes),
        ]),
      ],
      [1, 2, 3, 4],
    ),
  );
  return parts.join("\n\n");
}

/** The whole report as one line of JSON; integers beyond 2^53 are texts. */
export function jsonOf(report: FileReport): string {
  const { format, files, metadata, tensors, graph } = report;
  const plain = (_: string, value: unknown): unknown =>
    typeof value === "bigint" ? String(value) : ArrayBuffer.isView(value) ? Array.from(value as unknown as ArrayLike<number>) : value;
  return JSON.stringify(
    { ok: true, format, sizeInBytes: sizeOf(report), files, metadata, tensors, totals: totalsOf(tensors), graph },
    plain,
  );
}
