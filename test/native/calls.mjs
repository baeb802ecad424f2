// Calls of the addon with good, wrong and absurd arguments, in random order. Prints counts of the outcomes as JSON; a forbidden outcome ends it with
// a message. Arguments: the addon, the software adapter's library, the first seed, how many calls, a backend library where there is one.
import { existsSync } from "node:fs";
import { createRequire } from "node:module";

const [addon, software, firstSeed, times, library] = process.argv.slice(2);
const binding = createRequire(import.meta.url)(addon);
const PATHS = { folders: [], software, simulate: "uhd-630@5.0" };
/** Of every device here. By default a device has all memory, and is waited for during ten minutes after an injected "hang". */
const OPTIONS = { memoryLimitInBytes: 64 << 20, timeoutInMs: 200 };
const KINDS = new Set(["load", "device", "removed", "timeout", "outOfMemory", "unsupported", "invalid"]);

/** mulberry32: integers below `below`. */
function random(seed) {
  return (below) => {
    seed = (seed + 0x6d2b79f5) | 0;
    let t = Math.imul(seed ^ (seed >>> 15), 1 | seed);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) % below;
  };
}

const next = random(Number(firstSeed));
const one = (list) => list[next(list.length)];

/** What a getter throws; it must come out as it went in. */
class Own extends Error {}
const throwing = () => {
  throw new Own("a getter's own error");
};

function detached() {
  const array = new Float64Array(8);
  structuredClone(array, { transfer: [array.buffer] });
  return array;
}
function revoked() {
  const { proxy, revoke } = Proxy.revocable([], {});
  revoke();
  return proxy;
}

const NUMBERS = [0, -0, 1, 2, 3, 7, 15, 16, 64, 255, 4096, -1, -16, 0.5, 1.5, NaN, Infinity, -Infinity, 2 ** 31, 2 ** 31 - 1, -(2 ** 31)];
NUMBERS.push(2 ** 32 - 1, 2 ** 32, 2 ** 40, 2 ** 53 - 1, 2 ** 53, 2 ** 53 + 2, 2 ** 56 + 16, 2 ** 63, 2 ** 64, 1e308, 5e-324);
const absurd = [
  () => undefined,
  () => null,
  () => one([true, false]),
  () => one(NUMBERS),
  () => one(NUMBERS),
  () => -next(1000),
  () => next(1000),
  () => one(["", "gpu", "software", "hang", "\u0000", "\ud800", "x".repeat(5000), "NaN"]),
  () => Symbol("s"),
  () => one([0n, -1n, 2n ** 64n]),
  () => [],
  () => new Array(one([1, 3, 2 ** 20, 2 ** 32 - 1])),
  () => Array.from({ length: next(6) }, () => one(NUMBERS)),
  () => ({}),
  () => Object.create(null),
  () => () => 1,
  () => new Date(0),
  () => new Map(),
  () => new Float64Array(next(40)),
  () => Float64Array.from({ length: next(24) }, () => one(NUMBERS)),
  () => new Uint8Array(next(100)),
  () => new Uint8Array(8),
  () => new BigInt64Array(2),
  () => new Float32Array(new SharedArrayBuffer(16)),
  () => new DataView(new ArrayBuffer(next(64))),
  () => new ArrayBuffer(16),
  detached,
  revoked,
  () => new Proxy({}, { get: throwing }),
  () => new Proxy([], { get: (target, name) => (name === "length" ? 3 : throwing()) }),
  () => Object.defineProperty([], 0, { get: throwing, enumerable: true }),
];

/** A good value, changed at one random index; what cannot be looked at is another value. */
function changed(value) {
  try {
    return changedInside(value, 0);
  } catch {
    return one(absurd)();
  }
}

function changedInside(value, depth) {
  const isList = Array.isArray(value);
  if (depth < 7 && value !== null && typeof value === "object" && !ArrayBuffer.isView(value) && next(8) > 0) {
    const keys = Object.keys(value);
    if (keys.length > 0) {
      const copy = isList ? [...value] : { ...value };
      const key = one(keys);
      const what = next(12);
      if (isList && what === 0) copy.splice(Number(key), 1);
      else if (isList && what === 1) copy.push(copy[key]);
      else if (what === 2) Object.defineProperty(copy, key, { get: one([throwing, act]), enumerable: true });
      else copy[key] = changedInside(value[key], depth + 1);
      return copy;
    }
  }
  return one(absurd)();
}

