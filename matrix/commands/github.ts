/** `matrix github`: the same axes for GitHub Actions. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { loadConfig } from "../config/load.ts";
import { githubMatrix, workflows } from "../github/workflow.ts";
import { at } from "../root.ts";

export function githubWorkflow(options: { readonly write?: true; readonly check?: true; readonly config: string }): number {
  const config = loadConfig(options.config);
  if (options.write !== true && options.check !== true) {
    process.stdout.write(`${JSON.stringify(githubMatrix(config))}\n`);
    return 0;
  }
  let stale = 0;
  for (const [name, text] of Object.entries(workflows(config))) {
    const file = at(".github", "workflows", name);
    if (existsSync(file) && readFileSync(file, "utf8") === text) continue;
    stale++;
    if (options.write === true) {
      mkdirSync(dirname(file), { recursive: true });
      writeFileSync(file, text);
    }
    process.stderr.write(
      `matrix github: ${file} ${options.write === true ? "written" : "is out of date (npm run matrix -- github --write)"}\n`,
    );
  }
  return options.check === true && stale > 0 ? 1 : 0;
}
