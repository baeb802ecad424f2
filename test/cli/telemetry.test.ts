/** `dxtensor telemetry` as a program, with temporary folders: its output, question, files and deletions. */
import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { execa } from "execa";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { isWhole, share } from "../share.ts";
import { environmentIn } from "../telemetry/environment.ts";

const cli = "dist/bundle/cli.js";
const today = (): string => new Date().toISOString().slice(0, 10);
const month = (): string => today().slice(0, 7);

let data: string;
let folder: string;
beforeEach(() => {
  data = mkdtempSync(join(tmpdir(), "dxtensor-telemetry-"));
  folder = join(data, "dxtensor", "telemetry");
});
afterEach(() => {
  rmSync(data, { recursive: true });
});

const environment = (more: Record<string, string> = {}): Record<string, string> => environmentIn(data, { DXTENSOR_DEVICE: "cpu", ...more });
const run = (args: readonly string[], more: Record<string, string> = {}) =>
  execa(process.execPath, [cli, "telemetry", ...args], {
    reject: false,
    stdin: "ignore",
    stripFinalNewline: false,
    env: environment(more),
    extendEnv: false,
  });

/** One line of JSON. */
async function json<T = Record<string, unknown>>(args: readonly string[], more: Record<string, string> = {}): Promise<T> {
  const { stdout, stderr, exitCode } = await run([...args, "--json"], more);
  expect([stderr, exitCode]).toEqual(["", 0]);
  expect(stdout.endsWith("\n") && stdout.indexOf("\n") === stdout.length - 1).toBe(true);
  return JSON.parse(stdout) as T;
}

const files = (): string[] => (existsSync(folder) ? readdirSync(folder).toSorted() : []);
const endpoint = "https://collector.example:4318";

