// npm run bench: builds what is missing, then runs the measurements with the given arguments.
import { spawnSync } from "node:child_process";
import { at, helpOf, main, optionalFile, root } from "./lib/project.mjs";
import { ensureBuilt } from "./lib/ensure.mjs";

await main(
  async () => {
    await ensureBuilt(["bench"], { isRuntimeOnly: false });
    const done = spawnSync(process.execPath, ["--expose-gc", at("build", "bench", "index.js"), ...optionalFile(process.argv.slice(2))], {
      cwd: root,
      stdio: "inherit",
    });
    return done.status ?? 1;
  },
  helpOf("bench", "index.ts"),
);
