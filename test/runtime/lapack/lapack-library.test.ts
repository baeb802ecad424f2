import { existsSync } from "node:fs";
import { expect, it } from "vitest";
import { loadBinding, hostEnvironment } from "../../../src/native/load-addon.ts";
import { lapackPaths } from "../../../src/native/paths.ts";
import { libraryEngine } from "../../../src/runtime/lapack/lapack-library.ts";
import { columns, near } from "./matrices.ts";

it("says why a library cannot be used", () => {
  expect(libraryEngine(loadBinding(), "/no/such/lapack.so")).toBe("no such file");
  expect(typeof libraryEngine(loadBinding(), process.execPath)).toBe("string");
});

const path = (lapackPaths({ ...hostEnvironment(), env: {} }) ?? []).find((p) => existsSync(p));

it.skipIf(path === undefined)("calls LAPACK where this machine has one (else: apt install liblapack3)", () => {
  const engine = libraryEngine(loadBinding(), path!);
  if (typeof engine === "string") throw new Error(engine);
  expect(engine.name).toContain(path);
  const a = columns([4, 2], [0, 5]);
  expect(engine.cholesky(2, a)).toBe(0);
  near([a[0]!, a[1]!, a[3]!], [2, 1, 2]);
});
