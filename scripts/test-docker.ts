// npm run test:docker: the tests that need a Docker engine; closes with one line of counts.
import { ScriptError, main } from "./tools/project.ts";
import { close } from "./tools/counts.ts";
import { ensureEngine } from "./tools/docker/serve.ts";
import { ensureBuilt } from "./lib/ensure.ts";
import { runVitest } from "./tools/vitest.ts";

const help = `npm run test:docker [-- FILTER...]

Builds the images from a local base (BASE_IMAGE, else a Debian made here), opens the dev container, provisions a bare Debian, runs
the matrix's cells. Uses the engine that answers, else starts one as scripts/docker-engine.ts does, and leaves it running.

  FILTER   run only the files test/**/*.docker.ts whose path contains it
  --help   this text`;

await main(async () => {
  const args = process.argv.slice(2);
  const option = args.find((arg) => arg.startsWith("-"));
  if (option !== undefined) throw new ScriptError("USAGE", `There is no option "${option}" (--help lists them).`);
  await ensureEngine();
  await ensureBuilt(["src"]);
  return close([await runVitest("ctrf-docker.json", ["--config", "test/docker/vitest.config.ts", ...args])]);
}, help);
