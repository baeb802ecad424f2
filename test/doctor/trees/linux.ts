/** Linux machines that are no WSL, made by hand from the sources that each names; none was recorded on such a machine. */
import { built, cpu, directml, gpu, type Tree } from "../tree.ts";

const debian = {
  "/proc/sys/kernel/osrelease": "6.1.0-28-amd64\n",
  "/etc/os-release": 'PRETTY_NAME="Debian GNU/Linux 12 (bookworm)"\nID=debian\n',
};

/** Loader and manifests: github.com/KhronosGroup/Vulkan-Loader/blob/main/docs/LoaderDriverInterface.md. */
const loader = {
  "/usr/lib/x86_64-linux-gnu/libvulkan.so.1.3.239": { library: "vkGetInstanceProcAddr" },
  "/usr/lib/x86_64-linux-gnu/libvulkan.so.1": { link: "libvulkan.so.1.3.239" },
} as const;
const manifest = (library: string, version: string): string =>
  JSON.stringify({ ICD: { api_version: version, library_path: library }, file_format_version: "1.0.0" });
const radeon = {
  "/usr/share/vulkan/icd.d/radeon_icd.x86_64.json": manifest("/usr/lib/x86_64-linux-gnu/libvulkan_radeon.so", "1.3.230"),
  "/usr/lib/x86_64-linux-gnu/libvulkan_radeon.so": { library: "vk_icdGetInstanceProcAddr" },
} as const;
const lavapipe = {
  "/usr/share/vulkan/icd.d/lvp_icd.x86_64.json": manifest("/usr/lib/x86_64-linux-gnu/libvulkan_lvp.so", "1.3.230"),
  "/usr/lib/x86_64-linux-gnu/libvulkan_lvp.so": { library: "vk_icdGetInstanceProcAddr" },
} as const;
const card = { "/dev/dri/renderD128": { device: "gpu" }, "/sys/class/drm/renderD128/device/vendor": "0x1002\n" } as const;
const overVulkan = {
  "/home/user/dxtensor/build/vulkan/libdxcore.so": { library: "DXCoreCreateAdapterFactory\0vkGetInstanceProcAddr" },
  "/home/user/dxtensor/build/vulkan/libd3d12.so": { library: "D3D12CreateDevice\0vkGetInstanceProcAddr" },
} as const;
const interfaces = "github.com/KhronosGroup/Vulkan-Loader/blob/main/docs/LoaderDriverInterface.md";
const drm = "docs.kernel.org/gpu/drm-uapi.html";

