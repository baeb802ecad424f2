// An application's folder with dxtensor, the conformance tests and openreg installed, as a vendor's is; for the tests and for CI.
import { mkdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { buildCompanion, companions } from "../lib/companions.ts";
import { root } from "../tools/project.ts";

const linkPackage = (folder: string): void => symlinkSync(root, folder, "junction");

/** Deletes and makes the folder. install: makes the main package's folder; by default a link to the repository. */
export async function makeApplication(folder: string, install: (folder: string) => void = linkPackage): Promise<void> {
  rmSync(folder, { recursive: true, force: true });
  const modules = join(folder, "node_modules");
  mkdirSync(join(modules, "@dxtensor"), { recursive: true });
  install(join(modules, "dxtensor"));
  for (const name of companions) await buildCompanion(name, join(modules, "@dxtensor", name));
  const dependencies = Object.fromEntries(["dxtensor", ...companions.map((name) => `@dxtensor/${name}`)].map((name) => [name, "*"]));
  writeFileSync(join(folder, "package.json"), `${JSON.stringify({ name: "application", private: true, dependencies }, null, 2)}\n`);
}
