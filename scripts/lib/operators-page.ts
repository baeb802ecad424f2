// @ts-nocheck: what it reads (a parser's tree, facts in JSON, a test runner's tasks) has no types here.
// docs/operators.json as a page, and what both must agree with.
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { readFamilies } from "./families.ts";
import { firstSentence } from "./first-comment.ts";
import { at } from "../tools/project.ts";

export const jsonFile = "docs/operators.json";
export const pageFile = "docs/operators.md";
/** PyTorch's operators, each with what it is here: edited by hand. */
export const atenFile = "scripts/lib/aten-names.json";
const readAten = () => JSON.parse(readFileSync(at(atenFile), "utf8"));
/** A table with PyTorch's names as they are listed now. */
export const withNames = (table) => ({ ...table, aten: readAten() });

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
  "dataSync",
  "toArray",
  "toArraySync",
  "masked",
]);

/** Families of operations with their public names. spaces: names in fft, linalg, masked. */
export function familiesOf(spaces) {
  const plain = readFamilies().flatMap(({ file, namespace, exports }) => {
    const names = exports.filter((e) => !e.isType && !NO_OPERATIONS.has(e.as)).map((e) => e.as);
    return namespace !== null || names.length === 0
      ? []
      : [{ file, title: firstSentence(readFileSync(at("src", "ops", file), "utf8"), file), names }];
  });
  const spaced = [
    ["fft", "Fourier transforms: dx.fft"],
    ["linalg", "Decompositions and solvers: dx.linalg"],
    ["masked", "Reductions over what a mask lets through: dx.masked"],
  ].map(([space, title]) => ({ file: space, title, names: spaces[space].filter((n) => /^[a-z]/.test(n)).map((n) => `${space}.${n}`) }));
  return [...plain, ...spaced].toSorted((a, b) => a.title.localeCompare(b.title, "en"));
}

const statusOf = (f) => {
  if (f === undefined) return "own tests";
  if (f.passed === 0) return "missing";
  return f.failed + f.missing === 0 ? "complete" : "partly";
};

/** docs/operators.json. facts: from the recorded cases; lowest: feature levels; brief: passed calls in bfloat16. */
export function tableOf({ facts, lowest, spaces, brief }) {
  const families = familiesOf(spaces).map(({ file, title, names }) => ({
    title,
    file,
    operations: names.map((name) => {
      const f = facts[name];
      const level = f === undefined || f.ways.includes("host") || f.passed === 0 ? null : lowest[name];
      return { name, status: statusOf(f), featureLevel: level, ...f, ...(brief[name] === undefined ? {} : { bfloat16: brief[name] }) };
    }),
  }));
  return withNames({ spaces, families });
}

/** One operation a line, so that changes are read and merged line by line. */
export const textOf = ({ spaces, families, aten }) => {
  const family = ({ title, file, operations }) =>
    ` {"title": ${JSON.stringify(title)}, "file": ${JSON.stringify(file)}, "operations": [\n${operations.map((o) => `  ${JSON.stringify(o)}`).join(",\n")}\n ]}`;
  return `{"spaces": ${JSON.stringify(spaces)},\n"families": [\n${families.map(family).join(",\n")}\n],\n"aten": [\n${aten.map((o) => ` ${JSON.stringify(o)}`).join(",\n")}\n]}\n`;
};

