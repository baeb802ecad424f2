// npm run bench: builds what is missing, then runs the measurements with the given arguments.
import { spawnSync } from "node:child_process";
import { at, helpOf, main, optionalFile, root } from "./tools/project.ts";
import { ensureBuilt } from "./lib/ensure.ts";

await main(
  async () => {
    await ensureBuilt(["bench"], { isRuntimeOnly: false });
    const given = process.argv.slice(2);
    const isSuite = given.some((a) => /^--(suite|check|page)\b/.test(a));
    const [program, args] = isSuite ? [["suite", "index.js"], given] : [["index.js"], optionalFile(given)];
    const done = spawnSync(process.execPath, ["--expose-gc", at("build", "bench", ...program), ...args], {
      cwd: root,
      stdio: "inherit",
    });
    return done.status ?? 1;
  },
  `${helpOf("bench", "index.ts")}\n\n${helpOf("bench", "suite", "index.ts")}`,
);
