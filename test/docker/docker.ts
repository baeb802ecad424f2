/** Docker for tests: a base image that can be had here, builds, runs that leave nothing. */
import { execa } from "execa";
import { typescript } from "../scripts.ts";

/** Runs docker; never throws. */
export const docker = (args: readonly string[], timeoutMs = 20 * 60_000) =>
  execa("docker", [...args], { reject: false, all: true, timeout: timeoutMs, stdin: "ignore" });

/** BASE_IMAGE, else a Debian of the suite, made here from Debian's archive. */
export async function baseImage(suite: string): Promise<string> {
  if (process.env.BASE_IMAGE) return process.env.BASE_IMAGE;
  const done = await execa("node", ["scripts/run.mjs", "base-image", suite, "--json"], { stderr: "inherit" });
  return (JSON.parse(done.stdout) as { image: string }).image;
}

/** Where the image's Node comes from, as the project's own builds choose it. */
export async function nodeSource(): Promise<string> {
  const code = 'import { nodeSource } from "./scripts/tools/node-source.ts"; console.log(await nodeSource())';
  return (await execa("node", [...typescript, "--input-type=module", "--eval", code])).stdout;
}

/** Builds a stage of the Dockerfile; returns its tag. */
export async function build(stage: string, base: string): Promise<string> {
  const tag = `dxtensor-test-${stage}`;
  const args = ["--build-arg", `BASE_IMAGE=${base}`, "--build-arg", `NODE_SOURCE=${await nodeSource()}`];
  const done = await docker(["build", ...args, "--target", stage, "-t", tag, "."]);
  if (done.failed) throw new Error(`docker build --target ${stage} failed:\n${done.all.split("\n").slice(-30).join("\n")}`);
  return tag;
}

/** Runs a command in a new container that is removed with it. */
export const run = (image: string, command: readonly string[], options: readonly string[] = []): ReturnType<typeof docker> =>
  docker(["run", "--rm", "--init", ...options, image, ...command]);