const state = { device: 0, opened: [], buffers: [], programs: [], recordings: [], tracked: [], lent: [], owners: [], sizes: new Map(), held: false };
const FLOATS = 64;
const SIZE = 4 * FLOATS;
const tensor = (sizes = [1, 1, 1, FLOATS]) => ({ dataType: 1, sizes, strides: null, sizeInBytes: 4 * sizes.reduce((a, b) => a * b, 1) });
const add = () => ({ type: 4, fields: [tensor(), tensor(), tensor()] });
const graph = () => ({
  inputCount: 2,
  outputCount: 1,
  nodes: [add(), add()],
  inputEdges: [
    [0, 0, 0],
    [1, 0, 1],
    [1, 1, 1],
  ],
  edges: [[0, 0, 1, 0]],
  outputEdges: [[1, 0, 0]],
});
/** Bytes that begin as a shader's container, with its size or another one. */
const container = () => {
  const bytes = Uint8Array.from({ length: 4 * next(64) }, () => next(256));
  bytes.set([0x44, 0x58, 0x42, 0x43].slice(0, bytes.length));
  if (bytes.length >= 32) new DataView(bytes.buffer).setUint32(24, next(3) === 0 ? next(1 << 16) : bytes.length, true);
  return bytes;
};
const good = () => ({
  name: "sum",
  inputs: [SIZE, SIZE],
  outputs: [SIZE],
  scratch: one([0, SIZE]),
  dispatchables: [one([add, graph])()],
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
    ...(next(3) === 0
      ? [
          {
            group: 1,
            copy: [
              [2, 0, 32],
              [2, 64, 32],
            ],
          },
        ]
      : []),
  ],
});
/** More kinds of fields than the sum has. */
const others = () => ({
  ...good(),
  dispatchables: one([
    () => [{ type: 4, fields: [tensor(), tensor(), tensor()] }],
    // JOIN: an array of tensors; FILL_VALUE_CONSTANT: a union; GEMM: operators inside, floats; ELEMENT_WISE_IDENTITY: scale and bias.
    () => [{ type: 45, fields: [2, [tensor(), tensor()], tensor([1, 1, 2, FLOATS]), 2] }],
    () => [{ type: 94, fields: [tensor(), 1, new Uint8Array(8)] }],
    () => [{ type: 54, fields: [tensor(), tensor(), null, tensor(), 0, 0, 1, 0, { type: 46, fields: [null, null] }] }],
    () => [{ type: 1, fields: [tensor(), tensor(), [2, 1]] }],
    () => [{ type: 57, fields: [tensor(), tensor(), 4, [0, 0, 0, 1], [0, 0, 0, 1], [1, 1], one(absurd)()] }],
    () => [graph(), add(), changed(graph())],
  ])(),
});

const owner = () => {
  const object = {};
  state.owners.push(object);
  if (state.owners.length > 200) state.owners.splice(0, 100);
  return object;
};
/** Now and then one of them is a getter that calls the addon. */
const owners = (count) => {
  const array = Array.from({ length: count }, owner);
  if (count > 0 && next(25) === 0) Object.defineProperty(array, next(count), { get: act, enumerable: true });
  return array;
};
const buffer = () => one(state.buffers) ?? 0;
const keep = (list, value) => {
  list.push(value);
  return value;
};
const swallow = (promise) => void promise?.then?.(undefined, check);

