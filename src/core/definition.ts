/** The type of an operation's definition. See docs/internals/operations.md. */
import type { Expr } from "../graph/graph.ts";
import type { GraphBuilder } from "../graph/builder.generated.ts";
import type { BatchRule } from "./batching.ts";
import type { PaddedRule } from "./padded-axes.ts";
import type { DType } from "./dtype.ts";
import type { Shape } from "./shape.ts";
import type { Desc } from "./storage.ts";
import type { Tensor } from "./tensor.ts";

/** Shape and dtype of a tensor. */
export interface TensorSpec {
  /** Length of each axis. */
  readonly shape: Shape;
  /** The dtype of the elements. */
  readonly dtype: DType;
}

/** Indices of the inputs that a gradient rule reads; they may depend on which inputs require a gradient. */
export type SavedInputs = readonly number[] | ((needs: readonly boolean[]) => readonly number[]);

/** What a gradient rule may look at. inputs and outputs are null where `saves` leaves one out. */
export interface GradContext<A> {
  /** The inputs that the definition saves; others may not be read. */
  readonly inputs: readonly Tensor[];
  /** The outputs, where the definition saves them. */
  readonly outputs: readonly Tensor[];
  /** Shapes and dtypes of all inputs, saved or not. */
  readonly specs: readonly TensorSpec[];
  /** The attributes of the call. */
  readonly attrs: A;
  /** The gradient of each output; null where none flowed in. The first one is `dy`, zeros if need be. */
  readonly dys: readonly (Tensor | null)[];
  /** Which inputs want a gradient: rules may return null for the others. */
  readonly needs: readonly boolean[];
  /** A tensor without elements for an input, saved or not: for results that depend on the input with a derivative of zero (tie). */
  readonly inputEdge: (input: number) => Tensor;
}

export type GradRule<A> = (dy: Tensor, context: GradContext<A>) => readonly (Tensor | null)[];

/** An input as the host sees it: packed, floating numbers as float64. */
export interface HostArray {
  readonly data: Float64Array | Int32Array;
  readonly shape: Shape;
  readonly dtype: DType;
}

/** Computes outputs from inputs in JavaScript: row-major elements, rounded to the outputs' dtypes afterwards. */
export type HostRule<A> = (inputs: readonly HostArray[], attrs: A) => readonly (Float64Array | Int32Array)[];

export interface Traits {
  /** Each output element depends on the input elements at its index only. */
  readonly elementwise?: boolean;
  /** Gives other results each time: never merged with an equal call. */
  readonly random?: boolean;
  /** Its gradient rule is user code, which may keep its arguments and results. */
  readonly users?: boolean;
  /**
   * It moves elements as they are stored, whatever they mean, or converts them itself: `lower` gets bfloat16 as such (16 bits). For all others
   * it is widened to float32 before and rounded afterwards (runtime/lowering.ts).
   */
  readonly carries?: boolean;
  /** All its nodes become one DirectML graph, also where the device's graph compiler fuses nothing. */
  readonly asGraph?: boolean;
  /** Its `lower` is for inputs with padding, which no kernel of a device for the whole operation knows of. */
  readonly handlesPadding?: boolean;
}

