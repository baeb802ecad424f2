// docs/operators.json as a page, and the checks of both.
import { existsSync, readFileSync } from "node:fs";
import { readFamilies } from "./families.ts";
import { firstSentence } from "./first-comment.ts";
import { writeGenerated, type Generated } from "./generated.ts";
import { at } from "../tools/project.ts";

/** What recorded cases say of an operation. */
interface Facts {
  /** PyTorch's names that lead to it. */
  readonly pytorch: readonly string[];
  readonly operators: readonly string[];
  readonly dtypes: readonly string[];
  /** 1: recorded gradients pass; 2: those of gradients agree with finite differences, too. */
  readonly gradient: 0 | 1 | 2;
  /** The ways that calls ran. */
  readonly ways: readonly string[];
  readonly passed: number;
  readonly failed: number;
  readonly missing: number;
}

interface Operation extends Partial<Facts> {
  readonly name: string;
  readonly status: string;
  readonly featureLevel?: string | null;
  /** Calls in bfloat16 that pass. */
  readonly bfloat16?: number;
}

type Spaces = Readonly<Record<"fft" | "linalg" | "masked", readonly string[]>>;

/** A name of PyTorch's: what it is here, or why there is none. */
export interface AtenName {
  readonly name: string;
  readonly here?: string;
  readonly of?: string;
  readonly gradientOf?: string;
  readonly none?: string;
  readonly host?: boolean;
}

/** docs/operators.json. */
export interface Table {
  readonly spaces: Spaces;
  readonly families: readonly { readonly title: string; readonly file: string; readonly operations: readonly Operation[] }[];
  readonly aten: readonly AtenName[];
}

/** What the recorded cases give, by operation. */
export interface Recorded {
  readonly facts: Readonly<Record<string, Facts>>;
  /** Feature levels. */
  readonly lowest: Readonly<Record<string, string | null | undefined>>;
  readonly spaces: Spaces;
  /** Passed calls in bfloat16. */
  readonly brief: Readonly<Record<string, number>>;
}

const jsonFile = "docs/operators.json";
const pageFile = "docs/operators.md";
/** PyTorch's operators, each with what it is here: edited by hand. */
const atenFile = "scripts/lib/aten-names.json";
const readAten = (): readonly AtenName[] => JSON.parse(readFileSync(at(atenFile), "utf8"));
export const readTable = (): Table => JSON.parse(readFileSync(at(jsonFile), "utf8"));
/** A table with PyTorch's names as they are listed now. */
export const withNames = (table: Omit<Table, "aten">): Table => ({ ...table, aten: readAten() });

/** Exports that compute nothing: how data come and go, and what calls others. */
const NO_OPERATIONS = new Set([
  "kernel",
  "Generator",
  "defaultGenerator",
  "manualSeed",
  "s",
  "registerHook",
  "retainGrad",
  "item",
  "itemSync",
  "data",
  "dataIntoSync",
  "dataSync",
  "toArray",
  "toArraySync",
  "masked",
]);

/** Families of operations with their public names. spaces: names in fft, linalg, masked. */
function familiesOf(spaces: Spaces): readonly { file: string; title: string; names: readonly string[] }[] {
  const plain = readFamilies().flatMap(({ file, namespace, exports }) => {
    const names = exports.filter((e) => !e.isType && !NO_OPERATIONS.has(e.as)).map((e) => e.as);
    return namespace !== null || names.length === 0
      ? []
      : [{ file, title: firstSentence(readFileSync(at("src", "ops", file), "utf8"), file), names }];
  });
  const titles: readonly (readonly [keyof Spaces, string])[] = [
    ["fft", "Fourier transforms: dx.fft"],
    ["linalg", "Decompositions and solvers: dx.linalg"],
    ["masked", "Reductions over what a mask lets through: dx.masked"],
  ];
  const spaced = titles.map(([space, title]) => ({
    file: space,
    title,
    names: spaces[space].filter((n) => /^[a-z]/.test(n)).map((n) => `${space}.${n}`),
  }));
  return [...plain, ...spaced].toSorted((a, b) => a.title.localeCompare(b.title, "en"));
}

const statusOf = (f: Facts | undefined): string => {
  if (f === undefined) return "own tests";
  if (f.passed === 0) return "missing";
  return f.failed + f.missing === 0 ? "complete" : "partly";
};

export function tableOf({ facts, lowest, spaces, brief }: Recorded): Table {
  const families = familiesOf(spaces).map(({ file, title, names }) => ({
    title,
    file,
    operations: names.map((name) => {
      const f = facts[name];
      const level = f === undefined || f.ways.includes("host") || f.passed === 0 ? null : lowest[name];
      return {
        name,
        status: statusOf(f),
        ...(level === undefined ? {} : { featureLevel: level }),
        ...f,
        ...(brief[name] === undefined ? {} : { bfloat16: brief[name] }),
      };
    }),
  }));
  return withNames({ spaces, families });
}

