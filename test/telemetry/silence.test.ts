/**
 * The proof of silence: documented programs, examples, commands and tests, each in a network namespace without interfaces, with its network attempts
 * counted. Without consent there are none; with consent there is one message, the one that `show` printed.
 */
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { TEXT_VERSION, writeConsent } from "../../src/telemetry/consent.ts";
import { pages, textOf, withoutTypes } from "../pages.ts";
import { isWhole, share } from "../share.ts";
import { bodyOf } from "./collector.ts";
import { namespace, observe, preloaded, strace, withLoopback, type Counter, type Observed } from "./observe.ts";

interface Program {
  readonly name: string;
  readonly args: () => readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** Opens a device in the main thread, and ends by itself: with consent it sends. Default: it does. */
  readonly sends?: boolean;
  /** Default: the folder of the program's data. */
  readonly cwd?: string;
  /** Listens on this machine. */
  readonly listens?: boolean;
}

const root = process.cwd();
const library = pathToFileURL(resolve("dist", "bundle", "dxtensor.js")).href;
const cli = resolve("dist", "bundle", "cli.js");

/** Folder of this file, and of each program. */
let folder: string;
let data: string;

/** The file of a package that a page imports: this one is the published library. */
function urlOf(name: string): string {
  if (name === "dxtensor") return library;
  const entry = /^dxtensor\/(\w+)$/.exec(name)?.[1];
  return entry === undefined ? import.meta.resolve(name) : pathToFileURL(resolve("dist", "bundle", `${entry}.js`)).href;
}

/** A page's program as a file, which imports the published library. */
function written(page: string): string {
  const file = join(folder, `${page.replaceAll("/", "-")}.mjs`);
  if (!existsSync(file))
    writeFileSync(
      file,
      withoutTypes(page, textOf(page)).replaceAll(
        /(from|import\() ?"(?!node:)([^"]+)"/g,
        (_, how: string, name: string) => `${how} ${JSON.stringify(urlOf(name))}`,
      ),
    );
  return file;
}

const example = (name: string, ...args: string[]): Program => ({
  name: `examples/${name}`,
  args: () => [resolve("build", "examples", name, "main.js"), ...args],
});
const command = (...args: string[]): Program => ({ name: `dxtensor ${args.join(" ")}`, args: () => [cli, ...args], sends: false });

const documented: readonly Program[] = pages.map((page) => ({ name: page, args: () => [written(page)] }));
const examples: readonly Program[] = [
  example("audio", "--sounds", "8", "--batch", "8", "--epochs", "1", "--goal", "0"),
  example("character-transformer", "--steps", "5", "--window", "32", "--width", "48", "--layers", "1", "--length", "5"),
  example("custom-function", "--steps", "20", "--goal", "0"),
  example("custom-kernel", "--rows", "8", "--width", "8", "--calls", "2"),
  example("digits-cnn", "--limit", "256", "--epochs", "1", "--goal", "0"),
  example("images", "--images", "8", "--batch", "8", "--epochs", "1", "--workers", "0", "--goal", "0"),
  example("lstm", "--steps", "5", "--goal", "1"),
  { ...example("regression", "--rows", "400", "--epochs", "20", "--goal", "0"), listens: true },
  example("tables", "--rows", "100", "--epochs", "1", "--batch", "20", "--goal", "0"),
  example("text", "--reviews", "100", "--epochs", "1", "--goal", "0"),
  { ...example("telemetry"), sends: false },
  // The folder is a new one each time.
  {
    name: "examples/resume",
    args: () => [
      resolve("build", "examples", "resume", "main.js"),
      "--steps",
      "10",
      "--every",
      "5",
      "--folder",
      mkdtempSync(join(folder, "resume-")),
    ],
  },
];
const commands: readonly Program[] = [
  command("--version"),
  command("--version", "--json"),
  command("doctor", "--json"),
  command("shaders", "--device", "cpu"),
  command("fetch", "--help"),
  command("telemetry", "status"),
  command("telemetry", "show"),
  {
    ...command("verify", "--device", "dml:0", "--quick", "--filter", "operator/GEMM/1/f32"),
    env: { DXTENSOR_SIMULATE: "uhd-630@6.2", DXTENSOR_DXCORE: "/nowhere/none" },
  },
];
const others: readonly Program[] = [
  { name: "import alone", args: () => ["--input-type=module", "-e", `await import(${JSON.stringify(library)})`], sends: false },
  {
    name: "tests",
    args: () => [
      resolve("node_modules", "vitest", "vitest.mjs"),
      "run",
      "test/core/ambient",
      "test/ops/elementwise/unary",
      "--maxWorkers=1",
    ],
    cwd: root,
    sends: false,
  },
];

