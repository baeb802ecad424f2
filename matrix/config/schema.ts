/** What matrix.yaml may hold. */
import { z } from "zod";

const id = z.string().regex(/^[a-z0-9][a-z0-9.-]*$/, "must be lower-case letters, digits, dots and dashes");
/** One pattern or several; "*" stands for any text. */
const patterns = z.union([z.string(), z.array(z.string()).min(1)]).transform((value) => (typeof value === "string" ? [value] : value));
const version = z.string().regex(/^\d+\.\d+$/, 'must be a version in quotes, such as "6.2"');

const program = z.string().regex(/^[a-z0-9][a-z0-9.+-]*$/, "must be a program's name");

const common = { id, name: z.string().min(1), directml: version };

const platform = z.discriminatedUnion("runner", [
  z.strictObject({
    ...common,
    runner: z.literal("docker"),
    base: z.strictObject({ image: z.string(), suite: id }),
    packages: z.array(z.string().regex(/^[a-z0-9][a-z0-9.+-]*$/)).min(1),
    /** Other names for programs: {"g++": "g++-9"}. */
    links: z.record(program, program).default({}),
  }),
  z.strictObject({ ...common, runner: z.literal("host") }),
  z.strictObject({ ...common, runner: z.literal("wsl"), distribution: z.string().min(1) }),
  z.strictObject({
    ...common,
    runner: z.literal("windows"),
    build: z.strictObject({ from: z.number().int(), below: z.number().int().optional() }),
  }),
  z.strictObject({
    ...common,
    runner: z.literal("command"),
    script: z.string().min(1),
    arguments: z.array(z.string()).default([]),
    system: z.enum(["linux", "win32"]),
    glibc: version.optional(),
    /** Versions of Node that the command runs; without, the one that it is started with. */
    nodes: z.array(z.string()).optional(),
    /** A CTRF report that the command writes. */
    report: z.string().optional(),
  }),
  z.strictObject({ ...common, runner: z.literal("none"), reason: z.string().min(1) }),
]);

const gpu = z.discriminatedUnion("kind", [
  z.strictObject({ id, name: z.string().min(1), kind: z.literal("software") }),
  z.strictObject({ id, name: z.string().min(1), kind: z.literal("gpu"), profile: id, matches: z.string().min(1) }),
  z.strictObject({ id, name: z.string().min(1), kind: z.literal("present") }),
  z.strictObject({ id, name: z.string().min(1), kind: z.literal("emulated") }),
]);

const anywhere = ["*"];
const where = {
  platform: patterns.default(anywhere),
  node: patterns.default(anywhere),
  gpu: patterns.default(anywhere),
};

export const schema = z.strictObject({
  platforms: z.array(platform).min(1),
  node: z.array(z.string().regex(/^\d+$/, 'must be a major version in quotes, such as "22"')).min(1),
  gpus: z.array(gpu).min(1),
  suites: z.record(id, z.array(z.string()).min(1)),
  exclusions: z.array(z.strictObject({ ...where, reason: z.string().min(1) })).default([]),
  mustPass: z.array(z.strictObject(where)).default([]),
  quick: z.strictObject({ ...where, withoutEngine: patterns, suite: id }),
  limits: z.strictObject({
    parallel: z.number().int().min(1).max(64),
    cellMinutes: z.number().positive(),
    buildMinutes: z.number().positive(),
  }),
});

export type Config = z.infer<typeof schema>;
export type Platform = Config["platforms"][number];
export type DockerPlatform = Extract<Platform, { runner: "docker" }>;
export type Gpu = Config["gpus"][number];
export type Where = Config["mustPass"][number];