/** A machine without LAPACK tries these calls too; they name no library then. */
const lapack = ["/usr/lib/x86_64-linux-gnu/liblapack.so.3", "/usr/lib/aarch64-linux-gnu/liblapack.so.3", "/usr/lib64/liblapack.so.3"].find((path) => existsSync(path)) ?? "/nowhere";
const matrix = () => Float64Array.from({ length: 9 }, () => next(100) - 50);
const doubles = (count) => new Float64Array(count);
const whole = (count) => new Int32Array(count).fill(1);
const routines = [
  () => ["dpotrf", ["L", 3, matrix(), 3, whole(1)]],
  () => ["dgetrf", [3, 3, matrix(), 3, whole(3), whole(1)]],
  () => ["dgetrs", ["N", 3, 2, matrix(), 3, whole(3), doubles(6), 3, whole(1)]],
  () => ["dtrsm", ["L", "U", "N", "N", 3, 2, Float64Array.of(1), matrix(), 3, doubles(6), 3]],
  () => ["dsytrf", ["L", 3, matrix(), 3, whole(3), doubles(8), one([8, -1]), whole(1)]],
  () => ["dsytrs", ["L", 3, 2, matrix(), 3, Int32Array.of(1, one([2, -3]), -3), doubles(6), 3, whole(1)]],
  () => ["dgeqrf", [3, 3, matrix(), 3, doubles(3), doubles(8), 8, whole(1)]],
  () => ["dorgqr", [3, 2, 2, matrix(), 3, doubles(2), doubles(8), 8, whole(1)]],
  () => ["dgesdd", [one(["A", "S", "N"]), 3, 3, matrix(), 3, doubles(3), doubles(9), 3, doubles(9), 3, doubles(200), 200, whole(24), whole(1)]],
  () => ["dsyevd", ["V", "L", 3, matrix(), 3, doubles(3), doubles(40), 40, whole(20), 20, whole(1)]],
  () => ["dgeev", ["N", "V", 3, matrix(), 3, doubles(3), doubles(3), doubles(1), 1, doubles(9), 3, doubles(40), 40, whole(1)]],
];

/** Of a backend library: devices, memory and operations that were there. */
const outside = { devices: [], memories: [], operations: [] };
const four = () => ({ dtype: one([1, 1, 1, 6]), sizes: [2, 2], strides: one([[2, 1], [1, 2], [0, 0]]) }); // prettier-ignore
const attributes = () => [{ name: "alpha", value: 2 }, { name: "transA", value: "TRANSPOSE" }, { name: "axes", value: [0, 1] }, { name: "count", value: 3n }, { name: "flag", value: true }]; // prettier-ignore
const memory = () => one(outside.memories) ?? 0;

