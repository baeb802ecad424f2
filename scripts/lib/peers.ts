// The programs of bench/peers/directml, which use DirectML without this library.
import { existsSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { at, headers } from "../tools/project.ts";
import { runStep } from "../tools/steps.ts";
import { dropForeignCache } from "./cmake-cache.ts";

const objects = at("build", "peers");

/** Builds what is out of date: {operators, steps}, the programs' paths. */
export async function buildPeers() {
  const cmake = (args: readonly string[]) => runStep("The build of bench/peers/directml", "cmake", args);
  const source = at("bench", "peers", "directml");
  dropForeignCache(objects, { source });
  const isNew = !existsSync(join(objects, "CMakeCache.txt"));
  if (isNew) await cmake(["-S", source, "-B", objects, `-DDXTENSOR_HEADERS=${headers}`, "--log-level=WARNING"]);
  await cmake(["--build", objects, "--parallel", String(availableParallelism())]);
  return Object.fromEntries(["operators", "steps"].map((name) => [name, join(objects, `directml_${name}`)]));
}
