/**
 * A training step of each network, compiled without fusion, with it, and as the library chooses, in turn in one process: milliseconds, dispatches,
 * barriers, the time to compile, and whether the losses agree. A plain program without dependencies.
 */
import { writeFileSync } from "node:fs";
import { performance } from "node:perf_hooks";
import * as dx from "dxtensor";
import { CASES, type Case } from "./networks.ts";
import { deviceOf, listOf, numberOf, optionsOf } from "./options.ts";
import { stepOf, timed, type Step, type StepTiming } from "./steps.ts";

const help = `node build/bench/device/fusion.js [OPTIONS]

  --device NAME   device to measure (default: the default device)
  --filter TEXT   only the networks whose name contains TEXT
  --seconds S     time of each round (default: 0.3)
  --forms LIST    forms by their names, "off,always" (default: all but "auto, tuned")
  --inference     the forward pass at evaluation instead of a training step
  --explain TEXT  print what the programs of networks whose name contains TEXT consist of, and each dispatch's time
  --json FILE     write the results as JSON
  --help          this text

Exit status 1 when a form fails, or its loss after 20 steps is not that of the form without fusion.`;

/** It measures for a while, and writes to the user's cache folder. */
const TUNED = "auto, tuned";

const FORMS = {
  off: { fuse: "off" },
  always: { fuse: "always" },
  auto: { fuse: "auto" },
  "off, a dispatch each": { fuse: "off", regions: "none" },
  [TUNED]: { fuse: "auto", tune: { seconds: 20 } },
} as const satisfies { [name: string]: dx.CompileOptions };

interface Row {
  readonly network: string;
  readonly form: string;
  readonly timing: StepTiming;
  /** After some steps, the same in all forms. */
  readonly loss: number;
  readonly nodes: number;
  readonly dispatches: number;
  readonly barriers: number;
  readonly compileMs: number;
  readonly text: string;
}

/** The forward pass with known statistics; the result's sum stands for a loss. */
function inference(network: ReturnType<Case["build"]>): Step {
  network.eval();
  return (x) => dx.noGrad(() => network.forward(x).sum());
}

async function measure(c: Case, form: keyof typeof FORMS, device: dx.Device, ms: number, isInference: boolean): Promise<Row> {
  dx.manualSeed(1);
  const network = c.build();
  network.to(device);
  const once = isInference ? inference(network) : stepOf(network, c.optimizer(network.parameters()));
  const step = dx.compile(once, { name: c.name, check: false, ...FORMS[form] });
  const x = dx.randn([...c.input], { device, generator: new dx.Generator(7) });
  const y = dx.tensor(Int32Array.from({ length: c.input[0]! }, (_, i) => i % 10), { device }); // prettier-ignore
  const start = performance.now();
  dx.scope(() => step(x, y).dataSync());
  const compileMs = performance.now() - start;
  for (let i = 0; i < 20; i++) dx.scope(() => step(x, y));
  const loss = Number(dx.scope(() => step(x, y).dataSync())[0]);
  const timing = await timed(step, x, y, device, ms);
  const { nodes, dispatches, barriers } = step.explain();
  const text = `${step.explain()}\n${step.profileSync()}`;
  step.dispose();
  x.dispose();
  y.dispose();
  return { network: c.name, form, timing, loss, nodes: nodes.length, dispatches, barriers, compileMs, text };
}

/** Rounding differs, and grows from step to step. */
const MAX_DIFFERENCE = 2e-3;

/** Whether the loss is another one than without fusion. */
function differs({ network, loss }: Row, rows: readonly Row[]): boolean {
  const expected = rows.find((row) => row.network === network)!.loss;
  return !(Math.abs(loss - expected) <= MAX_DIFFERENCE * Math.max(1, Math.abs(expected)));
}

async function main(): Promise<void> {
  const values = optionsOf(help, {
    seconds: { type: "string", default: "0.3" },
    forms: { type: "string", default: Object.keys(FORMS).filter((name) => name !== TUNED).join(";") }, // prettier-ignore
    explain: { type: "string" },
    inference: { type: "boolean", default: false },
  });
  const device = deviceOf(values);
  const forms = listOf("forms", values.forms, Object.keys(FORMS) as (keyof typeof FORMS)[], /[;]|,(?! )/);
  const rows: Row[] = [];
  for (const c of CASES)
    if (c.name.includes(values.filter))
      for (const form of forms)
        try {
          const row = await measure(c, form, device, 1000 * numberOf("seconds", values.seconds), values.inference);
          rows.push(row);
          console.log(
            `${row.network.padEnd(10)} ${form.padEnd(20)} ${row.timing.ms.toPrecision(4).padStart(8)} ms  ${`${row.dispatches}`.padStart(4)} dispatches ` +
              `${`${row.barriers}`.padStart(3)} barriers  compiled in ${row.compileMs.toFixed(0).padStart(5)} ms  loss ${row.loss.toPrecision(5)}`,
          );
          if (values.explain !== undefined && c.name.includes(values.explain)) console.log(row.text);
          if (differs(row, rows)) {
            process.exitCode = 1;
            console.log(`${row.network} ${form}: the loss differs`);
          }
        } catch (error) {
          process.exitCode = 1;
          console.log(`${c.name} ${form}: ${(error as Error).stack}`);
        }
  if (values.json !== undefined) writeFileSync(values.json, JSON.stringify({ device: `${device}`, rows }, null, 2));
}

await main();
