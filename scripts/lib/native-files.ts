// File names of the native build's output, which the package contains.
import { join } from "node:path";
import { release } from "../tools/project.ts";

export function softwareName(platform = process.platform) {
  if (platform === "win32") return "dxtensor_software.dll";
  return platform === "darwin" ? "libdxtensor_software.dylib" : "libdxtensor_software.so";
}

/** The files of this platform that a package carries, as the build left them. */
export const shipped = [join(release, "dxtensor.node"), join(release, softwareName())];
