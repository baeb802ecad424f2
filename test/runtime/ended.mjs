// Ends workers inside calls of the addon. Run as a program it ends `count` workers for each case and prints the outcomes; as a
// worker it repeats one case's call forever. Arguments: the addon, the software adapter's library, the package, count (below 1: of a share of the cases), cases.
import { AsyncLocalStorage } from "node:async_hooks";
import { createRequire } from "node:module";
import { isMainThread, parentPort, Worker, workerData } from "node:worker_threads";

const FLOATS = 1 << 14;
const SIZE = 4 * FLOATS;

/** out = a + b of FLOATS floats. */
function program(change = {}) {
  const tensor = { dataType: 1, sizes: [1, 1, 1, FLOATS], strides: null, sizeInBytes: SIZE };
  return {
    name: "ended",
    inputs: [SIZE, SIZE],
    outputs: [SIZE],
    scratch: 0,
    dispatchables: [{ type: 4, fields: [tensor, tensor, tensor] }],
    steps: [
      {
        group: 0,
        dispatch: 0,
        inputs: [
          [0, 0, SIZE],
          [1, 0, SIZE],
        ],
        outputs: [[2, 0, SIZE]],
      },
    ],
    ...change,
  };
}

/** An object whose property is a getter that says that it was reached and never returns. */
function trap(object, property, reached) {
  const get = () => {
    for (;;) reached();
  };
  return Object.defineProperty(object, property, { get });
}

/** Every exported call with good arguments, with wrong ones (an error is made), and where it runs JavaScript, inside that. */
export function calls(binding, paths, reached) {
  binding.load("software", paths);
  const cpu = binding.adapters("software").find((a) => !a.isSimulated).index;
  const device = binding.openDevice("software", cpu, {}).id;
  const owner = {};
  const bytes = new Float32Array(FLOATS);
  const big = new Uint8Array(32 << 20);
  const a = binding.upload(device, bytes, owner);
  const b = binding.upload(device, bytes, owner);
  const large = binding.allocate(device, big.length, owner);
  const out = binding.allocate(device, SIZE, owner);
  const made = binding.createProgram(device, program());
  const recording = binding.record(made, Float64Array.of(a, 0, b, 0, out, 0, 0, 0), 2);
  const none = new Float64Array(0);
  const results = new Float64Array(1);
  const slots = () => Float64Array.of(a, 0, b, 0, 0, 0, 0, 0);
  const release = (handle) => binding.release(handle);
  const keep = (promise) => void promise?.then(undefined, () => {});
  const good = {
    load: () => binding.load("software", paths),
    adapters: () => binding.adapters("software"),
    openDevice: () => binding.openDevice("software", cpu, { memoryLimitInBytes: 1 << 28 }),
    closeDevice: () => {
      const other = binding.adapters("software").find((x) => x.isSimulated);
      binding.closeDevice(binding.openDevice("software", other.index, {}).id);
    },
    run: () => release(binding.run(made, owner, a, b)),
    execute: () => {
      const s = slots();
      binding.execute(made, s, [owner]);
      release(s[4]);
    },
    allocate: () => release(binding.allocate(device, 64, owner)),
    upload: () => release(binding.upload(device, big, owner)),
    write: () => binding.write(large, 0, big),
    copy: () => binding.copy(a, 0, b, 0, SIZE),
    read: () => keep(binding.read(a, 0, SIZE)),
    readLarge: () => keep(binding.read(large, 0, big.length)),
    readSync: () => binding.readSync(large, 0, big.length),
    release: () => release(binding.allocate(device, 4096, owner)),
    sweep: () => binding.sweep(),
    createProgram: () => binding.releaseProgram(binding.createProgram(device, program())),
    programInfo: () => binding.programInfo(made),
    record: () => binding.releaseRecording(binding.record(made, Float64Array.of(a, 0, b, 0, out, 0, 0, 0), 4)),
    replay: () => {
      binding.replay(recording, none, Float64Array.of(out, 0, SIZE), [owner], results);
      release(results[0]);
    },
    profile: () => binding.profile(recording),
    flush: () => binding.flush(device),
    synchronize: () => keep(binding.synchronize(device)),
    synchronizeSync: () => binding.synchronizeSync(device),
    doneWithin: () => binding.doneWithin(device, 1),
    counters: () => binding.counters(device),
    memory: () => binding.memory(device),
    hold: () => binding.hold(device, false),
    injectFault: () => {
      binding.injectFault(device, "outOfMemory");
      try {
        release(binding.allocate(device, 1 << 20, owner));
      } catch {}
    },
  };
  const wrong = {};
  const all = Object.keys(binding).filter((name) => typeof binding[name] === "function");
  for (const name of all) wrong[`${name}, wrong`] = () => binding[name](1e9, -1, "no", {}, 7);
  const trapped = {
    "load, trapped": () => binding.load("gpu", trap({}, "folders", reached)),
    "openDevice, trapped": () => binding.openDevice("software", cpu, trap({}, "memoryLimitInBytes", reached)),
    "createProgram, trapped": () => binding.createProgram(device, trap(program(), "scratch", reached)),
    "createProgram, trapped deep": () =>
      binding.createProgram(device, program({ dispatchables: [{ type: 4, fields: trap([1, 2, 3], 1, reached) }] })),
    "execute, trapped": () => binding.execute(made, slots(), trap([], 0, reached)),
    "replay, trapped": () => binding.replay(recording, none, Float64Array.of(out, 0, SIZE), trap([], 0, reached), results),
  };
  return { ...good, ...wrong, ...trapped };
}

