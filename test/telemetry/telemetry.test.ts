/** Programs as users run them, each in a process of its own, with a collector on this machine: the messages that are sent, and those that never are. */
import { once } from "node:events";
import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { execa } from "execa";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { addonPaths } from "../../src/native/paths.ts";
import { hostEnvironment } from "../../src/native/load-addon.ts";
import { consentPath, TEXT_VERSION, writeConsent } from "../../src/telemetry/consent.ts";
import { dayOf, keepIdentifier, monthOf } from "../../src/telemetry/days.ts";
import { stateOf } from "../../src/telemetry/telemetry.ts";
import { certificateIn, hasOpenssl } from "./certificate.ts";
import { bodyOf, collect, type Collector } from "./collector.ts";
import { environmentIn } from "./environment.ts";
import { isWhole, share } from "../share.ts";

const published = pathToFileURL(join("dist", "bundle", "dxtensor.js")).href;
const program = join("test", "telemetry", "program.mjs");

/** Processes that start on a busy machine. */
const slow = { timeout: 180_000 };

let data: string;
let folder: string;
let collector: Collector;
beforeEach(async () => {
  data = mkdtempSync(join(tmpdir(), "dxtensor-telemetry-"));
  folder = join(data, "dxtensor", "telemetry");
  collector = await collect();
});
afterEach(() => {
  collector.close();
  rmSync(data, { recursive: true });
});

const today = (): string => dayOf(new Date());
const consentTo = (endpoint: string | null): void => writeConsent(folder, { date: "2026-11-27", text: TEXT_VERSION, endpoint });
const environment = (more: Record<string, string> = {}): Record<string, string> => environmentIn(data, more);

interface Start {
  readonly module?: string;
  readonly env?: Record<string, string>;
  readonly flags?: readonly string[];
}
const start = (mode: string, { module = published, env = {}, flags = [] }: Start = {}) =>
  execa(process.execPath, [...flags, program, module, mode], { reject: false, env: environment(env), extendEnv: false });
type Running = ReturnType<typeof start>;

/** Against a message that should not come there is only time. */
const idle = (): Promise<unknown> => new Promise((resolve) => setTimeout(resolve, 1500));

/** Waits until its devices are open. */
async function opened(child: Running): Promise<void> {
  await Promise.race([once(child.stdout, "data"), child]);
}

/** Lets a program run for longer than it takes to send a message, then end. */
async function pass(...children: Running[]): Promise<void> {
  await Promise.all(children.map(opened));
  await idle();
  for (const child of children) {
    child.stdin.end();
    expect(await child).toMatchObject({ exitCode: 0, stderr: "" });
  }
}

async function show(): Promise<string> {
  const { stdout } = await execa(process.execPath, ["dist/bundle/cli.js", "telemetry", "show", "--device", "cpu"], {
    env: environment(),
    extendEnv: false,
    stripFinalNewline: false,
  });
  return stdout;
}

/** Runs a program until its message has come. */
async function sendBy(child: Running, count = 1): Promise<void> {
  await collector.until(count);
  child.stdin.end();
  expect(await child).toMatchObject({ exitCode: 0, stderr: "" });
}

