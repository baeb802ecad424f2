// npm start: sets up and builds what is missing, then runs the quickstart with the given arguments.
import { spawnSync } from "node:child_process";
import { at, helpOf, main, root } from "./tools/project.ts";
import { ensureBuilt } from "./lib/ensure.ts";

await main(
  async () => {
    await ensureBuilt(["examples"]);
    const done = spawnSync(process.execPath, [at("build", "examples", "quickstart.js"), ...process.argv.slice(2)], {
      cwd: root,
      stdio: "inherit",
    });
    return done.status ?? 1;
  },
  helpOf("examples", "quickstart.ts"),
);
