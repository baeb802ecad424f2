/** One training step of a network on a device: eager, compiled, compiled without the check of the function. */
import { performance } from "node:perf_hooks";
import * as dx from "dxtensor";
import type { Case } from "./networks.ts";

export interface StepTiming {
  /** Milliseconds a step, steps queued behind each other: what training takes. */
  readonly ms: number;
  /** Microseconds of JavaScript a step, before the device is waited for. */
  readonly callUs: number;
  /** Microseconds of processor time a step, of all threads. */
  readonly cpuUs: number;
  readonly loss: number;
}

export interface StepFigures {
  readonly name: string;
  readonly eager: StepTiming;
  readonly compiled: StepTiming;
  readonly unchecked: StepTiming;
  /** Without a DirectML graph: a dispatch for each node. */
  readonly operators: StepTiming;
  /** One DirectML graph of what comes before the first update in place. */
  readonly head: StepTiming;
  readonly nodes: number;
  readonly dispatches: number;
  readonly barriers: number;
  readonly arenaInBytes: number;
  readonly compileMs: number;
  /** Time of each dispatch alone, by the device's timestamps, as text. */
  readonly profile: string;
}

export type Step = (x: dx.Tensor, y: dx.Tensor) => dx.Tensor;

/** Forward, loss, backward and update. */
export function stepOf(network: Pick<dx.nn.Layer, "forward">, optimizer: { step(): void; zeroGrad(): void }): Step {
  return (x, y) => {
    const loss = dx.crossEntropy(network.forward(x), y);
    loss.backward();
    optimizer.step();
    optimizer.zeroGrad();
    return loss;
  };
}

export async function timed(step: Step, x: dx.Tensor, y: dx.Tensor, device: dx.Device, minSeconds: number): Promise<StepTiming> {
  let last: dx.Tensor | null = null;
  const once = (): void => {
    last?.dispose();
    last = dx.scope(() => step(x, y));
  };
  const run = async (n: number): Promise<{ ms: number; call: number; cpu: number }> => {
    await dx.synchronize(device);
    const cpu = process.cpuUsage();
    const start = performance.now();
    for (let i = 0; i < n; i++) once();
    const call = performance.now() - start;
    await dx.synchronize(device);
    const ms = performance.now() - start;
    const { user, system } = process.cpuUsage(cpu);
    return { ms: ms / n, call: (call * 1000) / n, cpu: (user + system) / n };
  };
  await run(5);
  const { ms } = await run(5);
  const n = Math.max(10, Math.min(2000, Math.ceil(minSeconds / ms)));
  const rounds = [await run(n), await run(n), await run(n)];
  const best = (pick: (r: { ms: number; call: number; cpu: number }) => number): number => Math.min(...rounds.map(pick));
  const loss = Number(last!.dataSync()[0]);
  last!.dispose();
  return { ms: best((r) => r.ms), callUs: best((r) => r.call), cpuUs: best((r) => r.cpu), loss };
}

/** `least`: milliseconds that one round of each form takes at least. */
export async function measureSteps(c: Case, device: dx.Device, minSeconds = 300): Promise<StepFigures> {
  const generator = new dx.Generator(7);
  const x = dx.randn([...c.input], { device, generator });
  const y = dx.tensor(
    Int32Array.from({ length: c.input[0]! }, (_, i) => i % 10),
    { device },
  );
  const newStep = (): Step => {
    dx.manualSeed(1);
    const network = c.build();
    network.to(device);
    return stepOf(network, c.optimizer(network.parameters()));
  };
  const eager = await timed(newStep(), x, y, device, minSeconds);
  const step = dx.compile(newStep(), { name: c.name });
  const start = performance.now();
  dx.scope(() => step(x, y).dataSync());
  const compileMs = performance.now() - start;
  const compiled = await timed(step, x, y, device, minSeconds);
  const program = step.explain();
  const profile = `${step.profileSync()}`;
  step.dispose();
  const bare = dx.compile(newStep(), { name: c.name, check: false });
  const unchecked = await timed(bare, x, y, device, minSeconds);
  bare.dispose();
  const forms: StepTiming[] = [];
  for (const regions of ["none", "head"] as const) {
    const form = dx.compile(newStep(), { name: c.name, check: false, regions });
    forms.push(await timed(form, x, y, device, minSeconds));
    form.dispose();
  }
  const [operators, head] = forms as [StepTiming, StepTiming];
  x.dispose();
  y.dispose();
  const { nodes, dispatches, barriers, arenaInBytes } = summary(program);
  return { name: c.name, eager, compiled, unchecked, operators, head, nodes, dispatches, barriers, arenaInBytes, compileMs, profile };
}

function summary(program: dx.Explanation): { nodes: number; dispatches: number; barriers: number; arenaInBytes: number } {
  return {
    nodes: program.nodes.length,
    dispatches: program.dispatches,
    barriers: program.barriers,
    arenaInBytes: program.arenaInBytes,
  };
}
