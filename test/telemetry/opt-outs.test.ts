import { execFileSync } from "node:child_process";
import { describe, expect, it } from "vitest";
import { environmentReasons, policyReason, queryWith, registryTool, type Queried } from "../../src/telemetry/opt-outs.ts";

const codes = (environment: Record<string, string>): string[] => environmentReasons(environment).map(({ code }) => code);

describe("variables", () => {
  // consoledonottrack.com: any value but 0 and nothing.
  it.each([
    ["DO_NOT_TRACK", "1", "doNotTrack"],
    ["DO_NOT_TRACK", "true", "doNotTrack"],
    ["DO_NOT_TRACK", "false", "doNotTrack"],
    ["DO_NOT_TRACK", "00", "doNotTrack"],
    ["DXTENSOR_TELEMETRY", "0", "variable"],
    ["DXTENSOR_TELEMETRY", "off", "variable"],
    ["DXTENSOR_TELEMETRY", "False", "variable"],
    ["DXTENSOR_TELEMETRY", "garbage", "variable"],
    ["CI", "true", "ci"],
    ["CI", "1", "ci"],
    ["CI", "woodpecker", "ci"],
  ])("%s=%s says no", (name, value, code) => {
    expect(codes({ [name]: value })).toEqual([code]);
  });

  it.each([
    ["DO_NOT_TRACK", "0"],
    ["DO_NOT_TRACK", ""],
    ["DXTENSOR_TELEMETRY", "1"],
    ["DXTENSOR_TELEMETRY", ""],
    ["CI", ""],
    ["CI", "0"],
    ["CI", "false"],
  ])("%s=%s does not", (name, value) => {
    expect(codes({ [name]: value })).toEqual([]);
  });

  it("each that says no is named", () => {
    expect(environmentReasons({ DO_NOT_TRACK: "1", DXTENSOR_TELEMETRY: "0", CI: "true" }).map(({ text }) => text)).toEqual([
      "DO_NOT_TRACK is 1",
      "DXTENSOR_TELEMETRY is 0",
      "CI is true",
    ]);
    expect(environmentReasons({})).toEqual([]);
  });
});

/** As reg.exe of Windows 11 prints a value; the column is tab-free, the words are not translated. */
const printed = (value: string): Queried => ({
  status: 0,
  stdout: `\r\nHKEY_LOCAL_MACHINE\\SOFTWARE\\Policies\\Microsoft\\Windows\\DataCollection\r\n    AllowTelemetry    REG_DWORD    ${value}\r\n\r\n`,
});
const absent: Queried = { status: 1, stdout: "" };

describe("Windows' policy", () => {
  const reasonOf = async (...results: Queried[]): Promise<string | null> => {
    let asked = 0;
    return (await policyReason("reg.exe", () => Promise.resolve(results[asked++]!)))?.text ?? null;
  };

  it("says no where AllowTelemetry is 0, for the machine or the user", async () => {
    for (const at of [0, 1, 2]) {
      const results = [absent, absent, absent].with(at, printed("0x0"));
      expect(await reasonOf(...results)).toMatch(
        /^Windows' policy for diagnostic data is off \(HK(LM|CU)\\.*DataCollection\\AllowTelemetry is 0\)$/,
      );
    }
  });

  it("says nothing where it is another number, or not there", async () => {
    expect(await reasonOf(absent, absent, absent)).toBe(null);
    for (const value of ["0x1", "0x3", "0x10"]) expect(await reasonOf(printed(value), absent, absent)).toBe(null);
  });

  it("says no where it cannot be read", async () => {
    for (const status of [null, 2, -1])
      expect(await reasonOf(absent, { status, stdout: "" }, absent)).toMatch(/cannot be read by reg\.exe$/);
  });

  it("is asked by reg.exe alone, on Windows and in WSL, and elsewhere nobody is", async () => {
    const there = (path: string): boolean => path === "/mnt/c/Windows/System32/reg.exe";
    const wsl = "5.15.167.4-microsoft-standard-WSL2";
    const tool = (platform: string, kernel: string, exists = there, env = {}): string | null =>
      registryTool({ env, platform, exists }, kernel);
    expect(tool("win32", "10.0.22631")).toBe("C:\\Windows\\System32\\reg.exe");
    expect(tool("win32", "10.0.22631", there, { SystemRoot: "D:\\Win" })).toBe("D:\\Win\\System32\\reg.exe");
    expect(tool("linux", wsl)).toBe("/mnt/c/Windows/System32/reg.exe");
    expect(tool("linux", wsl, () => false)).toBe(null);
    expect(tool("linux", "6.8.0-45-generic")).toBe(null);
    let asked = 0;
    expect(await policyReason(null, () => Promise.resolve(((asked += 1), printed("0x0"))))).toBe(null);
    expect(asked).toBe(0);
  });

  it("comes from a program that is run without a shell", async () => {
    const query = queryWith(true);
    const text = "a b;$(c) 'd'";
    const program = "process.stdout.write(process.argv[1]); process.exitCode = 1";
    expect(await query(process.execPath, ["-e", program, text])).toEqual({ status: 1, stdout: text });
    expect(await query("/no/such/program", [])).toEqual({ status: null, stdout: "" });
  });

  it("does not hold a process that is done", () => {
    const program = `const { queryWith } = await import(${JSON.stringify(new URL("../../dist/telemetry/opt-outs.js", import.meta.url).href)});
      void queryWith(false)(process.execPath, ["-e", "setInterval(() => process.stdout.write('.'), 100)"]);`;
    // Nobody reads what its child writes then, and that ends the child.
    expect(execFileSync(process.execPath, ["--input-type=module", "-e", program], { timeout: 20_000, encoding: "utf8" })).toBe("");
  });
});
