// Bundles the program for GPU machines into one file: bench/gpu/run.mjs, with the script that enters the Wine cell.
import { cpSync } from "node:fs";
import { join } from "node:path";
import { bundleProgram } from "../bundle-tests.ts";
import { at } from "../tools/project.ts";

export async function packRunner(folder: string) {
  await bundleProgram(at("bench", "gpu", "run.ts"), join(folder, "bench", "gpu", "run.mjs"));
  cpSync(at("scripts", "cells", "wine", "root", "enter.sh"), join(folder, "scripts", "cells", "wine", "root", "enter.sh"));
}
