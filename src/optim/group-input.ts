/** What an optimizer is given for a group: its parameters and options, checked. */
import { isFloat } from "../core/dtype.ts";
import { meant } from "../core/did-you-mean.ts";
import { AutogradError, DTypeError, ValueError } from "../core/errors.ts";
import { Tensor } from "../core/tensor.ts";
import { isIterable } from "../ops/declare/checked.ts";
import { isPlain } from "../ops/declare/other-names.ts";
import type { BaseOptions, GroupInput } from "./group.ts";

/** Options of every optimizer that are no defaults of any. */
export const PRECISION = ["masterWeights", "kahan"] as const;

/** What an optimizer says of its groups. */
interface GroupRules<O extends BaseOptions> {
  readonly defaults: O;
  /** Parameters of other groups. */
  readonly taken: ReadonlySet<Tensor>;
  /** Throws for options out of their range. */
  checkOptions(options: O): void;
  /** Throws for a parameter that the optimizer cannot update. */
  checkParameter(argument: string, p: Tensor): void;
}

/** The group's parameters, and its options over the defaults. Throws for what no group may have. */
export function checkedGroup<O extends BaseOptions>(
  name: string,
  input: GroupInput<O>,
  { defaults, taken, checkOptions, checkParameter }: GroupRules<O>,
): { readonly params: readonly Tensor[]; readonly options: O } {
  if (!isPlain(input) || !isIterable(input.params))
    throw new DTypeError(name, "params", "tensors, or objects with params", input, "Pass model.parameters().");
  const { params: members, ...own } = input;
  const names = [...new Set([...Object.keys(defaults), ...PRECISION])];
  const unknown = Object.keys(own).find((key) => !names.includes(key));
  if (unknown !== undefined)
    throw new ValueError(name, "params", `groups of params and no more than ${names.join(", ")}`, unknown, meant(unknown, names));
  for (const [key, value] of Object.entries(own)) requireKind(name, defaults, key, value);
  const params = [...members];
  const options: O = { ...defaults, ...Object.fromEntries(Object.entries(own).filter(([, v]) => v !== undefined)) };
  if (params.length === 0) throw new ValueError(name, "params", "at least one parameter", "an empty group");
  if (!(options.lr >= 0)) throw new ValueError(name, "lr", "at least 0", options.lr);
  checkOptions(options);
  for (const option of PRECISION) {
    const value: unknown = options[option];
    if (value !== undefined && typeof value !== "boolean") throw new ValueError(name, option, "true or false", value);
  }
  if (options.masterWeights === true && options.kahan === true)
    throw new ValueError(name, "kahan", "left out with masterWeights, which loses nothing to rounding", true);
  const known = new Set<unknown>(taken);
  params.forEach((p, i) => {
    if (!(p instanceof Tensor)) throw new DTypeError(name, `params[${i}]`, "a tensor", p);
    p.requireLive(name, `params[${i}]`);
    if (!p.isLeaf)
      throw new AutogradError({
        operation: name,
        argument: `params[${i}]`,
        expected: "a leaf",
        received: `${p.describe()} made by an operation`,
      });
    if (!isFloat(p.dtype) || p.dtype === "float64")
      throw new DTypeError(name, `params[${i}]`, "float32, float16 or bfloat16", p.describe());
    checkParameter(`params[${i}]`, p);
    if (known.has(p)) throw new ValueError(name, `params[${i}]`, "in one group once", `${p.describe()} again`);
    known.add(p);
  });
  return { params, options };
}

/** A group's option is of its default's kind. */
function requireKind(name: string, defaults: object, key: string, value: unknown): void {
  if (value === undefined) return;
  const isNumber = (v: unknown): boolean => typeof v === "number" || typeof v === "boolean";
  const like = (defaults as unknown as Readonly<Record<string, unknown>>)[key];
  if (Array.isArray(like)) {
    if (!Array.isArray(value) || !value.every((v, i) => isNumber(v) || (v === null && like[i] === null)))
      throw new ValueError(name, key, "an array of numbers", value);
  } else if (typeof like === "boolean") {
    if (typeof value !== "boolean") throw new ValueError(name, key, "true or false", value);
  } else if (typeof like === "string") {
    if (typeof value !== "string") throw new ValueError(name, key, "a string", value);
  } else if (!isNumber(value)) throw new ValueError(name, key, "a number", value);
}
