// Compute platforms: their data in docs/platforms, checked, and a page of each.
import { existsSync, readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { parse } from "yaml";
import { z } from "zod";
import { CRITERIA, levelOf, missing } from "../conformance/criteria.ts";
import { ReportError, checkReport } from "../conformance/report-check.ts";
import { partOf, type Conformance } from "../conformance/schema.ts";
import { ScriptError, at } from "../tools/project.ts";

const day = z.iso.date("must be a date, YYYY-MM-DD, in quotes or not");
const text = z.string().trim().min(1);
const id = z.string().regex(/^[a-z0-9-]+$/, "must be lower-case letters, digits and hyphens");
const device = z.string().regex(/^(dml:\d+|cpu|[a-z][a-z0-9_-]*:\d+)$/, "must be the name of a device: dml:0, cpu, openreg:0");

const platformSchema = z.strictObject({
  name: text,
  summary: text,
  order: z.int().min(0),
  updated: day,
  version: z.string().regex(/^\d+\.\d+\.\d+/, "must be a version of dxtensor"),
  device,
  packages: z.array(text).min(1),
  prepare: z.array(text).min(1),
  afterwards: text.optional(),
  verify: z.array(text).min(1),
  help: z.array(text).min(1),
  differences: z.array(text),
  reports: z.array(
    z.strictObject({
      date: day,
      evidence: z.enum(["hardware", "software", "simulated", "emulated"]),
      machine: text,
      dxtensor: text,
      versions: text,
      result: text,
      /** A file of the repository, or an address. */
      source: text,
    }),
  ),
  /** Files of docs/platforms/reports, written by `npx dxtensor conformance --ctrf`. */
  conformance: z.array(text).optional(),
});
export type Platform = z.infer<typeof platformSchema> & { readonly id: string };

const installSchema = z.strictObject({
  updated: day,
  systems: z.array(z.strictObject({ id, name: text })).min(1),
  managers: z.array(z.strictObject({ id, name: text, add: text, run: text, tested: text })).min(1),
  channels: z.array(z.strictObject({ id, name: text, tag: z.string().regex(/^(@[a-z]+)?$/, 'must be "" or a tag such as @next') })).min(1),
  devices: z.array(z.strictObject({ id, name: text })).min(1),
  choices: z.array(z.strictObject({ system: id, device: id, platform: id })).min(1),
});

/** What the install selector shows. */
export interface Install {
  readonly systems: readonly { readonly id: string; readonly name: string }[];
  readonly managers: z.infer<typeof installSchema>["managers"];
  readonly channels: z.infer<typeof installSchema>["channels"];
  readonly devices: readonly { readonly id: string; readonly name: string }[];
  readonly updated: string;
  /** Each combination of a system and a device, with the packages and the page's title. */
  readonly choices: readonly {
    readonly system: string;
    readonly device: string;
    readonly platform: string;
    readonly title: string;
    readonly packages: readonly string[];
  }[];
}

const parsed = <T>(schema: z.ZodType<T>, file: string, source: string): T => {
  let value: unknown;
  try {
    value = parse(source);
  } catch (error) {
    throw new ScriptError("PLATFORM", `${file}: ${(error as Error).message}`);
  }
  const result = schema.safeParse(value);
  if (!result.success)
    throw new ScriptError("PLATFORM", `${file}:\n${z.prettifyError(result.error)}`, "docs/platforms/README.md lists the keys.");
  return result.data;
};

/** A platform of a file's text. */
export function platformOf(name: string, source: string): Platform {
  const platform = { ...parsed(platformSchema, name, source), id: name.replace(/\.yaml$/, "") };
  const late = platform.reports.find((report) => report.date > platform.updated);
  if (late !== undefined)
    throw new ScriptError(
      "PLATFORM",
      `${name}: updated is ${platform.updated}, and a report is of ${late.date}`,
      "Set updated to the day of the change.",
    );
  return platform;
}

/** All platforms by their order. */
export function readPlatforms(folder = at("docs", "platforms")): readonly Platform[] {
  const files = readdirSync(folder).filter((name) => name.endsWith(".yaml") && name !== "install.yaml");
  const all = files.map((name) => platformOf(name, readFileSync(join(folder, name), "utf8"))).toSorted((a, b) => a.order - b.order);
  for (const platform of all) {
    for (const { source } of platform.reports)
      if (!source.startsWith("https://") && !existsSync(at(source)))
        throw new ScriptError("PLATFORM", `${platform.id}.yaml: the source ${source} is not there`);
    conformanceOf(platform, folder);
  }
  return all;
}

/** The selector's data from the text of install.yaml: every choice has a page, and every system, device and platform is used. */
export function installOf(source: string, platforms: readonly Platform[]): Install {
  const { choices, ...rest } = parsed(installSchema, "install.yaml", source);
  const fail = (problem: string): never => {
    throw new ScriptError("PLATFORM", `install.yaml: ${problem}`);
  };
  const seen = new Set<string>();
  for (const { system, device: name } of choices) {
    if (!rest.systems.some((s) => s.id === system)) fail(`there is no system ${system}`);
    if (!rest.devices.some((d) => d.id === name)) fail(`there is no device ${name}`);
    if (seen.has(`${system} ${name}`)) fail(`${system} with ${name} occurs twice`);
    seen.add(`${system} ${name}`);
  }
  const unused = [
    ...rest.systems.filter((s) => !choices.some((c) => c.system === s.id)),
    ...rest.devices.filter((d) => !choices.some((c) => c.device === d.id)),
    ...platforms.filter((p) => !choices.some((c) => c.platform === p.id)),
  ];
  if (unused.length > 0) fail(`no choice uses ${unused.map((u) => u.id).join(", ")}`);
  return {
    ...rest,
    choices: choices.map((choice) => {
      const found = platforms.find((p) => p.id === choice.platform) ?? fail(`there is no platform ${choice.platform}`);
      return { ...choice, title: found.name, packages: found.packages };
    }),
  };
}

export const readInstall = (platforms: readonly Platform[]): Install =>
  installOf(readFileSync(at("docs", "platforms", "install.yaml"), "utf8"), platforms);

/** The checked conformance reports of a platform, the newest first. */
function conformanceOf({ id: platform, conformance = [] }: Platform, folder: string): readonly Conformance[] {
  return conformance
    .map((name) => {
      const file = join(folder, "reports", name);
      if (!existsSync(file)) throw new ScriptError("PLATFORM", `${platform}.yaml: the report ${name} is not in docs/platforms/reports`);
      const bytes = readFileSync(file);
      try {
        return partOf(checkReport((name.endsWith(".gz") ? gunzipSync(bytes) : bytes).toString("utf8"), name)) as Conformance;
      } catch (error) {
        if (error instanceof ReportError) throw new ScriptError("PLATFORM", `${platform}.yaml: ${error.message}`);
        throw error;
      }
    })
    .toSorted((a, b) => (a.date < b.date ? 1 : -1));
}

const list = (items: readonly string[]): string => items.map((item) => `- ${item}`).join("\n");
const numbered = (items: readonly string[]): string => items.map((item, i) => `${i + 1}. ${item}`).join("\n");

/** What a program prints on the device is checked by `test/site/platforms.test.ts`. */
export const firstProgram = (name: string): string => `import * as dx from "dxtensor";

const x = dx.tensor([1, 2, 3], { device: "${name}", requiresGrad: true });
const y = x.square().sum();
y.backward();
console.log(await y.item(), await x.grad!.toArray()); // 14 [ 2, 4, 6 ]
`;

const percent = (passed: number, ran: number): string => (ran === 0 ? "–" : `${((passed / ran) * 100).toFixed(2)} %`);

/** The level of the newest report; null: nobody has measured it. */
export function levelIn(platform: Platform, folder = at("docs", "platforms")): string | null {
  const [newest] = conformanceOf(platform, folder);
  return newest === undefined ? null : (levelOf(newest) ?? "none");
}

function criteriaSection(platform: Platform, folder: string): string {
  const reports = conformanceOf(platform, folder);
  const rates = CRITERIA.map(
    ({ level, about, rates: required }) =>
      `| ${level} | ${about} | ${Object.entries(required)
        .map(([set, rate]) => `${set} ${rate * 100} %`)
        .join(", ")} |`,
  );
  const [newest] = reports;
  const measured =
    newest === undefined
      ? "**Not measured.** Nobody has sent a report of `npx dxtensor conformance` for this platform yet."
      : [
          `**${levelOf(newest) ?? "No level"}**, computed from the report of ${newest.date.slice(0, 10)}: ${newest.device.name} (${newest.device.description}), dxtensor ${newest.versions.dxtensor}, Node ${newest.versions.node}, ${newest.system.name}.`,
          "",
          "| set | passed | failed | skipped | rate |",
          "| --- | --- | --- | --- | --- |",
          ...newest.sets.map((s) => `| ${s.name} | ${s.passed} | ${s.failed} | ${s.skipped} | ${percent(s.passed, s.passed + s.failed)} |`),
          "",
          ...CRITERIA.flatMap((criterion) => {
            const reasons = missing(criterion, newest);
            return reasons.length === 0 ? [] : [`- Not ${criterion.level}: ${reasons.join("; ")}.`];
          }),
        ].join("\n");
  return `${measured}\n\n| level | means | requires |\n| --- | --- | --- |\n${rates.join("\n")}`;
}

const sourceLink = (source: string): string => {
  if (source.startsWith("https://")) return `[report](${source})`;
  const page = /^docs\/(.+)\.md$/.exec(source)?.[1];
  return page === undefined ? `\`${source}\`` : `[${page}](/${page}.md)`;
};

function reportsSection({ reports }: Platform): string {
  if (reports.length === 0) return "**Not measured.** Nobody has reported a run on a machine of this platform.";
  const items = reports
    .toSorted((a, b) => (a.date < b.date ? 1 : -1))
    .map(
      (r) =>
        `- **${r.date}, ${r.evidence}**: ${r.machine}.\n  Result: ${r.result}.\n  dxtensor ${r.dxtensor}; ${r.versions}. Source: ${sourceLink(r.source)}.`,
    );
  const isOnHardware = reports.some((r) => r.evidence === "hardware" || r.evidence === "software");
  return [
    ...(isOnHardware ? [] : ["**No hardware of this platform was measured.** Simulated and emulated runs say nothing about a GPU.\n"]),
    ...items,
    "",
    "[The matrix](/matrix.md#kinds-of-evidence) explains the kinds of evidence.",
  ].join("\n");
}

/** Links of the data are relative to docs/platforms. */
const linked = (value: string): string => value.replaceAll(/\]\(\.\.\/([^)]+)\)/g, "](/$1)");

