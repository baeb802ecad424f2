/** Versions of the software around a cell, as text. Missing software is left out. */
import { existsSync, readFileSync } from "node:fs";
import { cpus, release, totalmem } from "node:os";
import { pathToFileURL } from "node:url";
import { ask } from "../../scripts/tools/program.ts";
import { at } from "../root.ts";
import type { Facts } from "../types.ts";
import type { CellDevice } from "./device.ts";

const firstLine = (command: string, args: readonly string[], env: Readonly<Record<string, string>> = {}): string | undefined =>
  ask(command, args, { env, limitMs: 120_000 })?.split("\n")[0];

function systemName(): string {
  if (!existsSync("/etc/os-release")) return `${process.platform} ${release()}`;
  return /^PRETTY_NAME="?([^"\n]*)/m.exec(readFileSync("/etc/os-release", "utf8"))?.[1] ?? process.platform;
}

/** The device as the library names it, asked in a process of its own so that no library is loaded into this one. */
function deviceName(device: CellDevice, env: Readonly<Record<string, string>>): string | undefined {
  const library = pathToFileURL(at("dist", "bundle", "dxtensor.js")).href;
  const index = device.kind === "hardware" ? device.index : 0;
  return firstLine(
    process.execPath,
    ["--input-type=module", "-e", `import * as dx from ${JSON.stringify(library)}; console.log(dx.dml.deviceName(${index}))`],
    env,
  );
}

function compiler(): string | undefined {
  const cache = at("build", "native", "CMakeCache.txt");
  const path = existsSync(cache) ? /^CMAKE_CXX_COMPILER:[A-Z]+=(.*)$/m.exec(readFileSync(cache, "utf8"))?.[1] : undefined;
  return path === undefined ? undefined : firstLine(path, ["--version"]);
}

export async function gatherFacts(device: CellDevice, env: Readonly<Record<string, string>>): Promise<Facts> {
  const header = (process.report.getReport() as { header?: { glibcVersionRuntime?: string } }).header;
  const { version } = JSON.parse(readFileSync(at("package.json"), "utf8")) as { version: string };
  const all: Record<string, string | undefined> = {
    dxtensor: version,
    device: device.kind === "software" ? "dxtensor software adapter" : deviceName(device, env),
    "feature level": device.kind === "simulated" ? device.level : undefined,
    node: process.versions.node,
    v8: process.versions.v8,
    "node-api": process.versions["napi"],
    system: systemName(),
    kernel: release(),
    glibc: header?.glibcVersionRuntime,
    compiler: compiler(),
    cmake: firstLine("cmake", ["--version"])?.replace("cmake version ", ""),
    processor: cpus()[0]?.model.trim(),
    memory: `${Math.round(totalmem() / 1024 ** 3)} GiB`,
  };
  return Object.fromEntries(Object.entries(all).filter((entry): entry is [string, string] => entry[1] !== undefined && entry[1] !== ""));
}