describe.skipIf(process.platform !== "linux")("silence (on Linux, which has namespaces)", { timeout: 300_000 }, () => {
  let counters: Counter[];
  let counter: Counter;
  const without = process.platform === "linux" ? namespace() : null;
  const loopback = without === null ? null : withLoopback(without);
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), "dxtensor-silence-"));
    counters = [strace() ?? [], preloaded(folder)].flat();
    counter = counters[0]!;
    const say = (text: string): void => void process.stderr.write(`\nSILENCE IS PROVED LESS: ${text}\n`);
    if (without === null) say("network namespaces are not permitted here (unshare -n); programs run with this machine's interfaces.");
    else if (loopback === null) say("the loopback interface cannot be brought up in a namespace; programs with consent run outside.");
    if (counter.name !== "strace") say("strace cannot trace here; calls are counted by a preloaded library.");
  });
  afterAll(() => {
    rmSync(folder, { recursive: true });
  });
  beforeEach(() => {
    data = mkdtempSync(join(folder, "data-"));
  });

  const done = ({ status, stderr }: Observed): void =>
    expect({ status, stderr: status === 0 ? "" : stderr }).toEqual({ status: 0, stderr: "" });

  it("would be noticed if it were broken, by each counter", async () => {
    const file = join(folder, "loud.mjs");
    writeFileSync(
      file,
      `import net from "node:net"; import dgram from "node:dgram";
      for (const options of [{ port: 9, host: "127.0.0.1" }, { port: 9, host: "::1" }, { path: "/nowhere" }])
        await new Promise((resolve) => net.connect(options).on("error", resolve).on("connect", resolve));
      const socket = dgram.createSocket("udp4");
      await new Promise((resolve) => socket.send("x", 9, "192.0.2.1", resolve));
      socket.close();`,
    );
    for (const one of counters) {
      const { calls, ...seen } = await observe([file], { counter: one, room: without ?? [], data });
      done({ ...seen, calls });
      expect([one.name, calls.map((line) => /(?:connect|sendto|sendmm?sg)\b/.exec(line)?.[0].replace(/^send.*/, "send"))]).toEqual([
        one.name,
        ["connect", "connect", "send"],
      ]);
    }
  });

  // Every kind of program is among the share.
  const chosen = isWhole
    ? [documented, examples, commands, others].flat()
    : [...share(documented, 60, 4), ...share(examples, 14, 2), ...share(commands, 8, 3), ...share(others, 4)];
  describe.each(chosen)("$name", ({ args, env = {}, sends = true, cwd, listens = false }) => {
    it("reaches for nobody without consent", async () => {
      // An endpoint alone is none; only a consent is missing.
      const setting = { counter, room: (listens ? loopback : without) ?? [], data, ...(cwd === undefined ? {} : { cwd }) };
      const seen = await observe(args(), { ...setting, env: { ...env, DXTENSOR_TELEMETRY_ENDPOINT: "http://127.0.0.1:9" } });
      done(seen);
      expect(seen.calls).toEqual([]);
      expect(existsSync(join(data, "dxtensor", "telemetry"))).toBe(false);
    });

    if (!sends) return;
    it("sends one message with consent, which is what `show` says", async () => {
      writeConsent(join(data, "dxtensor", "telemetry"), { date: "2026-11-27", text: TEXT_VERSION, endpoint: null });
      const setting = { counter, room: loopback ?? [], data, env };
      const shown = await observe([cli, "telemetry", "show"], { ...setting, collects: true });
      done(shown);
      expect([shown.requests, shown.calls]).toEqual([[], []]);
      const seen = await observe(args(), { ...setting, collects: true });
      done(seen);
      expect(seen.requests.map(bodyOf)).toEqual([shown.stdout]);
      expect(seen.calls.map((line) => /connect/.exec(line)?.[0])).toEqual(["connect"]);
      if (!isWhole) return;
      const again = await observe(args(), { ...setting, collects: true });
      expect([again.requests, again.calls]).toEqual([[], []]);
    });
  });
});
