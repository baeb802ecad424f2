// The Linux cell in a container of Debian 11, whose C library (glibc 2.31) is Ubuntu 20.04's: compiles and loads the library there.
import { join } from "node:path";
import type { CellReport } from "./report.ts";
import { ensureBase } from "../../tools/base.ts";
import { nodeSource } from "../../tools/node-source.ts";
import { runContainer } from "../../tools/docker/containers.ts";
import { withEngine, type Engine } from "../../tools/docker/engine.ts";
import { buildImage, findImage } from "../../tools/docker/images.ts";
import { at, cache, root, say } from "../../tools/project.ts";
import { fetchPackage } from "../../tools/archive.ts";
import { packages } from "../../vulkan/vkd3d.ts";

const image = process.env.DXTENSOR_OLD_IMAGE ?? "dxtensor-build:bullseye";
const suite = "bullseye";
const folder = "/dxtensor";

/** The Dockerfile's build stage on an old base, unless it is there. */
async function ensureImage(engine: Engine) {
  if ((await findImage(engine, image)) !== null) return;
  const base = process.env.BASE_IMAGE ?? (await ensureBase(engine, suite)).image;
  say(`verify:linux: building ${image} on ${base}`);
  await buildImage(engine, {
    image,
    context: { folder: root },
    target: "build",
    arguments: { BASE_IMAGE: base, NODE_SOURCE: await nodeSource() },
    onLine: say,
  });
}

/** What runs inside, as the image's user. Its packages come from the distribution, libvkd3d from this machine's cache. */
const script = `set -e
sudo apt-get -qq update
sudo env DEBIAN_FRONTEND=noninteractive apt-get -qq install -y --no-install-recommends mesa-vulkan-drivers libvulkan1 >/dev/null 2>&1
mkdir -p "$DXTENSOR_CACHE/packages"
cp /packages/*.deb "$DXTENSOR_CACHE/packages/"
node scripts/run.mjs build-vulkan --tests >&2
echo "glibc $(ldd --version | sed -n '1s/.* //p'), $(g++ --version | head -n 1)"
build/vulkan/cmake/test/vulkan_test build/vulkan/libdxcore.so build/vulkan/libd3d12.so --only adapter_
node test/vulkan/programs/enumerate.mjs`;

export async function runInContainer(report: CellReport): Promise<void> {
  for (const one of packages) await fetchPackage(one);
  const environment = {
    DXTENSOR_CACHE: "/tmp/dxtensor-cache",
    DXTENSOR_CPU_ADAPTERS: "1",
    DXTENSOR_TEST_PACKAGE: `${folder}/dist/bundle/dxtensor.js`,
    // The processor's driver alone, under the name that this loader knows.
    VK_ICD_FILENAMES: "/usr/share/vulkan/icd.d/lvp_icd.x86_64.json",
  };
  const sources = ["native/vulkan", "native/test/check.h", "scripts", "test/vulkan"].map(
    (path) => [`${folder}/${path}`, at(path)] as const,
  );
  await withEngine(async (engine) => {
    await ensureImage(engine);
    await report.run("container with glibc 2.31", { limitMs: 20 * 60_000 }, ({ limitMs, onText }) =>
      runContainer(engine, {
        image,
        command: ["bash", "-c", script],
        labels: { dxtensor: "verify-linux" },
        mounts: { ...Object.fromEntries(sources), "/packages": join(cache, "packages") },
        environment,
        folder,
        network: "host",
        limitMs,
        onLine: (line) => onText(`${line}\n`),
      }),
    );
  });
}
