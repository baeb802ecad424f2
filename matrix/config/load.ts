/** Reads matrix.yaml; every mistake is named with its line and key. */
import { readFileSync } from "node:fs";
import { LineCounter, parseDocument, type Document } from "yaml";
import { MatrixError } from "../errors.ts";
import { matches } from "../plan/patterns.ts";
import { schema, type Config } from "./schema.ts";

type Path = readonly (string | number)[];

interface Problem {
  readonly path: Path;
  readonly message: string;
}

/** "gpus[3].profile" */
const show = (path: Path): string => path.map((p, i) => (typeof p === "number" ? `[${p}]` : i === 0 ? p : `.${p}`)).join("");

/** Line of the deepest node of a path that is there. */
function lineOf(document: Document, lines: LineCounter, path: Path): number {
  for (let length = path.length; length > 0; length--) {
    const node = document.getIn(path.slice(0, length), true);
    if (typeof node === "object" && node !== null && "range" in node && Array.isArray(node.range))
      return lines.linePos(node.range[0] as number).line;
  }
  return 1;
}

function repeated(ids: readonly string[]): number[] {
  return ids.flatMap((id, i) => (ids.indexOf(id) < i ? [i] : []));
}

function expressionProblem(text: string): string | null {
  try {
    RegExp(text);
    return null;
  } catch (error) {
    return (error as Error).message;
  }
}

/** What the shape alone does not show: ids that are there twice, patterns that hit nothing, names of suites. */
function crossProblems(config: Config): Problem[] {
  const problems: Problem[] = [];
  for (const axis of ["platforms", "gpus"] as const)
    for (const i of repeated(config[axis].map((entry) => entry.id)))
      problems.push({ path: [axis, i, "id"], message: `"${config[axis][i]!.id}" is there twice` });
  for (const i of repeated(config.node)) problems.push({ path: ["node", i], message: `"${config.node[i]}" is there twice` });
  config.gpus.forEach((gpu, i) => {
    if (gpu.kind !== "gpu") return;
    const message = expressionProblem(gpu.matches);
    if (message !== null) problems.push({ path: ["gpus", i, "matches"], message });
  });
  const ids = { platform: config.platforms.map((p) => p.id), node: config.node, gpu: config.gpus.map((g) => g.id) };
  const rules: [Path, Config["quick"] | Config["mustPass"][number]][] = [
    ...config.exclusions.map((rule, i): [Path, typeof rule] => [["exclusions", i], rule]),
    ...config.mustPass.map((rule, i): [Path, typeof rule] => [["mustPass", i], rule]),
    [["quick"], config.quick],
    [["quick"], { platform: config.quick.withoutEngine, node: ["*"], gpu: ["*"] }],
  ];
  for (const [path, rule] of rules)
    for (const axis of ["platform", "node", "gpu"] as const)
      for (const pattern of rule[axis])
        if (!ids[axis].some((id) => matches(id, [pattern])))
          problems.push({ path: [...path, axis], message: `"${pattern}" is none of: ${ids[axis].join(", ")}` });
  if (!(config.quick.suite in config.suites))
    problems.push({
      path: ["quick", "suite"],
      message: `"${config.quick.suite}" is none of the suites: ${Object.keys(config.suites).join(", ")}`,
    });
  return problems;
}

function report(file: string, text: string, problems: readonly Problem[], document: Document, lines: LineCounter): MatrixError {
  const source = text.split("\n");
  const shown = problems.map(({ path, message }) => {
    const line = lineOf(document, lines, path);
    return `${file}:${line}: ${show(path)}: ${message}\n    ${source[line - 1]?.trim() ?? ""}`;
  });
  return new MatrixError(shown.join("\n"), "docs/matrix.md describes the keys.");
}

/** The axes in the text of a YAML file. Throws a MatrixError that names each mistake. */
export function parseConfig(text: string, file = "matrix.yaml"): Config {
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: true });
  if (document.errors.length > 0)
    throw new MatrixError(
      document.errors.map((error) => `${file}:${error.linePos?.[0].line ?? 1}: ${error.message.split("\n")[0]}`).join("\n"),
      "It is no YAML.",
    );
  const parsed = schema.safeParse(document.toJS());
  if (!parsed.success) {
    const problems = parsed.error.issues.map((issue) => ({ path: issue.path as Path, message: issue.message }));
    throw report(file, text, problems, document, lines);
  }
  const problems = crossProblems(parsed.data);
  if (problems.length > 0) throw report(file, text, problems, document, lines);
  return parsed.data;
}

export const loadConfig = (file: string): Config => parseConfig(readFileSync(file, "utf8"), file);
