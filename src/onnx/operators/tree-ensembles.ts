/** Ensembles of trees: all samples traverse all trees at once, one level at a time. */
import * as ops from "../../ops/index.ts";
import type { Tensor } from "../../core/tensor.ts";
import type { Call } from "../format/call.ts";
import { Constant } from "../format/value.ts";

const MODES = ["BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ", "BRANCH_MEMBER"] as const;
export type Aggregate = "AVERAGE" | "SUM" | "MIN" | "MAX";

/** Nodes first, leaves behind them; a leaf leads to itself. */
export interface Forest {
  readonly roots: readonly number[];
  readonly features: readonly number[];
  readonly splits: readonly number[];
  /** Indices in MODES. */
  readonly modes: readonly number[];
  readonly whenTrue: readonly number[];
  readonly whenFalse: readonly number[];
  /** Where what is not a number goes the way of true. */
  readonly missing: readonly number[];
  /** For BRANCH_MEMBER: the numbers of each node. */
  readonly members: readonly (readonly number[])[];
  readonly leaves: readonly Leaf[];
}

/** What a leaf says of some targets. */
export type Leaf = readonly { readonly target: number; readonly weight: number }[];

/** Steps from a root to a leaf: each is some operations over all samples. */
const MAX_DEPTH = 1000;

/** Steps from the roots to the farthest leaf. Each node is looked at once, however many lead to it. */
function depthOf(c: Call, { roots, whenTrue, whenFalse, features, leaves }: Forest): number {
  const last = features.length + leaves.length;
  const known = new Map<number, number>();
  const deepest = (node: number, seen: number): number => {
    if (!Number.isInteger(node) || node < 0 || node >= last) throw c.invalid("nodes", `numbers in [0, ${last - 1}]`, node);
    if (node >= features.length) return 0;
    if (seen > MAX_DEPTH) throw c.invalid("trees", `at most ${MAX_DEPTH} deep, and without cycles`, "a deeper one");
    const found = known.get(node);
    if (found !== undefined) return found;
    const depth = 1 + Math.max(deepest(whenTrue[node]!, seen + 1), deepest(whenFalse[node]!, seen + 1));
    known.set(node, depth);
    return depth;
  };
  return Math.max(0, ...roots.map((r) => deepest(r, 0)));
}

/** Whether a number passes a node's test. */
function passes(f: Forest, node: number, v: number): boolean {
  const split = f.splits[node]!;
  switch (MODES[f.modes[node]!]) {
    case "BRANCH_LEQ":
      return v <= split;
    case "BRANCH_LT":
      return v < split;
    case "BRANCH_GTE":
      return v >= split;
    case "BRANCH_GT":
      return v > split;
    case "BRANCH_EQ":
      return v === split;
    case "BRANCH_NEQ":
      return v !== split;
    default:
      return f.members[node]!.includes(v);
  }
}

/** As leavesOf(), of float64, whose numbers only the host compares. */
function leavesOnHost(c: Call, [n, width]: readonly [number, number], f: Forest): Tensor {
  depthOf(c, f);
  const nodes = f.features.length;
  const x = c.numbers(0);
  const found: number[] = [];
  for (let row = 0; row < n; row++)
    for (const root of f.roots) {
      let node = root;
      while (node < nodes) {
        const v = x[row * width + f.features[node]!]!;
        const holds = passes(f, node, v) || (f.missing[node] === 1 && Number.isNaN(v));
        node = (holds ? f.whenTrue : f.whenFalse)[node]!;
      }
      found.push(node - nodes);
    }
  return c.make(found, "int32", [n, f.roots.length]);
}

