/** From a region to a node of the graph that launches its shader. */
import { DTYPES, packedBytes } from "../../../core/dtype.ts";
import { sizeOf } from "../../../core/shape.ts";
import type { ShaderTraits } from "../../../dml/capabilities.ts";
import type { Element, Shader } from "../../../shader/ir.ts";
import { foldOf } from "../../../shader/operations/reductions.ts";
import { callOf, kernel, type Kernel } from "../../../shader/kernels/kernel.ts";
import type { Parameters as Params } from "../../../shader/language.ts";
import type { Uint } from "../../../shader/numbers.ts";
import { ELEMENT_OF, isByte } from "../../../shader/operations/code.ts";
import { isDraw, skippedBlocks, SKIPPED, skipsOf } from "../../../shader/operations/draws.ts";
import { readingOf } from "../../../shader/operations/table.ts";
import { packedExpr, type Expr, type GraphNode } from "../../graph.ts";
import { keyOf } from "../../key.ts";
import { accessOf, isIdentity, lastOf } from "./access.ts";
import { inPlacePairs, updatedPairs } from "./in-place.ts";
import type { AnyScope } from "./lanes.ts";
import { HALF_BITS, inputName, outputName } from "./region-code.ts";
import type { Form } from "./region-form.ts";
import { offsetIndex, offsetsOf, type Offset } from "./offsets.ts";
import { constantOf, insideMaker, sourceIndex, type Facts, type Region, type Source } from "./region.ts";
import { emitRows } from "./row-code.ts";
import { emitSection, launchedThreads, sectionsOf, threadsFor, type Section } from "./sections.ts";

const skipName = (part: number, i: number): string => `skip${part}_${i}`;

/** Equal for regions with the same code: sizes are part of it only where indices are computed of them. */
export function keyOfRegion(region: Form, sections: readonly Section[], offsets: readonly Offset[], facts: Facts): string {
  const inside = new Set(region.nodes);
  const numbers = new Map(region.nodes.map((node, i) => [node, i]));
  const skips = skipsOf(region);
  const read = (x: Expr | null): unknown => {
    if (x === null) return null;
    const constant = constantOf(x, facts);
    if (constant !== null) return ["is", x.dtype, constant];
    const maker = insideMaker(x, inside, facts);
    const access = accessOf(x);
    const at = maker === null ? offsetIndex(region, offsets, x) : -1;
    return [
      maker === null ? `${sourceIndex(region, x)}` : numbers.get(maker),
      x.dtype,
      at >= 0
        ? [at, offsets[at]!.alignment, access.axes]
        : isIdentity(access) && access.axes.length > 0 && region.rows === null
          ? 0
          : access,
    ];
  };
  return keyOf([
    region.sources.map((s) => s.dtype),
    region.outputs.map((x) => [numbers.get(facts.makers.get(x.value)!), x.dtype]),
    region.rows === null ? sections.map(({ outputs, elements, width }) => [outputs, width, elements % width !== 0]) : region.rows.plan,
    region.nodes.map((node) => [
      node.operator,
      isDraw(node) ? { ...node.attributes, [SKIPPED]: skips.indexOf(skippedBlocks(node)) } : node.attributes,
      node.outputs[0]!.dtype,
      node.inputs.map(read),
      readingOf(node) === null || !("element" in readingOf(node)!.code)
        ? [node.outputs[0]!.sizes, node.inputs.map((x) => x && [x.sizes, x.strides])]
        : 0,
    ]),
  ]);
}

/** A region of a launch, with its buffers among those of the launch. */
interface Part {
  readonly form: Form;
  readonly sections: readonly Section[];
  readonly offsets: readonly Offset[];
  readonly groups: number;
  readonly inputs: readonly number[];
  readonly outputs: readonly number[];
}

export const isSameSource = (a: Source, b: Source): boolean =>
  a.isUpdated !== true && b.isUpdated !== true && a.value === b.value && a.element === b.element && isByte(a.dtype) === isByte(b.dtype);

/** Threads of a group: of all regions the same. */
export const threadsOf = (form: Form): number => (form.rows === null ? threadsFor(sectionsOf(form)) : form.rows.plan.threads);

/** Threads of a group up to which regions of fewer take more rows, to share a launch with others. */
const MAX_SHARED_THREADS = 256;
/** Offsets of a launch that are numbers of it; with more, all are part of the code. A launch has 32 numbers. */
const MAX_OFFSETS = 8;
/** Bytes of a group's shared memory. */
const MAX_SHARED = 2 ** 15;

/** Threads of a group of a launch of several regions. */
const sharedThreads = (forms: readonly Form[]): number =>
  Math.max(...(forms.some(({ rows }) => rows !== null) ? forms.filter(({ rows }) => rows !== null) : forms).map(threadsOf));

