// npm run api: the package's public types as one committed report, and whether it is up to date.
import { copyFileSync, existsSync, mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import type { ExtractorMessage } from "@microsoft/api-extractor";
import { execa } from "execa";
import { ScriptError, at, main, say } from "./tools/project.ts";
import { buildTypeScript } from "./build.ts";
import { entries } from "./lib/entries.ts";
import { bundleEntryTypes, bundleTypes } from "./lib/package-bundles.ts";

const help = `npm run api [-- OPTIONS]

Writes docs/api/dxtensor.api.md and one such file for each other entry point: the names and types that the published package
declares. A commit that changes them shows so in its diff.

  --check  write nothing; show the difference and fail where there is one
  --help   this text`;

const folder = at("build", "api");

/** API Extractor's report of one file of types, into build/api. */
async function report(entry: string) {
  const { Extractor, ExtractorConfig, ExtractorLogLevel } = await import("@microsoft/api-extractor");
  const name = `${entry}.api.md`;
  const types = join(folder, `${entry}.d.ts`);
  await (entry === "dxtensor" ? bundleTypes(types) : bundleEntryTypes(entry, types));
  const extractorConfig = ExtractorConfig.prepare({
    configObject: {
      projectFolder: at(),
      mainEntryPointFilePath: types,
      compiler: {
        overrideTsconfig: {
          compilerOptions: {
            module: "nodenext",
            target: "es2022",
            lib: ["es2023", "esnext.disposable"],
            types: ["node"],
            strict: true,
            skipLibCheck: true,
          },
          files: [types],
        },
      },
      newlineKind: "lf",
      // Options that an exported function takes are as public as it is; other entry points export theirs, and take the rest from the main one.
      apiReport: {
        enabled: true,
        includeForgottenExports: entry === "dxtensor",
        reportFileName: name,
        reportFolder: folder,
        reportTempFolder: join(folder, "new"),
      },
      docModel: { enabled: false },
      dtsRollup: { enabled: false },
      tsdocMetadata: { enabled: false },
      messages: {
        compilerMessageReporting: { default: { logLevel: ExtractorLogLevel.Error } },
        extractorMessageReporting: { default: { logLevel: ExtractorLogLevel.None } },
        tsdocMessageReporting: { default: { logLevel: ExtractorLogLevel.None } },
      },
    },
    configObjectFullPath: undefined,
    packageJsonFullPath: at("package.json"),
  });
  const problems: string[] = [];
  Extractor.invoke(extractorConfig, {
    localBuild: true,
    messageCallback: (message: ExtractorMessage) => {
      message.handled = true;
      if (message.logLevel === ExtractorLogLevel.Error) problems.push(message.formatMessageWithLocation(at()));
    },
  });
  if (problems.length > 0) throw new ScriptError("API", `API Extractor cannot read the types:\n${problems.slice(0, 10).join("\n")}`);
  return join(folder, "new", name);
}

/** Whether an entry point's report is as committed, or was written now. */
async function compare(entry: string, isCheck: boolean): Promise<boolean> {
  const name = `${entry}.api.md`;
  const committed = at("docs", "api", name);
  const made = await report(entry);
  const isSame = existsSync(committed) && readFileSync(committed, "utf8") === readFileSync(made, "utf8");
  if (isSame) {
    say(`api: ${name} is as committed`);
    return true;
  }
  if (!isCheck) {
    mkdirSync(at("docs", "api"), { recursive: true });
    copyFileSync(made, committed);
    say(`api: wrote docs/api/${name}`);
    return true;
  }
  const { stdout } = await execa("git", ["diff", "--no-index", "--no-color", committed, made], { reject: false });
  say(stdout);
  say(`api: the public types differ from docs/api/${name}: npm run api writes it; commit it with the change`);
  return false;
}

await main(async () => {
  const { values } = parseArgs({ options: { check: { type: "boolean", default: false } } });
  await buildTypeScript(["src"]);
  mkdirSync(folder, { recursive: true });
  // The main one first: the others' types import its.
  const results: boolean[] = [];
  for (const entry of ["dxtensor", ...entries.map((e) => e.name)]) results.push(await compare(entry, values.check));
  return results.every(Boolean) ? 0 : 1;
}, help);
