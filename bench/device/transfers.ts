/** Uploads, read-backs and copies between two devices, GB/s by size. A plain program, so that it runs where nothing can be installed. */
import { writeFileSync } from "node:fs";
import { performance } from "node:perf_hooks";
import { parseArgs } from "node:util";
import * as dx from "dxtensor";
import { median } from "../measure.ts";
import { SteadyClock } from "./steady-clock.ts";

const help = `node build/bench/device/transfers.js [OPTIONS]

  --devices A,B   the devices; copies between two need both (default: dml:0,dml:1)
  --from N        the smallest size, in powers of two bytes (default: 16)
  --to N          the largest one (default: 28)
  --step N        from one power to the next (default: 2)
  --rounds N      measurements of each (default: 7)
  --label TEXT    printed before each row
  --json FILE     write the results as JSON
  --help          this text`;

/** One transfer, whose tensor is dropped before the next one. */
interface Kind {
  readonly name: string;
  once(): Promise<dx.Tensor | Uint8Array>;
}

function kinds(host: Uint8Array, devices: readonly dx.Device[]): { readonly list: readonly Kind[]; dispose(): void } {
  const [first, second] = devices as readonly [dx.Device, dx.Device | undefined];
  const there = dx.tensor(host, { device: first });
  // Memory whose pages are there.
  const own = new Uint8Array(host.length).fill(1);
  const uploaded = async (): Promise<dx.Tensor> => {
    const x = dx.tensor(host, { device: first });
    await dx.synchronize(first);
    return x;
  };
  const list: Kind[] = [
    { name: "upload", once: uploaded },
    { name: "data()", once: async () => (await there.data()) as Uint8Array },
    { name: "dataSync()", once: () => Promise.resolve(there.dataSync() as Uint8Array) },
    { name: "dataIntoSync()", once: () => Promise.resolve(there.dataIntoSync(own)) },
  ];
  if (second !== undefined) {
    const moved = async (from: dx.Tensor, to: dx.Device): Promise<dx.Tensor> => {
      const x = from.to(to);
      await dx.synchronize(to);
      return x;
    };
    const across = there.to(second);
    list.push({ name: "to the second", once: () => moved(there, second) }, { name: "from the second", once: () => moved(across, first) });
    return { list, dispose: () => [there, across].forEach((x) => x.dispose()) };
  }
  return { list, dispose: () => there.dispose() };
}

/** Whether the bytes are those that were sent. */
async function isRight(result: dx.Tensor | Uint8Array, host: Uint8Array): Promise<boolean> {
  const bytes = result instanceof dx.Tensor ? ((await result.data()) as Uint8Array) : result;
  return Buffer.compare(bytes, host) === 0;
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      devices: { type: "string", default: "dml:0,dml:1" },
      from: { type: "string", default: "16" },
      to: { type: "string", default: "28" },
      step: { type: "string", default: "2" },
      rounds: { type: "string", default: "7" },
      label: { type: "string", default: "" },
      json: { type: "string" },
      help: { type: "boolean" },
    },
  });
  if (values.help) {
    console.log(help);
    return;
  }
  const listed = dx.devices().map(({ device }) => device);
  const devices = values.devices.split(",").flatMap((name) => listed.find((d) => String(d) === name) ?? []);
  if (devices.length === 0) {
    console.error(`NOT MEASURED: none of ${values.devices} is there. Devices: ${listed.join(", ")}.`);
    process.exitCode = 1;
    return;
  }
  const clock = new SteadyClock(devices[0]!, !dx.deviceInfo(devices[0]!).isHardware);
  const rows: { readonly size: number; readonly name: string; readonly median: number; readonly best: number; readonly first: number }[] =
    [];
  for (let power = Number(values.from); power <= Number(values.to); power += Number(values.step)) {
    const host = new Uint8Array(2 ** power).map((_, i) => i ^ (i >> 9) ^ power);
    const { list, dispose } = kinds(host, devices);
    const cells: string[] = [];
    for (const { name, once } of list) {
      const found: number[] = [];
      await clock.warm();
      for (let round = 0; round < Number(values.rounds) + 1; round++) {
        const start = performance.now();
        const result = await once();
        found.push(host.byteLength / (performance.now() - start) / 1e6);
        if (round === 0 && !(await isRight(result, host))) {
          console.error(`${name} of ${host.byteLength} bytes: OTHER BYTES than were sent`);
          process.exitCode = 1;
        }
        if (result instanceof dx.Tensor) result.dispose();
      }
      const [first, ...rest] = found as [number, ...number[]];
      const row = { size: host.byteLength, name, median: median(rest), best: Math.max(...rest), first };
      rows.push(row);
      cells.push(`${name} ${row.median.toFixed(2)} (first ${first.toFixed(2)}, best ${row.best.toFixed(2)})`);
    }
    console.log(`${values.label === "" ? "" : `${values.label}: `}2^${power} bytes, GB/s: ${cells.join("; ")}`);
    dispose();
  }
  clock.dispose();
  if (values.json !== undefined)
    writeFileSync(values.json, JSON.stringify({ date: new Date().toISOString(), devices: devices.map(String), rows }, null, 2));
}

await main();
