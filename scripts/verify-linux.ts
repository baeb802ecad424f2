// npm run verify:linux: Microsoft's libdirectml.so on this Linux machine, over Vulkan, as the judge of everything.
import { parseArgs } from "node:util";
import { ScriptError, at, main, say } from "./tools/project.ts";
import { close } from "./tools/counts.ts";
import { cellVersions, ensureCell, type CellEnvironment } from "./cells/linux/cell.ts";
import { runInContainer } from "./cells/linux/container.ts";
import { CellReport } from "./cells/linux/report.ts";
import { conformance, fusionTests, libraryTests, runtimeSteps, trainingSteps } from "./cells/linux/steps.ts";

const help = `npm run verify:linux [-- OPTIONS]

Runs the project on Microsoft's libdirectml.so (feature level 6.2), over the Vulkan runtime and Mesa's lavapipe, which is
a Vulkan driver on the CPU. Builds and fetches first what is missing, without root: build:vulkan, fetch:directml,
lavapipe. Runs the ABI suite, the runtime's own tests, the tests in TypeScript on Node 20, 22, 24 and 26, those of fusion
with fusion wherever it can be and guard areas around all memory, the quickstart's training on both libraries, the comparison of every operator (dxtensor verify), and looks for leaks.

  --quick        a subset on the running Node, under five minutes when everything is cached
  --prepare      builds and fetches what is missing, and runs nothing
  --only PART    only the steps whose name contains it: runtime, tests, fusion, training, verify, container
  --driver NAME  "lavapipe" (default) or "system": the machine's own Vulkan drivers, a GPU's too
  --container    also in a container of Debian 11, which has Ubuntu 20.04's C library
  --json         one line of JSON on stdout: {ok, passed, failed, skipped, report}; the rest goes to stderr
  --help         this text

The report is test-results/verify-linux.json, in the Common Test Report Format. Exit status 1 when something failed.`;

interface Options {
  readonly json: boolean;
  readonly container: boolean;
  readonly only: string;
  readonly driver: string;
  readonly quick: boolean;
}

type Step = (report: CellReport, env: CellEnvironment, options: Options) => Promise<void>;

const steps: readonly (readonly [name: string, step: Step])[] = [
  ["runtime", runtimeSteps],
  ["tests", libraryTests],
  ["fusion", fusionTests],
  ["training", trainingSteps],
  ["verify", conformance],
];

async function run(options: Options) {
  const report = new CellReport(options.json ? process.stderr : process.stdout);
  const chosen = [...steps, ...(options.container ? [["container", runInContainer] as const] : [])].filter(([name]) =>
    name.includes(options.only),
  );
  if (chosen.length === 0) throw new ScriptError("USAGE", `There is no step "${options.only}".`, "npm run verify:linux -- --help");
  const env = await ensureCell(options.driver);
  for (const [name, step] of chosen) {
    const start = performance.now();
    await step(report, env, options);
    say(`verify:linux: ${name} done in ${((performance.now() - start) / 1000).toFixed(0)} s`);
  }
  const file = at("test-results", "verify-linux.json");
  return { file, counts: report.write(file, "dxtensor verify:linux", cellVersions(options.driver)) };
}

await main(async () => {
  const { values: options } = parseArgs({
    options: {
      quick: { type: "boolean", default: false },
      prepare: { type: "boolean", default: false },
      only: { type: "string", default: "" },
      driver: { type: "string", default: "lavapipe" },
      container: { type: "boolean", default: false },
      json: { type: "boolean", default: false },
    },
  });
  if (!["lavapipe", "system"].includes(options.driver))
    throw new ScriptError("USAGE", `There is no driver "${options.driver}": lavapipe or system.`);
  if (options.prepare) {
    await ensureCell(options.driver);
    say("verify:linux: everything is there");
    return 0;
  }
  const { file, counts } = await run(options);
  if (options.json) console.log(JSON.stringify({ ok: counts.failed === 0, ...counts, report: file }));
  else say(`verify:linux: ${file}`);
  return options.json ? Number(counts.failed > 0) : close([counts]);
}, help);
