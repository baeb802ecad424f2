/**
 * Wrong arguments to every public function: each is a typed error that names the function the user called, and the argument.
 * Nothing comes from inside ("Cannot read properties of undefined"), and no call succeeds without its required arguments.
 */
import { beforeAll, expect, test } from "vitest";
import * as dx from "../../src/index.ts";
import { clean, eachDevice } from "../device.ts";

type AnyFunction = (...args: unknown[]) => unknown;
type Outcome = { readonly error: unknown } | { readonly value: unknown };

/** Functions that take whatever they are given: any object that can be disposed of, any nested data, any value. */
const lenient = new Set(["tensor", "keep", "explain", "resolveConj", "resolveNeg", "conj", "conjPhysical", "isComplex", "fromNative"]);
/** Functions that change what holds for all: only asked with what they cannot take. */
const global = /^(set|close)/;

async function attempt(fn: AnyFunction, args: readonly unknown[]): Promise<Outcome> {
  try {
    return { value: await fn(...args) };
  } catch (error) {
    return { error };
  }
}

const isClass = (fn: AnyFunction): boolean => /^class\b/.test(Function.prototype.toString.call(fn));

const functionsOf = (object: object): [string, AnyFunction][] =>
  Object.entries(object).filter(
    (entry): entry is [string, AnyFunction] =>
      typeof entry[1] === "function" && !isClass(entry[1] as AnyFunction) && !lenient.has(entry[0]),
  );

const isLayer = (name: string): boolean => [dx.nn, dx.optim].some((exported) => Object.hasOwn(exported, name));

/** What is wrong with an outcome, or null. */
function complaint(name: string, outcome: Outcome, mayPass: boolean): string | null {
  if ("value" in outcome) return mayPass ? null : "succeeds";
  const { error } = outcome;
  if (!(error instanceof dx.DxError)) return `throws ${String(error)}`;
  // A layer's function and its class share a name.
  if (error.operation.toLowerCase() === name.toLowerCase() && isLayer(error.operation)) return null;
  return error.operation === name && error.message.startsWith(`${name}: `) ? null : `names ${error.operation}: ${error.message}`;
}

