/** Emits a launch of one group of threads that computes several steps, with a barrier between them. */
import { DTYPES } from "../../../core/dtype.ts";
import { sizeOf } from "../../../core/shape.ts";
import type { ShaderTraits } from "../../../dml/capabilities.ts";
import type { Element, Shader } from "../../../shader/ir.ts";
import { callOf, kernel, type Kernel } from "../../../shader/kernels/kernel.ts";
import type { BufferElements, Parameters as Params } from "../../../shader/language.ts";
import { literal } from "../../../shader/operations/code.ts";
import type { Float, Uint } from "../../../shader/numbers.ts";
import { isWhole, packedExpr, type Expr, type GraphNode } from "../../graph.ts";
import { keyOf } from "../../key.ts";
import { accessOf, lastOf } from "./access.ts";
import type { Grouped } from "./clusters.ts";
import { inPlacePairs } from "./in-place.ts";
import { laneOf, mapLanes, type AnyScope } from "./lanes.ts";
import { countOf, elementsOf, isSameSource, keyOfRegion, requireInside, withThreads, type Launch } from "./launch.ts";
import { asSources, groupThreads, joinOf, outputsOf, sourcesOf, type Step } from "./one-group.ts";
import { HALF_BITS, inputName, outputName } from "./region-code.ts";
import type { Form } from "./region-form.ts";
import { constantOf, type Facts, type Source } from "./region.ts";
import { emitRows, type GroupMemory } from "./row-code.ts";
import { emitSection, sectionsOf } from "./sections.ts";
import { formIn } from "./shared-launches.ts";

/** A part of a launch, with the names of its buffers there. */
interface Part {
  readonly step: number;
  readonly grouped: Grouped;
  /** Null: it copies the inputs of a JOIN. */
  readonly form: Form | null;
  readonly sources: readonly Source[];
  readonly inputNames: readonly string[];
  readonly outputNames: readonly string[];
}

interface Layout {
  readonly threads: number;
  readonly parts: readonly Part[];
  /** Buffers that are written before the launch. */
  readonly inputs: readonly Source[];
  readonly outputs: readonly Expr[];
}

function layoutOf(steps: readonly Step[], facts: Facts): Layout {
  const threads = groupThreads(steps.flat());
  const outputs = steps.flat().flatMap(outputsOf);
  const made = asSources(outputs);
  const inputs: Source[] = [];
  const nameOf = (source: Source): string => {
    const own = made.findIndex((x) => isSameSource(x, source));
    if (own >= 0) return outputName(own);
    const at = inputs.findIndex((x) => isSameSource(x, source));
    return inputName(at < 0 ? inputs.push(source) - 1 : at);
  };
  const parts = steps.flatMap((step, k) =>
    step.map((grouped): Part => {
      const form = formIn(grouped);
      const sources = sourcesOf(grouped, facts);
      return {
        step: k,
        grouped,
        form: form === null ? null : withThreads(form, threads),
        sources,
        inputNames: sources.map(nameOf),
        outputNames: outputsOf(grouped).map((x) => outputName(outputs.indexOf(x))),
      };
    }),
  );
  return { threads, parts, inputs, outputs };
}

/** Equal for parts with the same code: all sizes are part of it. */
function keyOfPart({ step, grouped, form, inputNames, outputNames }: Part, facts: Facts): unknown {
  const names = [step, inputNames, outputNames];
  if (form === null) return [...names, joinOf(grouped)!.inputs.map((x) => [sizeOf(x!.sizes), constantOf(x!, facts), accessOf(x!)])];
  const sections = form.rows === null ? sectionsOf(form) : [];
  const shape = form.rows === null ? sections.map(({ elements }) => elements) : form.rows.shape;
  return [...names, shape, keyOfRegion(form, sections, [], facts)];
}

/** Emits the work of `count` groups as a loop of this one group. */
function eachGroup(s: AnyScope, count: number, memory: GroupMemory, emit: (group: Uint) => void): void {
  if (count === 1) {
    emit(s.u32(0));
    return;
  }
  memory.isUsed = true;
  s.for(0, count, emit, { unroll: false });
}

function emitJoin(s: AnyScope, part: Part, threads: number, facts: Facts, memory: GroupMemory): void {
  const buffers = s.buffers as { readonly [name: string]: unknown };
  const buffer = (name: string): BufferElements<"f32"> => buffers[name] as BufferElements<"f32">;
  const to = buffer(part.outputNames[0]!);
  let start = 0;
  for (const piece of joinOf(part.grouped)!.inputs as readonly Expr[]) {
    const [size, first] = [sizeOf(piece.sizes), start];
    const constant = constantOf(piece, facts);
    const [source] = asSources([piece]);
    const name = part.inputNames[part.sources.findIndex((x) => isSameSource(x, source!))]!;
    eachGroup(s, Math.ceil(size / threads), memory, (group) => {
      const at = group.mul(threads).add(s.local);
      s.if(at.lt(size), () => {
        const lanes = mapLanes(s, accessOf(piece), { kind: "run", base: at, step: 0, alignment: 1 }, 1);
        const value = constant === null ? buffer(name).loadsInside(laneOf(lanes, 0), 1)[0]! : (literal(s, piece.dtype, constant) as Float);
        to.storesInside(at.add(first), [value]);
      });
    });
    start += size;
  }
}

