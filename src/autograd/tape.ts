/** The tape: which operation made a tensor, from which inputs, and what its gradient rule needs. */
import { AutogradError } from "../errors.ts";
import type { Definition, GradContext, TensorSpec, ViewDefinition } from "../definition.ts";
import type { Desc, Storage } from "../storage.ts";
import { Tensor } from "../tensor.ts";

/**
 * A tensor kept for backward, with its storage and that one's version at the time: the tensor object may show another storage
 * later (a parameter that is moved or laid out anew).
 */
export interface Saved {
  readonly tensor: Tensor;
  readonly storage: Storage;
  readonly desc: Desc;
  readonly offset: number;
  readonly version: number;
}

/** Where a gradient goes: to the node that made the input, or to a leaf. */
export type Edge = { readonly node: TapeNode; readonly output: number } | { readonly leaf: Tensor } | null;

let sequence = 0;

/** One recorded operation. Keeps the storage of what it saves alive until backward() frees it. */
export class TapeNode {
  readonly name: string;
  /** Rises with time: backward visits the highest first. */
  readonly sequence: number = sequence++;
  readonly edges: readonly Edge[];
  readonly outputs: readonly TensorSpec[];
  /** Hooks of the output tensors, by output. */
  readonly hooks = new Map<number, ((grad: Tensor) => Tensor | void)[]>();
  readonly #run: (dys: readonly (Tensor | null)[], saved: readonly (Tensor | null)[]) => readonly (Tensor | null)[];
  #saved: readonly (Saved | null)[] | null;

  constructor(
    name: string,
    inputs: readonly Tensor[],
    outputs: readonly TensorSpec[],
    saved: readonly (Tensor | null)[],
    run: (dys: readonly (Tensor | null)[], saved: readonly (Tensor | null)[]) => readonly (Tensor | null)[],
  ) {
    this.name = name;
    this.edges = inputs.map(edgeOf);
    this.outputs = outputs;
    this.#run = run;
    this.#saved = saved.map((tensor) => {
      if (tensor === null) return null;
      tensor.storage.retain();
      return { tensor, storage: tensor.storage, desc: tensor.desc, offset: tensor.offset, version: tensor.storage.version };
    });
  }

  /** Gradients of the inputs. Throws when what was saved has been freed or changed. */
  backward(dys: readonly (Tensor | null)[]): readonly (Tensor | null)[] {
    if (this.#saved === null)
      throw new AutogradError({
        operation: "backward",
        received: `a second pass through ${this.name}, whose saved tensors have been freed`,
        hint: "Pass retainGraph: true to the first backward().",
      });
    for (const s of this.#saved) {
      if (s !== null && s.storage.version !== s.version)
        throw new AutogradError({
          operation: "backward",
          argument: s.tensor.describe(),
          expected: `unchanged since ${this.name} saved it (version ${s.version})`,
          received: `version ${s.storage.version}: an in-place operation changed it`,
        });
    }
    return this.#run(
      dys,
      this.#saved.map((s) => (s === null ? null : alive(s))),
    );
  }

  /** Lets go of what was saved. */
  free(): void {
    if (this.#saved === null) return;
    for (const s of this.#saved) s?.storage.release();
    this.#saved = null;
  }
}

/** The tensor, or what it showed when it was saved, if the user has disposed of it or it shows something else: the storage was retained. */
function alive({ tensor: t, storage, desc, offset }: Saved): Tensor {
  if (!t.isDisposed && t.storage === storage && t.desc === desc && t.offset === offset) return t;
  const again = new Tensor(storage, desc, offset);
  again.leafRequiresGrad = t.leafRequiresGrad;
  again.node = t.node;
  again.outputIndex = t.outputIndex;
  return again;
}

const edgeOf = (input: Tensor): Edge =>
  input.node !== null ? { node: input.node, output: input.outputIndex } : input.leafRequiresGrad ? { leaf: input } : null;

function attach(node: TapeNode, outputs: readonly Tensor[], differentiable: readonly boolean[]): void {
  outputs.forEach((t, i) => {
    if (!differentiable[i]) return;
    t.node = node;
    t.outputIndex = i;
  });
}

/** Records an operation whose inputs want gradients. */
export function record<A>(
  definition: Definition<A>,
  inputs: readonly Tensor[],
  attrs: A,
  outputs: readonly Tensor[],
  float: (t: Tensor) => boolean,
): void {
  const grad = definition.grad;
  const differentiable = outputs.map(float);
  if (grad === undefined || !differentiable.includes(true)) return;
  const needs = inputs.map((t) => t.requiresGrad);
  const saves = definition.saves?.inputs;
  const keepInputs = typeof saves === "function" ? saves(needs) : saves;
  const savedInputs = inputs.map((t, i) => (keepInputs === undefined || keepInputs.includes(i) ? t : null));
  const savedOutputs = outputs.map((t) => (definition.saves?.outputs === false ? null : t));
  const specs = inputs.map(specOf);
  const count = inputs.length;
  const outSpecs = outputs.map(specOf);
  const node = new TapeNode(definition.name, inputs, outSpecs, [...savedInputs, ...savedOutputs], (dys, saved) => {
    const context: GradContext<A> = {
      inputs: saved.slice(0, count) as Tensor[],
      outputs: saved.slice(count) as Tensor[],
      specs,
      attrs,
      dys,
      needs,
    };
    return grad(dys[0] as Tensor, context);
  });
  attach(node, outputs, differentiable);
}

/** Records a view. */
export function recordView<A>(definition: ViewDefinition<A>, input: Tensor, attrs: A, output: Tensor): void {
  const spec = specOf(input);
  const node = new TapeNode(definition.name, [input], [specOf(output)], [], ([dy]) => [definition.grad(dy as Tensor, { spec, attrs })]);
  attach(node, [output], [true]);
}

export const specOf = (t: Tensor): TensorSpec => ({ shape: t.shape, dtype: t.dtype });
