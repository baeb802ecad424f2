// npm run coverage:native [-- FILTER...]: which lines of native/dml and native/addon the tests run, counted by gcov.
import { existsSync, readdirSync, rmSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join, relative, resolve } from "node:path";
import { execa } from "execa";
import { ScriptError, at, headers, main, release, root, say, tool } from "./tools/project.ts";
import { runStep } from "./tools/steps.ts";
import { buildNativeParts } from "./build.ts";
import { ensureSetup } from "./lib/ensure.ts";
import { softwareName } from "./lib/native-files.ts";

const MINIMUM = 90;
const folders = ["native/dml", "native/addon"];
const suites = ["test/runtime", "test/compile", "test/native", "test/core/errors.test.ts", "test/io"];

const help = `npm run coverage:native [-- FILTER...]

Builds native/dml and native/addon with gcov's counters, runs dml_stress and the tests in TypeScript over them, and prints which lines ran.
Fails below ${MINIMUM} % in ${folders.join(" or ")}.

  FILTER  the test files to run (vitest's arguments; ${suites.join(" ")} without any)
  --help  this text`;

const folder = at("build", "coverage");

async function build() {
  const defines = {
    CMAKE_BUILD_TYPE: "Coverage",
    CMAKE_CXX_FLAGS: "-O0 -g1 --coverage -fprofile-update=atomic",
    DXTENSOR_HEADERS: headers,
    DXTENSOR_TESTS: "ON",
    CMAKE_JS_INC: at("node_modules", "node-api-headers", "include"),
  };
  await runStep("CMake", "cmake", ["-S", root, "-B", folder, "-G", "Ninja", ...Object.entries(defines).map(([k, v]) => `-D${k}=${v}`)]);
  const targets = ["dxtensor_addon", "dml_stress"];
  await runStep("The build", "cmake", ["--build", folder, "--parallel", String(availableParallelism()), "--target", ...targets]);
}

const filesBelow = (path: string, suffix: string): string[] =>
  readdirSync(path, { recursive: true, withFileTypes: true }).flatMap((e) => (e.name.endsWith(suffix) ? [join(e.parentPath, e.name)] : []));

interface Coverage {
  readonly files: readonly { readonly file: string; readonly lines: readonly { readonly line_number: number; readonly count: number }[] }[];
}

/** By source file: line → how often it ran, over all programs that it was compiled into. */
async function count() {
  const lines = new Map<string, Map<number, number>>();
  for (const file of filesBelow(join(folder, "native"), ".gcda")) {
    const { stdout } = await execa("gcov", ["--json-format", "--stdout", file], { cwd: folder, maxBuffer: 1 << 30 });
    for (const text of stdout.split("\n").filter((line) => line !== ""))
      for (const { file: source, lines: found } of (JSON.parse(text) as Coverage).files) {
        const name = relative(root, resolve(folder, source));
        if (!folders.some((f) => name.startsWith(`${f}/`))) continue;
        const known = lines.get(name) ?? lines.set(name, new Map()).get(name)!;
        for (const { line_number: n, count: ran } of found) known.set(n, (known.get(n) ?? 0) + ran);
      }
  }
  return lines;
}

/** "12-14, 20" */
function ranges(numbers: readonly number[]) {
  const out: [number, number][] = [];
  for (const n of numbers) {
    const last = out.at(-1);
    if (last !== undefined && last[1] === n - 1) last[1] = n;
    else out.push([n, n]);
  }
  return out.map(([a, b]) => (a === b ? `${a}` : `${a}-${b}`)).join(", ");
}

await main(async () => {
  const filters = process.argv.slice(2);
  const unknown = filters.find((f) => f.startsWith("-"));
  if (unknown !== undefined)
    throw new ScriptError("UNKNOWN_OPTION", `Unknown option ${unknown}.`, "npm run coverage:native -- --help tells of all.");
  await ensureSetup();
  await buildNativeParts({ isRuntimeOnly: true });
  await build();
  for (const file of filesBelow(folder, ".gcda")) rmSync(file);
  const software = join(release, softwareName());
  await runStep("dml_stress", join(folder, "native", "test", "dml_stress"), ["--software", software]);
  const env = { DXTENSOR_NATIVE: join(folder, "Release", "dxtensor.node"), DXTENSOR_SOFTWARE: software };
  if (!existsSync(env.DXTENSOR_NATIVE)) throw new ScriptError("NOT_BUILT", `${env.DXTENSOR_NATIVE} was not built.`);
  await runStep("The tests", tool("vitest"), ["run", ...(filters.length > 0 ? filters : suites)], { env });
  const lines = await count();
  let isEnough = true;
  for (const f of folders) {
    let [all, ran] = [0, 0];
    // A header of declarations alone has no lines that run.
    const files = [...lines].filter(([n, counts]) => n.startsWith(`${f}/`) && counts.size > 0);
    for (const [name, counts] of files.sort(([a], [b]) => a.localeCompare(b))) {
      const missed = [...counts]
        .filter(([, n]) => n === 0)
        .map(([n]) => n)
        .sort((a, b) => a - b);
      all += counts.size;
      ran += counts.size - missed.length;
      const percent = ((100 * (counts.size - missed.length)) / counts.size).toFixed(1).padStart(5);
      console.log(`${percent} %  ${name}${missed.length === 0 ? "" : `  not run: ${ranges(missed)}`}`);
    }
    const percent = (100 * ran) / Math.max(1, all);
    console.log(`${f}: ${percent.toFixed(1)} % of ${all} lines`);
    isEnough &&= percent >= MINIMUM;
  }
  if (!isEnough) say(`coverage: less than ${MINIMUM} %`);
  return isEnough ? 0 : 1;
}, help);
