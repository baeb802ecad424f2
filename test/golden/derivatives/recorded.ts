/** The recorded answers of this folder, and their calls made here. See README.md of the folder above. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import * as dx from "../../../src/index.ts";
import { isFloat } from "../../../src/core/dtype.ts";
import { Call, operandsOf } from "../call.ts";
import { packedOf, readCases, readIndex, tensorOf, type Case, type GoldenTensor, type Path } from "../cases.ts";
import { flatten } from "../compare.ts";
import { goldenFolder } from "../folder.ts";
import { outOfScope } from "../scope.ts";
import { entryOf } from "../table/index.ts";

export const readRecorded = <T>(name: string): T[] =>
  gunzipSync(readFileSync(join(goldenFolder, "derivatives", name)))
    .toString("utf8")
    .split("\n")
    .filter((l) => l.length > 0)
    .map((l) => JSON.parse(l) as T);

/** The golden cases that have gradients and lie in scope, by id. */
export function differentiableCases(): ReadonlyMap<string, Case> {
  const found = new Map<string, Case>();
  for (const { file } of readIndex(goldenFolder))
    for (const c of readCases(join(goldenFolder, file))) if (c.grads !== undefined && outOfScope(c) === null) found.set(c.id, c);
  return found;
}

/** A call whose leaves require a gradient: leaves by the case's gradient paths, results, and the tensors that came in as gradients. */
export interface Made {
  readonly leaves: readonly dx.Tensor[];
  readonly results: readonly dx.Tensor[];
  readonly seeds: readonly (dx.Tensor | null)[];
  /** All floating operands. */
  readonly floats: readonly dx.Tensor[];
}

/** Whether the case runs here on tensors of real numbers alone. */
export const runsHere = (c: Case): boolean => entryOf(c.op) !== null && !("out" in c.kwargs);

/** The recorded tensor at a path, which leads through tuples. */
const locate = (c: Case, path: Path): GoldenTensor =>
  path.reduce<unknown>((at, k) => {
    const list = typeof at === "object" && at !== null && "k" in at ? (at as unknown as { v: unknown }).v : at;
    return (list as Record<string | number, unknown>)[k];
  }, c) as GoldenTensor;

/** Makes the call. requires: which of the gradient paths do; change: what is done to an operand, or to an incoming gradient, before. */
export function make(
  c: Case,
  requires: (path: number) => boolean,
  change: (v: GoldenTensor, where: { readonly path: Path } | { readonly result: number }) => GoldenTensor = (v) => v,
): Made {
  const operands = operandsOf(c);
  const changed = new Map(
    [...operands].map(([key, t]) => {
      const path = JSON.parse(key) as Path;
      const v = locate(c, path);
      const next = change(v, { path });
      return [key, next === v ? t : tensorOf(next)];
    }),
  );
  const leaves = c.grads!.map(({ path }, i) => {
    const t = changed.get(JSON.stringify(path)) as dx.Tensor;
    return requires(i) ? t.requiresGrad_() : t;
  });
  const results = flatten(entryOf(c.op)!.run(new Call(c, changed))).filter((t): t is dx.Tensor => t instanceof dx.Tensor);
  const seeds = c.gradOutputs!.map((g, i) => (g === null ? null : packedOf(change(g, { result: i }))));
  const floats = [...changed.values()].filter((t): t is dx.Tensor => t instanceof dx.Tensor && isFloat(t.dtype));
  return { leaves, results, seeds, floats };
}
