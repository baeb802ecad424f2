/** @dxtensor/distributed-linux-x64, as its recipe makes it: `npm run distributed`. */
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { engines, hasEngine, runRanks } from "./ranks.ts";

it.skipIf(!hasEngine)(
  "contains Gloo and its licences, and needs no Gloo of the system (npm run distributed)",
  { timeout: 120_000 },
  async () => {
    const folder = mkdtempSync(join(tmpdir(), "dxtensor-package-"));
    try {
      execFileSync(process.execPath, [join("packages", `distributed-linux-${process.arch}`, "build.mjs"), folder]);
      const names = readdirSync(folder);
      expect(names).toEqual(
        expect.arrayContaining(["distributed.node", "mpi-openmpi.so", "mpi-mpich.so", "libgloo.so.0", "LICENSE-libgloo0"]),
      );
      const loaded = execFileSync("ldd", [join(folder, "distributed.node")], { encoding: "utf8" });
      expect(loaded).toContain(`libgloo.so.0 => ${folder}/libgloo.so.0`);
      for (const name of names.filter((n) => n.includes(".so."))) expect(loaded).toContain(`${name} => ${folder}/${name}`);
      const env = { DXTENSOR_DISTRIBUTED: join(folder, "distributed.node") };
      const ends = await runRanks(
        2,
        "await init(); tell([list(await d.allReduce(dx.ones([2]))), d.engineInfo()]); await d.destroyProcessGroup();",
        { env },
      );
      const version = expect.stringMatching(/^\d+\.\d+\.\d+$/) as unknown;
      const info = { backend: "gloo", version, network: "127.0.0.1" };
      for (const { status, told } of ends) expect([status, told]).toEqual([0, [[[2, 2], info]]]);
      for (const engine of engines.filter(({ command }) => command !== null)) {
        const own = await runRanks(2, "await init(); tell(list(await d.allReduce(dx.ones([2])))); await d.destroyProcessGroup();", {
          env,
          engine,
        });
        for (const { status, told } of own) expect([engine.name, status, told]).toEqual([engine.name, 0, [[2, 2]]]);
      }
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  },
);

it("both manifests say the same, but for the processor", () => {
  const [x64, arm64] = ["x64", "arm64"].map((cpu) => readFileSync(join("packages", `distributed-linux-${cpu}`, "package.json"), "utf8"));
  expect(arm64).toBe(x64!.replaceAll("x64", "arm64"));
});