eachDevice("refusals", (device) => {
  const x = (): dx.Tensor => dx.ones([2, 2], { device });
  /** The first argument is wrong; functions of none, or whose first one may be left out, may pass. */
  /** Wrong later ones, after a tensor or a list of two. */
  const later = (): unknown[][] => [
    [x(), Symbol("s")],
    [x(), NaN],
    [x(), [NaN]],
    [x(), x(), "a"],
    [x(), [0, 1, 2, 3, 4, 5, 6, 7, 8]],
    [[x(), null]],
    [[x(), "a"]],
    [[x(), x()], "a"],
  ];

  // The default generator's state lives on.
  beforeAll(() => {
    dx.rand([1], { device }).dispose();
  });

  const check = async (functions: readonly (readonly [string, AnyFunction])[]): Promise<string[]> => {
    const wrong: string[] = [];
    for (const [name, fn] of functions)
      for (const [index, args] of [
        [Symbol("s")],
        ...(global.test(name) ? [] : [[undefined], [null], ["a"], [{}], [], ...later()]),
      ].entries()) {
        const found = complaint(name, await attempt(fn, args), index > 0);
        if (found !== null) wrong.push(`${name}(${args.map(String).join(", ")}) ${found}`);
      }
    return wrong;
  };

  test("functions", () =>
    clean(device, async () => expect(await check(functionsOf(dx).filter(([, f]) => f.length > 0))).toEqual([]), { collect: true }));
  test("functions of nn.functional", () =>
    clean(device, async () => expect(await check(functionsOf(dx.nn.functional))).toEqual([]), { collect: true }));

  const exported = (object: object, prefix = ""): [string, AnyFunction][] =>
    functionsOf(object).flatMap(([name, fn]) => (fn.length > 0 ? [[prefix + name, fn]] : []));
  test.each<[string, () => [string, AnyFunction][]]>([
    ["fft", () => exported(dx.fft)],
    ["masked", () => exported(dx.masked, "masked.")],
    ["foreach", () => exported(dx.foreach, "foreach.")],
    ["nn.init", () => exported(dx.nn.init)],
    ["nn.utils", () => exported(dx.nn.utils)],
  ])("functions of %s", (_, list) => clean(device, async () => expect(await check(list())).toEqual([]), { collect: true }));

  test("methods", () =>
    clean(
      device,
      async () => {
        const wrong: string[] = [];
        for (const name of Object.getOwnPropertyNames(dx.Tensor.prototype)) {
          const found = Object.getOwnPropertyDescriptor(dx.Tensor.prototype, name)!.value as unknown;
          if (typeof found !== "function" || found.length === 0 || ["constructor", "revive", "hold", "letGo", "requireLive"].includes(name))
            continue;
          for (const args of [[Symbol("s")], ["a"], [null], [NaN], [x(), "a"], [{}]]) {
            const t = x();
            const said = complaint(
              name,
              await attempt((...list) => (found as AnyFunction).apply(t, list), args),
              typeof args[0] !== "symbol",
            );
            if (said !== null) wrong.push(`x.${name}(${args.map(String).join(", ")}) ${said}`);
          }
        }
        expect(wrong).toEqual([]);
      },
      { collect: true },
    ));

  const named: readonly [call: () => unknown, operation: string, argument: string, Class: new (...args: never[]) => dx.DxError][] = [
    [() => dx.cat([x(), null] as never), "cat", "tensors", dx.DTypeError],
    [() => dx.add(x(), "a" as never), "add", "b", dx.DTypeError],
    [() => dx.add(undefined as never, undefined as never), "add", "a", dx.DTypeError],
    [() => (dx.add as AnyFunction)(x()), "add", "b", dx.DTypeError],
    [() => x().mul_("a" as never), "mul_", "b", dx.DTypeError],
    [() => dx.full([2], NaN, { dtype: "int64", device }), "full", "value", dx.DTypeError],
    [() => dx.zeros([-1], { device }), "zeros", "shape", dx.ValueError],
    [() => dx.std(x(), 5), "std", "axis", dx.ValueError],
    [() => dx.nn.functional.glu(x(), 7), "glu", "axis", dx.ValueError],
    [() => dx.nn.functional.softmin(x(), 7), "softmin", "axis", dx.ValueError],
    [() => dx.sum(x(), NaN), "sum", "axis", dx.ValueError],
    [() => dx.sum(x(), 0, { keepdims: true } as never), "sum", "options", dx.ValueError],
    [() => dx.sum(x(), 0, { keepDims: 1 } as never), "sum", "keepDims", dx.ValueError],
    [() => dx.rand([2], { generator: 3 } as never), "rand", "generator", dx.ValueError],
    [() => dx.nn.functional.mseLoss(x(), x(), { reduction: "all" } as never), "mseLoss", "reduction", dx.ValueError],
    [() => dx.noGrad(3 as never), "noGrad", "fn", dx.ValueError],
    [() => dx.grad(x(), x() as never), "grad", "inputs", dx.DTypeError],
  ];
  test.each(named.map(([call, operation, argument, Class], i) => ({ i, call, operation, argument, Class })))(
    "$operation names $argument ($i)",
    ({ call, operation, argument, Class }) =>
      clean(
        device,
        () => {
          let caught: unknown;
          try {
            call();
          } catch (error) {
            caught = error;
          }
          expect(caught).toBeInstanceOf(Class);
          expect(caught).toMatchObject({ operation, argument });
          expect((caught as dx.DxError).message).toContain(`${operation}: `);
          expect((caught as dx.DxError).stack).toContain((caught as dx.DxError).message);
        },
        { collect: true },
      ),
  );

  test("errors of a function that is called back keep their names", () =>
    clean(device, () => {
      expect(() => dx.noGrad(() => dx.add(dx.ones([2], { device }), dx.ones([3], { device })))).toThrow(/^add: /);
      expect(() => dx.compile(() => dx.add(dx.ones([2], { device }), dx.ones([3], { device })))()).toThrow(/^add: /);
    }));
});

eachDevice("attention", (device) => {
  test("names k or v where the heads do not fit q's, and the option that shares them", () =>
    clean(
      device,
      () => {
        const [q, k, v] = [dx.ones([1, 4, 3, 2]), dx.ones([1, 2, 3, 2]), dx.ones([1, 4, 3, 2])];
        const text = "scaledDotProductAttention: k must be of a batch that broadcasts with q's [1, 4]; received float32[1, 2, 3, 2].";
        expect(() => dx.scaledDotProductAttention(q, k, k)).toThrow(text);
        expect(() => dx.scaledDotProductAttention(q, k, k)).toThrow(/groupedHeads: true/);
        expect(() => dx.scaledDotProductAttention(q, v, k)).toThrow(/: v must be of a batch that broadcasts with q's \[1, 4\]/);
        expect(dx.scaledDotProductAttention(q, k, k, { enableGqa: true }).shape).toEqual([1, 4, 3, 2]);
        expect(() => dx.scaledDotProductAttention(q.narrow(1, 0, 1), v, k)).toThrow(/: v must be of a batch that broadcasts with k's/);
        // Broadcasting in both directions stays.
        expect(dx.scaledDotProductAttention(q.narrow(1, 0, 1), k, k).shape).toEqual([1, 2, 3, 2]);
      },
      { collect: true },
    ));
});