/** [N, trees]: the leaf where each sample ends. */
function leavesOf(c: Call, x: Tensor, f: Forest): Tensor {
  if (c.numeric(0).dtype === "float64") return leavesOnHost(c, x.shape as unknown as [number, number], f);
  const [n, trees, nodes] = [x.shape[0]!, f.roots.length, f.features.length];
  const table = (list: readonly number[], filler: number, dtype: "int32" | "float32"): Tensor =>
    c.make([...list, ...f.leaves.map(() => filler)], dtype);
  const self = f.leaves.map((_, i) => nodes + i);
  const [features, splits, modes, missing] = [
    table(f.features, 0, "int32"),
    table(f.splits, 0, "float32"),
    table(f.modes, 0, "int32"),
    table(f.missing, 0, "int32"),
  ];
  const [whenTrue, whenFalse] = [c.make([...f.whenTrue, ...self], "int32"), c.make([...f.whenFalse, ...self], "int32")];
  const width = Math.max(0, ...f.members.map((m) => m.length));
  const filled = [...f.members, ...f.leaves.map((): readonly number[] => [])].flatMap((m) => [
    ...m,
    ...new Array<number>(width - m.length).fill(NaN),
  ]);
  const members = width === 0 ? null : c.make(filled, "float32", [nodes + f.leaves.length, width]);
  const used = new Set(f.modes);
  const at = (list: Tensor, indices: Tensor): Tensor => ops.reshape(ops.indexSelect(list, 0, ops.reshape(indices, [-1])), [n, trees]);
  let node = ops.contiguous(ops.expand(c.make(f.roots, "int32", [1, trees]), [n, trees]));
  for (let step = depthOf(c, f); step > 0; step--) {
    const value = ops.gather(x, 1, at(features, node));
    const [split, mode] = [at(splits, node), at(modes, node)];
    const tests = [ops.le, ops.lt, ops.ge, ops.gt, ops.eq, ops.ne].map((test) => (): Tensor => test(value, split));
    const isMember = (): Tensor => {
      const rows = ops.reshape(ops.indexSelect(members!, 0, ops.reshape(node, [-1])), [n, trees, width]);
      return ops.any(ops.eq(ops.unsqueeze(value, 2), rows), 2);
    };
    let holds: Tensor | null = null;
    for (const kind of used) {
      const result = MODES[kind] === "BRANCH_MEMBER" ? isMember() : tests[kind]!();
      holds = holds === null ? result : ops.where(ops.eq(mode, kind), result, holds);
    }
    if (f.missing.includes(1)) holds = ops.logicalOr(holds!, ops.logicalAnd(ops.isnan(value), ops.eq(at(missing, node), 1)));
    node = ops.where(holds!, at(whenTrue, node), at(whenFalse, node));
  }
  return ops.sub(node, nodes);
}

export interface Votes {
  /** [N, targets]: what the leaves say of each target. */
  readonly scores: Tensor;
  /** [N, targets]: whether a leaf says anything of it. */
  readonly isReached: () => Tensor;
}

export function evaluate(c: Call, x: Tensor, forest: Forest, targets: number, aggregate: Aggregate): Votes {
  const found = leavesOf(c, x, forest);
  const flat = ops.reshape(found, [-1]);
  const [n, trees] = found.shape as [number, number];
  // Leaves of fewer targets than others name target -1 for the rest.
  const width = Math.max(1, ...forest.leaves.map((l) => l.length));
  const pick = (of: (leaf: Leaf, i: number) => number, dtype: "int32" | "float32"): Tensor => {
    const list = forest.leaves.flatMap((leaf) => Array.from({ length: width }, (_, i) => of(leaf, i)));
    const table = c.make(list, dtype, [forest.leaves.length, width]);
    return ops.reshape(ops.indexSelect(table, 0, flat), [n, trees * width, 1]);
  };
  const weights = pick((leaf, i) => leaf[i]?.weight ?? 0, "float32");
  const names = pick((leaf, i) => leaf[i]?.target ?? -1, "int32");
  const own = ops.eq(names, ops.reshape(ops.arange(targets, { dtype: "int32", device: x.device }), [1, 1, targets]));
  const isReached = (): Tensor => ops.any(own, 1);
  if (aggregate === "MIN" || aggregate === "MAX") {
    const isMinimum = aggregate === "MIN";
    const extreme = (isMinimum ? ops.amin : ops.amax)(ops.where(own, weights, isMinimum ? Infinity : -Infinity), 1);
    return { scores: ops.where(ops.isfinite(extreme), extreme, ops.zerosLike(extreme)), isReached };
  }
  const sums = ops.sum(ops.where(own, weights, ops.zerosLike(weights)), 1);
  return { scores: aggregate === "AVERAGE" ? ops.div(sums, forest.roots.length) : sums, isReached };
}

const numbersOf = (c: Call, name: string): readonly number[] | null => {
  const t = c.constant(name);
  return t instanceof Constant ? t.numbers() : null;
};

