// The table of CI's suites, .ci/suites.yaml: read, checked, and its globs.
import { readFileSync } from "node:fs";
import { parse } from "yaml";
import { z } from "zod";
import { ScriptError, at } from "../../tools/project.ts";

/** What a suite asks of the machine, in words. Node's other versions ("node-22") are no name of this list: see `needsOf`. */
export const needs = {
  "linux-x64": "Linux on x64",
  root: "root",
  namespaces: "the right to make mount and process namespaces",
  archive: "the package archive that apt knows",
  cross: "a compiler and an emulator of arm64",
  docker: "a Docker engine that runs containers with a network",
} as const;
export type Need = keyof typeof needs;

const suite = z.strictObject({
  name: z.string().regex(/^[a-z0-9-]+$/),
  about: z.string().min(1),
  /** For bash, in the repository's root. $DXTENSOR_CI_FOLDER is a folder for what is thrown away. */
  command: z.string().min(1),
  /** In every run, before or after the others; without it the suite is run when its paths changed, or in rotation. */
  always: z.enum(["first", "last"]).optional(),
  /** Nothing else makes sense where it fails. */
  required: z.boolean().default(false),
  /** Globs of the files that it depends on, in lists of any depth, as YAML's aliases make them. */
  paths: z
    .array(z.union([z.string(), z.array(z.string())]))
    .transform((list) => [...new Set(list.flat())])
    .default([]),
  /** Usually, on two cores, with a warm compiler cache. */
  minutes: z.number().positive(),
  /** It is ended after so many. */
  limit: z.number().positive().optional(),
  needs: z.array(z.enum(Object.keys(needs) as [Need, ...Need[]])).default([]),
  /** It runs the tests on this major version of Node, and is left out on that version itself. */
  node: z.number().int().optional(),
  env: z.record(z.string(), z.string()).default({}),
});
export type Suite = Readonly<z.infer<typeof suite>>;

const table = z.strictObject({ groups: z.record(z.string(), z.array(z.string())).default({}), suites: z.array(suite).min(1) });

/** Minutes after which a suite is ended: three times the usual, and never before ten. */
export const limitOf = ({ minutes, limit }: Suite): number => limit ?? Math.max(10, 3 * minutes);

export const tableFile = ".ci/suites.yaml";

/** The suites in the text of a table. Throws a ScriptError that names each mistake. */
export function parseTable(text: string, file = tableFile): readonly Suite[] {
  let data: unknown;
  try {
    data = parse(text);
  } catch (error) {
    throw new ScriptError("TABLE", `${file} is no YAML: ${(error as Error).message}`);
  }
  const found = table.safeParse(data);
  if (!found.success) {
    const problems = found.error.issues.map(({ path, message }) => `${file}: ${path.join(".")}: ${message}`);
    throw new ScriptError("TABLE", problems.join("\n"));
  }
  const { suites } = found.data;
  const names = suites.map(({ name }) => name);
  const twice = names.find((name, i) => names.indexOf(name) < i);
  if (twice !== undefined) throw new ScriptError("TABLE", `${file}: there are two suites "${twice}"`);
  const pathless = suites.find(({ always, paths }) => always === undefined && paths.length === 0);
  if (pathless !== undefined) throw new ScriptError("TABLE", `${file}: "${pathless.name}" depends on no paths, and is not run always`);
  return suites;
}

export const readTable = (): readonly Suite[] => parseTable(readFileSync(at(...tableFile.split("/")), "utf8"));

/** The suites of these names. Throws where there is none of a name. */
export function suitesNamed(suites: readonly Suite[], names: readonly string[]): readonly Suite[] {
  return names.map((name) => {
    const found = suites.find((s) => s.name === name);
    if (found === undefined)
      throw new ScriptError("SUITE", `There is no suite "${name}".`, `There are ${suites.map((s) => s.name).join(", ")}.`);
    return found;
  });
}

/** Whether a path is one of a glob's: ** stands for any folders, * for any part of a name. */
export function globMatches(glob: string, path: string): boolean {
  const pattern = glob
    .replaceAll(/[.+^${}()|[\]\\?]/g, String.raw`\$&`)
    .replaceAll(/\*\*\/|\*\*|\*/g, (part) => (part === "**/" ? "(?:.*/)?" : part === "**" ? ".*" : "[^/]*"));
  return new RegExp(`^${pattern}$`).test(path);
}

/** Paths of the suite that are among these. */
export const pathsOf = ({ paths }: Suite, changed: readonly string[]): string[] =>
  changed.filter((path) => paths.some((glob) => globMatches(glob, path)));
