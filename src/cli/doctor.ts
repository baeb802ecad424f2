/** `dxtensor doctor`: finds what DirectML needs on this machine, and prints the command that fixes each problem. See docs/doctor.md. */
import type { Command } from "commander";
import { gather } from "../doctor/facts.ts";
import { thisHost } from "../doctor/machine.ts";
import { probe, runProbe } from "../doctor/probe.ts";
import { describe } from "../doctor/report-text.ts";
import { judge } from "../doctor/verdict.ts";
import { version } from "./version.ts";

const help = `
Exit status: 0 if everything that should work on this machine works (also on a machine without a GPU), 1 if something is
missing or broken. A separate process loads the libraries, so that a driver that crashes is reported, too.

For programs: --json prints one line, {"ok", "verdict", "text", "problems": [{"code", "severity", "text", "mend"}], "facts"}.`;

async function doctor({ json = false, probe: isChild = false }: { json?: boolean; probe?: boolean }): Promise<void> {
  if (isChild) {
    probe((line) => process.stdout.write(`${JSON.stringify(line)}\n`));
    return;
  }
  const host = thisHost();
  if (process.stderr.isTTY && !json) process.stderr.write("looking …\r");
  const facts = await gather(host, version(), await runProbe(host, process.argv[1]!));
  const verdict = judge(facts);
  if (process.stderr.isTTY && !json) process.stderr.write("\u001b[K");
  const { code, text, isHealthy, problems } = verdict;
  const answer = json ? JSON.stringify({ ok: isHealthy, verdict: code, text, problems, facts }) : describe(facts, verdict);
  process.stdout.write(`${answer}\n`);
  if (!isHealthy) process.exitCode = 1;
}

export function addDoctor(program: Command): void {
  const command = program
    .command("doctor")
    .description("what this machine has for DirectML: libraries, versions, adapters, verdict, and commands that fix problems")
    .option("--json", "one line of JSON on stdout")
    .addHelpText("after", help)
    .action(doctor);
  command.addOption(command.createOption("--probe", "the part that loads the libraries").hideHelp());
}
