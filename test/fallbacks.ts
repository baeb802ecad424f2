/** Writes what fell back to the software adapter in a test file, where DXTENSOR_FALLBACKS names a folder: for the reports of the matrix. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, afterEach, expect } from "vitest";

const folder = process.env["DXTENSOR_FALLBACKS"];
if (folder !== undefined && folder !== "") {
  const { fallbackStats } = await import("../src/runtime/fallback.ts");
  const found = new Map<string, { readonly operation: string; readonly reason: string; readonly calls: number }>();
  // Tests reset the library's counts, so they are looked at after each test.
  afterEach(() => {
    for (const { kind, operation, reason, calls } of fallbackStats()) {
      const key = `${operation}|${reason}`;
      if (kind !== "host") found.set(key, { operation, reason, calls: Math.max(calls, found.get(key)?.calls ?? 0) });
    }
  });
  afterAll(() => {
    if (found.size === 0) return;
    mkdirSync(folder, { recursive: true });
    const name = (expect.getState().testPath ?? "").replaceAll(/[^\w-]/g, "_");
    writeFileSync(join(folder, `${name}.json`), JSON.stringify([...found.values()]));
  });
}
