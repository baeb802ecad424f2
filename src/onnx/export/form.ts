/** How an operation is said in ONNX. */
import { resultType, type DType } from "../../core/dtype.ts";
import type { Definition, TensorSpec } from "../../core/definition.ts";
import { sameData } from "../../graph/key.ts";
import { Refusal, type ExportGraph, type Name, type Value } from "./onnx-graph.ts";
import { ELEMENT_TYPES } from "./element-types.ts";

/** A call that is exported. A: the type of the definition's attributes, which its form knows. */
export class FormCall<A = unknown> {
  readonly definition: Definition<never>;
  readonly graph: ExportGraph;
  readonly inputs: readonly Value[];
  readonly attrs: A;
  /** Of the run with other sizes. */
  readonly otherAttrs: A;
  /** Shapes and dtypes of the outputs. */
  readonly outputs: readonly TensorSpec[];
  readonly otherOutputs: readonly TensorSpec[];

  constructor(
    definition: Definition<never>,
    graph: ExportGraph,
    inputs: readonly Value[],
    attrs: readonly [A, A],
    outputs: readonly [readonly TensorSpec[], readonly TensorSpec[]],
  ) {
    this.definition = definition;
    this.graph = graph;
    this.inputs = inputs;
    [this.attrs, this.otherAttrs] = attrs;
    [this.outputs, this.otherOutputs] = outputs;
  }

  get x(): Value {
    return this.inputs[0]!;
  }

  get dtype(): DType {
    return this.outputs[0]!.dtype;
  }

  /** The dtype that the inputs have in common. */
  get common(): DType {
    return resultType(this.inputs);
  }

  cast(x: Value, dtype: DType): Name {
    return x.dtype === dtype ? x.name : this.graph.node("Cast", [x.name], { to: ELEMENT_TYPES[dtype] });
  }

  /** A number in the dtype of the result. */
  number(value: number, dtype = this.dtype): Name {
    return this.graph.scalar(dtype, value);
  }

  node(type: string, inputs: readonly (Name | null)[], attributes: Parameters<ExportGraph["node"]>[2] = {}): Name {
    return this.graph.node(type, inputs, attributes);
  }

  /** An attribute that must not depend on dynamic axes. */
  fixed<K extends keyof A & string>(name: K): A[K] {
    if (!sameData(this.attrs[name], this.otherAttrs[name])) throw new Refusal(`${name} depends on a dynamic axis`);
    return this.attrs[name];
  }

  refuse(reason: string): never {
    throw new Refusal(reason);
  }
}

/** The results of a call, in the operation's order. */
export type Form<A = never> = (c: FormCall<A>) => Name | readonly Name[];
/** Forms by the names of definitions. */
export type Forms = Readonly<Record<string, Form>>;

/** A form with its attributes' type. */
export const form = <A = unknown>(run: Form<A>): Form => run;
