// npm run build:vulkan: Direct3D 12 and DXCore over Vulkan, into build/vulkan, where the library looks for them.
import { parseArgs } from "node:util";
import { main, say } from "./tools/project.ts";
import { ensureSetup } from "./lib/ensure.ts";
import { buildVulkan, vulkanFolder, vulkanLibraries } from "./vulkan/build.ts";

const help = `npm run build:vulkan [-- OPTIONS]

Builds libdxcore.so and libd3d12.so with the interface of WSL's libraries over libvkd3d and any Vulkan driver, into
build/vulkan, where the library looks for them on Linux machines other than WSL. libvkd3d (LGPL) comes from Debian's
archive into ~/.cache/dxtensor, without root, checked against pinned digests. docs/vulkan.md says more.

  --vkd3d FOLDER  take libvkd3d from this prefix: include/ and lib/libvkd3d.a (also: DXTENSOR_VKD3D)
  --tests         build the test programs too
  --json          one line of JSON on stdout: {ok, libraries, changed} or {ok, code, message, hint}
  --help          this text

DXTENSOR_DEBIAN_MIRROR  Debian mirror to try first
DXTENSOR_CACHE          folder for what is fetched ($XDG_CACHE_HOME/dxtensor, ~/.cache/dxtensor)`;

await main(
  async () => {
    const { values: options } = parseArgs({
      options: { vkd3d: { type: "string" }, tests: { type: "boolean" }, json: { type: "boolean" } },
    });
    await ensureSetup();
    const { changed } = await buildVulkan({ vkd3dFolder: options.vkd3d ?? process.env.DXTENSOR_VKD3D, tests: options.tests });
    if (options.json) console.log(JSON.stringify({ ok: true, libraries: vulkanLibraries, changed }));
    else if (!changed) say(`build:vulkan: ${vulkanFolder} is up to date`);
  },
  help,
  { tellsFailures: true },
);
