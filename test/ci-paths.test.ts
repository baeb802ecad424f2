/** A suite is run when a file changes that its command is made of: its paths name each that no suite of every run is made of as well. */
import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { globMatches, readTable, type Suite } from "../scripts/lib/ci/table.ts";
import { imported } from "./imports.ts";

const { scripts } = JSON.parse(readFileSync("package.json", "utf8")) as { scripts: Readonly<Record<string, string>> };

/** Scripts that a suite's command starts. */
function scriptsOf({ command }: Suite): string[] {
  const text = command.replaceAll(
    /npm run ([\w:-]+)|npm (test|start)/g,
    (_, run: string | undefined, short: string) => scripts[run ?? short]!,
  );
  return [...text.matchAll(/run\.mjs ([\w-]+)/g)].map(([, name]) => `scripts/${name}.ts`);
}

it("each suite's paths name the scripts that it is made of", () => {
  const suites = readTable();
  const always = new Set(imported(suites.filter((s) => s.always !== undefined).flatMap(scriptsOf)));
  expect(always).toContain("scripts/tools/project.ts");
  const missing = suites
    .filter((s) => s.always === undefined)
    .map((s) => [s.name, imported(scriptsOf(s)).filter((file) => !always.has(file) && !s.paths.some((glob) => globMatches(glob, file)))]);
  expect(missing.length).toBeGreaterThan(12);
  expect(missing.filter(([, files]) => files!.length > 0)).toEqual([]);
});