/** A region as part of a launch with more threads: so many more rows of a group. */
export function withThreads(form: Form, threads: number): Form {
  if (form.rows === null || form.rows.plan.threads === threads) return form;
  const { plan } = form.rows;
  return { ...form, rows: { ...form.rows, plan: { ...plan, threads, rows: (plan.rows * threads) / plan.threads } } };
}

/** Values that a region's threads combine in shared memory, at most. */
export const combinedOf = ({ rows }: Form): number =>
  rows === null || rows.plan.across === 1 ? 0 : rows.passes.flat().reduce((n, node) => n + foldOf(node)!.dtypes.length, 0);

/** Whether regions have as many threads, or so few that those with fewer can have more rows. */
export function canShareThreads(forms: readonly Form[]): boolean {
  if (forms.length === 1) return true;
  const threads = sharedThreads(forms);
  if (4 * threads * forms.reduce((n, form) => n + combinedOf(form), 0) > MAX_SHARED) return false;
  return threads <= MAX_SHARED_THREADS || forms.every((form) => threadsOf(form) === threads);
}

export const groupsOf = (form: Form, threads = threadsOf(form)): number =>
  form.rows === null ? Math.ceil(launchedThreads(sectionsOf(form)) / threads) : Math.ceil(form.rows.shape.kept / form.rows.plan.rows);

function partsOf(forms: readonly Form[], threads: number, facts: Facts): { readonly parts: Part[]; readonly sources: Source[] } {
  const sources: Source[] = [];
  let outputs = 0;
  const offsets = forms.map((form) => offsetsOf(form, facts));
  const areNumbers = offsets.flat().length <= MAX_OFFSETS;
  const parts = forms.map((form, k): Part => {
    const inputs = form.sources.map((x) => {
      const at = sources.findIndex((y) => isSameSource(x, y));
      return at < 0 ? sources.push(x) - 1 : at;
    });
    const first = outputs;
    outputs += form.outputs.length;
    const sections = form.rows === null ? sectionsOf(form) : [];
    return {
      form,
      sections,
      offsets: areNumbers ? offsets[k]! : [],
      groups: groupsOf(form, threads),
      inputs,
      outputs: form.outputs.map((_, i) => first + i),
    };
  });
  return { parts, sources };
}

const sizeName = (part: number, section: number): string => `n${part}_${section}`;
const offsetName = (part: number, offset: number): string => `o${part}_${offset}`;
/** The group behind a part's last one. */
const endName = (part: number): string => `end${part}`;

function kernelOf(parts: readonly Part[], sources: readonly Source[], threads: number, facts: Facts): Kernel {
  const inputs = Object.fromEntries(sources.map((x, i): [string, Element] => [inputName(i), x.element]));
  const all = parts.flatMap(({ form }) => form.outputs);
  const outputs = Object.fromEntries(all.map((x, i): [string, Element] => [outputName(i), ELEMENT_OF[x.dtype]!]));
  const names = [
    ...parts.flatMap(({ sections }, k) => sections.map((_, i) => sizeName(k, i))),
    ...parts.flatMap(({ offsets }, k) => offsets.map((_, i) => offsetName(k, i))),
    ...parts.slice(0, -1).map((_, k) => endName(k)),
    ...parts.flatMap(({ form }, k) => skipsOf(form).map((_, i) => skipName(k, i))),
  ];
  // In this order: how a device rounds is known after it has finished what it has to do, the making of pipelines too.
  const usesDevice = parts.some(({ form }) => form.nodes.some((node) => node.outputs[0]!.dtype === "float16")) && facts.roundsHalf();
  const params: Params = Object.fromEntries([...names, ...(usesDevice ? [HALF_BITS] : [])].map((name) => [name, "u32"]));
  const halves = usesDevice ? " device's halves" : "";
  const keys = parts.map(({ form, sections, offsets, inputs: x, outputs: y }) => [x, y, keyOfRegion(form, sections, offsets, facts)]);
  return kernel(
    `fused ${threads}${halves} ${keyOf(keys)}`,
    {
      inputs,
      outputs,
      params,
      threads,
      groups: (launch) => launch.params["groups"]!,
      isPrecise: true,
      isOneOfMany: true,
      maxBuffers: facts.maxBuffers,
    },
    (scope) => {
      const s = scope as unknown as AnyScope;
      const numbers = s.params as { readonly [name: string]: Uint };
      const emit = (k: number, group: Uint): void => {
        const { form, sections, offsets, inputs: x, outputs: y } = parts[k]!;
        const named = offsets.map((offset, i) => ({ ...offset, name: offsetName(k, i) }));
        const skips = new Map(skipsOf(form).map((blocks, i) => [blocks, numbers[skipName(k, i)]!] as const));
        const region = { ...form, inputNames: x.map(inputName), outputNames: y.map(outputName), offsets: named, skips };
        if (form.rows !== null) emitRows(s, region, form.rows, form.rows.plan, facts, group);
        else sections.forEach((section, i) => emitSection(s, region, section, numbers[sizeName(k, i)]!, facts, group));
      };
      // The groups of the parts one behind the other.
      const from = (k: number): void => {
        const group = k === 0 ? s.group : s.group.sub(numbers[endName(k - 1)]!);
        if (k === parts.length - 1) emit(k, group);
        else s.if(s.group.lt(numbers[endName(k)]!), () => emit(k, group), () => from(k + 1)); // prettier-ignore
      };
      from(0);
    },
  );
}

