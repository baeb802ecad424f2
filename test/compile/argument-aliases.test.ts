import { expect, it } from "vitest";
import { ArgumentAliases, Restart } from "../../src/compile/argument-aliases.ts";
import { CallArguments, Placeholders } from "../../src/compile/arguments.ts";
import * as dx from "../../src/index.ts";
import type { Tensor } from "../../src/core/tensor.ts";

/** The aliases among arguments, and their placeholders. */
function aliasesOf(...args: dx.Tensor[]): { aliases: ArgumentAliases; placeholders: Tensor[] } {
  const call = new CallArguments(args, () => false, "any");
  const placeholders = new Placeholders(call, {});
  placeholders.begin(call.tensors);
  return { aliases: new ArgumentAliases(placeholders, call.tensors), placeholders: placeholders.tensors as Tensor[] };
}

it("a write to one of two arguments that share memory restarts the run; a write to another tensor does not", () => {
  const x = dx.ones([4]);
  const { aliases, placeholders } = aliasesOf(x.slice(0, 0, 2), x.slice(0, 2, 4), dx.ones([2]));
  expect(() => aliases.requireOwnStorage(placeholders[0]!)).toThrow(/share memory, one of which is written/);
  expect(aliases.requireOwnStorage(placeholders[2]!)).toBe(true);
  expect(aliases.requireOwnStorage(dx.ones([2]))).toBe(false);
});

it("an argument that is a view of a tensor with gradients is not written by its placeholder", () => {
  const base = dx.ones([4], { requiresGrad: true }).mul(2);
  const { aliases, placeholders } = aliasesOf(base.slice(0, 0, 2), dx.ones([2]));
  expect(() => aliases.requireNoGradientView(placeholders[0]!)).toThrow(/is a view, and is written/);
  expect(() => aliases.requireNoView(placeholders[0]!)).toThrow(/is a view, and gets another history/);
  expect(() => aliases.requireNoGradientView(placeholders[1]!)).not.toThrow();
  expect(() => aliases.requireNoView(placeholders[1]!)).not.toThrow();
});

it("the tensor of an argument that the function reaches by closure restarts the run, and names the storage", () => {
  const [x, other] = [dx.ones([2]), dx.ones([2])];
  const { aliases } = aliasesOf(x);
  expect(() => aliases.requireUnreached(other)).not.toThrow();
  let found: unknown;
  try {
    aliases.requireOwnGradient(x);
  } catch (error) {
    found = error;
  }
  expect(found).toBeInstanceOf(Restart);
  expect([(found as Restart).storage, (found as Restart).message.includes("also reaches by closure")]).toEqual([x.storage, true]);
});
