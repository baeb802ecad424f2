// The programs of bench/peers/directml, which use DirectML without this library.
import { existsSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { execa } from "execa";
import { ScriptError, at, headers } from "../tools/project.ts";

const objects = at("build", "peers");

/** Builds what is out of date: {operators, steps}, the programs' paths. */
export async function buildPeers() {
  const cmake = async (args: readonly string[]) => {
    const done = await execa("cmake", args, { stdio: ["ignore", 2, 2], reject: false });
    if (done.failed) throw new ScriptError("PEERS", "The programs of bench/peers/directml could not be built; see above.");
  };
  const isNew = !existsSync(join(objects, "CMakeCache.txt"));
  if (isNew) await cmake(["-S", at("bench", "peers", "directml"), "-B", objects, `-DDXTENSOR_HEADERS=${headers}`, "--log-level=WARNING"]);
  await cmake(["--build", objects, "--parallel", String(availableParallelism())]);
  return Object.fromEntries(["operators", "steps"].map((name) => [name, join(objects, `directml_${name}`)]));
}
