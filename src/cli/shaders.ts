/** `dxtensor shaders`: where shaders of the library's are faster on a device than DirectML's operators. See docs/shaders.md. */
import { Option, type Command } from "commander";
import * as dx from "../index.ts";
import { measureDevice } from "../measure/measure.ts";
import { chosen, table } from "../measure/show.ts";
import { requireDevice, loadReports, nativeDevice, shaderKnowledge, shaderSource } from "../runtime/devices.ts";
import { shaderMode } from "../shader/choice.ts";
import { rangesOf, type Measurement } from "../shader/measured.ts";
import { forgetStored, storePath, writeStored } from "../shader/store.ts";
import { forgetTuned, readTuned, tunedPath } from "../shader/tuned-store.ts";

interface Options {
  readonly device?: string;
  readonly measure: boolean;
  readonly forget: boolean;
  readonly quick: boolean;
  readonly json: boolean;
}

const help = `
Without --measure and --forget: what is chosen on the device, and why. A measurement takes one or two minutes on a GPU; nothing
else should use the device meanwhile. It is kept in the user's cache folder, for this adapter, driver, libraries and version
of dxtensor; programs started afterwards choose by it, unless DXTENSOR_SHADERS is off or on.

For programs: --json prints one line, {"device", "adapter", "path", "source", "problem", "chosen", "measurements"}.`;

function progress(text: string): void {
  if (process.stderr.isTTY) process.stderr.write(`\r\u001b[K${text}`);
}

async function measured(device: dx.Device, quick: boolean): Promise<readonly Measurement[] | null> {
  const native = nativeDevice(device, "shaders");
  if (!native.capabilities.runsShaders) return null;
  const stop = new AbortController();
  const interrupt = (): void => stop.abort(new Error("stopped: nothing was saved"));
  process.once("SIGINT", interrupt);
  process.once("SIGTERM", interrupt);
  try {
    const measurements = await measureDevice(device, { quick, signal: stop.signal, onCase: progress });
    if (!quick) writeStored(native, loadReports()[native.runtime], { time: new Date().toISOString(), measurements });
    return measurements;
  } finally {
    process.removeListener("SIGINT", interrupt);
    process.removeListener("SIGTERM", interrupt);
    progress("");
  }
}

async function shaders({ device: name, measure, forget, quick, json }: Options): Promise<void> {
  const device = requireDevice("shaders", name ?? dx.defaultDevice());
  const native = nativeDevice(device, "shaders");
  const path = storePath(native);
  if (forget) {
    const isForgotten = [forgetStored(native), forgetTuned(native)].includes(true);
    process.stdout.write(json ? `${JSON.stringify({ device: `${device}`, path, isForgotten })}\n` : `${isForgotten ? "forgotten" : "there was nothing"}: ${path}\n`); // prettier-ignore
    return;
  }
  const now = measure ? await measured(device, quick) : null;
  const knowledge = shaderKnowledge(native);
  const stored = knowledge.found !== null && "stored" in knowledge.found ? knowledge.found.stored : null;
  const measurements = now ?? stored?.measurements ?? [];
  const source = shaderSource(native, knowledge);
  if (json) {
    const problem = knowledge.found !== null && "problem" in knowledge.found ? knowledge.found.problem : null;
    const answer = { device: `${device}`, adapter: native.adapter.name, path, source, problem, chosen: knowledge.ranges, measurements };
    process.stdout.write(`${JSON.stringify(answer)}\n`);
    return;
  }
  const lines = [`${device}: ${native.adapter.name}`, `shaders: ${source}`];
  if (measurements.length > 0) lines.push("", table(measurements));
  lines.push("", chosen(now === null ? knowledge.ranges : rangesOf(now)));
  if (now !== null && quick) lines.push("", "Small sizes decide nothing: the result was not saved.");
  else if (now !== null) lines.push("", `Saved in ${path}; dxtensor shaders --forget deletes it.`);
  const tuned = readTuned(native, loadReports()[native.runtime]).size;
  if (tuned > 0) lines.push("", `${tuned} operations and regions measured by compile(fn, { tune: true }), in ${tunedPath(native)}.`);
  const mode = shaderMode();
  if (mode !== "only-measured")
    lines.push("", `DXTENSOR_SHADERS=${mode} is set here: programs with this setting ignore these measurements.`);
  process.stdout.write(`${lines.join("\n")}\n`);
}

export function addShaders(program: Command): void {
  program
    .command("shaders")
    .description("measure, save and show where the library's shaders are faster than DirectML's operators on a device")
    .option("--device <name>", "the device (default: the default device)")
    .option("--measure", "time both forms of each operation and save which is faster", false)
    .addOption(
      new Option("--forget", "delete the measurements of the device, those of compile(fn, { tune: true }) too")
        .default(false)
        .conflicts("measure"),
    )
    .option("--quick", "with --measure: small sizes only, in seconds, to check that it works; saves nothing", false)
    .option("--json", "one line of JSON on stdout", false)
    .addHelpText("after", help)
    .action(shaders);
}