describe("with consent", slow, () => {
  it("one message a day goes out, which is what `show` said, however many programs run, one after the other", async () => {
    consentTo(collector.endpoint);
    const shown = await show();
    await sendBy(start("hold"));
    await pass(start("hold"));
    expect(collector.requests.map(bodyOf)).toEqual([shown]);
    expect(readdirSync(folder).toSorted()).toEqual(["consent.json", `identifier-${monthOf(today())}`, `last-${today()}`]);
    expect(JSON.parse(shown)).toMatchObject({ resourceLogs: [{ scopeLogs: [{ logRecords: [{ eventName: "dxtensor.device.active" }] }] }] });
  });

  it("and however many run at once", async () => {
    consentTo(collector.endpoint);
    const children = Array.from({ length: 3 }, () => start("hold"));
    await Promise.all([collector.until(1), pass(...children)]);
    expect(collector.requests.length).toBe(1);
  });

  it("a new month has a new identifier, and the variable's endpoint comes before the consent's", async () => {
    consentTo("https://collector.example");
    const old = keepIdentifier(folder, "2020-01");
    writeFileSync(join(folder, "last-2020-01-31"), "");
    await sendBy(start("hold", { env: { DXTENSOR_TELEMETRY_ENDPOINT: `${collector.endpoint}/mine` } }));
    expect(collector.requests.map((request) => request.split(" ", 2))).toEqual([["POST", "/mine/v1/logs"]]);
    expect(collector.requests.map(bodyOf).join("")).not.toContain(old);
    expect(readdirSync(folder).toSorted()).toEqual(["consent.json", `identifier-${monthOf(today())}`, `last-${today()}`]);
  });

  it.runIf(isWhole)("threads send none, but for the main one: they may lack the variables that say no", async () => {
    consentTo(collector.endpoint);
    const child = start("workers");
    await opened(child);
    await idle();
    expect(collector.connections()).toBe(0);
    child.stdin.write("now");
    await sendBy(child);
    expect(collector.connections()).toBe(1);
  });

  it.runIf(isWhole)("it is sent from a bundle of a user's, as an ES module and as CommonJS", async () => {
    const { rolldown } = await import("rolldown");
    const input = join(data, "input.mjs");
    const addon = addonPaths(hostEnvironment()).find((path) => existsSync(path))!;
    writeFileSync(input, `export * from ${JSON.stringify(join(process.cwd(), "dist", "bundle", "dxtensor.js"))};`);
    const build = await rolldown({ input, platform: "node", logLevel: "silent" });
    const children: Running[] = [];
    for (const [name, format] of [
      ["user.mjs", "esm"],
      ["user.cjs", "cjs"],
    ] as const) {
      await build.write({ file: join(data, name), format, codeSplitting: false });
      const own = join(data, format);
      writeConsent(join(own, "dxtensor", "telemetry"), { date: today(), text: TEXT_VERSION, endpoint: collector.endpoint });
      const env = { DXTENSOR_NATIVE: addon, XDG_DATA_HOME: own, LOCALAPPDATA: own };
      children.push(start("hold", { module: pathToFileURL(join(data, name)).href, env }));
    }
    await build.close();
    await collector.until(2);
    await Promise.all(children.map((child) => sendBy(child, 2)));
    expect(collector.requests.length).toBe(2);
  });

  it.runIf(isWhole && hasOpenssl)("it goes over https to a server whose certificate holds (with openssl)", async () => {
    const { key, cert } = certificateIn(data);
    const server = createServer({ key: readFileSync(key), cert: readFileSync(cert) }, (request, response) => {
      let text = "";
      request.setEncoding("utf8").on("data", (part: string) => (text += part));
      request.on("end", () => {
        response.end();
        server.emit("whole", text);
      });
    });
    try {
      server.listen(0, "127.0.0.1");
      await once(server, "listening");
      consentTo(`https://localhost:${(server.address() as AddressInfo).port}`);
      const shown = await show();
      const child = start("hold", { env: { NODE_EXTRA_CA_CERTS: cert } });
      expect(await once(server, "whole")).toEqual([shown]);
      child.stdin.end();
      expect(await child).toMatchObject({ exitCode: 0, stderr: "" });
    } finally {
      server.close();
    }
  });
});