describe("dxtensor telemetry", () => {
  it("is off, and says why, in words and for programs", async () => {
    const { stdout, exitCode } = await run(["status"]);
    expect(stdout).toBe(
      `telemetry    off\nfolder       ${folder}\nWhy nothing is sent:\n  - there is no consent\n  - no endpoint is set\n`,
    );
    expect(exitCode).toBe(0);
    expect(await json(["status"])).toEqual({
      on: false,
      sends: false,
      reasons: [
        { code: "noConsent", text: "there is no consent" },
        { code: "noEndpoint", text: "no endpoint is set" },
      ],
      consent: null,
      endpoint: null,
      endpointFrom: null,
      url: null,
      last: null,
      next: today(),
      folder,
    });
    expect(files()).toEqual([]);
  });

  it("on, for a script that has its user's consent: shows the message, writes the consent, and off deletes both", async () => {
    const on = await run(["on", "--yes", "--endpoint", endpoint]);
    expect([on.exitCode, on.stderr]).toEqual([0, ""]);
    expect(files()).toEqual(["consent.json", `identifier-${month()}`]);
    expect(JSON.parse(readFileSync(join(folder, "consent.json"), "utf8"))).toEqual({ format: 1, text: 1, date: today(), endpoint });
    const shown = await run(["show"]);
    expect([shown.exitCode, shown.stderr]).toEqual([0, `POST ${endpoint}/v1/logs, on ${today()} at the earliest:\n`]);
    // The text had this very message, identifier and all.
    expect(on.stdout).toContain(`\n\n${shown.stdout}\n`);
    expect(shown.stdout).toContain(readFileSync(join(folder, `identifier-${month()}`), "utf8").trim());
    for (const word of ["at most once a day", "DO_NOT_TRACK", `${endpoint}/v1/logs`, "IP address", folder, "telemetry off"])
      expect(on.stdout).toContain(word);
    expect(on.stdout.endsWith(`\nConsent of ${today()} to text 1 is written.\n`)).toBe(true);
    expect(await json(["show"])).toEqual({
      sends: true,
      reasons: [],
      method: "POST",
      url: `${endpoint}/v1/logs`,
      headers: { "Content-Type": "application/json", "User-Agent": "dxtensor" },
      next: today(),
      body: shown.stdout,
    });
    expect((await run(["status"])).stdout).toBe(
      `telemetry    on\nconsent      ${today()}, to text 1\nendpoint     ${endpoint} (with the consent)\nnext message ${today()} at the earliest\nfolder       ${folder}\n`,
    );
    expect((await run(["off"])).stdout).toBe("Telemetry is off; consent and identifier are deleted.\n");
    expect(existsSync(folder)).toBe(false);
    expect((await run(["off"])).stdout).toBe("Telemetry was off already.\n");
    expect(await json(["off"])).toEqual({ on: false, wasOn: false });
  });

  it.runIf(isWhole)(
    "on again keeps the identifier and the endpoint; off and on again makes a new one, and no second message that day",
    async () => {
      interface On {
        readonly on: boolean;
        readonly url: string | null;
        readonly message: string;
      }
      const first = await json<On>(["on", "--yes", "--endpoint", endpoint]);
      expect(first).toMatchObject({ on: true, url: `${endpoint}/v1/logs`, consent: { date: today(), text: 1, endpoint }, reasons: [] });
      expect(await json<On>(["on", "--yes"])).toEqual(first);
      expect(await json<On>(["on", "--yes", "--endpoint", ""])).toEqual({
        ...first,
        url: null,
        consent: { date: today(), text: 1, endpoint: null },
        reasons: [{ code: "noEndpoint", text: "no endpoint is set" }],
      });
      writeFileSync(join(folder, `last-${today()}`), "");
      expect(await json(["off"])).toEqual({ on: false, wasOn: true });
      expect(files()).toEqual([`last-${today()}`]);
      const second = await json<On>(["on", "--yes", "--endpoint", endpoint]);
      expect(second.message).not.toBe(first.message);
      const status = await json<{ next: string; last: string }>(["status"]);
      expect([status.last, status.next > today()]).toEqual([today(), true]);
    },
  );

  it("show without consent has no identifier, and makes none", async () => {
    const { stdout, stderr, exitCode } = await run(["show"]);
    expect(exitCode).toBe(0);
    expect(stderr).toBe("Nothing is sent:\n  - there is no consent\n  - no endpoint is set\n");
    expect(stdout).toContain('"00000000-0000-4000-8000-000000000000"');
    expect(stdout).toContain('{ "key": "dxtensor.device.type", "value": { "stringValue": "cpu" } }');
    expect(files()).toEqual([]);
  });

  it("says which variable keeps it off, and refuses none of them a consent", async () => {
    const no = { CI: "true", DO_NOT_TRACK: "1", DXTENSOR_TELEMETRY: "0" };
    const on = await run(["on", "--yes", "--endpoint", endpoint], no);
    expect(on.exitCode).toBe(0);
    const reasons = "  - DO_NOT_TRACK is 1\n  - DXTENSOR_TELEMETRY is 0\n  - CI is true\n";
    expect(on.stdout.endsWith(`Nothing is sent from here as things stand:\n${reasons}`)).toBe(true);
    const { stdout } = await run(["status"], no);
    expect(stdout).toMatch(/^telemetry {4}consented, but nothing is sent from here\n/);
    expect(stdout.endsWith(`Why nothing is sent:\n${reasons}`)).toBe(true);
    expect(await json(["status"])).toMatchObject({ sends: true, reasons: [] });
    expect(await json(["status"], { DXTENSOR_TELEMETRY_ENDPOINT: "http://localhost:4318" })).toMatchObject({
      endpoint: "http://localhost:4318",
      endpointFrom: "environment",
      url: "http://localhost:4318/v1/logs",
    });
  });

  it("says what is wrong with the file of the consent, and is off", async () => {
    await json(["on", "--yes", "--endpoint", endpoint]);
    for (const [text, code] of [
      ["{", "consentUnreadable"],
      ["x".repeat(2 ** 20), "consentUnreadable"],
      ['{ "format": 99 }', "consentNewer"],
    ] as const) {
      writeFileSync(join(folder, "consent.json"), text);
      const status = await json<{ on: boolean; reasons: { code: string }[] }>(["status"]);
      expect([status.on, status.reasons[0]!.code]).toEqual([false, code]);
    }
    // Consenting again mends it.
    expect(await json(["on", "--yes", "--endpoint", endpoint])).toMatchObject({ on: true, reasons: [] });
  });
});