function emitPart(s: AnyScope, part: Part, threads: number, facts: Facts, memory: GroupMemory): void {
  const { form, inputNames, outputNames } = part;
  if (form === null) {
    emitJoin(s, part, threads, facts, memory);
    return;
  }
  const region = { ...form, inputNames, outputNames, skips: new Map<number, Uint>() };
  const { rows } = form;
  if (rows !== null)
    eachGroup(s, Math.ceil(rows.shape.kept / rows.plan.rows), memory, (group) => {
      emitRows(s, region, rows, rows.plan, facts, group, memory);
    });
  else
    for (const section of sectionsOf(form))
      eachGroup(s, Math.ceil(section.elements / section.width / threads), memory, (group) => {
        emitSection(s, region, section, s.u32(section.elements), facts, group);
      });
}

function kernelOf({ threads, parts, inputs, outputs }: Layout, facts: Facts): Kernel {
  const named = (list: readonly Source[], name: (i: number) => string): Readonly<Record<string, Element>> =>
    Object.fromEntries(list.map((x, i) => [name(i), x.element]));
  const usesDevice = parts.some(({ grouped }) => grouped.nodes.some((node) => node.outputs[0]!.dtype === "float16")) && facts.roundsHalf();
  const params: Params = usesDevice ? { [HALF_BITS]: "u32" } : {};
  const key = keyOf(parts.map((part) => keyOfPart(part, facts)));
  return kernel(
    `one group ${threads}${usesDevice ? " device's halves" : ""} ${key}`,
    {
      inputs: named(inputs, inputName),
      outputs: named(asSources(outputs), outputName),
      params,
      threads,
      groups: () => 1,
      isPrecise: true,
      isOneOfMany: true,
      maxBuffers: inputs.length + outputs.length,
    },
    (scope) => {
      const s = scope as unknown as AnyScope;
      const memory: GroupMemory = { memories: [], isUsed: false };
      parts.forEach((part, k) => {
        // All threads have read the shared memory of the step before, too.
        if (k > 0 && parts[k - 1]!.step !== part.step) {
          s.barrier("all");
          memory.isUsed = false;
        }
        emitPart(s, part, threads, facts, memory);
      });
    },
  );
}

/** States that can be written in place: after the last barrier only the part that writes a state reads its old value. */
function writtenInPlace({ parts, inputs, outputs }: Layout, facts: Facts): [input: number, output: number][] {
  return parts.flatMap((part) =>
    outputsOf(part.grouped).flatMap((out, o): [number, number][] => {
      const buffer = facts.states.get(out.value);
      const input = inputs.findIndex(({ value, dtype }) => value === buffer && dtype === out.dtype);
      if (input < 0 || inputs.filter(({ value }) => value === buffer).length > 1) return [];
      const canWrite = parts.every((other) => {
        const own = other.sources.findIndex(({ value }) => value === buffer);
        if (own < 0) return true;
        if (other !== part) return other.step < part.step;
        return part.form !== null && inPlacePairs(part.form, facts).some(([i, to]) => i === own && to === o);
      });
      return canWrite ? [[input, outputs.indexOf(out)]] : [];
    }),
  );
}

/** Throws where a JOIN would read or write past a buffer. */
function requireJoinInside(node: GraphNode, facts: Facts): void {
  const [out] = node.outputs as readonly [Expr];
  for (const x of node.inputs as readonly Expr[])
    if (constantOf(x, facts) === null && lastOf(accessOf(x)) >= elementsOf(x))
      throw new RangeError(`fuse: JOIN reads element ${lastOf(accessOf(x))} of ${elementsOf(x)}`);
  const total = node.inputs.reduce((n, x) => n + sizeOf(x!.sizes), 0);
  if (!isWhole(out) || total !== sizeOf(out.sizes) || total * DTYPES[out.dtype].sizeInBytes > out.value.sizeInBytes)
    throw new RangeError("fuse: a JOIN of other sizes than its pieces");
}

export function oneGroupLaunchOf(steps: readonly Step[], facts: Facts, traits: ShaderTraits, id: number, origin: string): Launch {
  const layout = layoutOf(steps, facts);
  const { parts, inputs, outputs } = layout;
  for (const { form, grouped } of parts)
    if (form === null) requireJoinInside(joinOf(grouped)!, facts);
    else requireInside(form, facts);
  const made = kernelOf(layout, facts);
  const shapes = Object.fromEntries([
    ...inputs.map((x, i) => [inputName(i), [countOf(x.dtype, elementsOf(x))]] as const),
    ...outputs.map((x, i) => [outputName(i), [countOf(x.dtype, sizeOf(x.sizes))]] as const),
  ]);
  const params = { [HALF_BITS]: 0xffff };
  // Compiled now: its source keeps the graph alive until then.
  made.program.compiled(traits);
  const shader = callOf(traits, made, { shapes, params }, { inPlace: writtenInPlace(layout, facts) });
  return {
    kernel: made,
    source: (): Shader => (made.program.hasSource ? made : kernelOf(layout, facts)).program.source,
    node: {
      id,
      operator: "SHADER",
      shader,
      attributes: {},
      inputs: inputs.map((x) => packedExpr(x.value, x.dtype, [elementsOf(x)])),
      outputs: [...outputs],
      origin,
    },
  };
}
