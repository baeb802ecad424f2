/** `dxtensor fetch`: Microsoft's libdirectml.so with its licence, checked against a pinned digest. See docs/runtimes.md. */
import { resolve } from "node:path";
import type { Command } from "commander";
import { hostEnvironment } from "../native/load-addon.ts";
import { fetchedFolder } from "../native/paths.ts";
import { pinned } from "../fetch/directml-library.ts";
import { runFetch } from "../fetch/run.ts";

interface Options {
  readonly from?: string;
  readonly sha256?: string;
  readonly to?: string;
  readonly force: boolean;
  readonly json: boolean;
}

const help = `
The library (Linux x64 and WSL, MIT licence) comes from the wheel ${pinned.wheel} of PyPI, or of the index that
PIP_INDEX_URL names. Nothing else of the wheel is kept, and nothing of it runs. The package @dxtensor/directml-linux-x64 contains the same library.

For programs: --json prints one line, {"ok", "path", "sha256", "changed", "licences"} or {"ok", "code", "message", "hint"}.`;

async function fetch({ to, ...options }: Options): Promise<void> {
  process.exitCode = await runFetch({ ...options, to: to === undefined ? fetchedFolder(hostEnvironment()) : resolve(to) });
}

export function addFetch(program: Command): void {
  program
    .command("fetch")
    .description("download Microsoft's libdirectml.so for Linux and WSL into a folder where all programs of this user find it")
    .option("--from <path>", "take it from libdirectml.so, from the wheel, or from a folder that holds one of them")
    .option("--sha256 <hex>", "accept the library with this digest instead of the pinned one")
    .option("--to <folder>", "put it into this folder (then set DXTENSOR_LIBRARY_FOLDER to it)")
    .option("--force", "replace the present library even if it is the right one", false)
    .option("--json", "one line of JSON on stdout", false)
    .addHelpText("after", help)
    .action(fetch);
}
