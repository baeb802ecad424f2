// The files of npm run build:windows for a CPU architecture, and their paths.
import { at } from "../tools/project.ts";
import type { Architecture } from "./sysroot.ts";

/** CMake's folder. */
export const buildWindows = (arch: Architecture) => at("build", arch === "x64" ? "windows" : `windows-${arch}`);
/** Where the library looks on Windows, in a repository and in a package. */
export const prebuiltWindows = (arch: Architecture) => at("prebuilds", `win32-${arch}`);
export const windowsFiles = ["dxtensor.node", "dxtensor_software.dll"];
export const windowsPrograms = ["abi_suite.exe", "kernel_test.exe"];