export const linuxTrees: readonly Tree[] = [
  {
    name: "plain Linux",
    sources: [interfaces],
    files: { ...debian, ...built },
    expected: {
      verdict: "cpu",
      ok: true,
      codes: [],
      shows: [/^OK: The software adapter computes \(cpu\); no GPU was found/m, /no loader/],
    },
  },
  {
    name: "plain Linux with Microsoft's library",
    sources: [interfaces],
    files: { ...debian, ...built, ...directml },
    refused: [
      {
        name: "dxcore",
        path: "/home/user/dxtensor/directml/libdxcore.so",
        error: "libdxcore.so: cannot open shared object file: No such file or directory",
      },
      { name: "directml", path: "/home/user/dxtensor/directml/libdirectml.so", error: "not opened, since there is no dxcore" },
    ],
    expected: { verdict: "cpu", ok: true, codes: [], shows: [/^OK: /m] },
  },
  {
    name: "Linux with a GPU whose libdirectml.so does not load",
    sources: [interfaces],
    files: { ...debian, ...loader, ...radeon, ...card, ...overVulkan, ...built, ...directml },
    refused: [{ name: "directml", path: "/home/user/dxtensor/directml/libdirectml.so", error: "version `GLIBC_2.34' not found" }],
    expected: { verdict: "cpu", ok: false, codes: ["directml.refused"], shows: [/does not load: version `GLIBC_2\.34' not found/] },
  },
  {
    name: "plain Linux with the libraries for Vulkan built, without a loader",
    sources: [interfaces],
    files: { ...debian, ...overVulkan, ...built, ...directml },
    refused: [
      {
        name: "d3d12",
        path: "/home/user/dxtensor/build/vulkan/libd3d12.so",
        error: "libvulkan.so.1: cannot open shared object file: No such file or directory",
      },
      { name: "directml", path: "/home/user/dxtensor/directml/libdirectml.so", error: "not opened, since there is no d3d12" },
    ],
    expected: { verdict: "cpu", ok: true, codes: [], shows: [/^OK: /m] },
  },
  {
    name: "Linux with a Vulkan GPU",
    sources: [interfaces, drm],
    files: { ...debian, ...loader, ...radeon, ...lavapipe, ...card, ...overVulkan, ...built, ...directml },
    devices: [cpu, gpu("AMD Radeon RX 6900 XT (RADV NAVI21)", "31.0.15.0")],
    expected: {
      verdict: "gpu",
      ok: true,
      codes: [],
      shows: [/version 1\.3\.239/, /radeon .*Vulkan 1\.3\.230/, /renderD128, AMD/, /Direct3D 12 over Vulkan/],
    },
  },
  {
    name: "Linux with a Vulkan GPU, nothing built for it",
    sources: [interfaces, drm],
    files: { ...debian, ...loader, ...radeon, ...card, ...built },
    expected: {
      verdict: "cpu",
      ok: false,
      codes: ["vulkan.runtimeMissing", "directml.missing"],
      mend: /^npm run build:vulkan$/,
      shows: [/npm run fetch:directml/],
    },
  },
  {
    name: "Linux with only a processor driver",
    sources: [interfaces, "docs.mesa3d.org/drivers/llvmpipe.html"],
    files: { ...debian, ...loader, ...lavapipe, ...overVulkan, ...built, ...directml },
    expected: { verdict: "cpu", ok: true, codes: ["vulkan.cpuOnly"], mend: /DXTENSOR_CPU_ADAPTERS=1/, shows: [/lvp .*on the CPU/] },
  },
  {
    name: "Linux with a GPU, without a Vulkan loader",
    sources: [interfaces, drm],
    files: { ...debian, ...radeon, ...card, ...overVulkan, ...built, ...directml },
    expected: {
      verdict: "cpu",
      ok: false,
      codes: ["vulkan.noLoader"],
      mend: /apt-get install -y libvulkan1/,
      shows: [/Vulkan +no loader/],
    },
  },
  {
    name: "Linux with a GPU, only a processor driver for it",
    sources: [interfaces, drm],
    files: { ...debian, ...loader, ...lavapipe, ...card, ...overVulkan, ...built, ...directml },
    expected: { verdict: "cpu", ok: false, codes: ["vulkan.noDriver"], mend: /mesa-vulkan-drivers/, shows: [/no Vulkan driver for it/] },
  },
  {
    name: "Linux with NVIDIA's manifest left behind by its driver",
    sources: [interfaces, "download.nvidia.com/XFree86/Linux-x86_64/550.54.14/README/installedcomponents.html"],
    files: {
      ...debian,
      ...loader,
      "/usr/share/vulkan/icd.d/nvidia_icd.json": manifest("libGLX_nvidia.so.0", "1.3.277"),
      "/proc/driver/nvidia/version":
        "NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.54.14  Thu Feb 22 01:44:30 UTC 2024\nGCC version:  gcc version 12.2.0\n",
      ...overVulkan,
      ...built,
      ...directml,
    },
    expected: {
      verdict: "cpu",
      ok: false,
      codes: ["vulkan.driverBroken"],
      shows: [/libGLX_nvidia\.so\.0 was not found/, /kernel module 550\.54\.14/],
    },
  },
  {
    name: "Linux with NVIDIA's driver, on a server without X11",
    sources: [interfaces, "github.com/NVIDIA/nvidia-container-toolkit/issues/16"],
    files: {
      ...debian,
      ...loader,
      "/usr/share/vulkan/icd.d/nvidia_icd.json": manifest("libGLX_nvidia.so.0", "1.4.303"),
      "/usr/lib/x86_64-linux-gnu/libGLX_nvidia.so.0": { library: "vk_icdGetInstanceProcAddr" },
      "/proc/driver/nvidia/version": "NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.159.04  Thu Oct  2 01:44:30 UTC 2025\n",
      ...overVulkan,
      ...built,
      ...directml,
    },
    expected: { verdict: "cpu", ok: true, codes: ["vulkan.lacksX11"], mend: /libEGL_nvidia\.so\.0/, shows: [/kernel module 580\.159\.04/] },
  },
  {
    name: "a container without the device",
    sources: ["docs.docker.com/reference/cli/docker/container/run"],
    files: { ...debian, "/.dockerenv": "", "/proc/1/cgroup": "0::/\n", ...built },
    expected: {
      verdict: "cpu",
      ok: true,
      codes: ["container.noGpu"],
      mend: /docker run --device \/dev\/dri/,
      shows: [/in a container \(docker\)/],
    },
  },
  {
    name: "plain Linux with an old Node",
    sources: ["nodejs.org/en/about/previous-releases"],
    node: "v18.20.8",
    files: { ...debian, ...built },
    expected: { verdict: "cpu", ok: false, codes: ["node.old"], mend: /Node 24/, shows: [/^NOT OK: .*no GPU was found/m] },
  },
  {
    name: "no native binary, on an old Node",
    sources: ["nodejs.org/en/about/previous-releases"],
    node: "v18.20.4",
    files: { ...debian, "/home/user/dxtensor/package.json": "{}" },
    expected: {
      verdict: "broken",
      ok: false,
      codes: ["node.old", "addon.missing"],
      mend: /Node 24/,
      shows: [/18\.20\.4.*NOT SUPPORTED/, /^NOT OK: Nothing computes/m, /npm install @dxtensor\/linux-x64|DXTENSOR_NATIVE/],
    },
  },
  {
    name: "libraries of another CPU and of Windows, named by variables",
    sources: ["refspecs.linuxfoundation.org/elf/gabi4+/ch4.eheader.html"],
    env: { DXTENSOR_DIRECTML: "/opt/x/libdirectml.so", DXTENSOR_DXCORE: "/opt/x/dxcore.dll", DXTENSOR_D3D12: "/opt/x/none.so" },
    files: {
      ...debian,
      ...built,
      "/opt/x/libdirectml.so": { library: "DMLCreateDevice1", machine: 183 },
      "/opt/x/dxcore.dll": { library: "DXCoreCreateAdapterFactory", format: "pe" },
    },
    expected: {
      verdict: "cpu",
      ok: false,
      codes: ["vulkan.noLoader", "dxcore.wrong", "d3d12.missing", "directml.wrong"],
      shows: [/it is for arm64; this Node is for x64/, /it is a Windows library/, /correct or unset DXTENSOR_DIRECTML/],
    },
  },
];

/** Windows itself. */
const system = "C:\\Windows\\System32";
const windowsBuilt = {
  "C:\\dxtensor\\prebuilds\\win32-x64\\dxtensor.node": { library: "napi_register_module_v1", format: "pe" },
  "C:\\dxtensor\\prebuilds\\win32-x64\\dxtensor_software.dll": { library: "DXCoreCreateAdapterFactory", format: "pe" },
} as const;
const windowsLibraries = {
  [`${system}\\dxcore.dll`]: { library: "DXCoreCreateAdapterFactory", format: "pe", version: [10, 0, 22621, 4391] },
  [`${system}\\d3d12.dll`]: { library: "D3D12CreateDevice", format: "pe", version: [10, 0, 22621, 4391] },
} as const;
const gpuLine =
  "powershell.exe -NoProfile -NonInteractive -Command Get-CimInstance Win32_VideoController | Select-Object Name,DriverVersion | ConvertTo-Json";
const history = "learn.microsoft.com/windows/ai/directml/dml-version-history";

export const windowsTrees: readonly Tree[] = [
  {
    name: "a healthy Windows 11",
    sources: [history],
    platform: "win32",
    release: "10.0.22631",
    env: { SystemRoot: "C:\\Windows" },
    files: {
      ...windowsBuilt,
      ...windowsLibraries,
      "C:\\dxtensor\\directml\\DirectML.dll": { library: "DMLCreateDevice1", format: "pe", version: [1, 15, 4, 0] },
    },
    commands: { [gpuLine]: '{"Name":"AMD Radeon RX 580","DriverVersion":"31.0.21912.14"}' },
    devices: [cpu, gpu("AMD Radeon RX 580", "31.0.21912.14", "6.4")],
    expected: { verdict: "gpu", ok: true, codes: [], shows: [/Windows 10\.0\.22631, win32-x64/, /1\.15\.4\.0/, /RX 580 computes .*6\.4/] },
  },
  {
    name: "Windows 10 with its own old DirectML",
    sources: [history],
    platform: "win32",
    release: "10.0.19045",
    env: { SystemRoot: "C:\\Windows" },
    files: {
      ...windowsBuilt,
      ...windowsLibraries,
      [`${system}\\DirectML.dll`]: { library: "DMLCreateDevice1", format: "pe", version: [1, 1, 0, 0] },
    },
    commands: { [gpuLine]: '{"Name":"NVIDIA GeForce GTX 1070","DriverVersion":"31.0.15.3623"}' },
    expected: {
      verdict: "cpu",
      ok: false,
      codes: ["directml.old"],
      mend: /Microsoft\.AI\.DirectML/,
      shows: [/DirectML 1\.1\.0\.0; feature level 5\.0 needs 1\.8/],
    },
  },
];
