/**
 * Measures a device through the whole library, as JSON: throughput, bandwidth, the cost of a call, and a training step of five networks. A plain
 * program without dependencies, so that it runs where nothing can be installed.
 */
import { writeFileSync } from "node:fs";
import { cpus } from "node:os";
import * as dx from "dxtensor";
import { LARGE, measureKernels, SMALL, type Figure } from "./kernels.ts";
import { CASES } from "./networks.ts";
import { deviceOf, optionsOf } from "./options.ts";
import { measureShaders } from "./shaders.ts";
import { measureSteps, type StepFigures } from "./steps.ts";

const help = `node build/bench/device/index.js [OPTIONS]

  --device NAME   device to measure (default: the default device)
  --filter TEXT   only the networks whose name contains TEXT, or "kernels" or "shaders"
  --small         sizes for a processor, and of the networks the smallest
  --json FILE     write the results as JSON
  --help          this text`;

async function main(): Promise<void> {
  const values = optionsOf(help, {
    small: { type: "boolean", default: false },
  });
  const device = deviceOf(values);
  const kernels: Figure[] = [];
  const steps: StepFigures[] = [];
  const failures: { readonly name: string; readonly message: string }[] = [];
  const attempt = async (name: string, body: () => Promise<void>): Promise<void> => {
    try {
      await body();
    } catch (error) {
      failures.push({ name, message: (error as Error).message });
      console.error(`  ${name}: ${(error as Error).stack}`);
    }
  };
  if ("kernels".includes(values.filter))
    await attempt("kernels", () =>
      measureKernels(device, values.small ? SMALL : LARGE, (figure) => {
        kernels.push(figure);
        console.error(`  ${figure.name}: ${figure.value.toPrecision(4)} ${figure.unit}`);
      }),
    );
  const shaders: Figure[] = [];
  for (const c of CASES)
    if (c.name.includes(values.filter) && (!values.small || c.name === "mlp"))
      await attempt(c.name, async () => {
        const figures = await measureSteps(c, device, values.small ? 50 : 300);
        steps.push(figures);
        const show = (t: { ms: number; callUs: number; cpuUs: number }): string =>
          `${t.ms.toPrecision(4)} ms (call ${t.callUs.toFixed(0)} us, processor ${t.cpuUs.toFixed(0)} us)`;
        console.error(
          `  ${c.name}: eager ${show(figures.eager)}, compiled ${show(figures.compiled)}, unchecked ${show(figures.unchecked)}, ` +
            `operators ${show(figures.operators)}, head as a graph ${show(figures.head)}; ` +
            `${figures.dispatches} dispatches, ${figures.barriers} barriers, compiled in ${figures.compileMs.toFixed(0)} ms, ` +
            `losses ${[figures.eager, figures.compiled, figures.unchecked].map((t) => t.loss.toPrecision(5)).join(", ")}`,
        );
      });
  if ("shaders".includes(values.filter))
    await attempt("shaders", () =>
      measureShaders(device, values.small ? SMALL : LARGE, (figure) => {
        shaders.push(figure);
        console.error(`  ${figure.name}: ${figure.value.toPrecision(4)} ${figure.unit}`);
      }),
    );
  const report = {
    date: new Date().toISOString(),
    node: process.version,
    processor: cpus()[0]?.model ?? "unknown",
    cores: cpus().length,
    device: { id: `${device}`, name: device.type === "dml" ? dx.dml.deviceName(device.index) : "software adapter" },
    kernels,
    shaders,
    steps,
    failures,
  };
  if (values.json !== undefined) writeFileSync(values.json, JSON.stringify(report, null, 2));
  if (failures.length > 0) process.exitCode = 1;
}

try {
  await main();
} catch (error) {
  if (!`${(error as { code?: unknown }).code}`.startsWith("ERR_PARSE_ARGS")) throw error;
  console.error(`${(error as Error).message} (--help lists the options)`);
  process.exitCode = 1;
}
