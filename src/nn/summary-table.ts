/** The table of a summary. @package */
import { showShape } from "../core/shape.ts";
import type { ModuleSummary, SummaryColumn, SummaryRow } from "./summary.ts";

/** 1,234,567 in every locale. */
const grouped = (n: number): string => String(n).replace(/\B(?=(?:\d{3})+$)/g, ",");

const UNITS = ["bytes", "KiB", "MiB", "GiB", "TiB"];

function inUnits(bytes: number): string {
  const unit = bytes < 1024 ? 0 : Math.min(UNITS.length - 1, Math.floor(Math.log2(bytes) / 10));
  return unit === 0 ? `${bytes} bytes` : `${(bytes / 1024 ** unit).toFixed(2)} ${UNITS[unit]}`;
}

/** A row with what it shows of the rows that the depth leaves out below it. */
interface Shown {
  readonly row: SummaryRow;
  readonly parameters: number;
  readonly trainable: number;
  readonly bytes: number;
  readonly multiplyAdds: number;
}

function shownRows(rows: readonly SummaryRow[], depth: number): Shown[] {
  const shown: Shown[] = [];
  for (let i = 0; i < rows.length;) {
    const row = rows[i]!;
    let end = i + 1;
    if (row.depth === depth) while (end < rows.length && rows[end]!.depth > depth) end++;
    const part = rows.slice(i, end);
    const sum = (value: (r: SummaryRow) => number): number => part.reduce((all, r) => all + value(r), 0);
    shown.push({
      row,
      parameters: sum((r) => r.ownParameters),
      trainable: sum((r) => r.ownTrainableParameters),
      bytes: sum((r) => r.ownParameterBytes),
      multiplyAdds: sum((r) => r.ownMultiplyAdds),
    });
    i = end;
  }
  return shown;
}

const NOTHING = "--";
const shapes = (list: readonly (readonly number[])[]): string => (list.length === 0 ? NOTHING : list.map(showShape).join(", "));
const count = (n: number): string => (n === 0 ? NOTHING : grouped(n));

const COLUMNS: Readonly<Record<SummaryColumn, readonly [title: string, text: (shown: Shown) => string]>> = {
  input: ["Input", ({ row }) => shapes(row.input)],
  output: ["Output", ({ row }) => shapes(row.output)],
  parameters: ["Parameters", ({ row, parameters }) => (row.isRecursive && parameters === 0 ? "(recursive)" : count(parameters))],
  trainable: [
    "Trainable",
    ({ parameters, trainable }) => (parameters === 0 ? NOTHING : trainable === parameters ? "yes" : trainable === 0 ? "no" : "partly"),
  ],
  parameterBytes: ["Parameter bytes", ({ bytes }) => count(bytes)],
  outputBytes: ["Output bytes", ({ row }) => count(row.outputBytes)],
  multiplyAdds: ["Multiply-adds", ({ multiplyAdds }) => count(multiplyAdds)],
};

export const COLUMN_NAMES = Object.keys(COLUMNS) as readonly SummaryColumn[];

const NUMBERS: readonly SummaryColumn[] = ["parameters", "parameterBytes", "outputBytes", "multiplyAdds"];

/** The names of the rows as a tree. */
function treeOf(rows: readonly SummaryRow[]): string[] {
  const isLast = (i: number, depth: number): boolean => {
    for (let k = i + 1; k < rows.length && rows[k]!.depth >= depth; k++) if (rows[k]!.depth === depth) return false;
    return true;
  };
  return rows.map(({ name, type, depth }, i) => {
    const stems = Array.from({ length: Math.max(0, depth - 1) }, (_, d) => (isLast(i, d + 1) ? "   " : "│  ")).join("");
    return depth === 0 ? type : `${stems}${isLast(i, depth) ? "└─ " : "├─ "}${name} (${type})`;
  });
}

/** ModuleSummary.toString(). */
export function tableOf(summary: ModuleSummary, depth: number, columns: readonly SummaryColumn[]): string {
  const shown = shownRows(summary.rows, depth);
  const table = [
    ["Layer", ...columns.map((c) => COLUMNS[c][0])],
    ...treeOf(shown.map(({ row }) => row)).map((name, i) => [name, ...columns.map((c) => COLUMNS[c][1](shown[i]!))]),
  ];
  const widths = table[0]!.map((_, c) => Math.max(...table.map((row) => row[c]!.length)));
  const lines = table.map((row) =>
    row
      .map((text, c) => (c > 0 && NUMBERS.includes(columns[c - 1]!) ? text.padStart(widths[c]!) : text.padEnd(widths[c]!)))
      .join("  ")
      .trimEnd(),
  );
  const rule = (of: string): string => of.repeat(widths.reduce((sum, w) => sum + w + 2, -2));
  const frozen = summary.parameters - summary.trainableParameters;
  return [
    lines[0]!,
    rule("="),
    ...lines.slice(1),
    rule("="),
    `Parameters: ${grouped(summary.parameters)} (${grouped(summary.trainableParameters)} trainable, ${grouped(frozen)} not)`,
    `Multiply-adds: ${grouped(summary.multiplyAdds)} (${grouped(summary.flops)} FLOP)`,
    `Memory: parameters ${inUnits(summary.parameterBytes)}, buffers ${inUnits(summary.bufferBytes)}, inputs ${inUnits(summary.inputBytes)}, activations ${inUnits(summary.activationBytes)}`,
  ].join("\n");
}
