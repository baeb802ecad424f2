// Which test files run without the repository around them, as plain programs: the rule of scripts/bundle-tests.ts.
import { readFileSync, readdirSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { at, root } from "../tools/project.ts";

/** What test files may import besides files of test, src, examples and packages. */
const isBundled = (name: string) => name.startsWith("node:") || name === "vitest";
const isOurs = (file: string) =>
  ["test", "src", "examples", "packages"].some((folder) => file.startsWith(`${at(folder)}/`) || file.startsWith(`${at(folder)}\\`));

/** Packages that no bundle can contain, by the folder that loads them. */
const nativePeers = [{ folder: "src/peers/images", name: "sharp" }];

/** Why a test file cannot travel, or null. Looks through what it imports of the tests. */
function obstacle(file: string, seen = new Set<string>()): string | null {
  if (seen.has(file)) return null;
  seen.add(file);
  const source = readFileSync(file, "utf8");
  const code = source.replaceAll(/^import .*$/gm, "");
  const read = /["'`](?:(?:\.\.\/)*)((?:native|scripts|src|matrix|devcontainer)\/[\w./-]+\.(?!ts")\w+)["'`]/.exec(code);
  if (read !== null) return `reads ${read[1]}`;
  const opened =
    /(?:readFile(?:Sync)?|readdir(?:Sync)?)\(\s*["'`](docs|packages|bench|examples)\b|join\("(docs|packages|bench|examples)"/.exec(code);
  if (opened !== null) return `reads ${opened[1] ?? opened[2]}`;
  if (file === at("test", "docs.test.ts")) return "reads docs";
  if (["tools.test.ts", "file-names.test.ts"].some((name) => file === at("test", name))) return "reads the sources";
  if (file === at("test", "environment.test.ts")) return "copies dist, and reads src and docs";
  const command = /"dist\/bundle\/cli\.js"|"dist", "cli"/.exec(source);
  if (command !== null) return "runs the built command";
  const match = /new URL\(["'`](?:\.\.\/)+((?:dist(?!\/index\.js)|docs\b|src\b|packages\b)[^"'`$]*)/.exec(source);
  if (match !== null) return `reads ${match[1]}`;
  for (const [, name = ""] of source.matchAll(/^\s*(?:import|export)\b(?!\s+type\b)(?:[^"';]*?\bfrom)?\s*"([^"]+)"/gm)) {
    if (isBundled(name)) continue;
    if (!name.startsWith(".")) return `imports ${name}`;
    const path = resolve(dirname(file), name);
    const peer = nativePeers.find(({ folder }) => path.startsWith(at(folder)));
    if (peer !== undefined) return `needs ${peer.name}, which is machine code`;
    if (!isOurs(path)) return `tests ${path.slice(root.length + 1).replaceAll("\\", "/")}`;
    const deeper = path.startsWith(at("test")) && path.endsWith(".ts") ? obstacle(path, seen) : null;
    if (deeper !== null) return deeper;
  }
  return null;
}

/** The test files, of which `isWanted` is true, and those that are left out with the reason. */
export function bundledFiles(isWanted: (file: string) => boolean = () => true) {
  const files: string[] = [];
  const leftOut: { readonly file: string; readonly reason: string }[] = [];
  const names = readdirSync(at("test"), { recursive: true, encoding: "utf8" }).map((name) => `test/${name.replaceAll("\\", "/")}`);
  for (const name of names.filter((file) => file.endsWith(".test.ts")).toSorted()) {
    if (!isWanted(name)) continue;
    const reason = obstacle(at(name));
    if (reason === null) files.push(name);
    else leftOut.push({ file: name, reason });
  }
  return { files, leftOut };
}
