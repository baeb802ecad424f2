/** Problems with GPUs under WSL, and in containers on it. Pure. */
import type { Facts } from "./facts.ts";
import { directmlProblems, error, fileProblem, isUsable, library, type Problem } from "./problem.ts";
import { driverProblem, isMakeshift, minKernel, minWindowsBuild } from "./wsl.ts";

/** Why WSL 2 has no GPU: the most certain reason first. */
function missingDeviceProblem(facts: Facts): Problem {
  const { wsl, gpus } = facts;
  if (wsl?.gpuTurnedOffBy)
    return error(
      "wsl.gpuOff",
      `${wsl.gpuTurnedOffBy} turns the GPU off for WSL.`,
      `remove that setting, then in PowerShell: wsl --shutdown`,
    );
  if (wsl?.windowsBuild != null && wsl.windowsBuild < minWindowsBuild)
    return error(
      "wsl.windowsOld",
      `Windows build ${wsl.windowsBuild} gives WSL no GPU; WSL needs 19044 (Windows 10 21H2) or Windows 11.`,
      "update Windows: start ms-settings:windowsupdate",
    );
  const real = gpus?.filter((gpu) => !isMakeshift(gpu)) ?? [];
  if (gpus !== null && real.length === 0) {
    const names = gpus.map(({ name }) => name).join(", ") || "no display adapter";
    return error(
      "wsl.driverMissing",
      `Windows has no GPU driver (${names}).`,
      "install the GPU maker's driver on Windows, never one inside WSL; then in PowerShell: wsl --shutdown",
    );
  }
  const old = real.map((gpu) => ({ gpu, why: driverProblem(gpu) })).find(({ why }) => why !== null);
  if (old !== undefined)
    return error("wsl.driverOld", `${old.gpu.name}: ${old.why}.`, "update the GPU driver on Windows, then in PowerShell: wsl --shutdown");
  return error(
    "wsl.deviceMissing",
    "WSL 2 has no GPU: there is no /dev/dxg.",
    "install the GPU maker's current driver on Windows; then in PowerShell: wsl --update; wsl --shutdown",
  );
}

export function wslProblems(facts: Facts): Problem[] {
  const { wsl, system, dxg } = facts;
  if (wsl === null) return [];
  const isMissing = dxg === null || dxg === "standIn";
  const systemPair = [library(facts, "dxcore"), library(facts, "d3d12")];
  if (system.container !== null) {
    const run = "docker run --device /dev/dxg -v /usr/lib/wsl:/usr/lib/wsl:ro -e LD_LIBRARY_PATH=/usr/lib/wsl/lib …";
    if (isMissing) return [error("container.deviceMissing", "The container does not have WSL's GPU: it has no /dev/dxg.", run)];
    if (!systemPair.every(isUsable))
      return [error("container.librariesMissing", "The container has /dev/dxg, but not WSL's libraries in /usr/lib/wsl/lib.", run)];
    return directmlProblems(facts);
  }
  const name = wsl.distribution ?? "<distribution>";
  if (wsl.version === 1)
    return [error("wsl.version1", "This distribution runs under WSL 1, which has no GPU.", `in PowerShell: wsl --set-version ${name} 2`)];
  const found: Problem[] = [];
  if (!wsl.isKernelNewEnough)
    found.push(
      error("wsl.kernelOld", `WSL's kernel ${system.kernel} is older than ${minKernel}.`, "in PowerShell: wsl --update; wsl --shutdown"),
    );
  else if (isMissing) found.push(missingDeviceProblem(facts));
  else if (dxg === "denied") found.push(error("wsl.deviceDenied", "This user may not open /dev/dxg.", "sudo chmod 666 /dev/dxg"));
  else if (!systemPair.every(isUsable)) {
    const gone = systemPair.filter((fact) => !isUsable(fact));
    const wrong = gone.flatMap((fact) => fileProblem(facts, fact, "wsl.library", "in PowerShell: wsl --update; wsl --shutdown"));
    const names = gone.map((fact) => `lib${fact.name}.so`).join(" and ");
    found.push(
      wrong[0] ??
        error(
          "wsl.librariesMissing",
          `WSL's ${names} is missing from /usr/lib/wsl/lib.`,
          "reinstall the GPU driver on Windows; then in PowerShell: wsl --update; wsl --shutdown",
        ),
    );
  }
  return [...found, ...directmlProblems(facts)];
}