describe("what is refused, in words and with status 2", () => {
  const notAllowed =
    /^dxtensor: ValueError: telemetry: (--endpoint|endpoint|DXTENSOR_TELEMETRY_ENDPOINT) must be a base URL of an OTLP collector.*; received http:\/\/collector\.example\.\n$/;
  const variable = { DXTENSOR_TELEMETRY_ENDPOINT: "http://collector.example" };
  it.each([
    [
      "to be asked without a terminal",
      ["on"],
      {},
      /^dxtensor: DxError: telemetry on: must be called in a terminal; received redirected input\. A script .* --yes\.\n$/,
    ],
    ["an endpoint that is not allowed", ["on", "--yes", "--endpoint", "http://collector.example"], {}, notAllowed],
    ["one of the environment, when consenting", ["on", "--yes"], variable, notAllowed],
    ["one of the environment, when showing", ["show"], variable, notAllowed],
    [
      "a device that is none",
      ["show", "--device", "gpu"],
      {},
      /^dxtensor: DeviceError: telemetry: device must be "cpu", "meta" or "dml:N"; received gpu/,
    ],
    [
      "a folder that cannot be written",
      ["on", "--yes"],
      { XDG_DATA_HOME: "/dev/null", LOCALAPPDATA: "/dev/null" },
      /^dxtensor: FormatError: telemetry: .* must be a folder that can be written; received /,
    ],
    ["another option", ["status", "--bogus"], {}, /^error: unknown option '--bogus'/],
    ["another verb", ["onn"], {}, /^error: unknown command 'onn'\n\(Did you mean on\?\)/],
  ] as const)("%s", async (_what, args, env, message) => {
    const { stderr, exitCode } = await run(args, env);
    expect(stderr).toMatch(message);
    expect([exitCode, files()]).toEqual([2, []]);
  });

  it("--help tells of each verb", async () => {
    for (const verb of isWhole ? ["on", "off", "status", "show"] : ["show"]) {
      const { stdout, exitCode } = await run([verb, "--help"]);
      expect([exitCode, stdout]).toEqual([0, expect.stringContaining(`dxtensor telemetry ${verb}`)]);
      expect(stdout).toContain("--json");
    }
    expect((await run(["--help"])).stdout).toContain("docs/telemetry.md");
  });
});

/** script of util-linux makes a terminal. */
const hasTerminal = process.platform === "linux" && spawnSync("script", ["-qec", "true", "/dev/null"]).status === 0;

describe.skipIf(!hasTerminal)("in a terminal (where util-linux' script makes one)", () => {
  /** Answers when the question has come. */
  async function asked(answer: string, ...args: string[]) {
    const line = [process.execPath, cli, "telemetry", "on", ...args].map((word) => `'${word}'`).join(" ");
    const child = execa("script", ["-qec", line, "/dev/null"], { reject: false, timeout: 50_000, env: environment(), extendEnv: false });
    let text = "";
    child.stdout.on("data", (bytes: Buffer) => {
      text += bytes.toString();
      // Escape sequences follow.
      if (text.includes("(y/N) ")) {
        child.stdin.write(answer);
        text = "";
      }
    });
    const { exitCode, stdout } = await child;
    return { exitCode, stdout: stdout.replaceAll("\r", "") };
  }

  it.each(share(["y\n", "Yes\n"], 2))("%j consents", async (answer) => {
    const { exitCode, stdout } = await asked(answer, "--endpoint", endpoint);
    expect(exitCode).toBe(0);
    expect(stdout).toContain("byte for byte");
    expect(stdout).toContain(`Consent of ${today()} to text 1 is written.`);
    expect(files()).toEqual(["consent.json", `identifier-${month()}`]);
  });

  it.each(
    [
      ["an empty line", "\n"],
      ["no", "n\n"],
      ["another word", "yep\n"],
      ["Ctrl-D", "\u0004"],
      ["Ctrl-C", "\u0003"],
    ].filter((_, i) => isWhole || i % 3 === 0),
  )("%s does not", async (_what, answer) => {
    const { exitCode, stdout } = await asked(answer);
    expect(stdout).toContain("Nothing was written: telemetry stays off.");
    expect([exitCode, files()]).toEqual([1, []]);
  });
});
