// npm start: sets up and builds if needed, then runs the quickstart with the arguments.
import { at, helpOf, main, root } from "./tools/project.ts";
import { takeOver } from "./tools/program.ts";
import { ensureBuilt } from "./lib/ensure.ts";

await main(
  async () => {
    await ensureBuilt(["examples"]);
    return takeOver(process.execPath, [at("build", "examples", "quickstart.js"), ...process.argv.slice(2)], { cwd: root });
  },
  helpOf("examples", "quickstart.ts"),
);
