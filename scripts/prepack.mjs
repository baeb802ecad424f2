// Before npm pack: everything built, and this platform's native files placed where an installed package has them.
import { copyFileSync, existsSync, mkdirSync, readdirSync, renameSync, rmSync } from "node:fs";
import { spawnSync } from "node:child_process";
import { basename, join } from "node:path";
import { parseArgs } from "node:util";
import { ScriptError, main, say } from "./lib/project.mjs";
import { ensureBuilt } from "./lib/ensure.mjs";
import { prebuilds, shipped } from "./lib/native-files.mjs";

const help = `npm run prepack

Builds everything and puts this platform's native files where an installed package has them: npm pack runs it by itself.

  --help  this text`;

await main(async () => {
  parseArgs({ options: {} });
  await ensureBuilt(["src"]);
  mkdirSync(prebuilds, { recursive: true });
  const names = shipped.map((file) => basename(file));
  for (const name of readdirSync(prebuilds)) if (!names.includes(name)) rmSync(join(prebuilds, name));
  for (const file of shipped) {
    if (!existsSync(file)) throw new ScriptError("NOT_BUILT", `${file} was not built.`);
    const target = join(prebuilds, basename(file));
    copyFileSync(file, `${target}.new`);
    // A package without symbols where strip is at hand: the same code, a fraction of the size.
    if (process.platform === "linux") spawnSync("strip", ["--strip-unneeded", `${target}.new`]);
    renameSync(`${target}.new`, target);
  }
  say(`prepack: ${names.join(", ")} in ${prebuilds}`);
}, help);
