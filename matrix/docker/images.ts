/** Images of a platform, each made only if its sources have changed: tools, then the native build, then everything. */
import { createHash } from "node:crypto";
import type { Container, ContainerEnd } from "../../scripts/tools/docker/containers.ts";
import type { Engine } from "../../scripts/tools/docker/engine.ts";
import { buildImage, findImage, listImages, removeImage } from "../../scripts/tools/docker/images.ts";
import { ensureVolume } from "../../scripts/tools/docker/volumes.ts";
import { quote } from "../cell/arguments.ts";
import type { DockerPlatform } from "../config/schema.ts";
import { MatrixError } from "../errors.ts";
import { cacheLabels, label, type Owner } from "../run/owner.ts";
import type { Sources } from "../run/sources.ts";
import type { BaseImage } from "./base.ts";
import { runCell, workFolder } from "./cell.ts";

const repository = "dxtensor-matrix";

export interface ImageContext {
  readonly engine: Engine;
  readonly platform: DockerPlatform;
  readonly owner: Owner;
  readonly signal: AbortSignal;
  readonly buildMs: number;
  /** Volume with the Node that builds. */
  readonly nodeVolume: string;
  onLine(line: string): void;
}

const digest = (...parts: readonly string[]): string => createHash("sha256").update(JSON.stringify(parts)).digest("hex").slice(0, 16);

/** The tools' Dockerfile: no step that the old builder lacks. */
export const toolsDockerfile = (base: string, platform: DockerPlatform): string =>
  [
    `FROM ${base}`,
    `RUN apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends ${platform.packages.join(" ")} && rm -rf /var/lib/apt/lists/*`,
    ...Object.entries(platform.links).map(([name, target]) => `RUN ln -s "$(command -v ${target})" /usr/local/bin/${name}`),
    "ENV PATH=/opt/node/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    `WORKDIR ${workFolder}`,
    "",
  ].join("\n");

/** Old images of the same platform and layer; one that a container still uses stays. */
async function dropOthers(engine: Engine, labels: Readonly<Record<string, string>>, keep: string): Promise<void> {
  for (const { id, tags } of await listImages(engine, labels)) if (!tags.includes(keep)) await removeImage(engine, id);
}

/** Runs a script in an image and keeps the result as another image. */
async function grow(context: ImageContext, from: string, to: string, layer: string, sources: Buffer, script: string): Promise<void> {
  const { engine, platform, owner, signal, buildMs } = context;
  await ensureVolume(engine, cacheVolume(platform), cacheLabels({ [`${label}.platform`]: platform.id }));
  const labels = cacheLabels({ [`${label}.platform`]: platform.id, [`${label}.layer`]: layer });
  const request = {
    image: from,
    command: ["bash", "-euo", "pipefail", "-c", script],
    environment: {
      CI: "1",
      NO_COLOR: "1",
      npm_config_fetch_retries: "1",
      npm_config_update_notifier: "false",
      ...buildEnvironment,
      ...mirror(),
    },
    volumes: { "/opt/node": context.nodeVolume, "/cache": cacheVolume(platform) },
    writable: ["/cache"],
    archives: [[workFolder, sources]] as const,
    timeoutMs: buildMs,
    signal,
    owner,
    onLine: (line: string) => context.onLine(line),
    after: async (container: Container, { code }: ContainerEnd) => {
      if (code !== 0 || signal.aborted) return;
      await container.commit(to, [...Object.entries(labels).map(([name, value]) => `LABEL ${name}=${value}`), 'CMD ["bash"]']);
    },
  };
  const problem = await runCell(engine, request, `the ${layer} build of ${platform.id}`);
  if (problem !== null) throw new MatrixError(problem);
  await dropOthers(engine, labels, to);
}

/** A change of one file compiles that file, and what was fetched stays: the volume outlives the containers, and is that of all on one base. */
export const cacheVolume = (platform: DockerPlatform): string => `${repository}-cache-${platform.base.suite}`;

export const buildEnvironment = {
  CCACHE_DIR: "/cache/ccache",
  CCACHE_MAXSIZE: "1G",
  CMAKE_C_COMPILER_LAUNCHER: "ccache",
  CMAKE_CXX_COMPILER_LAUNCHER: "ccache",
  DXTENSOR_CACHE: "/cache/dxtensor",
};

/** The last layer's script. */
function wholeBuild({ command }: DockerPlatform): string {
  const prepare = command?.prepare === undefined ? [] : [["npm", "run", command.script, "--", ...command.prepare].map(quote).join(" ")];
  return ["npm run build:ts", ...prepare].join(" && ");
}

/** The addon, the software adapter and their test programs; not the benches. */
const nativeBuild = [
  "npm ci --no-audit --no-fund",
  "npm run setup",
  "npm run build:native -- --runtime",
  "cmake --build build/native --target kernel_test abi_suite",
].join(" && ");

/** Headers are fetched from a mirror where the machine has named one. */
const mirror = (): Record<string, string> => {
  const named = process.env["DXTENSOR_DEBIAN_MIRROR"];
  return named === undefined || named === "" ? {} : { DXTENSOR_DEBIAN_MIRROR: named };
};

/** The image in which the platform's cells run, made as far as it is missing. */
export async function ensurePlatformImage(context: ImageContext, base: BaseImage, sources: Sources): Promise<string> {
  const { engine, platform } = context;
  const dockerfile = toolsDockerfile(base.image, platform);
  const tools = `${repository}:${platform.id}-tools-${digest(base.id, dockerfile)}`;
  if ((await findImage(engine, tools)) === null) {
    context.onLine(`making ${tools} on ${base.image}`);
    const labels = cacheLabels({ [`${label}.platform`]: platform.id, [`${label}.layer`]: "tools" });
    const { signal } = context;
    await buildImage(engine, { image: tools, context: { dockerfile }, labels, signal, onLine: (line) => context.onLine(line) });
    await dropOthers(engine, labels, tools);
  }
  const native = `${repository}:${platform.id}-native-${digest(tools, sources.nativeHash)}`;
  const script = wholeBuild(platform);
  const whole = `${repository}:${platform.id}-built-${digest(native, sources.hash, script)}`;
  if ((await findImage(engine, whole)) !== null) return whole;
  if ((await findImage(engine, native)) === null) {
    context.onLine(`making ${native}`);
    await grow(context, tools, native, "native", await sources.archive("native"), nativeBuild);
  }
  context.onLine(`making ${whole}`);
  await grow(context, native, whole, "built", await sources.archive("all"), script);
  return whole;
}
