// The code of the public functions: they check their arguments by their declared types, then call the family's functions.
import type { Kinds } from "./kind-code.ts";
import { parameterText, split, taken } from "./kind-names.ts";
import type { Schema } from "./schema.ts";
import type { Signature } from "./signatures.ts";

/** The test of an argument. What is passed most, a tensor or nothing, is told without a call. */
function testOf(kinds: Kinds, { name, schema }: { name: string; schema: Schema }): string {
  const [own, mark] = split(schema);
  if (own.kind === "tensor") return mark === "" ? `isTensor(${name})` : `(isTensor(${name}) || ${name} === undefined)`;
  const isTensorToo = own.kind === "union" && own.of.some((s) => s.kind === "tensor");
  const quick = [...(isTensorToo ? [`isTensor(${name})`] : []), ...(mark === "" ? [] : [`${name} === undefined`])];
  const test = `kinds.${kinds.nameOf(own)}.is(${name})`;
  return quick.length === 0 ? test : `(${[...quick, test].join(" || ")})`;
}

/**
 * The parts of a function that checks: its parameters, and its body, which gives `call(names)` under the user's name. isMethod: the first
 * parameter is `this`. runsCode: it runs code of the user's, whose errors keep their names.
 */
export function formOf(
  kinds: Kinds,
  name: string,
  { parameters, isAsync }: Signature,
  call: (args: readonly string[]) => string,
  { isMethod = false, runsCode = false } = {},
): { parameters: readonly string[]; isAsync: boolean; body: string } {
  const all = parameters.map((p, i) => ({
    name: isMethod && i === 0 ? "this" : p.isRest ? "rest" : `$${i}`,
    label: p.name,
    isRest: p.isRest,
    hasDefault: p.hasDefault,
    schema: taken(p),
  }));
  const own = all.filter((p) => p.name !== "this");
  const tests = own
    .filter((p) => p.schema.kind !== "any" && !(p.schema.kind === "rest" && p.schema.of.kind === "any"))
    .map((p) => testOf(kinds, p));
  // What comes after the last parameter is refused, not ignored. A parameter more would make importing slower: it needs a default.
  if (!own.some((p) => p.isRest)) tests.push(`(arguments.length <= ${own.length} || isAll(arguments, ${own.length}))`);
  const spec = own.map((p) => parameterText(p.label, p.isRest, kinds.listedName(p.schema))).join(" ");
  const targets = own.map((p) => (p.isRest ? `...${p.name}` : p.name)).join(", ");
  // Other names and spellings are looked at here only, so that a call by the own names costs no more.
  const again = `bind("${name}", "${spec}", arguments)`;
  const otherwise = own.length === 0 ? `throw refused("${name}", "", arguments);` : `[${targets}] = ${again};`;
  const refusal = tests.length === 0 ? "" : `if (!(${tests.join(" && ")})) ${otherwise} `;
  const args = all.map((p) => (p.isRest ? `...${p.name}` : p.name));
  const run = call(args);
  return {
    // A default keeps the function's length, which tells how many arguments it needs.
    parameters: own.map((p) => (p.isRest ? `...${p.name}: never[]` : `${p.name}: never${p.hasDefault ? " = undefined as never" : ""}`)),
    isAsync,
    body: runsCode
      ? `${refusal}return ${isAsync ? "await " : ""}${run};`
      : `${refusal}try { return ${isAsync ? "await " : ""}${run}; } catch (error) { throw under("${name}", error); }`,
  };
}