export const elementsOf = ({ value, dtype }: Pick<Source, "value" | "dtype">): number =>
  Math.floor(value.sizeInBytes / DTYPES[dtype].sizeInBytes);

/** Elements of a buffer as the shader counts them: words of bytes, and float16 up to the end of their word. */
export const countOf = (dtype: Source["dtype"], elements: number): number => {
  if (isByte(dtype)) return Math.ceil(elements / 4);
  return dtype === "float16" ? 2 * Math.ceil(elements / 2) : elements;
};

/** Nothing is read or written past a buffer: a fault of the pass ends here, not on a device. */
export function requireInside(region: Region, facts: Facts): void {
  const inside = new Set(region.nodes);
  for (const node of region.nodes)
    for (const x of node.inputs) {
      if (x === null || constantOf(x, facts) !== null) continue;
      const maker = insideMaker(x, inside, facts);
      const count = maker === null ? elementsOf(x) : sizeOf(maker.outputs[0]!.sizes);
      const last = lastOf(accessOf(x));
      if (last >= count) throw new RangeError(`fuse: ${node.operator} reads element ${last} of ${count}`);
    }
  for (const x of region.outputs)
    if (packedBytes(x.dtype, x.sizes) > x.value.sizeInBytes) throw new RangeError("fuse: an output is larger than its value");
}

export interface Launch {
  readonly kernel: Kernel;
  /** Its shader's source, made again where the shader was found compiled. */
  readonly source: () => Shader;
  readonly node: GraphNode;
}

/** Holds the region's graph only where it may be needed. */
function sourceOf(made: Kernel, ...of: [...Parameters<typeof kernelOf>]): Launch["source"] {
  return made.program.hasSource ? () => made.program.source : () => kernelOf(...of).program.source;
}

/** regions: that do not depend on each other. */
export function launchOf(regions: readonly Form[], facts: Facts, traits: ShaderTraits, id: number, origin: string): Launch {
  for (const region of regions) requireInside(region, facts);
  const threads = sharedThreads(regions);
  const forms = regions.map((region) => withThreads(region, threads));
  const { parts, sources } = partsOf(forms, threads, facts);
  const made = kernelOf(parts, sources, threads, facts);
  const outputs = forms.flatMap((form) => form.outputs);
  const shapes = Object.fromEntries([
    ...sources.map((x, i) => [inputName(i), [countOf(x.dtype, elementsOf(x))]] as const),
    ...outputs.map((x, i) => [outputName(i), [countOf(x.dtype, sizeOf(x.sizes))]] as const),
  ]);
  const ends = parts.map((_, k) => parts.slice(0, k + 1).reduce((n, { groups }) => n + groups, 0));
  const params = Object.fromEntries([
    ...parts.flatMap(({ sections }, k) => sections.map((x, i) => [sizeName(k, i), x.elements] as const)),
    ...parts.flatMap(({ offsets }, k) => offsets.map(({ offset, alignment }, i) => [offsetName(k, i), offset / alignment] as const)),
    ...ends.slice(0, -1).map((end, k) => [endName(k), end] as const),
    ...parts.flatMap(({ form }, k) => skipsOf(form).map((blocks, i) => [skipName(k, i), blocks] as const)),
    ["groups", ends.at(-1)!] as const,
    [HALF_BITS, 0xffff] as const,
  ]);
  // Over what another part reads nothing is written.
  const readers = sources.map((_, i) => parts.filter((part) => part.inputs.includes(i)).length);
  const inPlace = parts.flatMap(({ form, inputs: x, outputs: y }) =>
    inPlacePairs(form, facts).flatMap(([i, o]) => (readers[x[i]!] === 1 ? [[x[i]!, y[o]!] as const] : [])),
  );
  const updates = parts.flatMap(({ form, inputs: x, outputs: y }) => updatedPairs(form, facts).map(([i, o]) => [x[i]!, y[o]!] as const));
  // Now: what makes its code holds the region's graph until then.
  made.program.compiled(traits);
  const shader = callOf(traits, made, { shapes, params }, { inPlace, updates });
  const inputs = sources.map((x) => packedExpr(x.value, x.dtype, [elementsOf(x)]));
  return {
    kernel: made,
    source: sourceOf(made, parts, sources, threads, facts),
    node: { id, operator: "SHADER", shader, attributes: {}, inputs, outputs, origin },
  };
}
