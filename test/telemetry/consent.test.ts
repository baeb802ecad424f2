/** The file of the consent: valid and invalid files, and its removal. */
import { execFileSync } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { consentPath, deleteConsent, readConsent, TEXT_VERSION, telemetryFolder, writeConsent } from "../../src/telemetry/consent.ts";
import { hostEnvironment } from "../../src/native/load-addon.ts";

const consent = { date: "2026-11-27", text: TEXT_VERSION, endpoint: "https://collector.example" };
const isWindows = process.platform === "win32";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "dxtensor-consent-"));
});
afterEach(() => {
  rmSync(folder, { recursive: true });
});

const codeOf = (): string | null => {
  const found = readConsent(folder);
  return found !== null && "problem" in found ? found.problem.code : null;
};

describe("a consent", () => {
  it("is read as it was written, and written over at once", () => {
    const nested = join(folder, "not", "there");
    expect(readConsent(nested)).toBe(null);
    writeConsent(nested, { ...consent, endpoint: null });
    writeConsent(nested, consent);
    expect(readConsent(nested)).toEqual({ consent });
    expect(readdirSync(nested)).toEqual(["consent.json"]);
    expect(JSON.parse(readFileSync(consentPath(nested), "utf8"))).toEqual({ format: 1, ...consent });
    if (!isWindows) expect([statSync(nested).mode & 0o777, statSync(consentPath(nested)).mode & 0o777]).toEqual([0o700, 0o600]);
  });

  it("is in the user's folder for data", () => {
    const where = { ...hostEnvironment(), platform: "linux", home: "/home/me", env: {} };
    expect(telemetryFolder(where)).toBe("/home/me/.local/share/dxtensor/telemetry");
    expect(telemetryFolder({ ...where, env: { XDG_DATA_HOME: "/data" } })).toBe("/data/dxtensor/telemetry");
    // As the XDG specification has it.
    expect(telemetryFolder({ ...where, env: { XDG_DATA_HOME: "data" } })).toBe("/home/me/.local/share/dxtensor/telemetry");
  });
});

describe("no consent, but a reason", () => {
  const whole = { format: 1, ...consent };
  it.each([
    ["nothing", "", "consentUnreadable"],
    ["half a file", JSON.stringify(whole).slice(0, 20), "consentUnreadable"],
    ["bytes", "\0\u0001\ufffd", "consentUnreadable"],
    ["null", "null", "consentUnreadable"],
    ["a list", "[]", "consentUnreadable"],
    ["true", "true", "consentUnreadable"],
    ["a file without a date", JSON.stringify({ ...whole, date: undefined }), "consentUnreadable"],
    ["a date that is none", JSON.stringify({ ...whole, date: "yesterday" }), "consentUnreadable"],
    ["a text's version that is none", JSON.stringify({ ...whole, text: "1" }), "consentUnreadable"],
    ["an endpoint that is none", JSON.stringify({ ...whole, endpoint: 5 }), "consentUnreadable"],
    ["no endpoint, not even null", JSON.stringify({ ...whole, endpoint: undefined }), "consentUnreadable"],
    ["a format without a number", JSON.stringify({ ...whole, format: "1" }), "consentUnreadable"],
    ["a newer format", JSON.stringify({ format: 2, agreed: true }), "consentNewer"],
    ["consent to an older text", JSON.stringify({ ...whole, text: TEXT_VERSION - 1 }), "consentOtherText"],
    ["consent to a newer text", JSON.stringify({ ...whole, text: TEXT_VERSION + 1 }), "consentOtherText"],
  ])("%s", (_what, text, code) => {
    writeFileSync(consentPath(folder), text);
    expect(codeOf()).toBe(code);
  });

  it("a mebibyte of anything, which is not read", () => {
    writeConsent(folder, consent);
    truncateSync(consentPath(folder), 2 ** 20);
    expect(codeOf()).toBe("consentUnreadable");
  });

  it("a folder of that name", () => {
    mkdirSync(consentPath(folder));
    expect(codeOf()).toBe("consentUnreadable");
  });

  it.skipIf(isWindows)("a symbolic link, whatever it leads to, and a pipe, which is not opened (not on Windows)", () => {
    const elsewhere = join(folder, "elsewhere");
    writeConsent(elsewhere, consent);
    for (const to of [consentPath(elsewhere), "/dev/zero", join(folder, "nowhere")]) {
      symlinkSync(to, consentPath(folder));
      expect(codeOf()).toBe("consentUnreadable");
      rmSync(consentPath(folder));
    }
    execFileSync("mkfifo", [consentPath(folder)]);
    expect(codeOf()).toBe("consentUnreadable");
  });

  it.skipIf(process.getuid?.() !== 0)("another user's file (where root runs the tests)", () => {
    writeConsent(folder, consent);
    execFileSync("chown", ["12345", consentPath(folder)]);
    expect(codeOf()).toBe("consentUnreadable");
  });

  it.skipIf(isWindows)("writing replaces a symbolic link, not what it leads to (not on Windows)", () => {
    const target = join(folder, "target");
    writeFileSync(target, "mine");
    symlinkSync(target, consentPath(folder));
    writeConsent(folder, consent);
    expect(readFileSync(target, "utf8")).toBe("mine");
    expect(readConsent(folder)).toEqual({ consent });
  });
});

describe("deleting", () => {
  const files = ["identifier-2026-11", "identifier-2026-10", "left.new"];

  it("leaves nothing, not even the folder", () => {
    const own = join(folder, "telemetry");
    writeConsent(own, consent);
    for (const name of [...files, "last-2026-11-26"]) writeFileSync(join(own, name), "");
    expect(deleteConsent(own, "2026-11-27")).toBe(true);
    expect(existsSync(own)).toBe(false);
    expect(deleteConsent(own, "2026-11-27")).toBe(false);
  });

  it.each([
    ["2026-11-26", []],
    ["2026-11-27", ["last-2026-11-27"]],
    ["2026-12-24", ["last-2026-12-24"]],
  ])("leaves the date of the last message, %s, if it is today or later", (day, left) => {
    const own = join(folder, "telemetry");
    writeConsent(own, consent);
    for (const name of [...files, "last-2026-11-01", `last-${day}`]) writeFileSync(join(own, name), "");
    expect(deleteConsent(own, "2026-11-27")).toBe(true);
    expect(existsSync(own) ? readdirSync(own) : []).toEqual(left);
  });

  it("leaves what somebody else put there, and takes what is damaged", () => {
    mkdirSync(consentPath(folder));
    writeFileSync(join(folder, "mine"), "");
    expect(deleteConsent(folder, "2026-11-27")).toBe(true);
    expect(readdirSync(folder)).toEqual(["mine"]);
  });
});
