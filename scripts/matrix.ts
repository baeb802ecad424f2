// npm run matrix: compiles the matrix if it changed, then runs it with the given arguments.
import { at, main, root } from "./tools/project.ts";
import { takeOver } from "./tools/program.ts";
import { buildTypeScript } from "./build.ts";

await main(async () => {
  await buildTypeScript(["matrix"]);
  return takeOver(process.execPath, [at("build", "matrix", "cli.js"), ...process.argv.slice(2)], { cwd: root });
});
