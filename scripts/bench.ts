// npm run bench: builds if needed, then runs the measurements with the arguments.
import { at, helpOf, main, optionalFile, root } from "./tools/project.ts";
import { takeOver } from "./tools/program.ts";
import { ensureBuilt } from "./lib/ensure.ts";

await main(
  async () => {
    await ensureBuilt(["bench"], { isRuntimeOnly: false });
    const parameters = process.argv.slice(2);
    const isSuite = parameters.some((a) => /^--(suite|check|page)\b/.test(a));
    const isModel = parameters.includes("--distributed");
    const [program, args] = isModel
      ? [["distributed", "index.js"], parameters]
      : isSuite
        ? [["suite", "index.js"], parameters]
        : [["index.js"], optionalFile(parameters)];
    return takeOver(process.execPath, ["--expose-gc", at("build", "bench", ...program), ...args], { cwd: root });
  },
  `${helpOf("bench", "index.ts")}\n\n${helpOf("bench", "suite", "index.ts")}\n\n${helpOf("bench", "distributed", "index.ts")}`,
);
