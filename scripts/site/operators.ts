// The page of operators: docs/operators.json with filters, and missing operators ordered by use.
import { readFileSync, readdirSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { readTable, type Table } from "../lib/operators-page.ts";
import { at } from "../tools/project.ts";

/** What openreg has kernels for. Its sources import types of the package by its name, which the scripts do not have. */
const { operators: openregOperators } = (await import(pathToFileURL(at("packages", "openreg", "src", "kernels.ts")).href)) as {
  readonly operators: readonly string[];
};

type Operation = Table["families"][number]["operations"][number];

/** A row of the table in the browser. */
export interface OperatorRow {
  readonly name: string;
  readonly family: string;
  readonly operators: readonly string[];
  readonly dtypes: readonly string[];
  readonly gradient: number;
  readonly level: string | null;
  readonly status: string;
  readonly cases: string;
  /** Where its recorded calls run without the software adapter's help. */
  readonly backends: readonly string[];
}

/** Backends by the facts that are recorded: nothing is known of an operation without recorded cases. */
function backendsOf(o: Operation): readonly string[] {
  if (o.operators === undefined || (o.passed ?? 0) === 0) return [];
  const isHost = o.ways?.includes("host") === true;
  const hasOpenreg = !isHost && o.operators.every((name) => openregOperators.includes(name));
  return ["cpu", ...(!isHost && typeof o.featureLevel === "string" ? ["dml"] : []), ...(hasOpenreg ? ["openreg"] : [])];
}

export const rowsOf = ({ families }: Table): readonly OperatorRow[] =>
  families.flatMap(({ title, operations }) =>
    operations.map((o) => {
      const { passed, failed = 0, missing = 0 } = o;
      return {
        name: o.name,
        family: title,
        operators: o.ways?.includes("host") === true ? ["host"] : (o.operators ?? []),
        dtypes: [...new Set([...((o.bfloat16 ?? 0) > 0 ? ["bfloat16"] : []), ...(o.dtypes ?? [])])].toSorted(),
        gradient: o.gradient ?? 0,
        level: o.featureLevel ?? null,
        status: o.status,
        cases: passed === undefined ? "" : `${passed} of ${passed + failed + missing}`,
        backends: backendsOf(o),
      };
    }),
  );

/** How many calls of each operation the importer of ONNX models has in its sources. */
export function onnxUse(): ReadonlyMap<string, number> {
  const folder = at("src", "onnx", "operators");
  const counts = new Map<string, number>();
  for (const file of readdirSync(folder)) {
    if (!file.endsWith(".ts")) continue;
    for (const [, name = ""] of readFileSync(`${folder}/${file}`, "utf8").matchAll(/\bops\.([a-z]\w*)/g))
      counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  return counts;
}

function roadmap(table: Table): string {
  const onnx = onnxUse();
  const all = table.families.flatMap((f) => f.operations);
  const aten = (name: string): number => table.aten.filter((a) => a.here === name || a.gradientOf === name).length;
  const use = (o: Operation): number => (o.pytorch?.length ?? 0) + aten(o.name) + (onnx.get(o.name) ?? 0);
  const row = (o: Operation, what: string): string =>
    `| \`${o.name}\` | ${what} | ${(o.pytorch ?? []).map((name) => `\`${name}\``).join(", ")} | ${aten(o.name)} | ${onnx.get(o.name) ?? 0} |`;
  const byUse = (a: Operation, b: Operation): number => use(b) - use(a) || a.name.localeCompare(b.name, "en");
  const partly = all.filter((o) => o.status === "partly").toSorted(byUse);
  const host = all.filter((o) => o.ways?.includes("host") === true).toSorted(byUse);
  const head = "| operation | what is open | PyTorch's functions | ATen operators | ONNX importer |\n| --- | --- | --- | --- | --- |";
  return `## What comes next

Open work, sorted by use. Use is counted from the repository: the functions of PyTorch whose recorded cases lead to the operation, the
operators of PyTorch's dispatcher that it stands for, and the calls of it in the ONNX importer's sources.

### Cases that do not pass yet

${head}
${partly.map((o) => row(o, [...((o.failed ?? 0) > 0 ? [`${o.failed} of its cases differ`] : []), ...((o.missing ?? 0) > 0 ? [`${o.missing} need an option that is missing`] : [])].join(", "))).join("\n")}

[Differences from PyTorch](/differences.md) has the reasons of those that are meant.

### Operations that run on the host

Their inputs are copied to the host. DirectML has no operator for them, or the size of the result depends on the data.

${head}
${host.map((o) => row(o, "a device kernel")).join("\n")}

### Operators of PyTorch without a counterpart

| operator | why |
| --- | --- |
${table.aten
  .filter((a) => a.none !== undefined)
  .map((a) => `| \`${a.name}\` | ${a.none} |`)
  .join("\n")}
`;
}

/** The page's text. The table is a component that reads operators-rows.json; its rows are in the page without JavaScript too. */
export function operatorsPage(table: Table = readTable()): string {
  return `# Operators

Made from \`docs/operators.json\`: each operation with its DirectML operators, dtypes, gradients and feature level, from PyTorch's recorded cases.
[What comes next](#what-comes-next) is below the table.

| column | meaning |
| --- | --- |
| backends | \`cpu\`: its cases pass on the software adapter; \`dml\`: no recorded call falls back from its feature level on; \`openreg\`: openreg has a kernel for each of its DirectML operators. Empty: no recorded case, or a host operation |
| gradient | 1: PyTorch's recorded gradients pass; 2: those of gradients agree with finite differences |
| level | the lowest feature level of DirectML on which no recorded call falls back |
| status | complete: every recorded case in scope passes; partly: some fail or need a missing option; own tests: PyTorch has no recorded case |

<OperatorTable />

${roadmap(table)}`;
}
