// npm test: sets up and builds what is missing or out of date, then runs every test and closes with one line of counts.
import { existsSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { execa } from "execa";
import { at, buildNative, main, release, root, tool } from "./lib/project.mjs";
import { buildNativeParts, buildTypeScript } from "./build.mjs";
import { close, runProgram } from "./lib/counts.mjs";
import { ensureSetup } from "./lib/ensure.mjs";
import { softwareName } from "./lib/native-files.mjs";

const help = `npm test [-- OPTIONS] [FILTER...]

  FILTER        run only the test files whose path contains it (vitest's arguments; the native programs are left out)
  --native      run only the native test programs
  --typescript  run only the tests in TypeScript
  --help        this text`;

/** The native test programs with their arguments; each prints "N passed, N failed" as its last line. */
const programs = [
  ["kernel_test", []],
  ["abi_suite", ["--software", join(release, softwareName())]],
  ["dml_stress", ["--software", join(release, softwareName())]],
];

async function runVitest(args) {
  const report = at("test-results", "ctrf.json");
  rmSync(report, { force: true });
  const done = await execa(tool("vitest"), ["run", ...args], {
    cwd: root,
    stdio: ["ignore", "inherit", "inherit"],
    reject: false,
    env: { DXTENSOR_CTRF: report },
  });
  if (!existsSync(report)) return { passed: 0, failed: 1, skipped: 0 };
  const { passed, failed, skipped, pending, other } = JSON.parse(readFileSync(report, "utf8")).results.summary;
  return { passed, failed: done.exitCode === 0 ? failed : Math.max(failed, 1), skipped: skipped + pending + other };
}

async function runNative() {
  const counts = [];
  for (const [name, args] of programs) counts.push(await runProgram(name, join(buildNative, "native", "test", name), args));
  return counts;
}

await main(async () => {
  const args = process.argv.slice(2);
  if (args.includes("--help")) {
    console.log(help);
    return 0;
  }
  await ensureSetup();
  await buildNativeParts();
  if (args.includes("--native")) return close(await runNative());
  await buildTypeScript();
  const counts = [await runVitest(args.filter((arg) => arg !== "--typescript"))];
  if (args.length === 0) counts.push(...(await runNative()));
  return close(counts);
});
