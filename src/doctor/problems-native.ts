/** Problems with GPUs on Linux, over Vulkan, and on Windows. Pure. */
import type { Facts } from "./facts.ts";
import { directmlProblems, error, fileProblem, isUsable, library, note, type Problem } from "./problem.ts";
import { isMakeshift } from "./wsl.ts";

export function vulkanProblems(facts: Facts): Problem[] {
  const { vulkan, system } = facts;
  if (vulkan === null || system.arch !== "x64") return [];
  const usable = vulkan.drivers.filter(({ problem }) => problem === null);
  const gpuDrivers = usable.filter(({ isCpu }) => !isCpu);
  // virtio's render node is a window to the host's screen; by itself it is no GPU to compute with.
  const nodes = vulkan.renderNodes.filter(({ vendor }) => vendor !== "virtio");
  const hasGpu = nodes.length > 0 || vulkan.nvidia !== null;
  // Built in the repository they are of no use without a GPU; named by a variable somebody wants them.
  const pair = [library(facts, "dxcore"), library(facts, "d3d12")];
  const isWanted = pair.some((fact) => fact.variable !== null) || facts.cpuAdapters;
  if (!hasGpu && gpuDrivers.length === 0 && !isWanted) {
    if (usable.length > 0)
      return [
        note(
          "vulkan.cpuOnly",
          "The only Vulkan driver runs on the CPU, and is slower than the software adapter.",
          "nothing to do; to test the Vulkan path: DXTENSOR_CPU_ADAPTERS=1",
        ),
      ];
    return system.container === null
      ? []
      : [
          note(
            "container.noGpu",
            "The container has no GPU.",
            "docker run --device /dev/dri … (NVIDIA: --gpus all), with the Vulkan loader and driver inside",
          ),
        ];
  }
  const install = "sudo apt-get install -y libvulkan1 mesa-vulkan-drivers (NVIDIA: its own driver package)";
  const found: Problem[] = [];
  if (vulkan.loader === null) {
    const what = hasGpu ? "There is a GPU, but no Vulkan loader" : "There is no Vulkan loader";
    found.push(error("vulkan.noLoader", `${what} (libvulkan.so.1).`, "sudo apt-get install -y libvulkan1"));
  }
  for (const { manifest, problem } of vulkan.drivers.filter((driver) => driver.problem !== null && !driver.isCpu))
    found.push(error("vulkan.driverBroken", `The Vulkan driver of ${manifest} can't be used: ${problem}.`, "reinstall that driver"));
  const screenless = gpuDrivers.find(({ lacksX11 }) => lacksX11);
  if (screenless !== undefined)
    found.push(
      note(
        "vulkan.lacksX11",
        `${screenless.manifest} names libGLX_nvidia, which needs X11's libraries to find a GPU.`,
        "sudo apt-get install -y libx11-6 libxext6, or a copy of that file that names libEGL_nvidia.so.0, in VK_DRIVER_FILES",
      ),
    );
  if (gpuDrivers.length === 0 && found.every(({ code }) => code !== "vulkan.driverBroken") && hasGpu)
    found.push(error("vulkan.noDriver", "There is a GPU, but no Vulkan driver for it.", install));
  const denied = nodes.filter((node) => !node.isUsable);
  if (denied.length > 0 && denied.length === nodes.length)
    found.push(
      error("vulkan.denied", `This user may not open ${denied[0]!.path}.`, "sudo usermod -aG render,video $USER, then log in again"),
    );
  const mend = facts.dxtensor.isRepository ? "npm run build:vulkan" : "npm install @dxtensor/vulkan-linux-x64";
  const wrong = pair.flatMap((fact) => fileProblem(facts, fact, fact.name, mend));
  found.push(...wrong);
  if (wrong.length === 0 && !pair.every(isUsable))
    found.push(error("vulkan.runtimeMissing", "The libraries that implement Direct3D 12 over Vulkan are missing.", mend));
  return [...found, ...directmlProblems(facts)];
}

export function windowsProblems(facts: Facts): Problem[] {
  if (facts.system.platform !== "win32") return [];
  const found: Problem[] = [];
  const d3d12 = library(facts, "d3d12");
  if (!isUsable(d3d12))
    found.push(
      error(
        "windows.noDirect3D",
        `Direct3D 12 is missing (${d3d12.problem ?? d3d12.tried.join(", ")}).`,
        "update Windows: start ms-settings:windowsupdate",
      ),
    );
  if (facts.gpus !== null && facts.gpus.every(isMakeshift))
    found.push(
      note(
        "windows.noGpu",
        `Windows has no GPU driver (${facts.gpus.map(({ name }) => name).join(", ") || "no display adapter"}).`,
        "install the GPU maker's driver",
      ),
    );
  return [...found, ...directmlProblems(facts)];
}