describe("no message goes out", slow, () => {
  it("without consent, or where a variable says no, or the clock has jumped back, or nothing can be written", async () => {
    const endpoint = { DXTENSOR_TELEMETRY_ENDPOINT: collector.endpoint };
    const permission = process.allowedNodeEnvironmentFlags.has("--permission") ? "--permission" : "--experimental-permission";
    const left: string[][] = [];
    /** A program with a folder of its own, and the files that it must leave there. */
    const withFiles = (
      files: Readonly<Record<string, string>> | null,
      more: Record<string, string>,
      flags: string[] = [],
      mode = "hold",
    ): Running => {
      const own = join(data, String(left.length));
      const kept = join(own, "dxtensor", "telemetry");
      left.push([kept, ...(files === null ? [] : ["consent.json", ...Object.keys(files)])]);
      if (files !== null) writeConsent(kept, { date: today(), text: TEXT_VERSION, endpoint: null });
      for (const [name, text] of Object.entries(files ?? {})) writeFileSync(join(kept, name), text);
      return start(mode, { env: { ...endpoint, XDG_DATA_HOME: own, LOCALAPPDATA: own, ...more }, flags });
    };
    // Each is a program: every third, unless all are asked for.
    const programs: readonly (() => Running)[] = [
      () => withFiles(null, {}),
      () => withFiles({}, {}, [], "import"),
      () => withFiles({}, { DO_NOT_TRACK: "1" }),
      () => withFiles({}, { CI: "true" }),
      () => withFiles({}, { DXTENSOR_TELEMETRY: "0" }),
      () => withFiles({}, { DXTENSOR_TELEMETRY_ENDPOINT: "" }),
      () => withFiles({}, { DXTENSOR_TELEMETRY_ENDPOINT: collector.endpoint.replace("127.0.0.1", "0.0.0.0") }),
      () => withFiles({}, {}, ["--no-warnings", permission, "--allow-fs-read=*", "--allow-addons"]),
      () => withFiles({ "last-2099-12-31": "" }, {}),
    ];
    await pass(...share(programs, 3).map((begin) => begin()));
    const damaged = withFiles({}, {});
    writeFileSync(consentPath(left.at(-1)![0]!), "x".repeat(2 ** 20));
    await pass(damaged);
    for (const [kept, ...files] of left) expect(existsSync(kept!) ? readdirSync(kept!).toSorted() : []).toEqual(files);
    expect(collector.connections()).toBe(0);
  });

  it("from a program that exits at once, and the day stays for the next", async () => {
    consentTo(collector.endpoint);
    expect(await start("exit")).toMatchObject({ exitCode: 0, stderr: "" });
    expect([collector.connections(), readdirSync(folder)]).toEqual([0, ["consent.json"]]);
  });

  it.runIf(isWhole)("a second time that day after the first has failed", async () => {
    collector.close();
    collector = await collect("500 Internal Server Error", "Retry-After: 0\r\n");
    consentTo(collector.endpoint);
    await sendBy(start("hold"));
    await pass(start("hold"));
    expect(collector.connections()).toBe(1);
    const { endpoint } = collector;
    collector.close();
    rmSync(join(folder, `last-${today()}`));
    // Nobody listens.
    await pass(start("hold", { env: { DXTENSOR_TELEMETRY_ENDPOINT: endpoint } }));
    expect(readdirSync(folder)).toContain(`last-${today()}`);
  });
});

it("a program that is done ends at once, whatever the collector does", slow, async () => {
  collector.close();
  collector = await collect(null);
  consentTo(collector.endpoint);
  const child = start("hold");
  await collector.until(1);
  const from = performance.now();
  child.stdin.end();
  expect(await child).toMatchObject({ exitCode: 0, stderr: "" });
  // The request itself would be given up after five seconds.
  expect(performance.now() - from).toBeLessThan(3500);
});

it("how things stand is told without changing anything", () => {
  const where = { ...hostEnvironment(), env: environment() };
  const now = new Date("2026-11-27T12:00:00Z");
  const codes = (env: Record<string, string> = {}): string[] =>
    stateOf({ ...where, env: environment(env) }, now).reasons.map(({ code }) => code);
  expect(codes()).toEqual(["noConsent", "noEndpoint"]);
  expect(existsSync(folder)).toBe(false);
  consentTo(null);
  expect(codes()).toEqual(["noEndpoint"]);
  expect(codes({ CI: "1", DO_NOT_TRACK: "1", DXTENSOR_TELEMETRY: "0" })).toEqual(["doNotTrack", "variable", "ci", "noEndpoint"]);
  expect(codes({ DXTENSOR_TELEMETRY_ENDPOINT: "http://collector.example" })).toEqual(["endpointRefused"]);
  consentTo(collector.endpoint);
  expect(codes()).toEqual([]);
  writeFileSync(join(folder, "last-2026-11-27"), "");
  expect(stateOf(where, now)).toMatchObject({ last: "2026-11-27", today: "2026-11-27", next: "2026-11-28", endpointFrom: "consent" });
  writeFileSync(consentPath(folder), "{");
  expect(codes()).toEqual(["consentUnreadable", "noEndpoint"]);
});
