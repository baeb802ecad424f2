/**
 * The gradients of a loop: a loop in the other direction. Each of its steps computes the step of the forward pass again, from the carry that was kept, and
 * then that step's gradients. So gradients of gradients are loops too.
 */
import { arithmetic } from "../autograd/gradient-arithmetic.ts";
import { enableGrad } from "../autograd/grad-mode.ts";
import { edgeOf, isSameEdge, type Edge, type Gradients, type TapeNode } from "../autograd/tape.ts";
import { Traversal } from "../autograd/traversal.ts";
import { TraceError } from "../core/errors.ts";
import type { Tensor } from "../core/tensor.ts";
import { tracer, type LoopBody } from "../core/tracer.ts";
import type { LoopNumber, LoopRecorder } from "./loop-recorder.ts";

/** A loop as its node of the tape knows it. */
export interface DifferentiableLoop {
  readonly name: string;
  readonly length: number;
  readonly reverse: boolean;
  readonly body: LoopBody;
  /** Numbers and data of the body. */
  readonly numbers: readonly LoopNumber[];
  /** What gradients flow to. */
  readonly requires: { readonly carry: readonly boolean[]; readonly xs: readonly boolean[] };
  /** The carries that a result depends on: gradients flow to their first values. */
  readonly reads: readonly boolean[];
  /** Histories of tensors that the body reads from outside. */
  readonly outside: readonly NonNullable<Edge>[];
  readonly count: { readonly carry: number; readonly xs: number };
}

/** Indices of what is there. */
const indicesOf = (list: readonly unknown[]): number[] => list.flatMap((x, i) => (x === null || x === false ? [] : [i]));

/** The sum of the gradients that there are; zeros like `like` where there are none. */
function sumOf(grads: readonly (Tensor | null | undefined)[], like: Tensor): Tensor {
  const some = grads.filter((g) => g !== null && g !== undefined);
  return some.length === 0 ? arithmetic.zeros(like, like) : some.reduce((a, b) => arithmetic.add(a, b));
}

/** The sums of a step's gradients at some edges; null where none flow. */
function stepGradients(
  name: string,
  start: number,
  edges: readonly (Edge | null)[],
  seeds: readonly (readonly [result: Tensor, grad: Tensor])[],
): readonly (Tensor | null)[] {
  const found: (Tensor | null)[] = edges.map(() => null);
  const add = (edge: NonNullable<Edge>, grad: Tensor): void => {
    const at = edges.findIndex((e) => isSameEdge(e, edge));
    if (at < 0)
      throw new TraceError({
        operation: name,
        argument: "fn",
        expected: "a function that computes the same each time it is traced",
        received: "one that reads another tensor for its gradients",
      });
    found[at] = sumOf([found[at], grad], grad);
  };
  const ends = (node: TapeNode): boolean => !node.isTraced || node.sequence < start;
  const takes = (node: TapeNode, output: number, grad: Tensor): boolean => {
    if (!ends(node)) return false;
    add({ node, output }, grad);
    return true;
  };
  const traversal = new Traversal(null, { ends, takes });
  for (const [result, grad] of seeds) {
    const edge = edgeOf(result);
    if (edge === null) continue;
    if ("leaf" in edge) traversal.fromLeaf(edge.leaf, grad);
    else traversal.from(edge.node, edge.output, grad);
  }
  traversal.drain(true);
  for (const [leaf, grad] of traversal.leaves) add({ leaf }, grad);
  return found;
}

/** kept: xs, what else the node saved, the carries before each step. Gradients of the first carry, of xs, and of what is outside. */
export function loopGradients(loop: DifferentiableLoop, dys: Gradients, kept: Gradients): (Tensor | null)[] {
  const { name, length, reverse, body, numbers, requires, reads, outside, count } = loop;
  const n = count.carry;
  const carries = kept.slice(kept.length - n) as Tensor[];
  const xs = kept.slice(0, count.xs) as Tensor[];
  const [dKept, dLast, dYs] = [dys.slice(0, n), dys.slice(n, 2 * n), dys.slice(2 * n)];
  const [flowing, sliced, wanted, held] = [indicesOf(requires.carry), indicesOf(requires.xs), indicesOf(dYs), indicesOf(dKept)];
  const like = dys.find((d) => d !== null)!;
  const first = [
    ...flowing.map((i) => dLast[i] ?? arithmetic.zeros(like, { dtype: carries[i]!.dtype, shape: carries[i]!.shape.slice(1) })),
    ...outside.map((e) => arithmetic.zeros(like, "leaf" in e ? e.leaf.desc : e.node.outputs[e.output]!)),
  ];
  const slices = [...carries, ...xs, ...wanted.map((i) => dYs[i]!), ...held.map((i) => dKept[i]!)];
  const result = tracer()!.loop(
    { name: `${name} backward`, length, reverse: !reverse, init: first, xs: slices },
    (dCarry, parts, start) => {
      const [c, x] = [parts.slice(0, n), parts.slice(n, n + count.xs)];
      const received = parts.slice(n + count.xs);
      for (const t of [...flowing.map((i) => c[i]!), ...sliced.map((i) => x[i]!)]) if (t.node === null) t.leafRequiresGrad = true;
      const recorder = tracer() as unknown as LoopRecorder;
      const again = enableGrad(() => recorder.withNumbers(numbers, () => body(c, x, start)));
      const seeds = [
        ...flowing.map((i, k) => [again.carry[i]!, dCarry[k]!] as const),
        ...wanted.map((i, k) => [again.ys[i]!, received[k]!] as const),
      ];
      const edges = [...flowing.map((i) => edgeOf(c[i]!)), ...sliced.map((i) => edgeOf(x[i]!)), ...outside];
      const found = recorder.withinPass(() => stepGradients(name, start, edges, seeds));
      const outer = found.slice(flowing.length + sliced.length);
      const keptGradient = (i: number): Tensor | null => (held.includes(i) ? received[wanted.length + held.indexOf(i)]! : null);
      return {
        carry: [
          ...flowing.map((i, k) => sumOf([found[k], keptGradient(i)], c[i]!)),
          ...outer.map((grad, k) => sumOf([dCarry[flowing.length + k], grad], dCarry[flowing.length + k]!)),
        ],
        ys: sliced.map((i, k) => sumOf([found[flowing.length + k]], x[i]!)),
      };
    },
  );
  const dInit = requires.carry.map((is, i) => (is && reads[i]! ? result.carry[flowing.indexOf(i)]! : null));
  const dXs = requires.xs.map((is, i) => (is ? result.ys[sliced.indexOf(i)]! : null));
  return [...dInit, ...dXs, ...result.carry.slice(flowing.length)];
}
