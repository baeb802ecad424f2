/** Describes this machine for the plan. Nothing here fails: unknown facts are left out. */
import { existsSync, readFileSync } from "node:fs";
import { release } from "node:os";
import { pathToFileURL } from "node:url";
import { runProgram } from "../../scripts/tools/program.ts";
import type { Adapter, Host } from "../plan/host.ts";
import { at } from "../root.ts";
import { packages } from "../run/nodes.ts";

/** Standard output, "" when the program fails or is not there. */
const ask = (command: string, args: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<string> =>
  runProgram(command, args, { limitMs: 20_000, env }).then(({ code, stdout }) =>
    // wsl.exe speaks UTF-16 unless told otherwise.
    code === 0 ? stdout.replaceAll("\0", "") : "",
  );

/** The distribution's name: the variable is absent under sudo, systemd and ssh. A container on WSL is no distribution. */
export function distributionName(
  env: Readonly<Record<string, string | undefined>>,
  kernel: string,
  inContainer: boolean,
  osRelease: string,
): string | null {
  if (!/microsoft/i.test(kernel) || inContainer) return null;
  if (env["WSL_DISTRO_NAME"]) return env["WSL_DISTRO_NAME"];
  const id = /^ID=(.*)$/m.exec(osRelease)?.[1]?.replaceAll('"', "");
  const version = /^VERSION_ID=(.*)$/m.exec(osRelease)?.[1]?.replaceAll('"', "");
  return id === "ubuntu" && version !== undefined ? `Ubuntu-${version}` : (id ?? "unknown");
}

/** "Microsoft Windows [Version 10.0.19045.3803]" → 19045 */
export function readWindowsBuild(text: string): number | null {
  const match = /\b10\.0\.(\d+)/.exec(text);
  return match === null ? null : Number(match[1]);
}

/** Hardware adapters by the library itself, in a process of its own: a broken driver then ends only that. */
async function findAdapters(): Promise<Adapter[]> {
  const bundle = at("dist", "bundle", "dxtensor.js");
  if (!existsSync(bundle)) return [];
  const program = `import * as dx from ${JSON.stringify(pathToFileURL(bundle).href)};
    console.log(JSON.stringify(Array.from({ length: dx.dml.deviceCount() }, (_, index) => ({ index, name: dx.dml.deviceName(index) }))));`;
  const text = await ask(process.execPath, ["--input-type=module", "-e", program], { DXTENSOR_SIMULATE: "", DXTENSOR_CPU_ADAPTERS: "" });
  try {
    return JSON.parse(text) as Adapter[];
  } catch {
    return [];
  }
}

export async function probeHost(
  nodes: readonly string[],
  engines: { readonly names: readonly string[]; readonly problem: string | null },
): Promise<Host> {
  const { platform, arch } = process;
  const osRelease = existsSync("/etc/os-release") ? readFileSync("/etc/os-release", "utf8") : "";
  const distribution = platform === "linux" ? distributionName(process.env, release(), existsSync("/.dockerenv"), osRelease) : null;
  const reachesWsl = platform === "win32" || distribution !== null;
  const listed = reachesWsl ? await ask("wsl.exe", ["-l", "-q"], { WSL_UTF8: "1" }) : "";
  const version = reachesWsl ? await ask(platform === "win32" ? "cmd.exe" : "/mnt/c/Windows/System32/cmd.exe", ["/c", "ver"]) : "";
  const header = (process.report.getReport() as { header?: { glibcVersionRuntime?: string } }).header;
  const { scripts } = JSON.parse(readFileSync(at("package.json"), "utf8")) as { scripts: Record<string, string> };
  const own = process.versions.node.split(".")[0]!;
  return {
    system: platform,
    arch,
    glibc: header?.glibcVersionRuntime ?? null,
    windowsBuild: readWindowsBuild(version),
    distribution,
    distributions: listed
      .split(/\r?\n/)
      .map((line) => line.trim())
      .filter((line) => line !== ""),
    nodes: nodes.filter((major) => major === own || packages[`${platform}-${arch}`] !== undefined),
    adapters: await findAdapters(),
    engines: engines.names,
    engineProblem: engines.problem,
    scripts: Object.keys(scripts),
  };
}
