/** From a region to a node of the graph that launches its shader. */
import { DTYPES, packedBytes } from "../../../core/dtype.ts";
import { sizeOf } from "../../../core/shape.ts";
import type { ShaderTraits } from "../../../dml/capabilities.ts";
import type { Element } from "../../../shader/ir.ts";
import { callOf, kernel, type Kernel } from "../../../shader/kernels/kernel.ts";
import type { Parameters } from "../../../shader/language.ts";
import type { Uint } from "../../../shader/numbers.ts";
import { ELEMENT_OF, isByte } from "../../../shader/operations/code.ts";
import { readingOf } from "../../../shader/operations/table.ts";
import { packedExpr, type Expr, type GraphNode } from "../../graph.ts";
import { keyOf } from "../../key.ts";
import { accessOf, isIdentity, lastOf } from "./access.ts";
import { inPlacePairs } from "./in-place.ts";
import type { AnyScope } from "./lanes.ts";
import { inputName, outputName } from "./region-code.ts";
import { constantOf, insideMaker, sourceIndex, type Facts, type Region, type Source } from "./region.ts";
import { emitSection, launchedThreads, sectionsOf, threadsFor, type Section } from "./sections.ts";

/** Equal for regions with the same code: sizes are part of it only where indices are computed of them. */
function keyOfRegion(region: Region, sections: readonly Section[], facts: Facts): string {
  const inside = new Set(region.nodes);
  const numbers = new Map(region.nodes.map((node, i) => [node, i]));
  const read = (x: Expr | null): unknown => {
    if (x === null) return null;
    const constant = constantOf(x, facts);
    if (constant !== null) return ["is", x.dtype, constant];
    const maker = insideMaker(x, inside, facts);
    const access = accessOf(x);
    return [
      maker === null ? `${sourceIndex(region, x)}` : numbers.get(maker),
      x.dtype,
      isIdentity(access) && access.axes.length > 0 ? 0 : access,
    ];
  };
  return keyOf([
    region.sources.map((s) => s.dtype),
    region.outputs.map((x) => [numbers.get(facts.makers.get(x.value)!), x.dtype]),
    sections.map(({ outputs, elements, width }) => [outputs, width, elements % width !== 0]),
    region.nodes.map((node) => [
      node.operator,
      node.attributes,
      node.outputs[0]!.dtype,
      node.inputs.map(read),
      "indexed" in readingOf(node)!.code ? [node.outputs[0]!.sizes, node.inputs.map((x) => x && [x.sizes, x.strides])] : 0,
    ]),
  ]);
}

function kernelOf(region: Region, sections: readonly Section[], facts: Facts): Kernel {
  const inputs = Object.fromEntries(region.sources.map((x, i): [string, Element] => [inputName(i), x.element]));
  const outputs = Object.fromEntries(region.outputs.map((x, i): [string, Element] => [outputName(i), ELEMENT_OF[x.dtype]!]));
  const params: Parameters = Object.fromEntries(sections.map((_, i) => [sizeName(i), "u32"]));
  const threads = threadsFor(sections);
  const halves = region.nodes.some((node) => node.outputs[0]!.dtype === "float16") && facts.roundsHalf() ? " device's halves" : "";
  const key = `fused ${threads}${halves} ${keyOfRegion(region, sections, facts)}`;
  return kernel(
    key,
    { inputs, outputs, params, threads, groups: (launch) => launch.params["groups"]!, isPrecise: true, maxBuffers: facts.maxBuffers },
    (scope) => {
      const s = scope as unknown as AnyScope;
      const sizes = s.params as { readonly [name: string]: Uint };
      sections.forEach((section, i) => emitSection(s, region, section, sizes[sizeName(i)]!, facts));
    },
  );
}

const sizeName = (section: number): string => `n${section}`;

const elementsOf = ({ value, dtype }: Pick<Source, "value" | "dtype">): number => Math.floor(value.sizeInBytes / DTYPES[dtype].sizeInBytes);

/** Elements of a buffer as the shader counts them: words of bytes, and float16 up to the end of their word. */
const countOf = (dtype: Source["dtype"], elements: number): number => {
  if (isByte(dtype)) return Math.ceil(elements / 4);
  return dtype === "float16" ? 2 * Math.ceil(elements / 2) : elements;
};

/** Nothing is read or written past a buffer: a fault of the pass ends here, not on a device. */
function requireInside(region: Region, facts: Facts): void {
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
  readonly node: GraphNode;
}

export function launchOf(region: Region, facts: Facts, traits: ShaderTraits, id: number, origin: string): Launch {
  requireInside(region, facts);
  const sections = sectionsOf(region);
  const made = kernelOf(region, sections, facts);
  const shapes = Object.fromEntries([
    ...region.sources.map((x, i) => [inputName(i), [countOf(x.dtype, elementsOf(x))]] as const),
    ...region.outputs.map((x, i) => [outputName(i), [countOf(x.dtype, sizeOf(x.sizes))]] as const),
  ]);
  const groups = Math.ceil(launchedThreads(sections) / threadsFor(sections));
  const params = { ...Object.fromEntries(sections.map((x, i) => [sizeName(i), x.elements])), groups };
  const shader = { ...callOf(traits, made, { shapes, params }), inPlace: inPlacePairs(region, sections, facts) };
  const inputs = region.sources.map((x) => packedExpr(x.value, x.dtype, [elementsOf(x)]));
  return { kernel: made, node: { id, operator: "SHADER", shader, attributes: {}, inputs, outputs: region.outputs, origin } };
}