/** Arguments that are good when everything that they name is there. */
const args = {
  backendLoad: () => [library ?? "/nowhere"],
  backendDevices: () => [0],
  backendOpen: () => [0, 0],
  backendClose: () => [one(outside.devices) ?? 0],
  backendAllocate: () => [one(outside.devices) ?? 0, 16 * (1 + next(40))],
  backendFree: () => [memory()],
  backendWrite: () => [memory(), 4 * next(3), new Uint8Array(next(20))],
  backendRead: () => [memory(), 4 * next(3), next(16)],
  backendCopy: () => [memory(), 0, memory(), 0, next(16)],
  backendPrepare: () => [one(outside.devices) ?? 0, one(["ELEMENT_WISE_ADD", "GEMM"]), [four(), four(), one([null, four()]), four()], one([2, 3]), attributes()],
  backendRun: () => [one(outside.operations) ?? 0, Float64Array.from(Array.from({ length: 4 }, () => [memory(), 0, 16]).flat())],
  backendForget: () => [one(outside.operations) ?? 0],
  backendSynchronize: () => [one(outside.devices) ?? 0],
  backendMemory: () => [one(outside.devices) ?? 0],
  lapackOpen: () => [lapack],
  lapackHas: () => [lapack, "dgetrf"],
  lapackCall: () => [lapack, ...one(routines)()],
  load: () => [one(["software", "gpu"]), { ...PATHS, folders: ["/nowhere"] }],
  adapters: () => [one(["software", "gpu"])],
  openDevice: () => ["software", cpu, OPTIONS],
  closeDevice: () => [state.device],
  setDeviceOptions: () => [state.device, OPTIONS],
  run: () => [one(state.programs) ?? 0, owner(), buffer(), buffer()],
  execute: () => [one(state.programs) ?? 0, Float64Array.of(buffer(), 0, buffer(), 0, one([0, buffer()]), 0, one([0, buffer()]), 0), owners(1)],
  record: () => [one(state.programs) ?? 0, Float64Array.of(buffer(), 0, buffer(), 0, buffer(), 0, buffer(), 0), 1 + next(4), one([undefined, Float64Array.of(1 + next(2))])],
  replay: () => {
    const count = next(3);
    const outputs = Array.from({ length: count }, () => [buffer(), 16 * next(3), SIZE / 2]).flat();
    const inputs = next(2) === 0 ? [] : [buffer(), 0, buffer(), 64, 32];
    return [one(state.recordings) ?? 0, Float64Array.from(inputs), Float64Array.from(outputs), owners(count), new Float64Array(count)];
  },
  profile: () => [one(state.recordings) ?? 0],
  release: () => [buffer()],
  allocate: () => [state.device, next(50) === 0 ? next(OPTIONS.memoryLimitInBytes) : SIZE * next(40), owner(), next(2) === 0],
  upload: () => [state.device, new Float32Array(next(4) === 0 ? next(1 << 19) : FLOATS), owner()],
  write: () => [buffer(), 16 * next(4), new Uint8Array(next(200))],
  copy: () => [buffer(), 16 * next(4), buffer(), 16 * next(4), next(SIZE)],
  exchange: () => [
    Float64Array.from(
      Array.from({ length: next(4) }, () => {
        const recording = () => one([0, one(state.recordings) ?? 0]);
        return [buffer(), 16 * next(4), buffer(), 16 * next(4), next(SIZE), recording(), next(3), recording()];
      }).flat(),
    ),
  ],
  carry: () => [buffer(), 16 * next(4), next(SIZE), one(state.opened) ?? state.device, owner(), next(2) === 0],
  readMade: () => [buffer(), 4 * next(4), new Uint8Array(next(SIZE)), one([0, one(state.recordings) ?? 0]), next(3)],
  read: () => [buffer(), 4 * next(4), next(SIZE)],
  readInto: () => [buffer(), 4 * next(4), new Uint8Array(next(SIZE))],
  readSync: () => [buffer(), 4 * next(4), next(SIZE)],
  lend: () => [buffer()],
  giveBack: () => [one(state.lent) ?? 0],
  sweep: () => [],
  collectGarbage: () => [],
  track: () => [owner(), next(1 << 20)],
  untrack: () => [one(state.tracked) ?? 0],
  collectedOwners: () => [],
  createProgram: () => {
    const description = one([good, others])();
    if (next(25) === 0) Object.defineProperty(description, "steps", { get: () => act() ?? good().steps, enumerable: true });
    return [state.device, description];
  },
  preparePipeline: () => [state.device, container(), next(9), next(9)],
  releaseProgram: () => [one(state.programs) ?? 0],
  programInfo: () => [one(state.programs) ?? 0],
  releaseRecording: () => [one(state.recordings) ?? 0],
  flush: () => [state.device],
  synchronize: () => [state.device],
  synchronizeSync: () => [state.device],
  startTiming: () => [state.device],
  stopTiming: () => [state.device],
  doneWithin: () => [state.device, next(3)],
  counters: () => [state.device],
  settle: () => [state.device],
  memory: () => [state.device],
  hold: () => [state.device, next(4) === 0],
  injectFault: () =>
    next(60) === 0
      ? [state.device, one(["removeDevice", "hang"])]
      : [state.device, "outOfMemory", ...(next(2) === 0 ? [] : [next(6), next(4)])],
};
/** What became of a call that went well. */
const after = {
  backendOpen: ({ device }) => keep(outside.devices, device),
  backendAllocate: (handle) => keep(outside.memories, handle),
  backendPrepare: (handle) => handle > 0 && keep(outside.operations, handle),
  openDevice: ({ id }) => binding.setDeviceOptions(keep(state.opened, id), OPTIONS),
  // Whatever was taken: limits that are absent are the defaults.
  setDeviceOptions: (_, [id]) => binding.setDeviceOptions(id, OPTIONS),
  run: (handle) => keep(state.buffers, handle),
  allocate: (handle) => keep(state.buffers, handle),
  upload: (handle) => keep(state.buffers, handle),
  carry: (handle) => keep(state.buffers, handle),
  execute: (_, [, slots]) => slots[4] > 0 && !state.buffers.includes(slots[4]) && keep(state.buffers, slots[4]),
  replay: (_, [, , , , results]) => results.length > 0 && results.forEach((handle) => keep(state.buffers, handle)),
  createProgram: (handle) => keep(state.programs, handle),
  record: (handle) => keep(state.recordings, handle),
  track: (handle) => keep(state.tracked, handle),
  lend: (address) => address !== null && keep(state.lent, address),
  read: swallow,
  synchronize: swallow,
};

const counts = { calls: 0, good: 0, errors: {} };

function check(error) {
  if (error instanceof Own) return;
  const name = error?.kind ?? error?.name ?? String(error);
  counts.errors[name] = (counts.errors[name] ?? 0) + 1;
  // TypeErrors are JavaScript's own, of proxies, symbols and the like.
  if (!KINDS.has(error?.kind) && !(error instanceof TypeError)) throw new Error(`a call gave ${name}: ${error?.stack ?? error}`);
  if (KINDS.has(error.kind) && (typeof error.message !== "string" || error.message === "")) throw new Error(`an error without a message: ${name}`);
}

