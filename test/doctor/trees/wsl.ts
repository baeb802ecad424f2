/** Machines with WSL, made by hand from the sources that each names; none was recorded on such a machine. */
import { built, cpu, directml, gpu, type Tree } from "../tree.ts";

const ubuntu = (version: string) => `NAME="Ubuntu"\nVERSION_ID="${version.slice(0, 5)}"\nPRETTY_NAME="Ubuntu ${version} LTS"\nID=ubuntu\n`;

/** Text as in github.com/dorssel/usbipd-win/issues/727 and github.com/microsoft/WSL/issues/10671. */
const versionText = (wsl: string, kernel: string, windows: string): string =>
  [
    `WSL version: ${wsl}`,
    `Kernel version: ${kernel}`,
    "WSLg version: 1.0.65",
    "MSRDC version: 1.2.5620",
    "Direct3D version: 1.611.1-81528511",
    "DXCore version: 10.0.26100.1-240331-1435.ge-release",
    `Windows version: ${windows}`,
    "",
  ].join("\r\n");

/** PowerShell's ConvertTo-Json of Win32_VideoController: learn.microsoft.com/windows/win32/cimwin32prov/win32-videocontroller. */
const gpuLine =
  "powershell.exe -NoProfile -NonInteractive -Command Get-CimInstance Win32_VideoController | Select-Object Name,DriverVersion | ConvertTo-Json";
const gpuText = (name: string, driver: string): string => `{\r\n    "Name":  "${name}",\r\n    "DriverVersion":  "${driver}"\r\n}\r\n`;

const windows = (version: string, gpuJson: string, wsl = "2.3.26.0", kernel = "5.15.167.4-1") => ({
  "wsl.exe --version": versionText(wsl, kernel, version),
  "cmd.exe /c ver": `\r\nMicrosoft Windows [Version ${version}]\r\n`,
  "cmd.exe /c echo": "C:\\Users\\user\r\n",
  [gpuLine]: gpuJson,
});

const kernel = (release: string) => ({ "/proc/sys/kernel/osrelease": `${release}\n` });
const modern = kernel("5.15.167.4-microsoft-standard-WSL2");

/** WSL's library folder as mounted into every distribution. */
const wslLibraries = {
  "/usr/lib/wsl/lib/libdxcore.so": { library: "DXCoreCreateAdapterFactory" },
  "/usr/lib/wsl/lib/libd3d12.so": { library: "D3D12CreateDevice" },
  "/usr/lib/wsl/lib/libd3d12core.so": { library: "D3D12GetInterface" },
} as const;
const device = { "/dev/dxg": { device: "gpu" } } as const;
const env = { WSL_DISTRO_NAME: "Ubuntu-22.04", WSL_INTEROP: "/run/WSL/8_interop" };
const rtx = gpuText("NVIDIA GeForce RTX 3070", "31.0.15.5222");

const gpuFaq = "learn.microsoft.com/windows/ai/directml/gpu-faq";
const versions = "github.com/dorssel/usbipd-win/issues/727";

