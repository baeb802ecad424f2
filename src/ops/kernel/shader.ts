/** Custom compute shaders: written as a TypeScript function over typed values. See docs/shaders.md. */
import { define, type TensorSpec } from "../../core/definition.ts";
import { create, requireSameDevice, dispatch } from "../../dispatch/dispatch.ts";
import { DTypeError, ShapeError, ValueError } from "../../core/errors.ts";
import { meant } from "../../core/did-you-mean.ts";
import { sizeOf, type Shape } from "../../core/shape.ts";
import { fillOp } from "../../runtime/constants.ts";
import { Tensor } from "../../core/tensor.ts";
import { ShaderProgram } from "../../shader/dxbc/shader-program.ts";
import { debugShader, type DebugOptions, type ShaderDebug } from "./shader-debug.ts";
import { fillCall } from "../../shader/dxbc/zero-fill.ts";
import type { Element } from "../../shader/ir.ts";
import { Scope, type Parameters } from "../../shader/language.ts";
import { printShader } from "../../shader/print-shader.ts";
import { simplify } from "../../shader/simplify.ts";

/** Dtypes of a shader's buffers. */
export type ShaderDType = "float32" | "float16" | "int32" | "uint32";
/** The language's name of a dtype. float16 is stored only: it is read as a float of 32 bits and rounded when written. */
export type ElementOf<D extends ShaderDType> = D extends "float32"
  ? "f32"
  : D extends "float16"
    ? "f16"
    : D extends "int32"
      ? "i32"
      : "u32";
const elementOf: { readonly [D in ShaderDType]: ElementOf<D> } = { float32: "f32", float16: "f16", int32: "i32", uint32: "u32" };

/** The shape and dtype of a shader's output. */
export interface ShaderOutput {
  /** The dtype of the elements. */
  readonly dtype: ShaderDType;
  /** From the inputs' shapes and the numbers. Default: the shape of the first input. */
  readonly shape?: (shapes: { readonly [input: string]: Shape }, params: { readonly [name: string]: number }) => Shape;
  /** "zeros": filled before the shader runs, for atomics. Default: what the shader doesn't write is undefined. */
  readonly initial?: "zeros";
}

type Inputs = { readonly [name: string]: ShaderDType };
type Outputs = { readonly [name: string]: ShaderDType | ShaderOutput };
type DTypeOf<O> = O extends ShaderDType ? O : O extends { readonly dtype: infer D extends ShaderDType } ? D : never;
type ElementsOf<I extends Inputs, O extends Outputs> = { readonly [K in keyof I]: ElementOf<I[K]> } & {
  readonly [K in keyof O]: ElementOf<DTypeOf<O[K]>>;
};
type Tensors<T> = { readonly [K in keyof T]: Tensor };
type NoParameters = { readonly [name in never]: "f32" };
type Numbers<P> = { readonly [K in keyof P]: number };

/** The definition that shader() takes: buffers, numbers, groups, and the function that each group runs. */
export interface ShaderSpec<I extends Inputs, O extends Outputs, P extends Parameters> {
  /** In errors, programs and profiles. Default: "shader". */
  readonly name?: string;
  /** The dtypes of the inputs by name. */
  readonly inputs: I;
  /** The outputs by name. Inputs and outputs together: at most 8. */
  readonly outputs: O;
  /** The types of the numbers that each call passes: "f32", "i32", "u32". */
  readonly params?: P;
  /** Threads of a group, 1 to 1024. */
  readonly threads: number;
  /** Groups of a launch. Default: one thread for each element of the first output. */
  readonly groups?: (shapes: { readonly [name: string]: Shape }, params: Numbers<P>) => number;
  /** Elements of the first output that a thread computes, if `groups` is left out. Default: 1. */
  readonly each?: number;
  /** Gradients of the inputs from those of the outputs, composed of operations or other shaders; null or left out: none. */
  readonly grad?: (
    dys: Tensors<O>,
    call: { readonly inputs: Tensors<I>; readonly outputs: Tensors<O>; readonly params: Numbers<P> },
  ) => { readonly [K in keyof I]?: Tensor | null };
}

/** A shader, ready to be called. */
export interface ShaderFunction<I extends Inputs, O extends Outputs, P extends Parameters> {
  /** Runs it on the inputs' device: all outputs, by name. `params` are numbers; one that changes with each call is better a tensor. */
  (inputs: Tensors<I>, ...params: keyof P extends never ? [] : [params: Numbers<P>]): Tensors<O>;
  /** Runs it in JavaScript, with checks: see ShaderDebug. */
  debug(inputs: Tensors<I>, params?: Numbers<P>, options?: DebugOptions): Promise<ShaderDebug>;
  /** Its statements as text. */
  toString(): string;
}

