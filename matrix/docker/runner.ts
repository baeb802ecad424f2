/** Cells in containers: a platform is made once on an engine, each cell is a container of its image. */
import { Readable } from "node:stream";
import { finished } from "node:stream/promises";
import * as tar from "tar";
import { cellArguments } from "../cell/arguments.ts";
import type { DockerPlatform } from "../config/schema.ts";
import { MatrixError, messageOf } from "../errors.ts";
import { ensureNode } from "../run/nodes.ts";
import { failed, passed, type Outcome, type RunContext } from "../runners/runner.ts";
import { ensureBaseImage } from "./base.ts";
import { problemOf, runContainer, type Engine } from "./engine.ts";
import { ensurePlatformImage } from "./images.ts";
import { ensureNodeVolume } from "./nodes.ts";

export interface Prepared {
  readonly image: string;
  readonly base: string;
}

/** The platform on the engine: base, tools, native build, TypeScript. onLine gets what the builds say. */
export async function preparePlatform(
  engine: Engine,
  platform: DockerPlatform,
  context: Pick<RunContext, "config" | "sources" | "owner" | "signal" | "buildMs" | "onLine">,
): Promise<Prepared> {
  const base = await ensureBaseImage(engine, platform, context.signal, context.onLine);
  // The oldest Node builds, as a package's binary would be built.
  const node = await ensureNode(context.config.node[0]!, "linux-x64");
  const nodeVolume = await ensureNodeVolume(engine, node, base.image, context.owner);
  const image = await ensurePlatformImage({ ...context, engine, platform, nodeVolume }, base, context.sources);
  return { image, base: base.image };
}

const resultFolder = "/out";

export async function runInDocker(engine: Engine, prepared: Prepared, context: RunContext): Promise<Outcome> {
  const where = `docker: ${engine.name}`;
  const node = await ensureNode(context.run.node, "linux-x64");
  const volume = await ensureNodeVolume(engine, node, prepared.image, context.owner);
  const end = await runContainer(engine, {
    image: prepared.image,
    command: ["/opt/node/bin/node", ...cellArguments(context.run, context.platform, context.tests, resultFolder)],
    environment: { CI: "1", NO_COLOR: "1", npm_config_update_notifier: "false" },
    volumes: { "/opt/node": volume },
    timeoutMs: context.timeoutMs,
    signal: context.signal,
    owner: context.owner,
    onLine: context.onLine,
    after: async (container) => {
      try {
        const archive = await container.getArchive({ path: resultFolder });
        const unpack = tar.x({ cwd: context.out, strip: 1 });
        Readable.from(archive as AsyncIterable<Buffer>).pipe(unpack as unknown as NodeJS.WritableStream);
        await finished(unpack as unknown as NodeJS.WritableStream);
      } catch (error) {
        if ((error as { statusCode?: number }).statusCode !== 404) throw error;
        context.onLine("the cell left no report");
      }
    },
  });
  const problem = problemOf(end, "the cell", context.timeoutMs);
  return problem === null ? passed(where) : failed(where, problem);
}

/** Why a platform could not be made, for the cells that wait for it. */
export const preparationProblem = (error: unknown, platform: DockerPlatform): string =>
  error instanceof MatrixError ? error.message : `${platform.id} could not be prepared: ${messageOf(error)}`;
