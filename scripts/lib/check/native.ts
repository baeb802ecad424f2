// Finds the C++ test programs that a change touches, from ninja's dependencies of the last build.
import { existsSync } from "node:fs";
import { join, relative } from "node:path";
import { ask } from "../../tools/program.ts";
import { buildNative, root } from "../../tools/project.ts";

/** Everything that a program is made of, and what it opens while it runs. */
const targets: Readonly<Record<string, readonly string[]>> = {
  kernel_test: ["native/test/kernel_test"],
  abi_suite: ["native/test/abi_suite", "Release/libdxtensor_software.so"],
  dml_stress: ["native/test/dml_stress", "Release/libdxtensor_software.so"],
};
export type Program = keyof typeof targets;

const ninja = (...args: string[]): string | null => ask("ninja", ["-C", buildNative, ...args]);

/** Objects with their sources in the commands that make a target. */
const objectsOf = (commands: string): (readonly [object: string, source: string])[] =>
  [...commands.matchAll(/ -o (\S+\.o) -c (\S+)$/gm)].map(([, object, source]) => [object!, source!]);

/** Headers by object, of `ninja -t deps`: "a.o: #deps 3, …" and indented lines. */
function headersOf(text: string): ReadonlyMap<string, readonly string[]> {
  const found = new Map<string, string[]>();
  let list: string[] = [];
  for (const line of text.split("\n")) {
    const object = /^(\S.*?): #deps/.exec(line)?.[1];
    if (object !== undefined) found.set(object, (list = []));
    else if (line.startsWith("    ")) list.push(line.trim());
  }
  return found;
}

/** A path from the repository's root. */
const fromRoot = (path: string): string => relative(root, join(path.startsWith("/") ? "" : buildNative, path)).replaceAll("\\", "/");

/** The programs whose sources or headers are among the changed files; all, where nobody can say. */
export function touchedPrograms(changed: readonly string[]): string[] {
  const native = changed.filter((path) => path.startsWith("native/") || path === "CMakeLists.txt");
  if (native.length === 0) return [];
  const all = Object.keys(targets);
  if (native.some((path) => /CMakeLists\.txt$|\.inc$|\.map$/.test(path)) || !existsSync(join(buildNative, "build.ninja"))) return all;
  const deps = ninja("-t", "deps");
  if (deps === null) return all;
  const headers = headersOf(deps);
  return all.filter((program) => {
    const commands = ninja("-t", "commands", ...targets[program]!);
    if (commands === null) return true;
    const files = new Set(objectsOf(commands).flatMap(([object, source]) => [source, ...(headers.get(object) ?? [])].map(fromRoot)));
    return native.some((path) => files.has(path));
  });
}