interface Attributes {
  readonly params: { readonly [name: string]: number };
}

/** Throws for a name that is not among the known ones. */
function requireNames(operation: string, argument: string, received: object, known: readonly string[]): void {
  for (const name of Object.keys(received))
    if (!known.includes(name))
      throw new ValueError(operation, argument, `an object of ${known.join(", ") || "nothing"}`, name, meant(name, known));
}

/**
 * A compute shader. body runs once, on symbolic values. The result takes tensors by name and runs
 * eagerly and inside compile(), on every device that runs shaders, and is differentiable if it has a `grad`.
 *
 * Throws ShaderError, which names the line of body, if body breaks the language's rules; a call throws DTypeError, ShapeError, DeviceError.
 * Where a device runs no shaders, it runs on the software adapter (UnsupportedError in strict mode).
 */
export function shader<const I extends Inputs, const O extends Outputs, const P extends Parameters = NoParameters>(
  spec: ShaderSpec<I, O, P>,
  body: (s: Scope<ElementsOf<I, O>, P>) => void,
): ShaderFunction<I, O, P> {
  const name = spec.name ?? "shader";
  for (const key of ["inputs", "outputs"] as const)
    if (typeof spec[key] !== "object" || spec[key] === null) throw new ValueError(name, key, "an object of tensors' dtypes", spec[key]);
  const inputNames = Object.keys(spec.inputs);
  const outputs = Object.entries(spec.outputs).map(([key, o]): [string, ShaderOutput] => [key, typeof o === "string" ? { dtype: o } : o]);
  if (inputNames.length === 0) throw new ValueError(name, "inputs", "at least one tensor", spec.inputs);
  if (outputs.length === 0) throw new ValueError(name, "outputs", "at least one tensor", spec.outputs);
  for (const [key] of outputs) if (inputNames.includes(key)) throw new ValueError(name, "outputs", "named otherwise than the inputs", key);
  for (const [key, dtype] of [...Object.entries(spec.inputs), ...outputs.map(([k, o]) => [k, o.dtype] as const)])
    if (!Object.hasOwn(elementOf, dtype)) throw new DTypeError(name, key, "float32, float16, int32 or uint32", dtype);
  for (const [key, { initial }] of outputs)
    if (initial !== undefined && (initial as string) !== "zeros")
      throw new ValueError(name, key, 'initial "zeros", or without an initial', initial);
  const params = spec.params ?? ({} as P);
  for (const [key, type] of Object.entries(params))
    if (!["f32", "i32", "u32"].includes(type)) throw new ValueError(name, key, '"f32", "i32" or "u32"', type);
  const each = spec.each ?? 1;
  if (!Number.isInteger(each) || each < 1) throw new ValueError(name, "each", "an integer of at least 1", each);
  const buffers = Object.fromEntries([
    ...inputNames.map((key) => [key, { element: elementOf[spec.inputs[key]!] as Element, isWritable: false }] as const),
    ...outputs.map(([key, o]) => [key, { element: elementOf[o.dtype] as Element, isWritable: true }] as const),
  ]);
  const scope = new Scope<ElementsOf<I, O>, P>(name, spec.threads, buffers, params, true);
  const returned: unknown = body(scope);
  if (returned instanceof Promise) throw new ValueError(name, "body", "a function that is not async", "a promise");
  const program = new ShaderProgram(scope.finish());

  const infer = (inputs: readonly TensorSpec[], attrs: Attributes): TensorSpec[] => {
    const shapes = Object.fromEntries(inputNames.map((key, i) => [key, inputs[i]!.shape]));
    return outputs.map(([key, o]) => {
      const shape = o.shape === undefined ? inputs[0]!.shape : o.shape(shapes, attrs.params);
      if (!Array.isArray(shape) || !shape.every((d) => Number.isSafeInteger(d) && d >= 0))
        throw new ShapeError(name, key, "given a shape of integers", shape);
      return { dtype: o.dtype, shape: [...(shape as Shape)] };
    });
  };
  const shapesOf = (inputs: readonly TensorSpec[], results: readonly TensorSpec[]): { [name: string]: Shape } =>
    Object.fromEntries([...inputNames.map((key, i) => [key, inputs[i]!.shape]), ...outputs.map(([key], i) => [key, results[i]!.shape])]);
  const groupsOf = (shapes: { readonly [name: string]: Shape }, attrs: Attributes): number =>
    spec.groups === undefined
      ? Math.ceil(sizeOf(shapes[outputs[0]![0]]!) / (spec.threads * each))
      : spec.groups(shapes, attrs.params as Numbers<P>);

  const byName = <T>(names: readonly string[], values: readonly T[]): { [key: string]: T } =>
    Object.fromEntries(names.map((key, i) => [key, values[i]!]));
  const outputNames = outputs.map(([key]) => key);
  const { grad } = spec;
  const operation = define<Attributes>({
    name,
    traits: { users: true },
    infer,
    // Nothing is added to the zeros that it begins with. Of several inputs another one may have elements.
    ...(inputNames.length === 1 && outputs.length === 1 && outputs[0]![1].initial === "zeros" ? { whenEmpty: 0 } : {}),
    lower: (g, inputs, attrs, results) => {
      // Rank 0 is seen as [1]: shapes are the tensors' own.
      const specs = inputs.map((x) => ({ shape: x.sizes, dtype: x.dtype }));
      const shapes = shapesOf(specs, results);
      const fills = outputs.map(([, o], i) => (o.initial === "zeros" ? fillCall(g.capabilities, results[i]!) : null));
      const call = program.call(g.capabilities, groupsOf(shapes, attrs), { shapes, params: attrs.params }, { fills });
      return g.shader(
        call,
        inputs,
        results.map(({ dtype, shape }) => ({ dtype, sizes: shape })),
      );
    },
    grad:
      grad === undefined
        ? null
        : (dy, context) => {
            const dys = context.dys.map((d, i) => d ?? (i === 0 ? dy : zerosOf(context.outputs[i]!)));
            const gradients = grad(byName(outputNames, dys) as Tensors<O>, {
              inputs: byName(inputNames, context.inputs) as Tensors<I>,
              outputs: byName(outputNames, context.outputs) as Tensors<O>,
              params: context.attrs.params as Numbers<P>,
            });
            if (typeof gradients !== "object" || gradients === null)
              throw new ValueError(name, "grad's result", `an object of ${inputNames.join(", ")}`, gradients);
            requireNames(name, "grad's result", gradients, inputNames);
            return inputNames.map((key) => gradients[key] ?? null);
          },
  });

  const checked = (inputs: unknown, values: unknown): { tensors: Tensor[]; attrs: Attributes } => {
    if (typeof inputs !== "object" || inputs === null)
      throw new ValueError(name, "inputs", `an object of ${inputNames.join(", ")}`, inputs);
    requireNames(name, "inputs", inputs, inputNames);
    const tensors = inputNames.map((key) => {
      const t = (inputs as { [key: string]: unknown })[key];
      if (!(t instanceof Tensor)) throw new ValueError(name, key, "a tensor", t);
      if (t.dtype !== spec.inputs[key]) throw new DTypeError(name, key, spec.inputs[key]!, t.dtype);
      return t;
    });
    requireSameDevice(name, tensors);
    const numbers = (values ?? {}) as { readonly [key: string]: unknown };
    requireNames(name, "params", numbers, Object.keys(params));
    for (const [key, type] of Object.entries(params)) requireNumber(name, key, type, numbers[key]);
    return { tensors, attrs: { params: numbers as { [key: string]: number } } };
  };

  const run = (inputs: Tensors<I>, ...rest: readonly unknown[]): Tensors<O> => {
    const { tensors, attrs } = checked(inputs, rest[0]);
    return byName(outputNames, dispatch(operation, tensors, attrs)) as Tensors<O>;
  };
  return Object.assign(run, {
    debug: async (inputs: Tensors<I>, values?: Numbers<P>, options: DebugOptions = {}) => {
      const { tensors, attrs } = checked(inputs, values);
      const results = infer(tensors, attrs);
      const shapes = shapesOf(tensors, results);
      return debugShader(program, groupsOf(shapes, attrs), { shapes, params: attrs.params }, byName(inputNames, tensors), options);
    },
    toString: () => printShader(simplify(program.source)),
  }) as unknown as ShaderFunction<I, O, P>;
}

const zerosOf = ({ device, shape, dtype }: Tensor): Tensor => create(fillOp, device, { shape, dtype, value: 0 });

function requireNumber(operation: string, key: string, type: "f32" | "i32" | "u32", x: unknown): void {
  const isInside =
    type === "f32"
      ? typeof x === "number"
      : Number.isInteger(x) && (x as number) >= (type === "i32" ? -(2 ** 31) : 0) && (x as number) < (type === "i32" ? 2 ** 31 : 2 ** 32);
  const what = { f32: "a number", i32: "a 32-bit integer", u32: "an unsigned 32-bit integer" }[type];
  if (!isInside) throw new ValueError(operation, key, what, x);
}