export const wslTrees: readonly Tree[] = [
  {
    name: "a healthy WSL 2",
    sources: [versions, gpuFaq, "learn.microsoft.com/windows/wsl/wsl-config"],
    env,
    files: { ...modern, "/etc/os-release": ubuntu("22.04.4"), ...device, ...wslLibraries, ...built, ...directml },
    commands: windows("10.0.22631.4391", rtx),
    devices: [cpu, gpu("NVIDIA GeForce RTX 3070", "31.0.15.5222")],
    expected: {
      verdict: "gpu",
      ok: true,
      codes: [],
      shows: [
        /WSL 2\.3\.26\.0/,
        /Direct3D 1\.611\.1/,
        /10\.0\.22631\.4391/,
        /RTX 3070, driver 31\.0\.15\.5222/,
        /^OK: NVIDIA GeForce RTX 3070 computes/m,
      ],
    },
  },
  {
    name: "WSL 1",
    sources: ["learn.microsoft.com/windows/wsl/compare-versions", "github.com/microsoft/WSL/issues/5145"],
    env: { WSL_DISTRO_NAME: "Ubuntu" },
    files: { ...kernel("4.4.0-19041-Microsoft"), "/etc/os-release": ubuntu("20.04.6"), ...built, ...directml },
    commands: windows("10.0.19045.3393", rtx),
    expected: {
      verdict: "cpu",
      ok: false,
      codes: ["wsl.version1"],
      mend: /wsl --set-version Ubuntu 2/,
      shows: [/version 1/, /software adapter computes/],
    },
  },
  {
    name: "a kernel too old",
    sources: [gpuFaq, "github.com/MicrosoftDocs/windows-ai-docs/pull/43", "github.com/rpasek/usbip-wsl2-instructions/issues/20"],
    env,
    files: { ...kernel("4.19.128-microsoft-standard"), "/etc/os-release": ubuntu("20.04.6"), ...built, ...directml },
    commands: windows("10.0.19045.3393", rtx),
    expected: {
      verdict: "cpu",
      ok: false,
      codes: ["wsl.kernelOld"],
      mend: /wsl --update; wsl --shutdown/,
      shows: [/4\.19\.128/, /5\.10\.43\.3/],
    },
  },
  {
    name: "a missing driver",
    sources: ["github.com/microsoft/WSL/issues/6809", gpuFaq],
    env,
    files: { ...modern, "/etc/os-release": ubuntu("22.04.4"), ...built, ...directml },
    commands: windows("10.0.22631.4391", gpuText("Microsoft Basic Display Adapter", "10.0.22621.3672")),
    expected: {
      verdict: "cpu",
      ok: false,
      codes: ["wsl.driverMissing"],
      mend: /on Windows, never one inside WSL/,
      shows: [/no \/dev\/dxg/, /Microsoft Basic Display Adapter/],
    },
  },
  {
    name: "a driver too old",
    sources: [gpuFaq, "github.com/microsoft/WSL/issues/6423"],
    env,
    files: { ...modern, "/etc/os-release": ubuntu("22.04.4"), ...built, ...directml },
    commands: windows(
      "10.0.22631.4391",
      `[${gpuText("Intel(R) UHD Graphics 630", "26.20.100.7263")},${gpuText("Microsoft Remote Display Adapter", "10.0.22621.1")}]`,
    ),
    expected: {
      verdict: "cpu",
      ok: false,
      codes: ["wsl.driverOld"],
      mend: /update the GPU driver on Windows/,
      shows: [/26\.20\.100\.7263 is older than 28\.20\.100\.8322/],
    },
  },
  {
    name: "Windows too old for a GPU in WSL",
    sources: [gpuFaq, "github.com/NVIDIA/nvidia-docker/issues/1542"],
    env,
    files: { ...kernel("5.10.60.1-microsoft-standard-WSL2"), "/etc/os-release": ubuntu("20.04.6"), ...built, ...directml },
    // The WSL that came with Windows knows no --version.
    commands: {
      "cmd.exe /c ver": "\r\nMicrosoft Windows [Version 10.0.19043.1165]\r\n",
      "cmd.exe /c echo": "C:\\Users\\user\r\n",
      [gpuLine]: rtx,
    },
    expected: { verdict: "cpu", ok: false, codes: ["wsl.windowsOld"], mend: /update Windows/, shows: [/Windows build 19043/] },
  },
  {
    name: "the GPU turned off in .wslconfig",
    sources: ["learn.microsoft.com/windows/wsl/wsl-config", "greengorych-io.pages.dev/blog/wsl-hardware-resources-management"],
    env,
    files: {
      ...modern,
      "/etc/os-release": ubuntu("22.04.4"),
      "/mnt/c/Users/user/.wslconfig": "[wsl2]\r\nmemory=8GB\r\ngpuSupport=false\r\n",
      ...built,
      ...directml,
    },
    commands: windows("10.0.22631.4391", rtx),
    expected: {
      verdict: "cpu",
      ok: false,
      codes: ["wsl.gpuOff"],
      mend: /wsl --shutdown/,
      shows: [/\/mnt\/c\/Users\/user\/\.wslconfig turns the GPU off/],
    },
  },
  {
    name: "WSL's own libraries missing",
    sources: ["github.com/microsoft/WSL/issues/7314"],
    env,
    files: {
      ...modern,
      "/etc/os-release": ubuntu("22.04.4"),
      ...device,
      "/usr/lib/wsl/lib/libcuda.so": { library: "cuInit" },
      ...built,
      ...directml,
    },
    commands: windows("10.0.22631.4391", rtx),
    expected: {
      verdict: "cpu",
      ok: false,
      codes: ["wsl.librariesMissing"],
      mend: /reinstall the GPU driver/,
      shows: [/libdxcore\.so and libd3d12\.so is missing/],
    },
  },
  {
    name: "a missing libdirectml",
    sources: ["github.com/microsoft/WSL/issues/7314", versions],
    env,
    files: { ...modern, "/etc/os-release": ubuntu("22.04.4"), ...device, ...wslLibraries, ...built },
    commands: windows("10.0.22631.4391", rtx),
    expected: { verdict: "cpu", ok: false, codes: ["directml.missing"], mend: /^npm run fetch:directml$/, shows: [/directml +not found/] },
  },
  {
    name: "a libdirectml that was cut off",
    sources: [versions],
    env,
    files: {
      ...modern,
      "/etc/os-release": ubuntu("22.04.4"),
      ...device,
      ...wslLibraries,
      ...built,
      "/home/user/dxtensor/directml/libdirectml.so": { library: "DMLCreateDevice1", cutTo: 270 },
    },
    commands: windows("10.0.22631.4391", rtx),
    expected: {
      verdict: "cpu",
      ok: false,
      codes: ["directml.wrong"],
      mend: /^npm run fetch:directml$/,
      shows: [/UNUSABLE: it is cut off/],
    },
  },
  {
    name: "a driver that ends the process",
    sources: [versions],
    env,
    files: { ...modern, "/etc/os-release": ubuntu("22.04.4"), ...device, ...wslLibraries, ...built, ...directml },
    commands: windows("10.0.22631.4391", rtx),
    fall: { while: "dml:0", signal: "SIGSEGV" },
    expected: {
      verdict: "cpu",
      ok: false,
      codes: ["adapter.fails"],
      mend: /update the GPU driver/,
      shows: [/the process ended while dml:0 was used \(SIGSEGV\)/],
    },
  },
  {
    name: "Windows in Spanish, a kernel of one's own",
    sources: ["github.com/microsoft/WSL/issues/10671", "github.com/microsoft/WSL/issues/7954"],
    env,
    files: { ...kernel("5.16.0-gpu"), "/etc/os-release": ubuntu("22.04.4"), ...device, ...wslLibraries, ...built, ...directml },
    commands: {
      "cmd.exe /c ver": "\r\nMicrosoft Windows [Versión 10.0.25951.1000]\r\n",
      "wsl.exe --version": [
        "Versión de WSL: 2.0.5.0",
        "Versión de kernel: 5.15.133.1-1",
        "Versión de WSLg: 1.0.59",
        "Versión de MSRDC: 1.2.4485",
        "Versión de Direct3D: 1.608.2-61064218",
        "Versión DXCore: 10.0.25880.1000-230602-1350.main",
        "Versión de Windows: 10.0.25951.1000",
        "",
      ].join("\r\n"),
      [gpuLine]: rtx,
    },
    devices: [cpu, gpu("NVIDIA GeForce RTX 3070", "31.0.15.5222")],
    expected: { verdict: "gpu", ok: true, codes: [], shows: [/WSL 2\.0\.5\.0/, /Direct3D 1\.608\.2/, /10\.0\.25951\.1000/] },
  },
  {
    name: "a container without the device, on WSL",
    sources: ["github.com/microsoft/wslg/blob/main/samples/container/Containers.md"],
    files: { ...modern, "/.dockerenv": "", "/etc/os-release": ubuntu("20.04.6"), ...built, ...directml },
    expected: {
      verdict: "cpu",
      ok: false,
      codes: ["container.deviceMissing"],
      mend: /docker run --device \/dev\/dxg -v \/usr\/lib\/wsl/,
      shows: [/in a container \(docker\)/],
    },
  },
  {
    name: "a dev container's stand-in for the device, on WSL",
    sources: ["github.com/microsoft/wslg/blob/main/samples/container/Containers.md"],
    files: { ...modern, "/.dockerenv": "", "/dev/dxg": { device: "null" }, "/etc/os-release": ubuntu("20.04.6"), ...built, ...directml },
    expected: { verdict: "cpu", ok: false, codes: ["container.deviceMissing"], mend: /--device \/dev\/dxg/, shows: [/stand-in/] },
  },
  {
    name: "a container with the device, without the libraries",
    sources: ["github.com/microsoft/wslg/blob/main/samples/container/Containers.md"],
    files: { ...modern, "/.dockerenv": "", ...device, "/etc/os-release": ubuntu("20.04.6"), ...built, ...directml },
    expected: {
      verdict: "cpu",
      ok: false,
      codes: ["container.librariesMissing"],
      mend: /-v \/usr\/lib\/wsl/,
      shows: [/dxcore +not found/],
    },
  },
];
