// The recipe of the Wine cell: versions, digests, files and paths.
import { createHash } from "node:crypto";
import { readFileSync, readdirSync } from "node:fs";
import { join, resolve } from "node:path";
import { at, cache } from "../../tools/project.ts";

export interface Recipe {
  readonly suite: string;
  readonly vkd3dSuite: string;
  /** Windows' Node, by major version. */
  readonly nodes: Readonly<Record<string | number, string>>;
  readonly onnxruntime: string;
  readonly directml: { readonly version: string; readonly sha256: string };
}

export const recipe: Recipe = {
  /** Wine 10 and Mesa 25: a stable release. */
  suite: "trixie",
  /** libvkd3d 2.1: only its static library and headers are taken. */
  vkd3dSuite: "forky",
  nodes: { 20: "20.20.2", 22: "22.23.3", 24: "24.21.0" },
  onnxruntime: "1.30.0",
  directml: { version: "1.15.4", sha256: "234e8898778cdec88d3cb0539508273494082812c968699f3de665a018971625" },
};

export const cellFolder = () => resolve(process.env.DXTENSOR_CELL ?? join(cache, "wine"));
export const cellRoot = (folder = cellFolder()) => join(folder, "root");
/** The cell's own folder inside its root, which Windows programs see as Z:\opt\dxtensor. */
export const insideCell = (...parts: string[]) => join(cellRoot(), "opt", "dxtensor", ...parts);
export const sources = at("scripts", "cells", "wine");

/** Debian's packages that making the cell needs on this machine, by the command that tells whether they are there. */
export const hostPackages: readonly (readonly [command: string, packages: readonly string[]])[] = [
  ["debootstrap", ["debootstrap"]],
  ["gcc", ["gcc", "libc6-dev"]],
  ["x86_64-w64-mingw32-gcc", ["gcc-mingw-w64-x86-64"]],
];

function digest(parts: readonly (string | Buffer)[]) {
  const hash = createHash("sha256");
  for (const part of parts) hash.update(part).update("\0");
  return hash.digest("hex");
}

const texts = (folder: string, names?: readonly string[]) =>
  (names ?? readdirSync(join(sources, folder)).toSorted()).map((name: string) => readFileSync(join(sources, folder, name)));

/** What libvkd3d cannot take from the system's libc, for the Vulkan runtime and for the bridge. */
const libcNames = at("native", "vulkan", "d3d12", "libc_names.c");

/** The cell's stages, with a digest of what each is made of: a changed one is made again. */
export const stages = () => ({
  root: digest([recipe.suite, recipe.vkd3dSuite, ...texts("root", ["packages.sh", "unused.control"])]),
  bridge: digest([...texts("bridge"), readFileSync(libcNames)]),
  windows: digest([JSON.stringify([recipe.nodes, recipe.onnxruntime, recipe.directml])]),
  prefix: digest(texts("root", ["prefix.sh", "prefix.reg", "run.sh", "throwaway.sh"])),
});