/** Rows of a list. The comma comes first, so that a row that is added at the end changes no other line. */
const rowsOf = (rows: readonly unknown[], indent: string): string =>
  rows.map((row, i) => `${indent}${i === 0 ? "" : ","}${JSON.stringify(row)}`).join("\n");

/** One operation a line, so that changes are read and merged line by line. */
const textOf = ({ spaces, families, aten }: Table): string => {
  const space = ([name, names]: readonly [string, readonly string[]]): string => ` ${JSON.stringify(name)}: [\n${rowsOf(names, "  ")}\n ]`;
  const family = ({ title, file, operations }: Table["families"][number]): string =>
    `{"title": ${JSON.stringify(title)}, "file": ${JSON.stringify(file)}, "operations": [\n${rowsOf(operations, "  ")}\n ]}`;
  const listed = families.map((f, i) => ` ${i === 0 ? "" : ","}${family(f)}`);
  return [
    `{"spaces": {\n${Object.entries(spaces).map(space).join(",\n")}\n},`,
    `"families": [\n${listed.join("\n")}\n],`,
    `"aten": [\n${rowsOf(aten, " ")}\n]}\n`,
  ].join("\n");
};

function totalsOf({ families }: Table) {
  const all = families.flatMap((f) => f.operations);
  const count = (keep: (o: Operation) => boolean): number => all.filter(keep).length;
  return {
    operations: all.length,
    recorded: count((o) => o.pytorch !== undefined),
    complete: count((o) => o.status === "complete"),
    withGradients: count((o) => (o.gradient ?? 0) > 0),
    ofSecondOrder: count((o) => o.gradient === 2),
    directml: new Set(all.flatMap((o) => o.operators ?? [])).size,
    atLevel5: count((o) => o.featureLevel === "5.0"),
    leveled: count((o) => (o.featureLevel ?? null) !== null),
    onHost: count((o) => o.ways?.includes("host") === true),
  };
}

/** In hundreds, so that another operation changes no sentence. */
const operationsOf = (count: number): string => `More than ${Math.floor((count - 1) / 100) * 100} operations`;

/** The sentence of the README. */
export function sentenceOf(table: Table): string {
  const t = totalsOf(table);
  return (
    `${operationsOf(t.operations)}, ${t.recorded} of them judged by PyTorch's recorded cases, over ${t.directml} DirectML operators; ` +
    `${t.withGradients} with recorded gradients; ${t.atLevel5} of ${t.leveled} run without fallback from feature level 5.0 on ` +
    `([docs/operators.md](docs/operators.md)).`
  );
}

const row = (o: Operation): string => {
  const operators =
    o.operators === undefined
      ? ""
      : o.ways?.includes("host") === true
        ? "host"
        : o.operators.length === 0
          ? "view"
          : o.operators.join(", ");
  const dtypes = [...new Set([...((o.bfloat16 ?? 0) > 0 ? ["bfloat16"] : []), ...(o.dtypes ?? [])])].toSorted().join(", ");
  const gradient = o.gradient === undefined ? "" : ["–", "1", "1, 2"][o.gradient];
  const { passed, failed = 0, missing = 0 } = o;
  const cases = passed === undefined ? "" : `${passed} of ${passed + failed + missing}`;
  return `| \`${o.name}\` | ${operators} | ${dtypes} | ${gradient} | ${o.featureLevel ?? ""} | ${o.status} | ${cases} |`;
};

/** What a name of PyTorch's is here, in words. */
function atenRow({ name, here, of, gradientOf, none, host }: AtenName): string {
  const what =
    here !== undefined
      ? of === undefined
        ? `\`${here}\``
        : `\`${here}\` of \`${of}\``
      : gradientOf !== undefined
        ? `the gradient of \`${gradientOf}\``
        : `– ${none}`;
  return `| \`${name}\`${host === true ? " (host)" : ""} | ${what} |`;
}

function atenSection(aten: Table["aten"]): readonly string[] {
  const count = (keep: (o: AtenName) => boolean): number => aten.filter(keep).length;
  return [
    "## PyTorch's operators",
    "",
    `${count((o) => o.host !== true)} operators of PyTorch's dispatcher, of torchvision and of quantization that DirectML can carry, and ${count((o) => o.host === true)} that need`,
    `a host (marked): ${count((o) => o.here !== undefined)} have a counterpart here, ${count((o) => o.gradientOf !== undefined)} are gradients, which the tape makes of the operation's own rule, and`,
    `${count((o) => o.none !== undefined)} have none, with the reason. \`dml::\` are DirectML's own. \`test/golden/aten.test.ts\` holds the list to what the library exports.`,
    "",
    "| PyTorch | here |",
    "| --- | --- |",
    ...aten.map(atenRow),
    "",
  ];
}

