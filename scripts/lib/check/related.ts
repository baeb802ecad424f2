// Which test files a change touches, nearest first, by the imports between the files: those that fit into a time are run.
import { existsSync, readFileSync, readdirSync } from "node:fs";
import { dirname, join, posix } from "node:path";

/** A file's text by its path from the root. */
export type Texts = ReadonlyMap<string, string>;

/** Sources and tests in TypeScript, below the root. */
export function readTexts(root: string, folders = ["src", "test", "scripts", "matrix", "bench", "examples"]): Texts {
  const files = folders
    .filter((folder) => existsSync(join(root, folder)))
    .flatMap((folder) =>
      readdirSync(join(root, folder), { recursive: true, encoding: "utf8" }).map((name) => `${folder}/${name.replaceAll("\\", "/")}`),
    )
    .filter((name) => /\.(ts|mjs|js)$/.test(name));
  return new Map(files.map((name) => [name, readFileSync(join(root, name), "utf8")]));
}

/** Files of the repository that a file imports, or names by a relative URL, as the programs of child processes are. */
function importsOf(file: string, text: string): string[] {
  const found = text.matchAll(/(?:\bfrom\s+|\bimport\(?\s*|new URL\(\s*)"(\.[^"]+)"/g);
  return [...found].map(([, path]) => posix.normalize(posix.join(dirname(file), path!)));
}

export interface Related {
  readonly file: string;
  /** Imports between it and what changed; 0: it changed itself, or is the test at a changed source's path. */
  readonly distance: number;
  /** How often it names what a changed file exports. */
  readonly mentions: number;
}

const isTest = (path: string): boolean => path.startsWith("test/") && path.endsWith(".test.ts");
const exportsOf = (text: string): string[] =>
  [...text.matchAll(/^export (?:declare )?(?:async )?(?:abstract )?(?:function|const|class|interface|type|let) (\w{3,})/gm)].map(
    ([, name]) => name!,
  );

/** The test files that reach a changed file by imports, nearest first. Everything meets in src/index.ts: what a test names counts before that. */
export function relatedTests(texts: Texts, changed: readonly string[]): Related[] {
  const importers = new Map<string, string[]>();
  for (const [file, text] of texts) for (const path of importsOf(file, text)) importers.set(path, [...(importers.get(path) ?? []), file]);
  const distances = new Map<string, number>(changed.map((path) => [path, 0]));
  // Data of a test is in its folder, or below a folder of its name: whoever names the folder.
  const queue = [...changed];
  for (let file = queue.shift(); file !== undefined; file = queue.shift())
    for (const importer of importers.get(file) ?? [])
      if (!distances.has(importer)) {
        distances.set(importer, distances.get(file)! + 1);
        queue.push(importer);
      }
  const mirrors = new Set(
    changed.flatMap((path) =>
      [path.replace(/^src\//, "test/"), path.replace(/^(scripts\/(lib\/|tools\/)?|matrix\/)/, "test/")].map((p) =>
        p.replace(/\.ts$/, ".test.ts"),
      ),
    ),
  );
  const folders = new Set(changed.filter((path) => path.startsWith("test/")).map((path) => dirname(path)));
  const names = [...new Set(changed.flatMap((path) => exportsOf(texts.get(path) ?? "")))];
  const mention = names.length === 0 ? null : new RegExp(`\\b(?:${names.join("|")})\\b`, "g");
  const related: Related[] = [];
  for (const [file, text] of texts) {
    if (!isTest(file)) continue;
    // A changed file that is no module, such as recorded data, concerns the tests of its folder.
    const isInItsFolder = changed.some(
      (path) => !/\.(ts|mjs|js)$/.test(path) && folders.has(dirname(file)) && dirname(path) === dirname(file),
    );
    const distance = mirrors.has(file) || isInItsFolder ? 0 : distances.get(file);
    if (distance === undefined) continue;
    related.push({ file, distance, mentions: mention === null ? 0 : [...text.matchAll(mention)].length });
  }
  const rank = ({ distance, mentions }: Related): number => (distance <= 1 ? distance : 2 + 1 / (1 + mentions));
  return related.toSorted((a, b) => rank(a) - rank(b) || a.distance - b.distance || a.file.localeCompare(b.file));
}

/** The first files whose usual seconds fit into the time, at least those that changed or mirror a change; and how many are left. */
export function withinTime(
  related: readonly Related[],
  seconds: number,
  usual: (file: string) => number,
): { readonly files: readonly string[]; readonly left: number } {
  const files: string[] = [];
  let sum = 0;
  for (const { file, distance } of related) {
    const own = usual(file);
    if (distance > 0 && sum + own > seconds) continue;
    files.push(file);
    sum += own;
  }
  return { files, left: related.length - files.length };
}
