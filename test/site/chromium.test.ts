/** A missing browser, and one that does not start: scripts/site/chromium.ts. */
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Chromium, findChromium } from "../../scripts/site/chromium.ts";

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "dxtensor-browser-"));
  writeFileSync(join(folder, "chromium"), "#!/bin/sh\nexit 3\n");
  chmodSync(join(folder, "chromium"), 0o755);
});
afterAll(() => rmSync(folder, { recursive: true }));

describe.runIf(process.platform !== "win32")("Chromium", () => {
  it("is looked for in PATH", () => {
    expect(findChromium(`/nowhere:${folder}`)).toBe(join(folder, "chromium"));
    expect(findChromium("/nowhere")).toBeNull();
  });

  it("that does not start is an error, at once", async () => {
    await expect(Chromium.start(join(folder, "chromium"))).rejects.toThrow("Chromium ended.");
    await expect(Chromium.start(join(folder, "absent"))).rejects.toThrow(/ENOENT/);
  });
});