/** Attributes: plain data that can be written as JSON (numbers may be NaN or infinite; bigint allowed). */
export interface Definition<A> {
  readonly name: string;
  readonly traits: Traits;
  /** Shapes and dtypes of the outputs. Throws for shapes that do not fit; arguments were checked by the public function. */
  readonly infer: (inputs: readonly TensorSpec[], attrs: A) => readonly TensorSpec[];
  /**
   * Adds nodes to the graph. Inputs come with strides (rank 0 as [1]) and may be views; outputs[i] is infer's. The results are
   * packed, or are views of what was computed: the runtime copies those. bfloat16 never comes here, unless the operation `carries` it:
   * float32 replaces it in inputs, outputs and an attribute `dtype`.
   */
  readonly lower: (g: GraphBuilder, inputs: readonly Expr[], attrs: A, outputs: readonly TensorSpec[]) => readonly Expr[];
  /**
   * Gradients of the inputs, null for none, made of operations. Runs under the caller's grad mode. The tape checks their shapes and
   * casts them to the inputs' dtypes. null: there is none, and asking for one is an error.
   */
  readonly grad: GradRule<A> | null;
  /** What grad reads: keeps no more alive, and in-place operations on the rest stay allowed. Default: all. */
  readonly saves?: {
    readonly inputs?: SavedInputs;
    readonly outputs?: boolean | readonly number[];
    /** What is saved are numbers of the call: a second pass needs no retainGraph. Default: false. */
    readonly keepsNumbers?: boolean;
    /** The rule reads its inputs' values at the time of the backward pass: later writes to them are no error. Default: false. */
    readonly readsLater?: boolean;
  };
  /** Multiply-adds of a call, as nn.summary() counts them. Default: none. */
  readonly multiplyAdds?: (inputs: readonly TensorSpec[], attrs: A, outputs: readonly TensorSpec[]) => number;
  /** Value of the outputs' elements when an input is empty and an output is not (sum: 0). Default: that is an error. */
  readonly whenEmpty?: number;
  /**
   * If set, the operation runs on the host, over LAPACK, and `lower` only marks it. Only for decompositions and solvers, which no device
   * supports (src/ops/linalg).
   */
  readonly host?: HostRule<A>;
  /**
   * How the operation runs on inputs whose axes end in padding: no element before the padding may depend on it. Elementwise operations need no
   * rule; other operations without a rule are refused if an axis is padded.
   */
  readonly padded?: PaddedRule<A>;
  /** Attributes that may depend on sizes of the inputs, except those that determine the result's sizes: `padded` reads their values in each call. */
  readonly follows?: readonly (keyof A & string)[];
  /** How vmap() runs the operation on a batch. Default: elementwise operations broadcast, others loop over the batch. */
  readonly batched?: BatchRule<A>;
  /** @internal Programs by the inputs' descriptions; see runtime/eager.ts. */
  readonly cache: ProgramCache;
}

/** @internal An inline cache: the last program with the descriptions that it belongs to, the ids of the last few attributes. */
export interface ProgramCache {
  readonly id: number;
  first: Desc | null;
  /** null: of one input. */
  second: Desc | null;
  /** Their id; 0: none. */
  attributes: number;
  last: object | null;
  /** Attributes of the last few calls. */
  readonly recent: { readonly value: unknown; readonly id: number }[];
}

let definitions = 0;

/** @internal The library's own definitions, users' kernels not among them: tests go through them. */
export const own: Definition<never>[] = [];

/** Registers an operation. */
export function define<A = undefined>(definition: Omit<Definition<A>, "traits" | "cache"> & { readonly traits?: Traits }): Definition<A> {
  const made: Definition<A> = {
    traits: {},
    ...definition,
    cache: { id: definitions++, first: null, second: null, attributes: 0, last: null, recent: [] },
  };
  if (made.traits.users !== true) own.push(made as unknown as Definition<never>);
  return made;
}

/** How a view shows its input's elements; offset counts elements from the input's first. */
export interface ViewLayout {
  readonly shape: Shape;
  readonly strides: readonly number[];
  readonly offset: number;
}

/** A rectangle of a tensor: along each axis every steps[i]-th of sizes[i] indices, from starts[i] on. */
export interface Box {
  readonly starts: readonly number[];
  readonly sizes: readonly number[];
  readonly steps: readonly number[];
}

/** A gradient that is zero outside a box of its tensor; box null: it covers all of it. */
export interface PartialGradient {
  readonly grad: Tensor;
  readonly box: Box | null;
}

/** An operation that moves nothing: its result shares the input's storage. */
export interface ViewDefinition<A> {
  readonly name: string;
  readonly view: (input: { readonly shape: Shape; readonly strides: readonly number[] }, attrs: A) => ViewLayout;
  /** The same view of another tensor of the input's shape, whatever its strides; a copy where it must be. Default: `view` of it. */
  readonly apply?: (input: Tensor, attrs: A) => Tensor;
  /** The adjoint: dy at the view's positions in a tensor of the input's shape. */
  readonly grad: (dy: Tensor, context: { readonly spec: TensorSpec; readonly attrs: A }) => Tensor;
  /**
   * The adjoint without the zeros: dy and the box that it covers, from the view's output to its input. Gradients of many slices of a tensor are
   * gathered so, and written once. Null: `grad` has to be asked, with all of dy. Default: null.
   */
  readonly part?: (dy: PartialGradient, context: { readonly spec: TensorSpec; readonly attrs: A }) => PartialGradient | null;
}

export const defineView = <A>(definition: ViewDefinition<A>): ViewDefinition<A> => definition;
