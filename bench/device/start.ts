/**
 * How long a process takes until a network is ready: the first call of a compiled training step, with caches that are empty, and in the next process.
 * Each is a process of its own, whose caches lie in a folder that is made for it.
 */
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { performance } from "node:perf_hooks";
import { fileURLToPath } from "node:url";
import * as dx from "dxtensor";
import { CASES } from "./networks.ts";
import { deviceOf, listOf, numberOf, optionsOf } from "./options.ts";
import { stepOf } from "./steps.ts";

const help = `node build/bench/device/start.js [OPTIONS]

  --device NAME     device to measure (default: the default device)
  --networks LIST   of ${CASES.map((c) => c.name).join(", ")} (default: resnet)
  --processes N     how many begin one after the other, the first with empty caches (default: 2)
  --keep FOLDER     the folder of the caches, which stays
  --json FILE       write the figures as JSON
  --help            this text`;

/** One process: builds a network and calls its step once. */
function first(name: string, device: dx.Device): Record<string, unknown> {
  const c = CASES.find((x) => x.name === name)!;
  const from = performance.now();
  dx.manualSeed(1);
  const network = c.build();
  network.to(device);
  const optimizer = c.optimizer(network.parameters());
  const x = dx.randn([...c.input], { device, generator: new dx.Generator(7) });
  const y = dx.tensor(Int32Array.from({ length: c.input[0]! }, (_, i) => i % 10), { device }); // prettier-ignore
  x.dataSync();
  const built = performance.now();
  const step = dx.compile(stepOf(network, optimizer), { name });
  const loss = Number(step(x, y).dataSync()[0]);
  const ready = performance.now();
  step(x, y).dataSync();
  const again = performance.now();
  const { nodes, dispatches } = step.explain();
  const { shadersCompiled } = dx.counters(device);
  const ms = (t: number): number => Number(t.toFixed(1));
  return {
    network: name,
    nodes: nodes.length,
    dispatches,
    shaders: shadersCompiled,
    buildMs: ms(built - from),
    readyMs: ms(ready - built),
    nextMs: ms(again - ready),
    loss,
  };
}

const values = optionsOf(help, {
  networks: { type: "string", default: "resnet" },
  processes: { type: "string", default: "2" },
  keep: { type: "string" },
  one: { type: "string" },
});
if (values.one !== undefined) console.log(JSON.stringify(first(values.one, deviceOf(values))));
else {
  const folder = values.keep ?? mkdtempSync(join(tmpdir(), "dxtensor-start-"));
  const figures: unknown[] = [];
  for (const name of listOf(
    "networks",
    values.networks,
    CASES.map((c) => c.name),
  ))
    // prettier-ignore
    for (let i = 0; i < numberOf("processes", values.processes); i++) {
      const options = ["--one", name, ...(values.device === undefined ? [] : ["--device", values.device])];
      const env = { ...process.env, XDG_CACHE_HOME: join(folder, name), LOCALAPPDATA: join(folder, name), __GL_SHADER_DISK_CACHE_PATH: join(folder, name) };
      const start = performance.now();
      const child = spawnSync(process.execPath, [fileURLToPath(import.meta.url), ...options], { encoding: "utf8", env, stdio: ["ignore", "pipe", "inherit"] });
      if (child.status !== 0) throw new Error(`${name} ended with ${child.status}`);
      const figure = { process: i + 1, ...(JSON.parse(child.stdout) as object), processMs: Math.round(performance.now() - start) };
      figures.push(figure);
      console.log(JSON.stringify(figure));
    }
  if (values.keep === undefined) rmSync(folder, { recursive: true, force: true });
}