/** What a user does, through the package. */
export async function uses(dx) {
  const x = dx.randn([64, 64], { device: "cpu" });
  let n = 0;
  const model = dx.withDevice("cpu", () => new dx.nn.Sequential(new dx.nn.Linear(64, 64), new dx.nn.ReLU(), new dx.nn.Linear(64, 1)));
  const optimizer = new dx.optim.Adam(model.parameters());
  return {
    compiling: () => dx.compile((t) => t.mul(++n).add(1).sum())(x),
    reading: () => x.dataSync(),
    "reading later": () => void x.data().then(undefined, () => {}),
    uploading: () => dx.tensor(new Float32Array(1 << 16), { device: "cpu" }).dispose(),
    training: () => {
      optimizer.zeroGrad();
      dx.mean(model.forward(x)).backward();
      optimizer.step();
    },
  };
}

async function work({ addon, paths, module, name, counter }) {
  const count = new Int32Array(counter);
  const reached = () => {
    Atomics.add(count, 0, 1);
    Atomics.notify(count, 0);
  };
  if (name === "require") reached();
  const binding = createRequire(import.meta.url)(addon);
  if (name === "require") for (;;);
  const of = { ...calls(binding, paths, reached), ...(module === "" ? {} : await uses(await import(module))) };
  if (name === "") return parentPort.postMessage(Object.keys(of));
  const call = of[name];
  // Makes V8 run JavaScript inside of what makes a promise, where the end of a thread is lost without a word.
  new AsyncLocalStorage().enterWith(name);
  for (;;) {
    try {
      call();
    } catch {
      // Wrong arguments. The end of the thread cannot be caught.
    }
    reached();
  }
}

/** mulberry32. */
function random(seed) {
  return () => {
    seed = (seed + 0x6d2b79f5) | 0;
    let t = Math.imul(seed ^ (seed >>> 15), 1 | seed);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return (t ^ (t >>> 14)) >>> 0;
  };
}

async function reaches(counter, value) {
  const count = new Int32Array(counter);
  for (let now = Atomics.load(count, 0); now < value; now = Atomics.load(count, 0)) await Atomics.waitAsync(count, 0, now).value;
}

async function end(data, calls) {
  const counter = new SharedArrayBuffer(4);
  const worker = new Worker(new URL(import.meta.url), { workerData: { ended: { ...data, counter } }, stderr: true });
  const failed = new Promise((_, reject) => worker.once("error", reject));
  await Promise.race([reaches(counter, calls), failed]);
  await worker.terminate();
}

/** Faults are of the adapter, so one worker's may meet another that is being set up. */
async function endAfterFaults(data, calls) {
  for (let tries = 0; ; tries++) {
    try {
      return await end(data, calls);
    } catch (error) {
      if (tries === 5 || !/E_OUTOFMEMORY|out of memory/i.test(error.message)) throw error;
    }
  }
}

async function main([addon, software, module, times, ...names]) {
  const paths = { folders: [], software, simulate: "uhd-630@5.0" };
  const data = { addon, paths, module };
  const all = await new Promise((resolve, reject) => {
    const worker = new Worker(new URL(import.meta.url), {
      workerData: { ended: { ...data, name: "", counter: new SharedArrayBuffer(4) } },
    });
    worker.once("message", resolve).once("error", reject);
  });
  const wanted = names.length > 0 ? names : ["require", ...all];
  const next = random(20261122);
  // Less than once: of every so many cases one.
  const step = Math.max(1, Math.round(1 / Number(times)));
  const jobs = wanted.flatMap((name, i) =>
    Array.from({ length: i % step === 0 ? Math.ceil(Number(times)) : 0 }, () => ({
      name,
      calls: /trapped|require/.test(name) ? 1 : 1 + (next() % 40),
    })),
  );
  const expected = jobs.length;
  let ended = 0;
  const drain = async () => {
    for (let job = jobs.pop(); job !== undefined; job = jobs.pop()) {
      await endAfterFaults({ ...data, name: job.name }, job.calls);
      ended++;
    }
  };
  await Promise.all([drain(), drain(), drain()]);
  console.log(JSON.stringify({ ended, expected, cases: wanted }));
}

if (!isMainThread && workerData?.ended) await work(workerData.ended);
else if (isMainThread && process.argv[1] === new URL(import.meta.url).pathname) await main(process.argv.slice(2));
