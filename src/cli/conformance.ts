/** `dxtensor conformance` and `dxtensor report`: the device-generic tests, which a separate package has. See docs/conformance.md. */
import { spawn } from "node:child_process";
import { join } from "node:path";
import type { Command } from "commander";
import { packageFolder, requireFrom } from "../core/home.ts";
import { addonPaths } from "../native/paths.ts";
import { hostEnvironment } from "../native/load-addon.ts";
import { conformanceHelp, reportHelp } from "./conformance-help.ts";
import { version } from "./version.ts";

const NAME = "@dxtensor/conformance";

/** The package's folder, or why the tests cannot be run and what to install. */
function findTests(): { readonly folder: string } | { readonly problem: string } {
  const folder = packageFolder(NAME);
  const wanted = version();
  const install = `npm install --save-dev ${NAME}@${wanted}`;
  if (folder === null) return { problem: `the tests are a package of their own, which is not installed.\n  ${install}` };
  const file = join(folder, "package.json");
  const { version: found } = requireFrom(file)(file) as { readonly version: string };
  return found === wanted ? { folder } : { problem: `${NAME} is of version ${found}, dxtensor of ${wanted}.\n  ${install}` };
}

/** Runs one of the package's programs with this package's native files; the exit status is the program's. The help text needs no package. */
async function run(program: string, args: readonly string[], help: string): Promise<void> {
  const tests = findTests();
  if (args.includes("--help") || args.includes("-h")) {
    process.stdout.write("problem" in tests ? `${help}\n\nNow: ${tests.problem}\n` : `${help}\n`);
    return;
  }
  if ("problem" in tests) {
    process.stderr.write(`dxtensor: ${tests.problem}\n`);
    process.exitCode = 2;
    return;
  }
  const here = hostEnvironment();
  const addon = addonPaths(here).find((path) => here.exists(path));
  const env = addon === undefined ? process.env : { ...process.env, DXTENSOR_NATIVE: addon };
  const child = spawn(process.execPath, [join(tests.folder, "dist", program), ...args], { stdio: "inherit", env });
  // The terminal sends Ctrl-C to both: the child writes its report, and then ends.
  const ignore = (): void => {};
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, signal === "SIGINT" ? ignore : () => child.kill("SIGTERM"));
  process.exitCode = await new Promise<number>((resolve, reject) => {
    child.once("error", reject);
    child.once("exit", (code, signal) => {
      resolve(code ?? (signal === "SIGINT" ? 130 : 1));
    });
  });
}

/** The program reads its own options. */
function add(program: Command, verb: string, file: string, help: string, description: string): void {
  program
    .command(verb)
    .description(description)
    .helpOption(false)
    .allowUnknownOption()
    .argument("[args...]", "--help lists them")
    .action((args: string[]) => run(file, args, help));
}

export function addConformance(program: Command): void {
  add(program, "conformance", "conformance.mjs", conformanceHelp, "run the device-generic tests on a device of any backend");
  add(program, "report", "report.mjs", reportHelp, "check reports of these tests: the format, the numbers, the level");
}
