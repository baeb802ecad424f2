/**
 * Calls public functions with sizes that exceed any memory: node sizes-child.mjs DIST FROM STEP [PATTERN], every STEP-th case from FROM on.
 * Each case is announced on descriptor 3 before its call, so that the parent knows the call that did not return; an untyped error is announced as
 * well.
 */
import { writeSync } from "node:fs";
import { surface } from "./sizes-surface.mjs";

const [, , dist, from, step = "1", only] = process.argv;
const dx = await import(new URL("index.js", dist).href);
dx.setDefaultDevice("cpu");
dx.setMemoryLimit(2 ** 28);

const SIZES = [0, 2 ** 31 - 1, 2 ** 31, 2 ** 32, 2 ** 53];

const tensor = (shape, dtype) => () => dx.ones(shape, { dtype });
const BASES = [
  [tensor([4, 4]), tensor([4, 4])],
  [tensor([1, 2, 4, 4]), tensor([2, 2, 2, 2])],
  [tensor([1, 2, 4]), tensor([2, 2, 2])],
  [tensor([4]), tensor([4])],
  [tensor([1, 1, 4, 4, 4]), tensor([1, 1, 2, 2, 2])],
  [tensor([4], "int64"), tensor([4], "int64")],
];
/** What layers made of ordinary numbers take. */
const INPUTS = [[tensor([2, 2]), tensor([2, 2])], ...BASES];

/** Values that a kind takes as a number that is a size. */
function sized(kind, v) {
  return [v, [v], [v, v], [1, v, 1], [[v, v]]].filter((value) => kind.is(value));
}
const words = (kind) => [...kind.text.matchAll(/"([^"]*)"/g)].map((m) => m[1]);

/** Options with what has to be there. */
function ordinaryOptions(kind, base) {
  const required = Object.entries(kind.fields ?? {}).filter(([, of]) => !of.is(undefined));
  return Object.fromEntries(required.map(([field, of]) => [field, plain(of, base, 0)]));
}
/** An ordinary value of a kind. */
function plain(kind, base, at) {
  const tensors = [base[Math.min(at, 1)](), base[0](), [base[0](), base[0]()]];
  const values = [undefined, ...tensors, 2, [2], [2, 2], [[1, 1]], true, null, ...words(kind), "float32", (x) => x];
  const found = values.find((v) => kind.is(v));
  if (found !== undefined || kind.is(undefined)) return found;
  const optimizer = () => dx.optim.sgd([new dx.nn.Parameter(dx.ones([2]))], { lr: 0.1 });
  const objects = [
    optimizer,
    () => [new dx.optim.lrScheduler.ExponentialLR(optimizer(), { gamma: 0.9 })],
    () => dx.nn.relu(),
    () => new dx.nn.Parameter(dx.ones([2])),
    () => ordinaryOptions(kind, base),
  ];
  for (const object of objects) {
    const value = object();
    if (kind.is(value)) return value;
  }
  return undefined;
}

/** Arguments of a call, where the last parameter may take all that is left. */
const listOf = (parameters, args) =>
  parameters.at(-1)?.isRest && Array.isArray(args.at(-1)) ? [...args.slice(0, -1), ...args.at(-1)] : args;

/** The calls of a function: each makes its arguments again. */
function* calls(parameters) {
  for (const base of BASES) {
    const ordinary = () => {
      let at = 0;
      return parameters.map(({ kind }) => plain(kind, base, kind.is(base[0]()) ? at++ : 0));
    };
    for (const [i, { kind, name }] of parameters.entries()) {
      const with_ = (value) => () => {
        const args = ordinary();
        args[i] = value;
        return listOf(parameters, args);
      };
      for (const v of SIZES) {
        for (const value of sized(kind, v)) yield { shown: `${name} = ${JSON.stringify(value)}`, args: with_(value) };
        for (const [field, of] of Object.entries(kind.fields ?? {}))
          for (const value of sized(of, v))
            yield {
              shown: `${name}.${field} = ${JSON.stringify(value)}`,
              args: () => with_({ ...ordinaryOptions(kind, base), [field]: value })(),
            };
      }
    }
    // Functions without tensors have one base.
    if (!parameters.some(({ kind }) => kind.is(base[0]()))) return;
  }
}
const ordinaryCall = (parameters, base) => {
  let at = 0;
  const args = parameters.map(({ kind }) => plain(kind, base, kind.is(base[0]()) ? at++ : 0));
  return listOf(parameters, args);
};

/** What an object that was made of impossible sizes does when it is used: layers run, optimizers and schedules step, loaders go through. */
async function use(object, methods) {
  for (const { method, parameters } of methods) {
    if (method === "dispose" || method === "toString") continue;
    for (const input of method === "forward" ? INPUTS : INPUTS.slice(0, 1))
      await attempt(() => object[method](...ordinaryCall(parameters, input)));
  }
  if (typeof object[Symbol.asyncIterator] === "function")
    await attempt(async () => {
      let left = 2;
      for await (const batch of object) if (batch === null || --left === 0) break;
    });
}

// Not standard output, which functions print to.
const tell = (line) => writeSync(3, `${JSON.stringify(line)}\n`);
/** The result of a call; undefined when it was refused. */
async function attempt(call) {
  try {
    return await call();
  } catch (error) {
    if (!(error instanceof dx.DxError)) tell({ untyped: `${error?.name}: ${String(error?.message).slice(0, 160)}` });
    return undefined;
  }
}

/** Every case: what is shown of it, and what runs it. */
function* casesOf({ fn, parameters, methods }) {
  for (const { shown, args } of calls(parameters)) {
    const run = async () => {
      const made = await fn(...args());
      if (methods !== undefined) await use(made, methods);
    };
    yield { shown, run };
  }
  if (methods === undefined) return;
  for (const { method, parameters: its } of methods)
    for (const { shown, args } of calls(its)) {
      const run = async () => {
        const object = await fn(...ordinaryCall(parameters, BASES[0]));
        await object[method](...args());
      };
      yield { shown: `.${method} ${shown}`, run };
    }
}

let n = 0;
for await (const f of surface(dist)) {
  if (only !== undefined && !f.name.match(only)) continue;
  for (const { shown, run } of casesOf(f)) {
    if (n++ < Number(from) || n % Number(step) !== 0) continue;
    tell({ n, name: f.name, shown });
    await dx.scope(() => attempt(run).then(() => undefined));
  }
}
tell({ done: n });
process.exit(0);
