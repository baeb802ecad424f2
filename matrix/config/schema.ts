/** The schema of matrix.yaml. */
import { z } from "zod";

const id = z.string().regex(/^[a-z0-9][a-z0-9.-]*$/, "must be lower-case letters, digits, dots and dashes");
/** One pattern or several; "*" stands for any text. */
const patterns = z.union([z.string(), z.array(z.string()).min(1)]).transform((value) => (typeof value === "string" ? [value] : value));
const version = z.string().regex(/^\d+\.\d+$/, 'must be a version in quotes, such as "6.2"');

const program = z.string().regex(/^[a-z0-9][a-z0-9.+-]*$/, "must be a program's name");

const common = { id, name: z.string().min(1), directml: version };

/** An npm script that prepares and runs a cell's tests by itself, and closes with "12 passed, 0 failed". "{node}" stands for the cell's Node. */
const command = z.strictObject({
  script: z.string().min(1),
  arguments: z.array(z.string()).default([]),
  /** Added in all of the platform's cells but the first: what no version of Node changes runs once. */
  later: z.array(z.string()).default([]),
  /** In containers: arguments with which the script makes what it needs, once for the image. */
  prepare: z.array(z.string()).min(1).optional(),
  /** A CTRF report that the script writes. */
  report: z.string().min(1),
  /** Limit of a cell, where it is another than limits.cellMinutes. */
  minutes: z.number().positive().optional(),
});

const platform = z.discriminatedUnion("runner", [
  z.strictObject({
    ...common,
    runner: z.literal("docker"),
    base: z.strictObject({ image: z.string(), suite: id }),
    packages: z.array(z.string().regex(/^[a-z0-9][a-z0-9.+-]*$/)).min(1),
    /** Other names for programs: {"g++": "g++-9"}. */
    links: z.record(program, program).default({}),
    command: command.optional(),
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
    command,
    system: z.enum(["linux", "win32"]),
    /** The oldest that will do. */
    glibc: version.optional(),
    /** Versions of Node that the command brings; without, the cell's own runs it. */
    nodes: z.array(z.string()).optional(),
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
export type Command = z.infer<typeof command>;
export type CommandPlatform = Extract<Platform, { runner: "command" }>;
export type DockerPlatform = Extract<Platform, { runner: "docker" }>;
export type Gpu = Config["gpus"][number];
export type Where = Config["mustPass"][number];

/** The script that runs a platform's cells; null where the test files do. */
export const commandOf = (platform: Platform): Command | null =>
  platform.runner === "docker" || platform.runner === "command" ? (platform.command ?? null) : null;
