/** Cells in containers: a platform is made once on an engine, each cell is a container of its image. */
import type { Container } from "../../scripts/tools/docker/containers.ts";
import type { Engine } from "../../scripts/tools/docker/engine.ts";
import { cellArguments, quote } from "../cell/arguments.ts";
import type { Command, DockerPlatform } from "../config/schema.ts";
import { MatrixError, messageOf } from "../errors.ts";
import { ensureNode } from "../run/nodes.ts";
import { CommandOutcome, commandArguments } from "../runners/command.ts";
import { failed, passed, type Outcome, type RunContext } from "../runners/runner.ts";
import { ensureBaseImage } from "./base.ts";
import { runCell } from "./cell.ts";
import { buildEnvironment, cacheVolume, ensurePlatformImage } from "./images.ts";
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

/** The platform's script in the container: it leaves its report where every cell leaves its own. */
function scriptIn(command: Command, args: readonly string[]): readonly string[] {
  const line = ["npm", "run", command.script, "--", ...args].map(quote).join(" ");
  const keep = `mkdir -p ${resultFolder} && if [ -e ${quote(command.report)} ]; then cp ${quote(command.report)} ${resultFolder}/ctrf.json; fi`;
  return ["bash", "-c", `rm -f ${quote(command.report)}; ${line}; status=$?; ${keep}; exit $status`];
}

export async function runInDocker(engine: Engine, prepared: Prepared, platform: DockerPlatform, context: RunContext): Promise<Outcome> {
  const where = `docker: ${engine.name}`;
  const { command } = platform;
  const args = command === undefined ? [] : commandArguments(command, context.run);
  const outcome = command === undefined ? null : new CommandOutcome(where, command.script, args);
  const node = await ensureNode(context.run.node, "linux-x64");
  const volume = await ensureNodeVolume(engine, node, prepared.image, context.owner);
  const request = {
    image: prepared.image,
    command:
      command === undefined
        ? ["/opt/node/bin/node", ...cellArguments(context.run, platform, context.tests, resultFolder)]
        : scriptIn(command, args),
    environment: { CI: "1", NO_COLOR: "1", npm_config_update_notifier: "false", ...(command === undefined ? {} : buildEnvironment) },
    // What a script has made for itself, and what a driver compiles, is shared by the platform's cells.
    volumes: { "/opt/node": volume, ...(command === undefined ? {} : { "/cache": cacheVolume(platform) }) },
    writable: ["/cache"],
    timeoutMs: context.timeoutMs,
    signal: context.signal,
    owner: context.owner,
    onLine: (line: string) => {
      outcome?.onLine(line);
      context.onLine(line);
    },
    after: async (container: Container) => {
      if (!(await container.copyOut(resultFolder, context.out))) context.onLine("the cell left no report");
    },
  };
  const problem = await runCell(engine, request, outcome?.line ?? "the cell");
  if (outcome !== null) return outcome.finish(context.out, problem);
  return problem === null ? passed(where) : failed(where, problem);
}

/** Why a platform could not be made, for the cells that wait for it. */
export const preparationProblem = (error: unknown, platform: DockerPlatform): string =>
  error instanceof MatrixError ? error.message : `${platform.id} could not be prepared: ${messageOf(error)}`;
