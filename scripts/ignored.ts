// node scripts/run.mjs ignored: fails if git ignores or does not track a file that no build makes: sources were lost this way once.
import { existsSync, readFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { execa } from "execa";
import { describeFile } from "./lib/describe-file.ts";
import { at, main, root, say } from "./tools/project.ts";

const help = `node scripts/run.mjs ignored

Fails where git ignores a file that no command makes, and, with CI set, where one is neither ignored nor known to git. npm run lint runs it.

  --help  this text`;

/** What commands make, and .gitignore names. */
const made = ["node_modules/", "build/", "dist/", "prebuilds/", "directml/", "test-results/", ".cache/"];
const isMade = (path: string) => made.includes(path) || /^[^/]+\.tgz$/.test(path);

await main(async () => {
  parseArgs({ options: {} });
  if (!existsSync(at(".git"))) {
    say("ignored: not looked at, for this is no clone");
    return 0;
  }
  const problems = readFileSync(at(".gitignore"), "utf8")
    .split("\n")
    .filter((line) => /^[^#/]/.test(line))
    .map((line) => `.gitignore: "${line}" would ignore files in any folder: begin it with "/"`);
  const { stdout } = await execa("git", ["status", "--porcelain", "--ignored"], { cwd: root });
  for (const line of stdout.split("\n").filter((l) => l !== "")) {
    const [state, path] = [line.slice(0, 2), line.slice(3)];
    if (state === "!!" && !isMade(path)) problems.push(`${path} is ignored by git, and no command makes it`);
    // While one writes, files are new; a clone that tests ran in has none.
    if (state === "??" && process.env.CI) problems.push(`${path} (${describeFile(at(path))}) was left behind, or belongs into git`);
  }
  for (const problem of problems) say(`ignored: ${problem}`);
  return problems.length === 0 ? 0 : 1;
}, help);
