/** The image that a platform starts from: a registry's where one is reached, else a local Debian of the same age. */
import { baseName, ensureBase } from "../../scripts/tools/base.ts";
import type { Engine } from "../../scripts/tools/docker/engine.ts";
import { findImage, pullImage } from "../../scripts/tools/docker/images.ts";
import type { DockerPlatform } from "../config/schema.ts";
import { messageOf } from "../errors.ts";

export interface BaseImage {
  readonly image: string;
  readonly id: string;
}

async function find(engine: Engine, image: string): Promise<BaseImage | null> {
  const id = await findImage(engine, image);
  return id === null ? null : { image, id };
}

/** Null when the registry brought it, else why not. */
async function pull(engine: Engine, image: string, signal: AbortSignal, timeoutMs: number): Promise<string | null> {
  try {
    await pullImage(engine, image, { signal: AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]) });
    return null;
  } catch (error) {
    signal.throwIfAborted();
    return messageOf(error);
  }
}

/** One platform's base at a time is looked for on an engine; refusals of the registry are remembered for the run. */
const refused = new WeakMap<Engine, string>();

export async function ensureBaseImage(
  engine: Engine,
  platform: DockerPlatform,
  signal: AbortSignal,
  say: (line: string) => void,
): Promise<BaseImage> {
  const { image, suite } = platform.base;
  const local = baseName(suite);
  const there = (await find(engine, local)) ?? (await find(engine, image));
  if (there !== null) return there;
  let problem = refused.get(engine) ?? null;
  if (problem === null) {
    say(`pulling ${image}`);
    problem = await pull(engine, image, signal, 5 * 60_000);
    const pulled = problem === null ? await find(engine, image) : null;
    if (pulled !== null) return pulled;
    problem ??= "the image is not there after the pull";
    refused.set(engine, problem);
  }
  say(`no ${image} from a registry (${problem}); making ${local}`);
  return ensureBase(engine, suite);
}