/** The page of a platform. */
export function platformPage(platform: Platform, install: Install, folder = at("docs", "platforms")): string {
  const add = install.managers.map((m) => `${m.add} ${platform.packages.join(" ")}`).join("\n");
  const sections: readonly (readonly [string, string])[] = [
    ["Prepare the machine", numbered(platform.prepare)],
    [
      "Install",
      `One of:\n\n\`\`\`sh\n${add}\n\`\`\`${platform.afterwards === undefined ? "" : `\n\nThen:\n\n\`\`\`sh\n${platform.afterwards}\n\`\`\``}`,
    ],
    ["First program", `\`\`\`ts\n${firstProgram(platform.device)}\`\`\``],
    ["Verify", `\`\`\`sh\n${platform.verify.join("\n")}\n\`\`\`\n\n[doctor](/doctor.md) and [verify](/verify.md) explain the output.`],
    ["Where to get help", list(platform.help)],
    ["Criteria", criteriaSection(platform, folder)],
    ["Last reports", reportsSection(platform)],
    ["Known differences", platform.differences.length === 0 ? "None is known." : list(platform.differences)],
  ];
  const body = sections.map(([title, content]) => `## ${title}\n\n${linked(content)}`).join("\n\n");
  return `---\ndescribed: { date: "${platform.updated}", version: "${platform.version}" }\n---\n\n# ${platform.name}\n\n${platform.summary}\n\n${body}\n\nThe data of this page is \`docs/platforms/${platform.id}.yaml\`; vendors edit it by pull request.\n`;
}

/** The list of all. */
export function platformsPage(platforms: readonly Platform[], folder = at("docs", "platforms")): string {
  const rows = platforms.map((p) => {
    const last = p.reports
      .toSorted((a, b) => (a.date < b.date ? 1 : -1))
      .find((r) => r.evidence === "hardware" || r.evidence === "software");
    return `| [${p.name}](/platforms/${p.id}.md) | \`${p.device}\` | ${levelIn(p, folder) ?? "not measured"} | ${last?.date ?? "not measured"} |`;
  });
  return `# Compute platforms

Each page says how to prepare a machine, install, run a first program and verify it, and what was measured on which machine.

| platform | device | criteria | last run on the device itself |
| --- | --- | --- | --- |
${rows.join("\n")}

The criteria are computed from reports of \`npx dxtensor conformance\`: ${CRITERIA.map((c) => `${c.level} (${c.about})`).join(", ")}. "Not measured" means
that nobody has sent a report.

[Choose a system and get the command](/index.md#install).
`;
}
