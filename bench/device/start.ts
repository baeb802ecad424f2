/**
 * How long a process takes until a network is ready: the first call of a compiled training step, with caches that are empty, and in the next process,
 * and which part of it each step takes. Each is a process of its own, whose caches lie in a folder that is made for it.
 */
import { spawnSync } from "node:child_process";
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { performance } from "node:perf_hooks";
import { fileURLToPath } from "node:url";
import * as dx from "dxtensor";
import { CASES, Encoder, type Case } from "./networks.ts";
import { deviceOf, listOf, numberOf, optionsOf } from "./options.ts";
import { stepOf } from "./steps.ts";

/** Four layers of an encoder: a training step of some 400 nodes. */
const DEEP: Case = { ...CASES.find(({ name }) => name === "encoder")!, name: "deep encoder", build: () => new Encoder(4) };
const ALL = [...CASES, DEEP];
const names = ALL.map(({ name }) => name);

const help = `node build/bench/device/start.js [OPTIONS]

  --device NAME     device to measure (default: the default device)
  --networks LIST   of ${names.join(", ")} (default: resnet)
  --processes N     how many begin one after the other, the first with empty caches (default: 2)
  --fuse MODE       auto, always or off (default: auto)
  --keep FOLDER     the folder of the caches, which stays
  --json FILE       write the figures as JSON
  --help            this text`;

interface Phase {
  readonly name: string;
  readonly start: number;
  readonly end: number;
}

/** Runs fn; milliseconds of each step in which a program is made, without those inside of it. */
function withPhases<T>(fn: () => T): { readonly result: T; readonly phases: { readonly [name: string]: number } } {
  const all: Phase[] = [];
  const note = (phase: unknown): void => void all.push(phase as Phase);
  subscribe("dxtensor.phase", note);
  const result = fn();
  unsubscribe("dxtensor.phase", note);
  const own = new Map<string, number>();
  all.forEach(({ name, start, end }, i) => {
    // Those inside are told first: the ones since this began, without theirs.
    let inside = 0;
    let from = end;
    for (let k = i - 1; k >= 0 && all[k]!.start >= start; k--) {
      if (all[k]!.end > from) continue;
      inside += all[k]!.end - all[k]!.start;
      from = all[k]!.start;
    }
    own.set(name, (own.get(name) ?? 0) + end - start - inside);
  });
  return { result, phases: Object.fromEntries([...own].map(([name, t]) => [`${name}Ms`, ms(t)])) };
}

const ms = (t: number): number => Number(t.toFixed(1));

/** One process: builds a network and calls its step once. */
function first(name: string, device: dx.Device, fuse: dx.CompileOptions["fuse"]): Record<string, unknown> {
  const c = ALL.find((x) => x.name === name)!;
  const from = performance.now();
  dx.manualSeed(1);
  const network = c.build();
  network.to(device);
  const optimizer = c.optimizer(network.parameters());
  const x = dx.randn([...c.input], { device, generator: new dx.Generator(7) });
  const y = dx.tensor(Int32Array.from({ length: c.input[0]! }, (_, i) => i % 10), { device }); // prettier-ignore
  x.dataSync();
  const built = performance.now();
  const step = dx.compile(stepOf(network, optimizer), { name, ...(fuse === undefined ? {} : { fuse }) });
  const { result: loss, phases } = withPhases(() => Number(step(x, y).dataSync()[0]));
  const ready = performance.now();
  step(x, y).dataSync();
  const again = performance.now();
  const { nodes, dispatches } = step.explain();
  const { shadersCompiled } = dx.counters(device);
  return {
    network: name,
    nodes: nodes.length,
    dispatches,
    shaders: shadersCompiled,
    buildMs: ms(built - from),
    readyMs: ms(ready - built),
    nextMs: ms(again - ready),
    ...phases,
    loss,
  };
}

const values = optionsOf(help, {
  networks: { type: "string", default: "resnet" },
  processes: { type: "string", default: "2" },
  fuse: { type: "string" },
  keep: { type: "string" },
  one: { type: "string" },
});
const [fuse] = values.fuse === undefined ? [] : listOf("fuse", values.fuse, ["auto", "always", "off"]);
if (values.one !== undefined) console.log(JSON.stringify(first(values.one, deviceOf(values), fuse)));
else {
  const folder = values.keep ?? mkdtempSync(join(tmpdir(), "dxtensor-start-"));
  const figures: unknown[] = [];
  for (const name of listOf("networks", values.networks, names))
    // prettier-ignore
    for (let i = 0; i < numberOf("processes", values.processes); i++) {
      const options = ["--one", name, ...(values.device === undefined ? [] : ["--device", values.device]), ...(fuse === undefined ? [] : ["--fuse", fuse])];
      const env = { ...process.env, XDG_CACHE_HOME: join(folder, name), LOCALAPPDATA: join(folder, name), __GL_SHADER_DISK_CACHE_PATH: join(folder, name) };
      const start = performance.now();
      const child = spawnSync(process.execPath, [fileURLToPath(import.meta.url), ...options], { encoding: "utf8", env, stdio: ["ignore", "pipe", "inherit"] });
      if (child.status !== 0) throw new Error(`${name} ended with ${child.status}`);
      const figure = { process: i + 1, ...(JSON.parse(child.stdout) as object), processMs: Math.round(performance.now() - start) };
      figures.push(figure);
      console.log(JSON.stringify(figure));
    }
  if (values.keep === undefined) rmSync(folder, { recursive: true, force: true });
  if (values.json !== undefined) writeFileSync(values.json, `${JSON.stringify(figures, null, 1)}\n`);
}
