/** Computes the library's lowering of each recorded call, on every simulated profile. Needs the library built on this machine. */
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { pathToFileURL } from "node:url";
import { execa } from "execa";
import type { Config } from "../config/schema.ts";
import { MatrixError } from "../errors.ts";
import { at } from "../root.ts";
import type { LoweringReport } from "../types.ts";
import { groupLowerings, type Asked } from "./group.ts";

/** One file that uses the compiled library in dist, whose modules know where the package lies. */
async function bundleProgram(file: string): Promise<void> {
  const { rolldown } = await import("rolldown");
  const build = await rolldown({
    input: at("test", "matrix", "lowerings-program.ts"),
    platform: "node",
    tsconfig: false,
    external: /^node:/,
    transform: { target: "es2023" },
    plugins: [
      {
        name: "library",
        resolveId(source) {
          const name = /\/src\/(.*)\.ts$/.exec(source)?.[1];
          return name === undefined ? null : { id: pathToFileURL(at("dist", `${name}.js`)).href, external: true };
        },
      },
    ],
  });
  await build.write({ file, format: "esm" });
  await build.close();
}

const stamp = (file: string): string => (existsSync(file) ? `${statSync(file).mtimeMs}/${statSync(file).size}` : "");

/** Lowerings by feature level. Kept until the library or the recorded calls change. */
export async function computeLowerings(
  config: Config,
  levels: readonly string[],
  signal: AbortSignal,
): Promise<Map<string, LoweringReport>> {
  const addon = at("build", "native", "Release", "dxtensor.node");
  const library = at("dist", "bundle", "dxtensor.js");
  if (!existsSync(addon) || !existsSync(library))
    throw new MatrixError("the library is not built on this machine", "npm run setup && npm run build");
  const profiles = config.gpus.flatMap((gpu) => (gpu.kind === "gpu" ? [gpu.profile] : []));
  const program = at("build", "lowerings", "program.mjs");
  const known = at("build", "lowerings", "known.json");
  mkdirSync(dirname(program), { recursive: true });
  const software = at("build", "native", "Release", process.platform === "win32" ? "dxtensor_software.dll" : "libdxtensor_software.so");
  const key = createHash("sha256")
    .update(
      JSON.stringify([
        profiles,
        readFileSync(library, "utf8"),
        stamp(addon),
        stamp(software),
        readFileSync(at("test", "matrix", "lowerings-program.ts"), "utf8"),
        stamp(at("test", "golden", "index.json")),
      ]),
    )
    .digest("hex");
  const kept = existsSync(known) ? (JSON.parse(readFileSync(known, "utf8")) as { key: string; reports: LoweringReport[] }) : null;
  const reports = new Map(kept?.key === key ? kept.reports.map((report) => [report.featureLevel, report]) : []);
  const missing = levels.filter((level) => !reports.has(level));
  if (missing.length > 0) await bundleProgram(program);
  for (const level of missing) {
    const done = await execa(process.execPath, [program, at("test", "golden")], {
      cwd: at(),
      reject: false,
      cancelSignal: signal,
      maxBuffer: 1 << 28,
      env: {
        DXTENSOR_SIMULATE: profiles.map((profile) => `${profile}@${level}`).join(","),
        DXTENSOR_DXCORE: "/none",
        DXTENSOR_D3D12: "/none",
        DXTENSOR_DIRECTML: "/none",
        DXTENSOR_DEVICE: "",
      },
    });
    signal.throwIfAborted();
    if (done.failed)
      throw new MatrixError(`the lowerings could not be asked for: ${done.stderr.trim().split("\n").at(-1) ?? done.shortMessage}`);
    const asked = done.stdout.split("\n").map((line) => JSON.parse(line) as Asked);
    reports.set(level, groupLowerings(level, profiles, asked));
  }
  writeFileSync(known, JSON.stringify({ key, reports: [...reports.values()] }));
  return reports;
}
