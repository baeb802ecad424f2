/** Writes what fell back to the software adapter in a test file, where DXTENSOR_FALLBACKS names a folder: for the reports of the matrix. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, afterEach, expect } from "vitest";

const folder = process.env["DXTENSOR_FALLBACKS"];
if (folder !== undefined && folder !== "") {
  const { Fallbacks } = await import("../scripts/bundled-tests/fallbacks.ts");
  const fallbacks = new Fallbacks(process.env["DXTENSOR_TEST_DEVICES"]);
  afterEach(() => fallbacks.note());
  afterAll(() => {
    if (fallbacks.list.length === 0) return;
    mkdirSync(folder, { recursive: true });
    const name = (expect.getState().testPath ?? "").replaceAll(/[^\w-]/g, "_");
    writeFileSync(join(folder, `${name}.json`), JSON.stringify(fallbacks.list));
  });
}
