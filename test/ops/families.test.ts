/** The package has exactly the exports, methods and functions of nn.functional that the families declare. The test reads their sources as text. */
import { describe, expect, it } from "vitest";
import { readFamilies, readFamily, type Family } from "../../scripts/lib/families.ts";
import * as dx from "../../src/index.ts";

const read = (source: string): Family => readFamily("some-family.ts", source);

it("every family's functions, methods and functional forms are there, and no others", () => {
  const families = readFamilies();
  const library = dx as unknown as Record<string, unknown>;
  const functions = families.flatMap((f) => f.exports.filter((e) => !e.isType).map((e) => e.as));
  expect(functions.length).toBeGreaterThan(400);
  expect(functions.filter((name) => library[name] === undefined)).toEqual([]);
  expect(Object.keys(dx.nn.functional).toSorted()).toEqual(families.flatMap((f) => f.exports.flatMap((e) => e.functional)).toSorted());
  const methods = families.flatMap((f) => Object.values(f.parts).flat());
  expect(methods.filter((name) => !(name in dx.Tensor.prototype))).toEqual([]);
});

it("functions of two real numbers, of bits and of angles are methods, too", () => {
  const x = dx.tensor([1, -2]);
  expect(x.atan2(dx.tensor([1, 1])).toArraySync()).toEqual(dx.atan2(x, dx.tensor([1, 1])).toArraySync());
  expect(x.signbit().toArraySync()).toEqual([false, true]);
  expect(x.sgn().toArraySync()).toEqual([1, -1]);
});

describe("a family's source", () => {
  it("exports what carries no tag, under the names that its tags state", () => {
    const family = read(`/** A family. */
      import type { Tensor } from "../tensor.ts";
      export interface Options { readonly a: number }
      export function plain(x: Tensor): Tensor;
      export function plain(x: Tensor, y?: Tensor): Tensor { return y ?? x; }
      /** For others. @package */
      export const helper = 1;
      /** Stripped. @internal */
      export const stripped = 1;
      /**
       * The variance.
       * @name var @functional
       */
      export const variance = 1;
      /** Of channels. @functional one1d one2d */
      export const one = 1;
      const own = 2;
      export const methods = { plain, other: own };
      export const inPlaceMethods = { plain_: plain };`);
    expect(family.exports).toEqual([
      { name: "Options", as: "Options", isType: true, functional: [] },
      { name: "plain", as: "plain", isType: false, functional: [] },
      { name: "variance", as: "var", isType: false, functional: ["var"] },
      { name: "one", as: "one", isType: false, functional: ["one1d", "one2d"] },
    ]);
    expect(family.parts).toEqual({ methods: ["plain", "other"], inPlaceMethods: ["plain_"] });
  });

  it("says once for all its exports what holds for each", () => {
    expect(read("/** Pieces. @package */\nexport const a = 1;").exports).toEqual([]);
    expect(read("/** Reductions. @namespace masked */\nexport const a = 1;")).toMatchObject({ namespace: "masked", exports: [] });
    const functional = read(
      "/** Layers' functions. @functional */\nimport './x.ts';\n/** One. */\nexport const a = 1;\nexport type B = number;",
    );
    expect(functional.exports.map((e) => e.functional)).toEqual([["a"], []]);
  });

  it.each([
    ["export * from './a.ts';", "a family exports declarations"],
    ["const a = 1; export { a as b };", "a family exports declarations"],
    ["export default 1;", "a family exports declarations"],
    ["export const methods = { ...others };", "methods spreads"],
    ["export const methods = list();", "methods is an object"],
    ["export const = ;", "some-family.ts"],
  ])("that can't be read is refused by name: %s", (source, text) => {
    expect(() => read(source)).toThrow(text);
  });
});
