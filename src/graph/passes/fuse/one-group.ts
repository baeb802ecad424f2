/**
 * Makes the last small regions of a program few launches, each of one group of threads: regions of few elements whose results only each other and the program
 * read, such as an optimizer's update of few parameters. Groups cannot wait for each other within a launch, so dependent regions need several launches; the
 * threads of one group wait at a barrier instead.
 */
import { sizeOf } from "../../../core/shape.ts";
import { MAX_BUFFERS } from "../../../shader/dxbc/emit.ts";
import { ELEMENT_OF, isByte } from "../../../shader/operations/code.ts";
import { isDraw } from "../../../shader/operations/draws.ts";
import type { Expr, GraphNode, Value } from "../../graph.ts";
import type { Grouped } from "./clusters.ts";
import { combinedOf, isSameSource, threadsOf } from "./launch.ts";
import type { Form } from "./region-form.ts";
import { constantOf, isReadable, isWritable, type Facts, type Source } from "./region.ts";
import { sectionsOf } from "./sections.ts";
import { formIn } from "./shared-launches.ts";
import { accessesOf, type Accesses } from "./views.ts";
import { isScatter } from "./partial-writes.ts";
import { readsMany } from "./work.ts";

/** Elements of a region, at most: one group takes longer for more than several groups do. */
const MAX_ELEMENTS = 4096;
/** Views of a launch where Direct3D runs over Vulkan, and nodes, at most: the driver takes long to compile longer shaders. */
const [MAX_VIEWS, MAX_NODES] = [64, 256];
/**
 * Views of a launch of more than three steps there, at most. NVIDIA's compiler (580.159.04) ends with a segmentation fault in some launches of four and six steps
 * with 36 and 38 views (docs/gpu/h200.md).
 */
const [FEW_STEPS, MAX_VIEWS_OF_MANY_STEPS] = [3, 32];
/** Threads of a group, unless a reduction has more; and bytes of its shared memory. */
const [MAX_THREADS, MAX_SHARED] = [256, 2 ** 15];
/** Launches of one group in a program, at most. */
const MAX_LAUNCHES = 4;

/** What a group does between two barriers. */
export type Step = readonly Grouped[];

/** A JOIN that the group can copy: its inputs are contiguous in its result. Null: not one. */
export function joinOf({ nodes }: Pick<Grouped, "nodes">): GraphNode | null {
  const [node] = nodes;
  if (nodes.length !== 1 || node!.operator !== "JOIN") return null;
  const out = node!.outputs[0]!;
  const isFlat = out.sizes.every((d, i) => i >= Number(node!.attributes["axis"]) || d === 1);
  const isWord = (x: Expr): boolean => x.dtype === "float32" || x.dtype === "int32" || x.dtype === "uint32";
  const canCopy = isFlat && isWord(out) && isWritable(out) && node!.inputs.every((x) => x !== null && isReadable(x) && isWord(x));
  return canCopy && node!.after === undefined ? node! : null;
}

/** What a part reads from memory. */
export function sourcesOf(grouped: Grouped, facts: Facts): readonly Source[] {
  const form = formIn(grouped);
  if (form !== null) return form.sources;
  return grouped.nodes[0]!.inputs.flatMap((x) => (constantOf(x!, facts) === null ? asSources([x!]) : []));
}

export const outputsOf = (grouped: Grouped): readonly Expr[] => formIn(grouped)?.outputs ?? [grouped.nodes[0]!.outputs[0]!];

const elementsOf = (form: Form): number =>
  form.rows === null ? sectionsOf(form).reduce((n, x) => n + x.elements, 0) : form.rows.shape.kept * form.rows.shape.reduced;

function isSmall(grouped: Grouped): boolean {
  const form = formIn(grouped);
  if (form === null) return joinOf(grouped) !== null && sizeOf(grouped.nodes[0]!.outputs[0]!.sizes) <= MAX_ELEMENTS;
  return elementsOf(form) <= MAX_ELEMENTS && !grouped.nodes.some((node) => readsMany(node) || isDraw(node) || isScatter(node));
}

/** Threads of a group that computes these parts. */
export function groupThreads(parts: readonly Grouped[]): number {
  const forms = parts.flatMap((x) => formIn(x) ?? []);
  const ofRows = forms.filter(({ rows }) => rows !== null).map(threadsOf);
  const largest = Math.max(32, ...parts.map((x) => Math.max(...outputsOf(x).map(({ sizes }) => sizeOf(sizes)))));
  return Math.max(Math.min(MAX_THREADS, 2 ** Math.ceil(Math.log2(largest))), ...ofRows);
}

/** The key of a buffer view: equal keys share one. */
const keyOf = ({ value, element, dtype }: Source): string => `${value.id} ${element} ${isByte(dtype)}`;

