import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, it } from "vitest";
import { isWhole } from "../share.ts";

const SIZES = isWhole ? 2000 : 80;

it.each(["ordinary", "dynamic"])(
  `${SIZES} batch sizes through an %s compiled step grow by less than 500 MB of resident memory`,
  async (mode) => {
    const program = fileURLToPath(new URL("./sizes.mjs", import.meta.url));
    const module = new URL("../../dist/index.js", import.meta.url).href;
    const { stdout } = await promisify(execFile)(process.execPath, [program, module, mode, String(SIZES)]);
    const { grown, last, programs } = JSON.parse(stdout) as { grown: number; last: number; programs: number };
    expect(grown).toBeLessThan(5e8);
    expect(last).toBeLessThan(1e-6);
    expect(programs).toBeLessThanOrEqual(mode === "dynamic" ? 24 : 64);
  },
  240_000,
);
