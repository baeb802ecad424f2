import { writeFileSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { NativeLoadError } from "../../src/core/errors.ts";
import { loadBinding, hostEnvironment } from "../../src/native/load-addon.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "dxtensor-load-"));
});
afterEach(() => {
  vi.unstubAllEnvs();
  rmSync(folder, { recursive: true });
});

/** Runs first here, since a binding that was loaded stays. */
function failure(): NativeLoadError {
  try {
    loadBinding();
  } catch (error) {
    if (error instanceof NativeLoadError) return error;
    throw error;
  }
  throw new Error("the addon was loaded");
}

it("finds the package's folder from its sources", () => {
  expect(hostEnvironment().root).toBe(process.cwd());
});

it("names platform, path and remedy when there is no binary", () => {
  const path = join(folder, "absent.node");
  vi.stubEnv("DXTENSOR_NATIVE", path);
  const error = failure();
  expect(error.message).toContain(`${process.platform}-${process.arch}`);
  // In the repository, where the tests run as a bundle, and where that bundle has a package.json above it.
  expect(error.message).toMatch(/npm run build:native|--external:dxtensor|npm install @dxtensor\//);
  expect(error.message).toContain("DXTENSOR_NATIVE");
  expect(error.tried).toEqual([`${path} (no such file)`]);
});

it("says why a file is no addon", () => {
  const path = join(folder, "foreign.node");
  writeFileSync(path, "not a library");
  vi.stubEnv("DXTENSOR_NATIVE", path);
  const [tried] = failure().tried;
  expect(tried).toContain(path);
  expect(tried).toMatch(/invalid ELF header|file too short|not a valid|bad exe format|slice/i);
});

it("loads the built addon once", () => {
  const binding = loadBinding();
  expect(typeof binding.version).toBe("string");
  expect(loadBinding()).toBe(binding);
});
