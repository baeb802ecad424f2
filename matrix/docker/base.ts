/** The image that a platform starts from: a registry's where one is reached, else a local Debian of the same age. */
import type { Readable } from "node:stream";
import type Docker from "dockerode";
import type { DockerPlatform } from "../config/schema.ts";
import { MatrixError, messageOf } from "../errors.ts";
import { baseName, ensureBase } from "../../scripts/tools/base.ts";
import type { Engine } from "./engine.ts";

export interface BaseImage {
  readonly image: string;
  readonly id: string;
}

async function find(docker: Docker, image: string): Promise<BaseImage | null> {
  try {
    return { image, id: (await docker.getImage(image).inspect()).Id };
  } catch (error) {
    if ((error as { statusCode?: number }).statusCode === 404) return null;
    throw error;
  }
}

/** Null when the registry brought it, else why not. */
async function pull(docker: Docker, image: string, signal: AbortSignal, timeoutMs: number): Promise<string | null> {
  const limit = AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]);
  try {
    const stream = (await docker.pull(image, { abortSignal: limit })) as Readable;
    await new Promise<void>((resolve, reject) => {
      docker.modem.followProgress(stream, (error: Error | null) => (error === null ? resolve() : reject(error)));
    });
    return null;
  } catch (error) {
    signal.throwIfAborted();
    return messageOf(error);
  }
}

/** One platform's base at a time is looked for on an engine; refusals of the registry are remembered for the run. */
const refused = new WeakMap<Docker, string>();

export async function ensureBaseImage(
  engine: Engine,
  platform: DockerPlatform,
  signal: AbortSignal,
  say: (line: string) => void,
): Promise<BaseImage> {
  const { docker } = engine;
  const { image, suite } = platform.base;
  const local = baseName(suite);
  const there = (await find(docker, local)) ?? (await find(docker, image));
  if (there !== null) return there;
  let problem = refused.get(docker) ?? null;
  if (problem === null) {
    say(`pulling ${image}`);
    problem = await pull(docker, image, signal, 5 * 60_000);
    const pulled = problem === null ? await find(docker, image) : null;
    if (pulled !== null) return pulled;
    refused.set(docker, problem ?? "the image is not there after the pull");
  }
  say(`no ${image} from a registry (${problem}); making ${local}`);
  await ensureBase(suite);
  if (!engine.isDefault) {
    // It was made beside the default engine: carry it over.
    const { default: Client } = await import("dockerode");
    const archive = await new Client().getImage(local).get();
    const loading = await docker.loadImage(archive);
    await new Promise<void>((resolve, reject) => {
      docker.modem.followProgress(loading, (error: Error | null) => (error === null ? resolve() : reject(error)));
    });
  }
  const made = await find(docker, local);
  if (made === null) throw new MatrixError(`neither ${image} nor ${local} can be had on ${engine.name}: ${problem ?? ""}`);
  return made;
}
