/** `dxtensor profile`: runs a program in a profile, and shows the table. See docs/profiler.md. */
import { writeFileSync } from "node:fs";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import type { Command } from "commander";
import { importModule } from "../host/import-module.ts";
import { scriptFile } from "./script-file.ts";

interface Options {
  readonly json: boolean;
  readonly by: "operation" | "module" | "line" | "wait";
  readonly trace?: string;
  readonly page?: string;
}

const help = `
Runs SCRIPT in this process, as "node SCRIPT" does, until its work is done; its own arguments come behind "--". A script that imports another copy of
dxtensor than the command's own is not seen. TypeScript needs a Node that reads it (22.18 or later). Exit status: the script's; 1 if it fails.`;

async function profile(script: string, args: readonly string[], { json, by, trace, page }: Options): Promise<void> {
  const { startProfile } = await import("../index.ts");
  const { pageOf } = await import("../profile/profile-page.ts");
  const { traceOf } = await import("../profile/chrome-trace.ts");
  const file = resolve(script);
  process.argv = [process.argv[0]!, file, ...args];
  const session = startProfile({ name: script });
  // Also where the script ends the process, and after work that it has left running.
  process.once("exit", () => {
    const report = session.stop()!;
    if (trace !== undefined) writeFileSync(trace, JSON.stringify(traceOf(report)));
    if (page !== undefined) writeFileSync(page, pageOf(report));
    if (json) process.stdout.write(`${JSON.stringify(report)}\n`);
    else process.stdout.write(`${by === "operation" ? String(report) : String(report.table({ by }))}\n`);
  });
  try {
    await importModule(pathToFileURL(file).href);
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`);
    process.exitCode = 1;
  }
}

export function addProfile(program: Command): void {
  const command = program
    .command("profile")
    .description("runs a program and shows where its time goes: by operation, module, line or wait")
    .argument("<script>", "a JavaScript or TypeScript file", scriptFile)
    .argument("[args...]", "the script's own arguments")
    .option("--trace <file>", "write Chrome's trace format, for Perfetto and chrome://tracing")
    .option("--page <file>", "write one HTML page with tables, a timeline and memory")
    .option("--json", "the whole profile as one line of JSON on stdout, behind the script's own output", false)
    .addHelpText("after", help)
    .action(profile);
  command.addOption(
    command.createOption("--by <what>", "what a row sums up").choices(["operation", "module", "line", "wait"]).default("operation"),
  );
}