/** Whether the buffers of parts fit into a launch, and what they combine into its shared memory. */
function fits(parts: readonly Grouped[], facts: Facts): boolean {
  if (parts.reduce((n, { nodes }) => n + nodes.length, 0) > MAX_NODES) return false;
  const threads = groupThreads(parts);
  const combined = Math.max(...parts.map((x) => (formIn(x) === null ? 0 : combinedOf(formIn(x)!))));
  if (4 * threads * combined > MAX_SHARED) return false;
  const made = new Map<Value, Source>();
  const views = new Map<string, Accesses>();
  const add = (key: string, own: Accesses): void => {
    const before = views.get(key);
    views.set(key, { texels: own.texels || before?.texels === true, words: own.words || before?.words === true });
  };
  const accesses = parts.map((x): Accesses => (formIn(x) === null ? { texels: false, words: true } : accessesOf(formIn(x)!)));
  parts.forEach((x, k) => {
    for (const out of outputsOf(x)) {
      const [source] = asSources([out]);
      made.set(out.value, source!);
      add(`result ${out.value.id}`, accesses[k]!);
    }
  });
  for (const [k, x] of parts.entries())
    for (const source of sourcesOf(x, facts)) {
      const maker = made.get(source.value);
      // A result is read with the dtype that it was written with.
      if (maker !== undefined && !isSameSource(maker, source)) return false;
      add(maker === undefined ? keyOf(source) : `result ${source.value.id}`, accesses[k]!);
    }
  const isSmallDevice = facts.maxBuffers <= MAX_BUFFERS;
  const count = isSmallDevice ? views.size : [...views.values()].reduce((n, v) => n + Number(v.texels) + Number(v.words), 0);
  if (isSmallDevice) return count <= facts.maxBuffers;
  return count <= MAX_VIEWS_OF_MANY_STEPS || (count <= MAX_VIEWS && stepsOf(parts, facts).length <= FEW_STEPS);
}

/** Outputs as the inputs of a later step. */
export const asSources = (list: readonly Expr[]): Source[] =>
  list.map(({ value, dtype }) => ({ value, dtype, element: ELEMENT_OF[dtype]! }));

/** Groups parts into steps: a part comes after the makers of what it reads, and after the readers of a state that it overwrites. */
function stepsOf(parts: readonly Grouped[], facts: Facts): Step[] {
  const makers = new Map(parts.flatMap((x, k) => outputsOf(x).map(({ value }) => [value, k] as const)));
  const reads = parts.map((x) => new Set(sourcesOf(x, facts).map(({ value }) => value)));
  const before = parts.map((_, k) => new Set([...reads[k]!].flatMap((value) => makers.get(value) ?? [])));
  const isBefore = (a: number, b: number): boolean => [...before[b]!].some((k) => k === a || isBefore(a, k));
  parts.forEach((x, k) => {
    const buffers = outputsOf(x).flatMap(({ value }) => facts.states.get(value) ?? []);
    // A reader that needs the new value too comes later: then the state is not written in place.
    parts.forEach((_, other) => {
      if (other !== k && buffers.some((buffer) => reads[other]!.has(buffer)) && !isBefore(k, other)) before[k]!.add(other);
    });
  });
  const levels: number[] = [];
  const levelOf = (k: number): number => (levels[k] ??= Math.max(-1, ...[...before[k]!].map(levelOf)) + 1);
  const count = Math.max(-1, ...parts.map((_, k) => levelOf(k))) + 1;
  return Array.from({ length: count }, (_, level) => parts.filter((__, k) => levels[k] === level));
}

/** The parts of one launch, in the graph's order. taken: parts of later launches. */
function partsOf(all: readonly Grouped[], facts: Facts, taken: ReadonlySet<Grouped>, owner: ReadonlyMap<GraphNode, Grouped>): Grouped[] {
  let parts: Grouped[] = [];
  const own = new Set<Grouped>();
  for (const grouped of all.toReversed()) {
    if (taken.has(grouped) || !isSmall(grouped)) continue;
    const readers = grouped.nodes.flatMap(({ outputs }) => outputs.flatMap((x) => (x === null ? [] : (facts.readers.get(x.value) ?? []))));
    const isLast = readers.every((node) => {
      const by = owner.get(node)!;
      return by === grouped || own.has(by) || taken.has(by);
    });
    if (!isLast || !fits([grouped, ...parts], facts)) continue;
    parts = [grouped, ...parts];
    own.add(grouped);
  }
  // Inputs of a JOIN from earlier launches are written into its result directly: there is nothing to copy.
  return parts.filter((x) => joinOf(x) === null || x.nodes[0]!.inputs.some((y) => own.has(owner.get(facts.makers.get(y!.value)!)!)));
}

/** all: in the graph's order. launches: how many launches there are of a list. */
export function withOneGroupLaunches(
  all: readonly Grouped[],
  facts: Facts,
  launches: (list: readonly Grouped[]) => number,
): readonly Grouped[] {
  const owner = new Map(all.flatMap((grouped) => grouped.nodes.map((node) => [node, grouped] as const)));
  const taken = new Set<Grouped>();
  let [list, count] = [all, -1];
  for (let i = 0; i < MAX_LAUNCHES; i++) {
    const parts = partsOf(all, facts, taken, owner);
    if (!parts.some((x) => outputsOf(x).some(({ value }) => facts.states.has(value)))) break;
    const steps = stepsOf(parts, facts);
    const joined: Grouped = {
      nodes: steps.flat().flatMap(({ nodes }) => nodes),
      region: null,
      guest: null,
      ends: [...new Set(parts.flatMap(({ ends }) => ends))],
      steps,
    };
    const own = new Set(parts);
    const rest = list.filter((x) => !own.has(x));
    const behind = rest.findIndex((x) => x.steps !== undefined);
    const next = behind < 0 ? [...rest, joined] : [...rest.slice(0, behind), joined, ...rest.slice(behind)];
    if (count < 0) count = launches(list);
    const fewer = launches(next);
    if (fewer >= count) break;
    [list, count] = [next, fewer];
    for (const x of parts) taken.add(x);
  }
  return list;
}
