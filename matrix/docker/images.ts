/** Images of a platform, each made only when what it is made of has changed: tools, then the native build, then everything. */
import { createHash } from "node:crypto";
import { Readable } from "node:stream";
import type Docker from "dockerode";
import * as tar from "tar";
import { quote } from "../cell/arguments.ts";
import type { DockerPlatform } from "../config/schema.ts";
import { MatrixError } from "../errors.ts";
import { cacheLabels, label, type Owner } from "../run/owner.ts";
import type { Sources } from "../run/sources.ts";
import { problemOf, runContainer, workFolder, type Engine } from "./engine.ts";
import type { BaseImage } from "./base.ts";

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

async function isThere(docker: Docker, image: string): Promise<boolean> {
  try {
    await docker.getImage(image).inspect();
    return true;
  } catch (error) {
    if ((error as { statusCode?: number }).statusCode === 404) return false;
    throw error;
  }
}

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

/** A tar of one file. */
function single(name: string, text: string): Readable {
  const header = new tar.Header({ path: name, mode: 0o644, size: Buffer.byteLength(text), type: "File", mtime: new Date(0) });
  header.encode();
  const body = Buffer.alloc(Math.ceil(Buffer.byteLength(text) / 512) * 512);
  body.write(text);
  return Readable.from([header.block!, body, Buffer.alloc(1024)]);
}

interface BuildEvent {
  readonly stream?: string;
  readonly status?: string;
  readonly error?: string;
}

/** Builds with the engine's own builder; a failure is an event, not an error. */
async function build(context: ImageContext, dockerfile: string, tag: string, labels: Record<string, string>): Promise<void> {
  const { docker } = context.engine;
  const stream = await docker.buildImage(single("Dockerfile", dockerfile) as unknown as NodeJS.ReadableStream, {
    t: tag,
    labels,
    forcerm: true,
    abortSignal: context.signal,
  });
  const events = await new Promise<BuildEvent[]>((resolve, reject) => {
    docker.modem.followProgress(
      stream,
      (error: Error | null, output: BuildEvent[]) => (error === null ? resolve(output) : reject(error)),
      (event: BuildEvent) => {
        for (const line of (event.stream ?? event.status ?? "").split("\n")) if (line.trim() !== "") context.onLine(line);
      },
    );
  });
  const failed = events.find((event) => event.error !== undefined);
  if (failed !== undefined) throw new MatrixError(`the image ${tag} could not be built: ${failed.error}`);
}

/** Old images of the same platform and layer; one that a container still uses stays. */
async function dropOthers(docker: Docker, labels: Readonly<Record<string, string>>, keep: string): Promise<void> {
  const filters = { label: Object.entries(labels).map(([name, value]) => `${name}=${value}`) };
  for (const image of await docker.listImages({ filters })) {
    if (image.RepoTags?.includes(keep) !== false) continue;
    try {
      await docker.getImage(image.Id).remove();
    } catch (error) {
      const { statusCode } = error as { statusCode?: number };
      if (statusCode !== 404 && statusCode !== 409) throw error;
    }
  }
}

/** Runs a script in an image and keeps the result as another image. */
async function grow(context: ImageContext, from: string, to: string, layer: string, sources: Buffer, script: string): Promise<void> {
  const { engine, platform, owner, signal, buildMs } = context;
  await engine.docker.createVolume({ Name: cacheVolume(platform), Labels: cacheLabels({ [`${label}.platform`]: platform.id }) });
  const labels = cacheLabels({ [`${label}.platform`]: platform.id, [`${label}.layer`]: layer });
  const end = await runContainer(engine, {
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
    archives: [[workFolder, sources]],
    timeoutMs: buildMs,
    signal,
    owner,
    onLine: context.onLine,
    after: async (container) => {
      const { State } = await container.inspect();
      if (State.ExitCode !== 0 || signal.aborted) return;
      const [repo, tag] = to.split(":") as [string, string];
      await container.commit({
        repo,
        tag,
        changes: [...Object.entries(labels).map(([name, value]) => `LABEL ${name}=${value}`), 'CMD ["bash"]'].join("\n"),
      });
    },
  });
  const problem = problemOf(end, `the ${layer} build of ${platform.id}`, buildMs);
  if (problem !== null) throw new MatrixError(problem);
  await dropOthers(engine.docker, labels, to);
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
  const { docker } = engine;
  const dockerfile = toolsDockerfile(base.image, platform);
  const tools = `${repository}:${platform.id}-tools-${digest(base.id, dockerfile)}`;
  if (!(await isThere(docker, tools))) {
    context.onLine(`making ${tools} on ${base.image}`);
    const labels = cacheLabels({ [`${label}.platform`]: platform.id, [`${label}.layer`]: "tools" });
    await build(context, dockerfile, tools, labels);
    await dropOthers(docker, labels, tools);
  }
  const native = `${repository}:${platform.id}-native-${digest(tools, sources.nativeHash)}`;
  const script = wholeBuild(platform);
  const whole = `${repository}:${platform.id}-built-${digest(native, sources.hash, script)}`;
  if (await isThere(docker, whole)) return whole;
  if (!(await isThere(docker, native))) {
    context.onLine(`making ${native}`);
    await grow(context, tools, native, "native", await sources.archive("native"), nativeBuild);
  }
  context.onLine(`making ${whole}`);
  await grow(context, native, whole, "built", await sources.archive("all"), script);
  return whole;
}
