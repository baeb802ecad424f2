// The Linux cell in a container of Debian 11, whose C library (glibc 2.31) is Ubuntu 20.04's: what is compiled there, and loads there.
import { execa } from "execa";
import type { CellReport } from "./report.ts";
import { ensureBase } from "../../tools/base.ts";
import { nodeSource } from "../../tools/node-source.ts";
import { ScriptError, at, cache, root, say } from "../../tools/project.ts";
import { fetchPackage } from "../../tools/archive.ts";
import { packages } from "../../vulkan/vkd3d.ts";

const image = process.env.DXTENSOR_OLD_IMAGE ?? "dxtensor-build:bullseye";
const suite = "bullseye";
const folder = "/dxtensor";

/** The Dockerfile's build stage on an old base, unless it is there. */
async function ensureImage() {
  const answers = await execa("docker", ["version", "--format", "{{.Server.Version}}"], { reject: false });
  if (answers.failed)
    throw new ScriptError("DOCKER", "No Docker engine answers, and --container needs one.", "Start it, or leave --container out.");
  const there = await execa("docker", ["image", "inspect", image], { reject: false });
  if (!there.failed) return;
  const base = process.env.BASE_IMAGE ?? (await ensureBase(suite, {})).image;
  say(`verify:linux: building ${image} on ${base}`);
  const from = { BASE_IMAGE: base, NODE_SOURCE: await nodeSource() };
  const settings = Object.entries(from).flatMap(([name, value]) => ["--build-arg", `${name}=${value}`]);
  const args = ["build", "--target", "build", ...settings, "-t", image, "."];
  const done = await execa("docker", args, { cwd: root, stdio: ["ignore", 2, 2], reject: false });
  if (done.failed)
    throw new ScriptError(
      "IMAGE",
      `The image ${image} could not be built on ${base}.`,
      "docs/docker.md says where bases come from; BASE_IMAGE and DXTENSOR_OLD_IMAGE name others.",
    );
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

export async function runContainer(report: CellReport): Promise<void> {
  await ensureImage();
  for (const one of packages) await fetchPackage(one);
  const mounts = ["native/vulkan", "native/test/check.h", "scripts", "test/vulkan"].flatMap((path) => [
    "-v",
    `${at(path)}:${folder}/${path}:ro`,
  ]);
  const environment = {
    DXTENSOR_CACHE: "/tmp/dxtensor-cache",
    DXTENSOR_CPU_ADAPTERS: "1",
    DXTENSOR_TEST_PACKAGE: `${folder}/dist/bundle/dxtensor.js`,
    // The processor's driver alone, under the name that this loader knows.
    VK_ICD_FILENAMES: "/usr/share/vulkan/icd.d/lvp_icd.x86_64.json",
  };
  const variables = Object.entries(environment).flatMap(([name, value]) => ["-e", `${name}=${value}`]);
  const where = ["-v", `${cache}/packages:/packages:ro`, "-w", folder, "--network", "host"];
  const args = [
    "run",
    "--rm",
    "--init",
    "--label",
    "dxtensor=verify-linux",
    ...where,
    ...mounts,
    ...variables,
    image,
    "bash",
    "-c",
    script,
  ];
  await report.program("container with glibc 2.31", "docker", args, { timeoutMs: 20 * 60_000 });
}