export function totalsOf({ families }) {
  const all = families.flatMap((f) => f.operations);
  const count = (keep) => all.filter(keep).length;
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

/** The sentence of the README. */
export function sentenceOf(table) {
  const t = totalsOf(table);
  return (
    `${t.operations} operations, ${t.recorded} of them judged by PyTorch's recorded cases, over ${t.directml} DirectML operators; ` +
    `${t.withGradients} with recorded gradients; ${t.atLevel5} of ${t.leveled} run without fallback from feature level 5.0 on ` +
    `([docs/operators.md](docs/operators.md)).`
  );
}

const row = (o) => {
  const operators =
    o.operators === undefined ? "" : o.ways.includes("host") ? "host" : o.operators.length === 0 ? "view" : o.operators.join(", ");
  const dtypes = [...new Set([...(o.bfloat16 > 0 ? ["bfloat16"] : []), ...(o.dtypes ?? [])])].toSorted().join(", ");
  const gradient = o.gradient === undefined ? "" : ["–", "1", "1, 2"][o.gradient];
  const cases = o.passed === undefined ? "" : `${o.passed} of ${o.passed + o.failed + o.missing}`;
  return `| \`${o.name}\` | ${operators} | ${dtypes} | ${gradient} | ${o.featureLevel ?? ""} | ${o.status} | ${cases} |`;
};

/** What a name of PyTorch's is here, in words. */
function atenRow({ name, here, of, gradientOf, none, host }) {
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

function atenSection(aten) {
  const count = (keep) => aten.filter(keep).length;
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

export function pageOf(table) {
  const t = totalsOf(table);
  return [
    "# Operations",
    "",
    "Made by `npm run operators` of the definitions, of PyTorch's recorded cases run on the software adapter and on simulated adapters of older",
    "feature levels, and of the rows of gradgradcheck. The same as data: [operators.json](operators.json).",
    "",
    `- ${t.operations} operations; ${t.recorded} have recorded cases, of ${t.complete} every case in scope passes.`,
    `- They are made of ${t.directml} DirectML operators. ${t.onHost} run on the host by their nature, all others on the device.`,
    `- ${t.withGradients} have recorded gradients, ${t.ofSecondOrder} of them are checked to second order by finite differences as well.`,
    `- ${t.atLevel5} of ${t.leveled} run without fallback from feature level 5.0 on.`,
    "",
    "| column | meaning |",
    "| --- | --- |",
    '| DirectML | the operators of all forward calls that passed, whatever dtype and options; "view": nothing is computed |',
    "| dtypes | of the first operand, in cases that pass; bfloat16 by the calls that were recorded in it |",
    "| gradient | 1: PyTorch's recorded gradients pass; 2: those of gradients agree with finite differences |",
    "| level | the lowest feature level of DirectML on which no recorded call falls back |",
    "| status | complete: every recorded case in scope passes; partly: some fail or ask for an option that is missing; own tests: PyTorch recorded none |",
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
export const readmeWith = (text, table) => text.replace(between, `${marks[0]}\n${sentenceOf(table)}\n${marks[1]}`);

/** Names that came or went: known facts stay with their operations, a new one has none until the recorded cases run. */
export function refresh() {
  const { spaces, families } = JSON.parse(readFileSync(at(jsonFile), "utf8"));
  const rows = families.flatMap((f) => f.operations);
  const facts = Object.fromEntries(rows.filter((o) => o.pytorch !== undefined).map(({ name, status, featureLevel, ...f }) => [name, f]));
  const lowest = Object.fromEntries(rows.map((o) => [o.name, o.featureLevel]));
  const brief = Object.fromEntries(rows.filter((o) => o.bfloat16 !== undefined).map((o) => [o.name, o.bfloat16]));
  write(tableOf({ facts, lowest, spaces, brief }));
}

/** Every file that is made of the table, with its text. */
export const filesOf = (table) => [
  [jsonFile, textOf(table)],
  [pageFile, pageOf(table)],
  ["README.md", readmeWith(readFileSync(at("README.md"), "utf8"), table)],
];

export function write(table) {
  for (const [file, text] of filesOf(table))
    if (!existsSync(at(file)) || readFileSync(at(file), "utf8") !== text) writeFileSync(at(file), text);
}

/** What is out of date, told without running a case; null: nothing. */
export function staleness() {
  if (!existsSync(at(jsonFile)) || !existsSync(at(pageFile))) return `${jsonFile} is missing.`;
  const table = JSON.parse(readFileSync(at(jsonFile), "utf8"));
  const listed = (families) =>
    families.flatMap((f) => (f.names ?? f.operations.map((o) => o.name)).map((n) => `${f.file}:${f.title}:${n}`)).toSorted();
  const [now, known] = [listed(familiesOf(table.spaces)), listed(table.families)];
  const different = [...now.filter((n) => !known.includes(n)), ...known.filter((n) => !now.includes(n))];
  if (different.length > 0) return `${jsonFile} is out of date: ${different.slice(0, 5).join(", ")}.`;
  if (JSON.stringify(table.aten) !== JSON.stringify(withNames(table).aten)) return `${jsonFile} does not have the names of ${atenFile}.`;
  if (readFileSync(at(pageFile), "utf8") !== pageOf(table)) return `${pageFile} is not made of ${jsonFile}.`;
  const readme = readFileSync(at("README.md"), "utf8");
  return readmeWith(readme, table) === readme ? null : "The numbers of operations in README.md are out of date.";
}
