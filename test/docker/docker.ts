/** Docker for tests: a base image that can be had here, builds, runs that leave nothing. */
import { ensureBase } from "../../scripts/tools/base.ts";
import { runContainer, type ContainerEnd, type ContainerRequest } from "../../scripts/tools/docker/containers.ts";
import { withEngine } from "../../scripts/tools/docker/engine.ts";
import { buildImage } from "../../scripts/tools/docker/images.ts";
import { nodeSource } from "../../scripts/tools/node-source.ts";

/** BASE_IMAGE, else a Debian of the suite, made here from Debian's archive. */
export const baseImage = async (suite: string): Promise<string> =>
  process.env.BASE_IMAGE || (await withEngine((engine) => ensureBase(engine, suite))).image;

/** Builds a stage of the Dockerfile; returns its name. */
export async function build(stage: string, base: string): Promise<string> {
  const image = `dxtensor-test-${stage}`;
  const request = {
    image,
    context: { folder: process.cwd() },
    target: stage,
    arguments: { BASE_IMAGE: base, NODE_SOURCE: await nodeSource() },
  };
  await withEngine((engine) => buildImage(engine, request));
  return image;
}

/** Runs a command in a new container that is removed with it. */
export const run = (image: string, command: readonly string[], more: Partial<ContainerRequest> = {}): Promise<ContainerEnd> =>
  withEngine((engine) => runContainer(engine, { image, command, limitMs: 20 * 60_000, ...more }));
