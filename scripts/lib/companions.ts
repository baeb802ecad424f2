// Companion packages: folders of `packages` that are released with the main package, at its version, and that users install by name.
import { copyFileSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { execa } from "execa";
import { ScriptError, at } from "../tools/project.ts";
import { common, manifest } from "./manifest.ts";
import { cannotBuild } from "./native-builds.ts";
import { ensureEngineRoot, type Architecture } from "./sysroot.ts";

/** Released as @dxtensor/NAME, after the main package: they are no use without it. */
export const companions = ["openreg", "conformance"] as const;
/** Engines: each is built on its own platform, by its build.mjs, with libraries that no other package needs. */
export const engines = ["distributed-linux-x64", "distributed-linux-arm64"] as const;
export type Companion = (typeof companions)[number];
export type Engine = (typeof engines)[number];

/** The versions of the main package that each works with. The conformance tests contain the library of their own version. */
const peerRange: Readonly<Record<Companion, string>> = { openreg: `^${manifest.version}`, conformance: manifest.version };

/** Fields of a repository's manifest that a published package does not have. */
const development = ["private", "scripts", "files", "devDependencies", "version", "license", "engines", "peerDependencies"];

/** The manifest that is published. */
export function companionManifest(name: Companion): Readonly<Record<string, unknown>> {
  const own = JSON.parse(readFileSync(at("packages", name, "package.json"), "utf8")) as Record<string, unknown>;
  return {
    name: own["name"],
    ...common,
    ...Object.fromEntries(Object.entries(own).filter(([key]) => key !== "name" && !development.includes(key))),
    engines: manifest.engines,
    peerDependencies: { dxtensor: peerRange[name] },
  };
}

/** Builds a companion into an empty folder, with its manifest, README and licence. */
export async function buildCompanion(name: Companion, folder: string): Promise<string> {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const done = await execa(process.execPath, ["build.mjs", folder], { cwd: at("packages", name), stdin: "ignore", reject: false });
  if (done.failed) throw new ScriptError("COMPANION", `packages/${name} was not built: ${done.stderr.trim().slice(-1000)}`);
  writeFileSync(join(folder, "package.json"), `${JSON.stringify(companionManifest(name), null, 2)}\n`);
  copyFileSync(at("packages", name, "README.md"), join(folder, "README.md"));
  copyFileSync(at("LICENSE"), join(folder, "LICENSE"));
  return folder;
}

/** The manifest of an engine's package that is published. */
export function engineManifest(name: Engine): Readonly<Record<string, unknown>> {
  const own = JSON.parse(readFileSync(at("packages", name, "package.json"), "utf8")) as Record<string, unknown>;
  const { scripts: _scripts, version: _version, license, ...rest } = own;
  return { ...rest, ...common, license, engines: manifest.engines, peerDependencies: { dxtensor: `^${manifest.version}` } };
}

/** The processor of an engine's package. */
const architectureOf = (name: Engine): Architecture => name.split("-").at(-1) as Architecture;

/** Why an engine's package cannot be built here; null where it can. That for arm64 is cross-compiled on x64. */
export function cannotBuildEngine(name: Engine): string | null {
  const arch = architectureOf(name);
  if (process.platform !== "linux" || (arch === "x64" && process.arch !== "x64")) return `it is built on linux-${arch}, by its build.mjs`;
  if (arch !== process.arch) return cannotBuild(`linux-${arch}`);
  const missing = ["/usr/include/gloo/allreduce.h"].filter((file) => !existsSync(file));
  return missing.length === 0 ? null : `${missing.join(", ")} is missing: npm run distributed -- --build installs it`;
}

/** An engine's folder in build/packages: its addon with the libraries that it needs, and their licences. */
export async function stageEngine(name: Engine): Promise<string> {
  const folder = at("build", "packages", name);
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const root = architectureOf(name) === process.arch ? [] : [await ensureEngineRoot("arm64")];
  const done = await execa(process.execPath, ["build.mjs", folder, ...root], { cwd: at("packages", name), stdin: "ignore", reject: false });
  if (done.failed) throw new ScriptError("ENGINE", `packages/${name} was not built: ${done.stderr.trim().slice(-1000)}`);
  writeFileSync(join(folder, "package.json"), `${JSON.stringify(engineManifest(name), null, 2)}\n`);
  copyFileSync(at("packages", name, "README.md"), join(folder, "README.md"));
  copyFileSync(at("LICENSE"), join(folder, "LICENSE"));
  return folder;
}

/** A companion's folder in build/packages. */
export const stageCompanion = (name: Companion): Promise<string> => buildCompanion(name, at("build", "packages", name));
