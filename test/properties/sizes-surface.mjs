/** The public functions, layers, optimizers, schedules, datasets and readers as the generated tables know them, with the kinds of their parameters. */
import { readFileSync } from "node:fs";

/** surface(DIST): every name of what may be called, with its parameters; a class also tells the methods of its instances. */
export async function* surface(dist) {
  const load = (file) => import(new URL(file, dist).href);
  const text = (file) => readFileSync(new URL(file, dist), "utf8");
  const dx = await load("index.js");

  // Kinds of the operations are code, those of the namespaces a table.
  const opKinds = await load("ops/exports/kinds.generated.js");
  const { kindBy } = await load("ops/declare/checked.js");
  const opKind = (name) => kindBy(name, (of) => opKinds[of]);
  const { kinds } = await load("public/kinds.generated.js");
  const publicKind = (name) => kinds.named(name);

  const parameters = (words, kind) =>
    words === ""
      ? []
      : words.split(" ").map((w) => {
          const [, rest, name, kindName = "tensor"] = /^(\.\.\.)?(\w+)(?::(\w+\??))?$/.exec(w);
          return { name, kind: kind(kindName), isRest: rest !== undefined };
        });

  const seen = new Set();
  for (const [, name, words] of text("ops/exports/index.generated.js").matchAll(/(?:refused|bind)\("([\w.]+)", "([^"]*)"/g)) {
    const fn = name.split(".").reduce((o, key) => o?.[key], dx);
    if (typeof fn === "function" && !seen.has(name)) yield { name, fn, parameters: parameters(words, opKind) };
    seen.add(name);
  }
  for (const [, name, words] of text("ops/exports/methods.generated.js").matchAll(/(?:refused|bind)\("([\w.]+)", "([^"]*)"/g)) {
    const fn = dx.Tensor.prototype[name];
    // Most methods are functions that were called above.
    if (typeof fn !== "function" || seen.has(name) || seen.has(name.replace(/_$/, ""))) continue;
    seen.add(name);
    yield { name: `x.${name}`, fn: (x, ...rest) => fn.apply(x, rest), parameters: parameters(`x ${words}`.trim(), opKind) };
  }

  const namespaces = {
    fft: dx.fft,
    linalg: dx.linalg,
    masked: dx.masked,
    nn: dx.nn,
    utils: dx.nn.utils,
    init: dx.nn.init,
    foreach: dx.foreach,
    optim: dx.optim,
    "lr-scheduler": dx.optim.lrScheduler,
    data: dx.data,
    onnx: dx.io.onnx,
    safetensors: dx.io.safetensors,
  };
  for (const [namespace, object] of Object.entries(namespaces)) {
    const code = text(`public/${namespace}.generated.js`);
    for (const [, name, words] of code.matchAll(
      /export const (\w+) = (?:checked|guarded|guardedAsync)\([^\n]*?"\w+(?:\.\w+)*", "([^"\n]*)"/g,
    ))
      if (typeof object[name] === "function")
        yield { name: `${namespace}.${name}`, fn: object[name], parameters: parameters(words, publicKind) };
    for (const [, name, words, rest] of code.matchAll(/export const (\w+) = checkedClass\([^,\n]+, "([^"\n]*)"([^\n]*)\);/g)) {
      const methods = [...rest.matchAll(/"([^"]*)"/g)]
        .flatMap(([, list]) => list.split(";"))
        .filter((line) => line !== "")
        .map((line) => {
          const [method, ...its] = line.split(" ");
          return { method, parameters: parameters(its.join(" "), publicKind) };
        });
      yield {
        name: `${namespace}.${name}`,
        fn: (...args) => new object[name](...args),
        parameters: parameters(words, publicKind),
        methods,
      };
    }
  }
}
