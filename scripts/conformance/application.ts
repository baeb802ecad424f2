// An application's folder with dxtensor, the conformance tests and openreg installed, as a vendor's is; for the tests and for CI.
import { cpSync, existsSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { execa } from "execa";
import { at, root } from "../tools/project.ts";

/** Packages of this repository that are built into a folder. */
const packages = ["openreg", "conformance"];

/** Deletes and makes the folder. */
export async function makeApplication(folder: string): Promise<void> {
  rmSync(folder, { recursive: true, force: true });
  const modules = join(folder, "node_modules");
  mkdirSync(join(modules, "@dxtensor"), { recursive: true });
  symlinkSync(root, join(modules, "dxtensor"), "junction");
  for (const name of packages) {
    const to = join(modules, "@dxtensor", name);
    mkdirSync(to);
    await execa(process.execPath, ["build.mjs", to], { cwd: at("packages", name), stdin: "ignore" });
    for (const file of ["package.json", "README.md"])
      if (existsSync(at("packages", name, file))) cpSync(at("packages", name, file), join(to, file));
  }
  const dependencies = Object.fromEntries(["dxtensor", ...packages.map((name) => `@dxtensor/${name}`)].map((name) => [name, "*"]));
  writeFileSync(join(folder, "package.json"), `${JSON.stringify({ name: "application", private: true, dependencies }, null, 2)}\n`);
}