const names = Object.keys(args);
const exported = Object.keys(binding).filter((name) => typeof binding[name] === "function");
const missing = exported.filter((name) => !names.includes(name));
if (missing.length > 0) throw new Error(`exported calls without arguments here: ${missing}`);

/** Pulls away what the call that runs uses. */
function destroy() {
  const ask = (name, handle) => {
    try {
      binding[name](handle);
    } catch (error) {
      check(error);
    }
  };
  one([
    () => reopen(),
    () => state.buffers.forEach((handle) => ask("release", handle)),
    () => state.programs.forEach((handle) => ask("releaseProgram", handle)),
    () => state.recordings.forEach((handle) => ask("releaseRecording", handle)),
    () => state.tracked.forEach((handle) => ask("untrack", handle)),
    () => state.lent.splice(0).forEach((address) => ask("giveBack", address)),
  ])();
}

let depth = 0;
/** What a getter does: calls inside of a call. */
function act() {
  if (++depth > 2) {
    depth--;
    return undefined;
  }
  try {
    if (next(2) === 0) destroy();
    else call();
  } finally {
    depth--;
  }
  return one([undefined, {}]);
}

function call() {
  // Closing and faults are rare, so that there is something to work with.
  const isRare = (n) => (n.startsWith("backend") ? library === undefined || /Close|Open/.test(n) : /closeDevice|injectFault|hold/.test(n));
  const name = one(names.filter((n) => !isRare(n) || next(40) === 0));
  let values = args[name]();
  const isGood = next(3) > 0;
  if (!isGood)
    for (let n = 1 + next(2); n > 0; n--) {
      if (values.length === 0 || next(10) === 0) values = values.slice(0, next(values.length + 1));
      else values[next(values.length)] = changed(one(values));
    }
  counts.calls++;
  let result;
  try {
    result = binding[name](...values);
  } catch (error) {
    check(error);
    if (error?.kind === "removed" || error?.kind === "timeout") reopen();
    return;
  }
  counts.good++;
  after[name]?.(result, values);
  if (name === "closeDevice") reopen();
}

let cpu = 0;
function reopen() {
  closeAll();
  for (const list of [state.buffers, state.programs, state.recordings]) list.length = 0;
  state.device = binding.openDevice("software", cpu, OPTIONS).id;
  for (let i = 0; i < 8; i++) state.buffers.push(binding.allocate(state.device, 2 * SIZE, owner()));
  state.programs.push(binding.createProgram(state.device, good()));
}

/** Each call of openDevice is one to close; some are closed already. */
function closeAll() {
  for (const id of [state.device, ...state.opened.splice(0)])
    try {
      binding.closeDevice(id);
    } catch (error) {
      check(error);
    }
}

/** After all that a sum is right. */
function verify() {
  closeAll();
  state.device = binding.openDevice("software", cpu, { ...OPTIONS, timeoutInMs: 60_000 }).id;
  const numbers = Float32Array.from({ length: FLOATS }, (_, i) => i);
  const [a, b] = [binding.upload(state.device, numbers, state), binding.upload(state.device, numbers, state)];
  const out = binding.run(binding.createProgram(state.device, { ...good(), scratch: 0, dispatchables: [add()], steps: good().steps.slice(0, 1) }), state, a, b);
  const sum = new Float32Array(binding.readSync(out, 0, SIZE));
  if (!sum.every((value, i) => value === 2 * i)) throw new Error(`a sum is wrong: ${sum}`);
  binding.closeDevice(state.device);
}

binding.load("software", PATHS);
cpu = binding.adapters("software").find((a) => !a.isSimulated).index;
reopen();
for (let i = 0; i < Number(times); i++) {
  call();
  // Lists stay short, and what fell out of them is left to sweep().
  for (const list of [state.buffers, state.programs, state.recordings, state.tracked]) if (list.length > 64) list.splice(0, 32);
  if (i % 2000 === 1999) {
    globalThis.gc?.();
    binding.sweep();
    for (const handle of binding.collectedOwners()) binding.untrack(handle);
    if (binding.pressure[0] > 1000) reopen();
    await new Promise((resolve) => setImmediate(resolve));
  }
}
verify();
console.log(JSON.stringify(counts));
