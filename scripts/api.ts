// npm run api: the package's public types as one committed report, and whether it is up to date.
import { copyFileSync, existsSync, mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import type { ExtractorMessage } from "@microsoft/api-extractor";
import { execa } from "execa";
import { ScriptError, at, main, say } from "./tools/project.ts";
import { buildTypeScript } from "./build.ts";
import { bundleTypes } from "./lib/package-bundles.ts";

const help = `npm run api [-- OPTIONS]

Writes docs/api/dxtensor.api.md: the names and types that the published package declares. A commit
that changes them shows so in its diff.

  --check  write nothing; show the difference and fail where there is one
  --help   this text`;

const name = "dxtensor.api.md";
const committed = at("docs", "api", name);
const folder = at("build", "api");

/** API Extractor's report of one file of types, into build/api. */
async function report() {
  const { Extractor, ExtractorConfig, ExtractorLogLevel } = await import("@microsoft/api-extractor");
  const types = join(folder, "dxtensor.d.ts");
  await bundleTypes(types);
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
      // Options that an exported function takes are as public as it is.
      apiReport: {
        enabled: true,
        includeForgottenExports: true,
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

await main(async () => {
  const { values } = parseArgs({ options: { check: { type: "boolean", default: false } } });
  await buildTypeScript(["src"]);
  mkdirSync(folder, { recursive: true });
  const made = await report();
  const isSame = existsSync(committed) && readFileSync(committed, "utf8") === readFileSync(made, "utf8");
  if (isSame) {
    say("api: as committed");
    return 0;
  }
  if (!values.check) {
    mkdirSync(at("docs", "api"), { recursive: true });
    copyFileSync(made, committed);
    say(`api: wrote docs/api/${name}`);
    return 0;
  }
  const { stdout } = await execa("git", ["diff", "--no-index", "--no-color", committed, made], { reject: false });
  say(stdout);
  say(`api: the public types differ from docs/api/${name}: npm run api writes it; commit it with the change`);
  return 1;
}, help);
