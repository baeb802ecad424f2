/** The data of platforms and of the install selector: refused data, a page's text, and its first program. */
import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import * as dx from "../../src/index.ts";
import { expectedOf } from "../../scripts/site/browse.ts";
import {
  firstProgram,
  installOf,
  levelIn,
  platformOf,
  platformPage,
  platformsPage,
  readInstall,
  readPlatforms,
} from "../../scripts/site/platforms.ts";
import { datesIn } from "../../scripts/site/stamps.ts";
import { withoutTypes } from "../pages.ts";

const textOf = (name: string): string => readFileSync(`docs/platforms/${name}`, "utf8");
const platforms = readPlatforms();
const install = readInstall(platforms);

it("the repository's data are whole: each platform of the issue, each combination once", () => {
  expect(platforms.map((p) => p.id)).toEqual([
    "windows-nvidia",
    "windows-amd",
    "windows-intel",
    "windows-qualcomm",
    "wsl",
    "linux-vulkan",
    "processor",
    "openreg",
  ]);
  const all = expectedOf(install, "/");
  expect(all).toHaveLength(14 * 4 * 2);
  expect(new Set(all.map((one) => one.combination)).size).toBe(all.length);
  expect(all).toContainEqual({
    combination: "linux openreg pnpm next",
    command: "pnpm add dxtensor@next @dxtensor/openreg@next",
    page: "/platforms/openreg",
  });
});

it.each([
  ["an unknown key", "name: WSL", "name: WSL\ncolour: red", /colour/],
  ["a missing key", /^summary:.*$/m, "", /summary/],
  ["no date", "updated: 2026-11-27", "updated: yesterday", /must be a date/],
  ["no version", "version: 0.1.0", "version: new", /must be a version of dxtensor/],
  ["no device", "device: dml:0", "device: gpu", /must be the name of a device/],
  ["no YAML", "name: WSL", "name: [WSL", /wsl\.yaml/],
])("refuses %s, and names the file", (_, from, to, message) => {
  const changed = textOf("wsl.yaml").replace(from, to);
  expect(changed).not.toBe(textOf("wsl.yaml"));
  expect(() => platformOf("wsl.yaml", changed)).toThrow(message);
  expect(() => platformOf("wsl.yaml", changed)).toThrow("wsl.yaml");
});

it("refuses a report that is newer than the page, and evidence that there is not", () => {
  const text = textOf("processor.yaml");
  expect(() => platformOf("processor.yaml", text.replace("date: 2026-11-21", "date: 2027-01-01"))).toThrow("a report is of 2027-01-01");
  expect(() => platformOf("processor.yaml", text.replace("evidence: software", "evidence: hearsay"))).toThrow("evidence");
});

it.each([
  ["a platform that there is not", "platform: openreg }", "platform: openregg }", /there is no platform openregg/],
  ["a system that there is not", "system: wsl, device: cpu", "system: macos, device: cpu", /there is no system macos/],
  ["a combination twice", "system: wsl, device: amd", "system: wsl, device: nvidia", /wsl with nvidia occurs twice/],
  ["a page that no choice leads to", /^.*platform: linux-vulkan.*\n/m, "", /no choice uses vulkan, linux-vulkan/],
])("the selector refuses %s", (_, from, to, message) => {
  const changed = textOf("install.yaml").replace(from, to);
  expect(changed).not.toBe(textOf("install.yaml"));
  expect(() => installOf(changed, platforms)).toThrow(message);
});

it("a page has every section, its date and its version, and says what nobody measured", () => {
  for (const platform of platforms) {
    const page = platformPage(platform, install);
    const titles = [...page.matchAll(/^## (.*)$/gm)].map(([, title]) => title);
    expect(titles).toEqual([
      "Prepare the machine",
      "Install",
      "First program",
      "Verify",
      "Where to get help",
      "Criteria",
      "Last reports",
      "Known differences",
    ]);
    expect(page).toContain(`date: "${platform.updated}", version: "${platform.version}"`);
    if (levelIn(platform) === null) expect(page).toContain("**Not measured.** Nobody has sent a report of `npx dxtensor conformance`");
    if (platform.reports.length === 0) expect(page).toContain("**Not measured.** Nobody has reported a run");
    expect(platformsPage(platforms)).toContain(`[${platform.name}](/platforms/${platform.id}.md)`);
  }
  const intel = platformPage(
    platforms.find((p) => p.id === "windows-intel")!,
    install,
  );
  expect(intel).toContain("**No hardware of this platform was measured.**");
});

it("the first program prints what its comment says", async () => {
  const program = withoutTypes("platform", firstProgram("cpu"));
  const printed: unknown[][] = [];
  const AsyncFunction = (async () => {}).constructor as new (...names: string[]) => (...args: unknown[]) => Promise<void>;
  const code = program.replaceAll(/^import .*$/gm, "");
  await new AsyncFunction("dx", "console", code)(dx, { log: (...values: unknown[]) => printed.push(values) });
  // The sum of squares of 1, 2, 3, and twice each.
  expect(printed).toEqual([[14, [2, 4, 6]]]);
});

it("a page's date is that of the last commit that changed its source", () => {
  const log =
    "@2026-11-27\n\ndocs/tour.md\n\n@2026-11-20\n\ndocs/tour.md\nCONTRIBUTING.md\nexamples/mnist/README.md\nexamples/mnist/main.ts\n";
  expect(datesIn(log)).toEqual({ "tour.md": "2026-11-27", "contributing.md": "2026-11-20", "examples/mnist.md": "2026-11-20" });
});
