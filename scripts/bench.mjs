// npm run bench: builds what is missing, then runs the measurements with the given arguments.
import { spawnSync } from "node:child_process";
import { execa } from "execa";
import { at, main, root } from "./lib/project.mjs";
import { buildNativeParts, buildTypeScript } from "./build.mjs";

await main(async () => {
  await execa(process.execPath, [at("scripts", "setup.mjs"), "--quiet"], { stdio: "inherit" });
  await buildNativeParts();
  await buildTypeScript();
  const done = spawnSync(process.execPath, ["--expose-gc", "--enable-source-maps", at("build", "bench", "index.js"), ...process.argv.slice(2)], { cwd: root, stdio: "inherit" });
  return done.status ?? 1;
});