function pageOf(table: Table): string {
  const t = totalsOf(table);
  return [
    "# Operations",
    "",
    "Made by `npm run operators` from the definitions, from PyTorch's recorded cases run on the software adapter and on simulated adapters of older",
    "feature levels, and of the rows of gradgradcheck. The same as data: [operators.json](operators.json).",
    "",
    `- ${operationsOf(t.operations)}; ${t.recorded} have recorded cases, of ${t.complete} every case in scope passes.`,
    `- They use ${t.directml} DirectML operators. ${t.onHost} are host operations, all others run on the device.`,
    `- ${t.withGradients} have recorded gradients, ${t.ofSecondOrder} of them are checked to second order by finite differences as well.`,
    `- ${t.atLevel5} of ${t.leveled} run without fallback from feature level 5.0 on.`,
    "",
    "| column | meaning |",
    "| --- | --- |",
    '| DirectML | the operators of all forward calls that passed, of all dtypes and options; "view": nothing is computed |',
    "| dtypes | of the first operand, in cases that pass; bfloat16 by the calls that were recorded in it |",
    "| gradient | 1: PyTorch's recorded gradients pass; 2: those of gradients agree with finite differences |",
    "| level | the lowest feature level of DirectML on which no recorded call falls back |",
    "| status | complete: every recorded case in scope passes; partly: some fail or need a missing option; own tests: PyTorch has no recorded case |",
    "",
    ...table.families.flatMap(({ title, file, operations }) => [
      `## ${title}`,
      "",
      `\`src/${file.endsWith(".ts") ? `ops/${file}` : file === "fft" ? "fft" : `ops/${file}`}\``,
      "",
      "| operation | DirectML | dtypes | gradient | level | status | cases |",
      "| --- | --- | --- | --- | --- | --- | --- |",
      ...operations.map(row),
      "",
    ]),
    ...atenSection(table.aten),
  ].join("\n");
}

const marks = ["<!-- operators -->", "<!-- /operators -->"];
const between = new RegExp(`${marks[0]}[^]*?${marks[1]}`);

/** The README with the sentence of now. */
const readmeWith = (text: string, table: Table): string => text.replace(between, `${marks[0]}\n${sentenceOf(table)}\n${marks[1]}`);

/** What recorded cases have said of the operations that a table lists. */
function recordedIn({ spaces, families }: Table): Recorded {
  const rows = families.flatMap((f) => f.operations);
  const facts: Record<string, Facts> = {};
  for (const { name, pytorch, operators, dtypes, gradient, ways, passed, failed, missing } of rows)
    if (
      pytorch &&
      operators &&
      dtypes &&
      gradient !== undefined &&
      ways &&
      passed !== undefined &&
      failed !== undefined &&
      missing !== undefined
    )
      facts[name] = { pytorch, operators, dtypes, gradient, ways, passed, failed, missing };
  const lowest = Object.fromEntries(rows.map((o) => [o.name, o.featureLevel]));
  const brief = Object.fromEntries(rows.flatMap((o) => (o.bfloat16 === undefined ? [] : [[o.name, o.bfloat16]])));
  return { facts, lowest, spaces, brief };
}

/** Every file that is made of the table, with its text. */
export const filesOf = (table: Table): readonly Generated[] => [
  [jsonFile, textOf(table)],
  [pageFile, pageOf(table)],
  ["README.md", readmeWith(readFileSync(at("README.md"), "utf8"), table)],
];

/** Names that came or went: known facts stay with their operations, a new one has none until the recorded cases run. */
export const refresh = (): void => writeGenerated(filesOf(tableOf(recordedIn(readTable()))));

/** What is out of date, told without running a case; null: nothing. */
export function staleness(): string | null {
  if (!existsSync(at(jsonFile)) || !existsSync(at(pageFile))) return `${jsonFile} is missing.`;
  const table = readTable();
  const listed = ({ file, title }: { file: string; title: string }, names: readonly string[]): readonly string[] =>
    names.map((n) => `${file}:${title}:${n}`);
  const now = familiesOf(table.spaces).flatMap((f) => listed(f, f.names));
  const known = table.families.flatMap((f) =>
    listed(
      f,
      f.operations.map((o) => o.name),
    ),
  );
  const different = [...now.filter((n) => !known.includes(n)), ...known.filter((n) => !now.includes(n))];
  if (different.length > 0) return `${jsonFile} is out of date: ${different.slice(0, 5).join(", ")}.`;
  if (JSON.stringify(table.aten) !== JSON.stringify(withNames(table).aten)) return `${jsonFile} does not have the names of ${atenFile}.`;
  if (readFileSync(at(pageFile), "utf8") !== pageOf(table)) return `${pageFile} is not made of ${jsonFile}.`;
  const readme = readFileSync(at("README.md"), "utf8");
  return readmeWith(readme, table) === readme ? null : "The numbers of operations in README.md are out of date.";
}
