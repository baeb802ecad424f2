// npm run matrix: compiles the matrix if it changed, then runs it with the given arguments.
import { spawn } from "node:child_process";
import { at, main, root } from "./tools/project.ts";
import { buildTypeScript } from "./build.ts";

await main(async () => {
  await buildTypeScript(["matrix"]);
  const child = spawn(process.execPath, [at("build", "matrix", "cli.js"), ...process.argv.slice(2)], { cwd: root, stdio: "inherit" });
  // A terminal sends Ctrl-C to both; a plain signal reaches this process alone. Its end is the other's.
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const)
    process.on(signal, () => (signal === "SIGINT" && process.stdin.isTTY ? undefined : child.kill(signal)));
  return new Promise<number>((resolve) => {
    child.once("error", () => resolve(1));
    child.once("close", (code, signal) => resolve(code ?? (signal === null ? 1 : 130)));
  });
});
