// libvkd3d's static libraries and headers (LGPL 2.1 or later) and Vulkan's headers: a folder with include/ and lib*/.
import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import { cached, fetchPackage, unpackPackage } from "../tools/archive.ts";
import { ScriptError } from "../tools/project.ts";

export const packages = [
  {
    pool: "v/vkd3d/libvkd3d-dev_2.1+ds-1_amd64.deb",
    sha256: "ea89104f33d5c472de9707f330318aef6150b2f00834716bc69d10ebec5bfa34",
    sha1: "115233b1c5a1ede864f2e92b894e1072b6ac88a4",
  },
  {
    pool: "v/vkd3d/libvkd3d-headers_2.1+ds-1_all.deb",
    sha256: "2dca10553c52bde5e1861f582e6d1f77b8c488e93fa78562e97b1c895b0f41b0",
    sha1: "42058aa45d5974186198736c2eba2d26f5186517",
  },
  {
    pool: "v/vulkan-loader/libvulkan-dev_1.3.239.0-1_amd64.deb",
    sha256: "1a3dcf32a47524edfe5eef97bfdb0766fe656f4ae6c5e999291c6a7eb2f07655",
    sha1: "f433e2ca419a6b6ef4a3ee35e33792deef83862e",
  },
];
/** Names the packages' version. */
export const vkd3d = "vkd3d-2.1+ds-1";
const needed = ["include/vkd3d/vkd3d_d3d12.h", "include/vulkan/vulkan.h"];

/** The static libraries in a folder, null where one is missing. */
export function vkd3dLibraries(folder: string) {
  const lib = ["lib/x86_64-linux-gnu", "lib64", "lib"]
    .map((name) => join(folder, name))
    .find((path) => existsSync(join(path, "libvkd3d.a")));
  if (lib === undefined || !existsSync(join(lib, "libvkd3d-shader.a"))) return null;
  return { vkd3d: join(lib, "libvkd3d.a"), shader: join(lib, "libvkd3d-shader.a") };
}

/** A user's folder, else Debian's packages in the cache. */
export async function ensureVkd3d(source: string | undefined): Promise<string> {
  if (source === undefined || source === "") {
    const folder = await cached(vkd3d, async (work) => {
      for (const file of await Promise.all(packages.map(fetchPackage))) await unpackPackage(file, work);
    });
    return join(folder, "usr");
  }
  const folder = resolve(source);
  const lacking = needed.find((name) => !existsSync(join(folder, name)));
  if (lacking !== undefined || vkd3dLibraries(folder) === null)
    throw new ScriptError(
      "VKD3D_GIVEN",
      `${folder} has no ${lacking ?? "lib/libvkd3d.a and libvkd3d-shader.a"}.`,
      "Give the prefix that vkd3d 2.1 or later was installed to with static libraries (./configure --enable-static --prefix=...), with Vulkan's headers in its include folder.",
    );
  return folder;
}
