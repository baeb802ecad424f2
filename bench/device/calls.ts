/**
 * The host's share of a compiled training step: the time of a call until it returns, while the device works elsewhere. The narrow networks have as many
 * operations as the wide ones and little for the device to do, so their calls can be measured on any machine.
 */
import { writeFileSync } from "node:fs";
import { performance } from "node:perf_hooks";
import * as dx from "dxtensor";
import { CASES, ResNet, type Case } from "./networks.ts";
import { deviceOf, listOf, numberOf, optionsOf } from "./options.ts";
import { stepOf } from "./steps.ts";

const NARROW: Case = {
  ...CASES.find(({ name }) => name === "resnet")!,
  name: "narrow resnet",
  input: [2, 3, 8, 8],
  build: () => new ResNet(4),
};
const ALL = [...CASES, NARROW];

const help = `node build/bench/device/calls.js [OPTIONS]

  --device NAME     device to measure (default: the default device)
  --networks LIST   of ${ALL.map(({ name }) => name).join(", ")} (default: narrow resnet)
  --calls N         calls that are timed (default: 400)
  --warm N          calls before them, which are not (default: 1,500: V8 has optimized the code by then)
  --together N      calls before the device is waited for (default: 4)
  --json FILE       write the figures as JSON
  --help            this text`;

interface Figures {
  readonly network: string;
  /** Microseconds of a call, in which the function's own JavaScript runs. */
  readonly checkedUs: number;
  /** Microseconds of a call of the same function with check: false. */
  readonly uncheckedUs: number;
}

const median = (times: readonly number[]): number => [...times].sort((a, b) => a - b)[times.length >> 1]!;

interface Counts {
  readonly warm: number;
  readonly calls: number;
  /** Calls behind each other, before the device is waited for. */
  readonly together: number;
}

async function measured(c: Case, device: dx.Device, { warm, calls, together }: Counts): Promise<Figures> {
  const newStep = (check: boolean): ((x: dx.Tensor, y: dx.Tensor) => dx.Tensor) & { dispose(): void } => {
    dx.manualSeed(1);
    const network = c.build();
    network.to(device);
    return dx.compile(stepOf(network, c.optimizer(network.parameters())), { name: c.name, check });
  };
  const x = dx.randn([...c.input], { device, generator: new dx.Generator(7) });
  const y = dx.tensor(
    Int32Array.from({ length: c.input[0]! }, (_, i) => i % 10),
    { device },
  );
  const steps = [newStep(true), newStep(false)];
  const times: number[][] = [[], []];
  // The forms take turns: what else the machine does changes both.
  for (let done = -warm; done < calls; done += together)
    for (const [i, step] of steps.entries()) {
      for (let k = 0; k < together; k++) {
        const start = performance.now();
        const loss = dx.scope(() => step(x, y));
        if (done >= 0) times[i]!.push((performance.now() - start) * 1000);
        loss.dispose();
      }
      await dx.synchronize(device);
    }
  for (const step of steps) step.dispose();
  for (const t of [x, y]) t.dispose();
  const [checkedUs, uncheckedUs] = times.map((t) => Number(median(t).toFixed(1))) as [number, number];
  return { network: c.name, checkedUs, uncheckedUs };
}

const options = optionsOf(help, {
  networks: { type: "string", default: NARROW.name },
  calls: { type: "string", default: "400" },
  warm: { type: "string", default: "1500" },
  together: { type: "string", default: "4" },
});
const device = deviceOf(options);
const names = listOf(
  "networks",
  options.networks,
  ALL.map(({ name }) => name),
);
const figures: Figures[] = [];
for (const c of ALL.filter(({ name }) => names.includes(name))) {
  const [warm, calls, together] = (["warm", "calls", "together"] as const).map((name) => numberOf(name, options[name])) as [
    number,
    number,
    number,
  ];
  const f = await measured(c, device, { warm, calls, together });
  console.log(`${f.network}: a checked call ${f.checkedUs} us, an unchecked one ${f.uncheckedUs} us`);
  figures.push(f);
}
if (options.json !== undefined) writeFileSync(options.json, JSON.stringify({ device: String(device), figures }, null, 2));
