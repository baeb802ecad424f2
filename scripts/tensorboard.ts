// npm run tensorboard: gets Python's package tensorboard into an environment of its own, which then reads the event files that SummaryWriter writes.
import { existsSync, mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { ScriptError, cacheFolder, main, say } from "./tools/project.ts";
import { ask, runProgram } from "./tools/program.ts";
import { close } from "./tools/counts.ts";
import { runVitest } from "./tools/vitest.ts";
import { ensureBuilt } from "./lib/ensure.ts";

const VERSION = "2.20.0";

const help = `npm run tensorboard [-- OPTIONS]

Lets the Python package tensorboard ${VERSION} read event files of dx.train.summaryWriter: scalars, histograms, images, texts, graphs, hyperparameters.
The package is installed from Python's registry into the cache (DXTENSOR_CACHE), once. It fails where there is no Python 3 with venv, or no registry.

  --help  this text

DXTENSOR_TENSORBOARD_PYTHON names a Python that has the package already.`;

const pythonIn = (folder: string): string =>
  process.platform === "win32" ? join(folder, "Scripts", "python.exe") : join(folder, "bin", "python");
const hasPackage = (python: string): boolean =>
  ask(python, ["-c", "import tensorboard.backend.event_processing.event_accumulator"]) !== null;

/** A Python that has the package: the named one, or that of an environment in the cache. */
async function tensorboardPython(): Promise<string> {
  const { DXTENSOR_TENSORBOARD_PYTHON: named } = process.env;
  if (named !== undefined && named !== "") {
    if (hasPackage(named)) return named;
    throw new ScriptError("TENSORBOARD", `NOT CHECKED: ${named}, which DXTENSOR_TENSORBOARD_PYTHON names, has no package tensorboard.`);
  }
  const folder = cacheFolder(`tensorboard-${VERSION}`);
  if (existsSync(folder) && hasPackage(pythonIn(folder))) return pythonIn(folder);
  const system = ["python3", "python"].find(
    (name) => ask(name, ["-c", "import sys, venv, ensurepip; assert sys.version_info >= (3, 9)"]) !== null,
  );
  if (system === undefined)
    throw new ScriptError("PYTHON", "NOT CHECKED: there is no Python 3.9 or later with venv.", "Run: sudo apt-get install -y python3-venv");
  say(`tensorboard: getting tensorboard ${VERSION} from Python's registry`);
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(cacheFolder(), { recursive: true });
  const made = await runProgram(system, ["-m", "venv", folder], { limitMs: 300_000 });
  const args = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", `tensorboard==${VERSION}`];
  const installed = made.code === 0 ? await runProgram(pythonIn(folder), args, { limitMs: 600_000 }) : made;
  if (installed.code === 0 && hasPackage(pythonIn(folder))) return pythonIn(folder);
  rmSync(folder, { recursive: true, force: true });
  throw new ScriptError("TENSORBOARD", `NOT CHECKED: tensorboard ${VERSION} cannot be installed: ${installed.error ?? installed.text}`);
}

await main(async () => {
  parseArgs({ options: {} });
  process.env.DXTENSOR_TENSORBOARD_PYTHON = await tensorboardPython();
  await ensureBuilt([]);
  return close([await runVitest("ctrf-tensorboard.json", ["test/train/event-files"])]);
}, help);
