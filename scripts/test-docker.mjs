// npm run test:docker: the tests that need a Docker engine; closes with one line of counts.
import { existsSync, readFileSync, rmSync } from "node:fs";
import { execa } from "execa";
import { ScriptError, at, main, root, tool } from "./lib/project.mjs";
import { close } from "./lib/counts.mjs";
import { ensureEngine } from "./lib/engine.mjs";
import { ensureBuilt } from "./lib/ensure.mjs";

const help = `npm run test:docker [-- FILTER...]

Builds the images from a local base (BASE_IMAGE, else a Debian made here), opens the dev container, provisions a bare Debian, runs
the matrix's cells. Uses the engine that answers, else starts one as scripts/docker-engine.mjs does, and leaves it running.

  FILTER   run only the files test/**/*.docker.ts whose path contains it
  --help   this text`;

await main(async () => {
  const args = process.argv.slice(2);
  if (args.includes("--help")) {
    console.log(help);
    return 0;
  }
  const option = args.find((arg) => arg.startsWith("-"));
  if (option !== undefined) throw new ScriptError("USAGE", `There is no option "${option}" (--help lists them).`);
  await ensureEngine();
  await ensureBuilt(["src"]);
  const report = at("test-results", "ctrf-docker.json");
  rmSync(report, { force: true });
  const done = await execa(tool("vitest"), ["run", "--config", "test/docker/vitest.config.ts", ...args], {
    cwd: root,
    stdio: ["ignore", "inherit", "inherit"],
    reject: false,
    env: { DXTENSOR_CTRF: report },
  });
  if (!existsSync(report)) return close([{ passed: 0, failed: 1, skipped: 0 }]);
  const { passed, failed, skipped, pending, other } = JSON.parse(readFileSync(report, "utf8")).results.summary;
  return close([{ passed, failed: done.exitCode === 0 ? failed : Math.max(failed, 1), skipped: skipped + pending + other }]);
});