/** TreeEnsemble's attributes. */
export function forestOf(c: Call): Forest {
  const list = (name: string): number[] => c.ints(name) ?? [];
  const modes = numbersOf(c, "nodes_modes") ?? [];
  const nodes = modes.length;
  const sets: number[][] = [[]];
  for (const v of numbersOf(c, "membership_values") ?? []) {
    if (Number.isNaN(v)) sets.push([]);
    else sets.at(-1)!.push(v);
  }
  const branch = (way: "true" | "false"): number[] => {
    const isLeaf = list(`nodes_${way}leafs`);
    return list(`nodes_${way}nodeids`).map((to, i) => (isLeaf[i] === 1 ? nodes + to : to));
  };
  let member = 0;
  const weights = numbersOf(c, "leaf_weights") ?? [];
  return {
    roots: list("tree_roots"),
    features: list("nodes_featureids"),
    splits: numbersOf(c, "nodes_splits") ?? [],
    modes,
    whenTrue: branch("true"),
    whenFalse: branch("false"),
    missing: c.ints("nodes_missing_value_tracks_true") ?? modes.map(() => 0),
    members: modes.map((m) => (MODES[m] === "BRANCH_MEMBER" ? (sets[member++] ?? []) : [])),
    leaves: list("leaf_targetids").map((target, i) => [{ target, weight: weights[i]! }]),
  };
}

/** A list of numbers, which may be a tensor of float64. */
const either = (c: Call, name: string): readonly number[] | null => c.floats(name) ?? numbersOf(c, `${name}_as_tensor`);

/** TreeEnsembleRegressor's and TreeEnsembleClassifier's: nodes by tree and number, leaves among them. kind: what their leaves' attributes begin with. */
export function oldForestOf(c: Call, kind: "target" | "class"): Forest {
  const list = (name: string): number[] => c.ints(name) ?? [];
  const [trees, ids, names] = [list("nodes_treeids"), list("nodes_nodeids"), c.texts("nodes_modes") ?? []];
  const inner = names.flatMap((m, i) => (m === "LEAF" ? [] : [i]));
  const outer = names.flatMap((m, i) => (m === "LEAF" ? [i] : []));
  const said = new Map<string, { target: number; weight: number }[]>(outer.map((i) => [`${trees[i]} ${ids[i]}`, []]));
  const [leafTrees, leafNodes, targets] = [list(`${kind}_treeids`), list(`${kind}_nodeids`), list(`${kind}_ids`)];
  const weights = either(c, `${kind}_weights`) ?? [];
  leafTrees.forEach((tree, i) => said.get(`${tree} ${leafNodes[i]}`)?.push({ target: targets[i]!, weight: weights[i]! }));
  const indexOf = new Map<string, number>();
  inner.forEach((i, at) => indexOf.set(`${trees[i]} ${ids[i]}`, at));
  outer.forEach((i, at) => indexOf.set(`${trees[i]} ${ids[i]}`, inner.length + at));
  const to = (name: string): number[] => {
    const nodes = list(name);
    return inner.map((i) => indexOf.get(`${trees[i]} ${nodes[i]}`)!);
  };
  const first = new Map<number, number>();
  trees.forEach((tree, i) => {
    if (!first.has(tree)) first.set(tree, i);
  });
  const [missing, features, values] = [list("nodes_missing_value_tracks_true"), list("nodes_featureids"), either(c, "nodes_values") ?? []];
  return {
    roots: [...first.values()].map((i) => indexOf.get(`${trees[i]} ${ids[i]}`)!),
    features: inner.map((i) => features[i]!),
    splits: inner.map((i) => values[i]!),
    modes: inner.map((i) => {
      const mode = (MODES as readonly string[]).indexOf(names[i]!);
      if (mode < 0) throw c.unsupported(`attribute nodes_modes ${names[i]}`);
      return mode;
    }),
    whenTrue: to("nodes_truenodeids"),
    whenFalse: to("nodes_falsenodeids"),
    missing: inner.map((i) => missing[i] ?? 0),
    members: inner.map(() => []),
    leaves: outer.map((i) => said.get(`${trees[i]} ${ids[i]}`)!),
  };
}

/** The base values of an old ensemble. */
export const baseOf = (c: Call): readonly number[] => either(c, "base_values") ?? [];
