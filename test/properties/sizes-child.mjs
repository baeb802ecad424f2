/**
 * Calls public functions with sizes that nobody has memory for: node sizes-child.mjs DIST FROM STEP [PATTERN], every STEP-th case from FROM on.
 * Each case is announced on descriptor 3 before its call, so that whoever waits knows which one did not return; an answer that is no typed
 * error is told as well.
 */
import { readFileSync, writeSync } from "node:fs";

const [, , dist, from, step = "1", only] = process.argv;
const dx = await import(new URL("index.js", dist).href);
const opKinds = await import(new URL("ops/kinds.generated.js", dist).href);
const text = (file) => readFileSync(new URL(file, dist), "utf8");
dx.setDefaultDevice("cpu");
dx.setMemoryLimit(2 ** 28);

const SIZES = [0, 2 ** 31 - 1, 2 ** 31, 2 ** 32, 2 ** 53];

// Kinds of the operations are code, those of the rooms a table.
const numbered = /setKinds\(\(\) => \[([^\]]*)\]/.exec(text("ops/kinds.generated.js"))[1].split(", ");
const opKind = (i) => opKinds[numbered[i]];
const rows = JSON.parse(
  /new KindTable\('(.*?)'[,)]/s.exec(text("public/kinds.generated.js"))[1].replaceAll("\\\\", "\\").replaceAll("\\'", "'"),
);
function tells(test) {
  if (test === "any") return () => true;
  if (test === "tensor") return (v) => v instanceof dx.Tensor;
  if (test === "null") return (v) => v === null;
  if (test === "data") return ArrayBuffer.isView;
  if (test === "dtype") return (v) => v === "float32";
  if (typeof test === "string") return (v) => typeof v === test;
  const [kind, ...rest] = test;
  if (kind === "=") return (v) => v === rest[0];
  if (kind === "|") return (v) => rest.some((t) => tells(t)(v));
  if (kind === "array" || kind === "iterable") return (v) => Array.isArray(v) && v.every(roomKind(rest[0]).is);
  return () => false;
}
const made = new Map();
function roomKind(i) {
  if (!made.has(i)) {
    const [test, words] = rows[i];
    const parts = Array.isArray(test) && test[0] === "|" ? test.slice(1) : [test];
    const object = parts.find((t) => Array.isArray(t) && t[0] === "fields");
    const fields = () => Object.fromEntries(Object.entries(object[1]).map(([name, k]) => [name, roomKind(k)]));
    made.set(i, {
      is: tells(test),
      text: words,
      get fields() {
        return object === undefined ? null : fields();
      },
    });
  }
  return made.get(i);
}

/** Every public function: its name, what it is, the kinds of its parameters. */
function* functions() {
  const parameters = (words, kind) =>
    words === ""
      ? []
      : words.split(" ").map((w) => ({ name: w.split(":")[0], kind: kind(Number(w.split(":")[1])), isRest: w.startsWith("...") }));
  const seen = new Set();
  for (const [, name, words] of text("ops/index.generated.js").matchAll(/refused\("([\w.]+)", "([^"]*)"/g)) {
    const fn = name.split(".").reduce((o, key) => o?.[key], dx);
    if (typeof fn === "function" && !seen.has(name)) yield { name, fn, parameters: parameters(words, opKind) };
    seen.add(name);
  }
  for (const [, name, words] of text("ops/methods.generated.js").matchAll(/refused\("([\w.]+)", "([^"]*)"/g)) {
    const fn = dx.Tensor.prototype[name];
    // Most methods are functions that have had their turn.
    if (typeof fn !== "function" || seen.has(name) || seen.has(name.replace(/_$/, ""))) continue;
    seen.add(name);
    yield {
      name: `x.${name}`,
      fn: (x, ...rest) => fn.apply(x, rest),
      parameters: [{ name: "x", kind: opKind(0) }, ...parameters(words, opKind)],
    };
  }
  const rooms = { fft: dx.fft, linalg: dx.linalg, masked: dx.masked, nn: dx.nn, utils: dx.nn.utils, init: dx.nn.init, foreach: dx.foreach };
  for (const [room, object] of Object.entries(rooms)) {
    let source;
    try {
      source = text(`public/${room}.generated.js`);
    } catch {
      continue;
    }
    for (const [, name, words] of source.matchAll(/export const (\w+) = (?:checked|factory|guarded)\([^\n]*?"\w+(?:\.\w+)*", "([^"\n]*)"/g))
      if (typeof object?.[name] === "function")
        yield { name: `${room}.${name}`, fn: object[name], parameters: parameters(words, roomKind) };
  }
}

const tensor = (shape, dtype) => () => dx.ones(shape, { dtype });
const BASES = [
  [tensor([4, 4]), tensor([4, 4])],
  [tensor([1, 2, 4, 4]), tensor([2, 2, 2, 2])],
  [tensor([1, 2, 4]), tensor([2, 2, 2])],
  [tensor([4]), tensor([4])],
  [tensor([1, 1, 4, 4, 4]), tensor([1, 1, 2, 2, 2])],
  [tensor([4], "int64"), tensor([4], "int64")],
];

/** Values that a kind takes as a number that is a size. */
function sized(kind, v) {
  return [v, [v], [v, v], [1, v, 1], [[v, v]]].filter((value) => kind.is(value));
}
const words = (kind) => [...kind.text.matchAll(/"([^"]*)"/g)].map((m) => m[1]);
/** An ordinary value of a kind. */
function plain(kind, base, at) {
  const tensors = [base[Math.min(at, 1)](), base[0](), [base[0](), base[0]()]];
  return [undefined, ...tensors, 2, [2], [2, 2], [[1, 1]], true, null, ...words(kind), "float32", (x) => x].find((v) => kind.is(v));
}

/** The calls of a function: its arguments made anew for each. */
function* calls({ parameters }) {
  for (const base of BASES) {
    const ordinary = () => {
      let at = 0;
      return parameters.map(({ kind }) => plain(kind, base, kind.is(base[0]()) ? at++ : 0));
    };
    for (const [i, { kind, name }] of parameters.entries()) {
      const with_ = (value) => () => {
        const args = ordinary();
        args[i] = value;
        return args;
      };
      for (const v of SIZES) {
        for (const value of sized(kind, v)) yield { shown: `${name} = ${JSON.stringify(value)}`, args: with_(value) };
        for (const [field, of] of Object.entries(kind.fields ?? {}))
          for (const value of sized(of, v)) yield { shown: `${name}.${field} = ${JSON.stringify(value)}`, args: with_({ [field]: value }) };
      }
    }
    // Functions without tensors have one base.
    if (!parameters.some(({ kind }) => kind.is(base[0]()))) return;
  }
}

// Not standard output, which functions print to.
const tell = (line) => writeSync(3, `${JSON.stringify(line)}\n`);
let n = 0;
for (const f of functions()) {
  if (only !== undefined && !f.name.match(only)) continue;
  for (const { shown, args } of calls(f)) {
    if (n++ < Number(from) || n % Number(step) !== 0) continue;
    const base = args();
    tell({ n, name: f.name, shown });
    try {
      await dx.scope(() => {
        const result = f.fn(...base);
        return result instanceof Promise ? result.then(() => undefined) : undefined;
      });
    } catch (error) {
      if (!(error instanceof dx.DxError)) tell({ untyped: `${error?.name}: ${String(error?.message).slice(0, 160)}` });
    }
  }
}
tell({ done: n });
process.exit(0);
