/** Parameters by patterns of their names: freezing, and groups for optimizers. */
import { ValueError } from "../core/errors.ts";
import type { Module } from "./module.ts";
import { setRequiresGrad, type Parameter } from "./parameter.ts";

/** A name with `*` for any characters ("encoder.*", "*.bias"), a regular expression, a function, or several of these. */
export type NamePattern = string | RegExp | ((name: string, parameter: Parameter) => boolean) | readonly NamePattern[];

function matches(pattern: NamePattern, name: string, p: Parameter): boolean {
  if (typeof pattern === "function") return pattern(name, p);
  // lastIndex of a global expression would make its result depend on the name before.
  if (pattern instanceof RegExp) return new RegExp(pattern.source, pattern.flags.replace(/[gy]/g, "")).test(name);
  if (typeof pattern === "string") {
    const text = pattern.replaceAll(/[.+?^${}()|[\]\\]/g, String.raw`\$&`).replaceAll("*", ".*");
    return new RegExp(`^${text}$`, "s").test(name);
  }
  return pattern.some((each) => matches(each, name, p));
}

function matched(operation: string, module: Module, pattern: NamePattern): [string, Parameter][] {
  const all = [...module.namedParameters()];
  const found = all.filter(([name, p]) => matches(pattern, name, p));
  if (found.length === 0)
    throw new ValueError(operation, "pattern", `one that matches a parameter: ${all.map(([name]) => name).join(", ")}`, String(pattern));
  return found;
}

/**
 * The parameters whose names match require no gradient from now on, so that no optimizer moves them. Returns their names. "encoder.*" matches all in
 * `encoder`, at any depth. Throws ValueError where none matches.
 */
export function freeze(module: Module, pattern: NamePattern = "*"): string[] {
  return setRequires("freeze", module, pattern, false);
}

/** The parameters whose names match require gradients again. Returns their names. Throws ValueError where none matches. */
export function unfreeze(module: Module, pattern: NamePattern = "*"): string[] {
  return setRequires("unfreeze", module, pattern, true);
}

function setRequires(operation: string, module: Module, pattern: NamePattern, requires: boolean): string[] {
  const found = matched(operation, module, pattern);
  const parameters = found.map(([, p]) => p);
  setRequiresGrad(operation, parameters, requires);
  if (!requires) for (const p of parameters) p.grad = null;
  return found.map(([name]) => name);
}

/** A pattern with the options of its group. */
export interface PatternGroup {
  /** Which parameters belong to the group; without it, those of no other group. */
  readonly match?: NamePattern | undefined;
  /** Options of the optimizer. */
  readonly [option: string]: unknown;
}

/** The options of a group with its parameters. */
export type MatchedGroup<G> = G extends unknown
  ? Omit<{ -readonly [K in keyof G]: G[K] }, "match"> & {
      /** The group's parameters. */
      params: Parameter[];
    }
  : never;

/**
 * Groups for an optimizer: each parameter that requires a gradient goes into the first group whose pattern matches its name, or into the one without a pattern, which
 * is made where none is given and parameters are left. Empty groups are left out where their parameters are frozen. Throws ValueError for a pattern that matches nothing.
 *
 * `dx.optim.adamW(nn.utils.groups(model, [{ match: "*.bias", weightDecay: 0 }, { lr: 1e-3 }]))`
 */
export function groups<G extends PatternGroup>(module: Module, list: readonly G[]): MatchedGroup<G>[] {
  const left = new Map([...module.namedParameters()].filter(([, p]) => p.requiresGrad));
  const members = list.map((): Parameter[] => []);
  const rest = list.findIndex(({ match }) => match === undefined);
  for (const [i, { match }] of list.entries()) {
    if (match === undefined) continue;
    for (const [name, p] of matched("groups", module, match)) if (left.delete(name)) members[i]!.push(p);
  }
  if (rest >= 0) members[rest]!.push(...left.values());
  const made: { params: Parameter[] }[] = list.map(({ match: _, ...options }, i) => ({ ...options, params: members[i]! }));
  if (rest < 0 && left.size > 0) made.push({ params: [...left.values()] });
  return made.filter(({ params }) => params.length > 0) as MatchedGroup<G>[];
}
