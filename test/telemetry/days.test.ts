/** One message a day and one identifier a month, also where processes race and clocks jump. */
import { mkdtempSync, mkdirSync, readFileSync, readdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { execa } from "execa";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { claimDay, dayOf, keepIdentifier, lastDay, monthOf, nextDay, readIdentifier } from "../../src/telemetry/days.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "dxtensor-days-"));
});
afterEach(() => {
  rmSync(folder, { recursive: true });
});
const files = (): string[] => readdirSync(folder).toSorted();

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

it("days and months are those of UTC", () => {
  expect(dayOf(new Date("2026-11-30T23:59:59.999Z"))).toBe("2026-11-30");
  expect(dayOf(new Date("2026-12-01T00:30:00+01:00"))).toBe("2026-11-30");
  expect(monthOf("2026-11-30")).toBe("2026-11");
});

it("the next message is today's, or the day after the last one", () => {
  for (const [last, today, next] of [
    [null, "2026-11-27", "2026-11-27"],
    ["2026-11-26", "2026-11-27", "2026-11-27"],
    ["2026-11-27", "2026-11-27", "2026-11-28"],
    // The clock has jumped back.
    ["2026-12-31", "2026-11-27", "2027-01-01"],
    ["2028-02-28", "2028-02-28", "2028-02-29"],
  ] as const)
    expect(nextDay(last, today)).toBe(next);
  expect(lastDay(["last-2026-11-09", "last-2026-11-10", "last-x", "identifier-2027-01", "consent.json"])).toBe("2026-11-10");
  expect(lastDay([])).toBe(null);
});

describe("a day", () => {
  it("is claimed once, and nothing but its date stays", () => {
    expect(["2026-11-27", "2026-11-27", "2026-11-28", "2026-11-28"].map((day) => claimDay(folder, day))).toEqual([
      true,
      false,
      true,
      false,
    ]);
    expect(files()).toEqual(["last-2026-11-28"]);
    expect(readFileSync(join(folder, "last-2026-11-28"), "utf8")).toBe("");
  });

  it("is not claimed where the clock has jumped back, until it has caught up", () => {
    expect(["2026-12-02", "2026-11-27", "2026-12-01", "2026-12-02", "2026-12-03"].map((day) => claimDay(folder, day))).toEqual([
      true,
      false,
      false,
      false,
      true,
    ]);
  });

  it("is claimed already where anything has its name", () => {
    mkdirSync(join(folder, "last-2026-11-27"));
    if (process.platform !== "win32") symlinkSync("nowhere", join(folder, "last-2026-11-28"));
    expect(claimDay(folder, "2026-11-27")).toBe(false);
  });

  it("is nobody's in a folder that is gone", () => {
    expect(() => claimDay(join(folder, "gone"), "2026-11-27")).toThrow("ENOENT");
  });
});

describe("an identifier", () => {
  it("is random, stays for its month, and is replaced in the next", () => {
    const first = keepIdentifier(folder, "2026-11");
    expect(first).toMatch(uuid);
    expect([keepIdentifier(folder, "2026-11"), keepIdentifier(folder, "2026-11", "another")]).toEqual([first, first]);
    const second = keepIdentifier(folder, "2026-12");
    expect(second).toMatch(uuid);
    expect(second).not.toBe(first);
    expect(files()).toEqual(["identifier-2026-12"]);
    expect(readIdentifier(folder, "2026-11")).toBe(null);
  });

  it("is the one that was shown", () => {
    const shown = "0e9a4b5c-1d2e-4f3a-8b4c-5d6e7f8a9b0c";
    expect(keepIdentifier(folder, "2026-11", shown)).toBe(shown);
    expect(readIdentifier(folder, "2026-11")).toBe(shown);
  });

  it.each([
    ["nothing", ""],
    ["a text", "me@example.com"],
    ["a mebibyte", "a".repeat(2 ** 20)],
    ["one of another kind", "6ba7b810-9dad-11d1-80b4-00c04fd430c8"],
  ])("is made again if the file has %s", (_what, text) => {
    writeFileSync(join(folder, "identifier-2026-11"), text);
    expect(readIdentifier(folder, "2026-11")).toBe(null);
    const made = keepIdentifier(folder, "2026-11");
    expect(made).toMatch(uuid);
    expect(readIdentifier(folder, "2026-11")).toBe(made);
    expect(files()).toEqual(["identifier-2026-11"]);
  });

  it.skipIf(process.platform === "win32")("is not read through a symbolic link (not on Windows)", () => {
    writeFileSync(join(folder, "elsewhere"), "0e9a4b5c-1d2e-4f3a-8b4c-5d6e7f8a9b0c");
    symlinkSync(join(folder, "elsewhere"), join(folder, "identifier-2026-11"));
    expect(keepIdentifier(folder, "2026-11")).not.toBe("0e9a4b5c-1d2e-4f3a-8b4c-5d6e7f8a9b0c");
  });
});

it("processes that race claim each day once, and agree on each month's identifier", async () => {
  const module = pathToFileURL(join("dist", "telemetry", "days.js")).href;
  // All begin together: each waits for the end of its input.
  const program = `import { claimDay, keepIdentifier } from ${JSON.stringify(module)};
    process.stdin.resume().once("end", () => {
      const said = [];
      for (let i = 0; i < 28; i++) {
        const day = "2026-02-" + String(i + 1).padStart(2, "0");
        said.push([claimDay(${JSON.stringify(folder)}, day), i === 0 ? keepIdentifier(${JSON.stringify(folder)}, "2026-02") : ""]);
      }
      console.log(JSON.stringify(said));
    });
    process.stderr.write("ready");`;
  const children = Array.from({ length: 6 }, () => execa(process.execPath, ["--input-type=module", "-e", program]));
  await Promise.all(children.map((child) => new Promise((resolve) => child.stderr.once("data", resolve))));
  for (const child of children) child.stdin.end();
  const said = (await Promise.all(children)).map(({ stdout }) => JSON.parse(String(stdout)) as [boolean, string][]);
  for (let day = 0; day < 28; day++) expect([day, said.filter((one) => one[day]![0]).length <= 1]).toEqual([day, true]);
  // The last day cannot be passed by.
  expect(said.filter((one) => one[27]![0]).length).toBe(1);
  expect(new Set(said.map((one) => one[0]![1])).size).toBe(1);
  expect(files()).toEqual(["identifier-2026-02", "last-2026-02-28"]);
});
