// What npm run build:windows makes, and where it lies.
import { at } from "../tools/project.ts";

export const buildWindows = at("build", "windows");
/** Where the library looks on Windows, in a repository and in a package. */
export const prebuiltWindows = at("prebuilds", "win32-x64");
export const windowsFiles = ["dxtensor.node", "dxtensor_software.dll"];
export const windowsPrograms = ["abi_suite.exe", "kernel_test.exe"];
