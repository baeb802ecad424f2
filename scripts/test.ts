// npm test: sets up, builds if needed, runs every test, and ends with one line of counts.
import { join } from "node:path";
import { buildNative, main, release } from "./tools/project.ts";
import { buildNativeParts, buildTypeScript } from "./build.ts";
import { close, countProgram } from "./tools/counts.ts";
import { ensureSetup } from "./lib/ensure.ts";
import { softwareName } from "./lib/native-files.ts";
import { buildTestLibrary } from "./lib/test-library.ts";
import { runVitest } from "./tools/vitest.ts";

const help = `npm test [-- OPTIONS] [FILTER...]

  FILTER        run only the test files whose path contains it (vitest's arguments; the native programs are left out)
  --native      run only the native test programs, with all of their cases
  --typescript  run only the tests in TypeScript
  --help        this text

The report is test-results/ctrf.json, or DXTENSOR_CTRF.`;

/** The native test programs with their arguments; each prints "N passed, N failed" as its last line. */
const programs: readonly (readonly [name: string, args: readonly string[]])[] = [
  ["kernel_test", []],
  ["abi_suite", ["--software", join(release, softwareName())]],
  ["dml_stress", ["--software", join(release, softwareName())]],
];

/** Of the comparison of kernels' long cases every sixth, and fewer random ones. */
const short = ["--rounds", "40", "--every", "6"];

async function runNative(isWhole: boolean) {
  const counts = [];
  for (const [name, args] of programs) {
    const own = name === "kernel_test" && !isWhole ? [...args, ...short] : args;
    counts.push(await countProgram(name, join(buildNative, "native", "test", name), own));
  }
  return counts;
}

await main(async () => {
  const args = process.argv.slice(2);
  await ensureSetup();
  if (args.includes("--native")) {
    await buildNativeParts();
    return close(await runNative(true));
  }
  await Promise.all([buildNativeParts(), buildTypeScript().then(buildTestLibrary)]);
  const counts = [
    await runVitest(
      "ctrf.json",
      args.filter((arg) => arg !== "--typescript"),
      { isBuilt: true },
    ),
  ];
  if (args.length === 0) counts.push(...(await runNative(false)));
  return close(counts);
}, help);
