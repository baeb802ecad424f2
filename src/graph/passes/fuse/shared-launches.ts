/** Regions that do not depend on each other, as one launch: groups of threads of each, one behind the other. */
import type { GraphNode, Value } from "../../graph.ts";
import { skipsOf } from "../../../shader/operations/draws.ts";
import { isSmallReduction, type Grouped } from "./clusters.ts";
import type { Form } from "./region-form.ts";
import { canShareThreads, groupsOf } from "./launch.ts";
import type { Facts } from "./region.ts";
import { sectionsOf } from "./sections.ts";
import { fitViews } from "./views.ts";

/** Groups of a region that a device runs together with others; larger regions take as long alone. */
const MAX_GROUPS = 256;
/** Nodes of a launch: pipelines of longer shaders take long to be made. */
const MAX_NODES = 96;
/** Sizes and numbers of a launch, of the 32 that a shader may have. */
const [MAX_PARTS, MAX_SKIPS] = [6, 8];
/** Of the 32 numbers, those that are left for elements of sections, ends of parts and blocks that draws skip. */
const MAX_NUMBERS = 20;

/** What a group is as part of a launch; null: it is none. */
export const formIn = ({ region, guest }: Grouped): Form | null => region ?? guest;

/** How many steps each begins after: what one depends on has fewer. */
function stepsOf(all: readonly Grouped[], facts: Facts): number[] {
  const steps = new Map<Value, number>();
  return all.map(({ nodes }) => {
    const own = new Set(nodes.flatMap((node) => node.outputs.flatMap((x) => (x === null ? [] : [x.value]))));
    let step = 0;
    for (const node of nodes)
      for (const value of [...node.inputs.map((x) => x?.value), ...(node.after ?? [])])
        if (value !== undefined && !own.has(value) && facts.makers.has(value)) step = Math.max(step, (steps.get(value) ?? 0) + 1);
    for (const value of own) steps.set(value, step);
    return step;
  });
}

/** Whether it consists of small reductions that no region reads, such as the gradient of a bias for the optimizer. It is launched later, together with others. */
function isLateReduction(
  { nodes, region }: Grouped,
  facts: Facts,
  groups: ReadonlyMap<GraphNode, number>,
  all: readonly Grouped[],
): boolean {
  if (region === null || region.rows === null || !nodes.every((node) => isSmallReduction(node))) return false;
  return nodes.every((node) => {
    const { value } = node.outputs[0]!;
    const readers = facts.readers.get(value) ?? [];
    return readers.length > 0 && !facts.results.has(value) && readers.every((reader) => formIn(all[groups.get(reader)!]!) === null);
  });
}

/** The step at which each is launched. A late one waits for the last step before its first reader that launches a region anyway, or for that before the reader. */
function launchSteps(all: readonly Grouped[], facts: Facts): number[] {
  const steps = stepsOf(all, facts);
  const groups = new Map(all.flatMap(({ nodes }, i) => nodes.map((node) => [node, i] as const)));
  const late = all.map((grouped) => isLateReduction(grouped, facts, groups, all));
  const hosts = new Set(all.flatMap(({ region }, i) => (region === null || late[i]! || groupsOf(region) > MAX_GROUPS ? [] : [steps[i]!])));
  return all.map(({ nodes }, i) => {
    if (!late[i]!) return steps[i]!;
    const readers = nodes.flatMap((node) => facts.readers.get(node.outputs[0]!.value)!);
    const last = Math.min(...readers.map((reader) => steps[groups.get(reader)!]!)) - 1;
    for (let step = last; step >= steps[i]!; step--) if (hosts.has(step)) return step;
    return last;
  });
}

/**
 * By the steps of regions that write a state which others read before, and that nothing else waits for: the first step after these at which a region is
 * launched anyway. There the new state is written in place.
 */
function lateWriters(all: readonly Grouped[], facts: Facts, steps: readonly number[]): Map<Grouped, number> {
  const groups = new Map(all.flatMap(({ nodes }, i) => nodes.map((node) => [node, i] as const)));
  const late = new Map<Grouped, number>();
  const waits = all.map((grouped) => {
    const form = formIn(grouped);
    return form !== null && groupsOf(form) <= MAX_GROUPS && writesReadState(grouped, form, facts) && isLast(grouped, form, facts);
  });
  all.forEach((grouped, i) => {
    if (!waits[i]!) return;
    const buffers = formIn(grouped)!.outputs.flatMap((x) => facts.states.get(x.value) ?? []);
    const readers = buffers.flatMap((buffer) => facts.readers.get(buffer) ?? []).filter((node) => !grouped.nodes.includes(node));
    // One that waits for others may be what they wait for.
    if (readers.some((node) => waits[groups.get(node)!]!)) return;
    const first = Math.max(steps[i]!, ...readers.map((node) => steps[groups.get(node)!]! + 1));
    const hosts = all.flatMap((other, k) => {
      const form = formIn(other);
      return other.region !== null && form !== null && !waits[k]! && groupsOf(form) <= MAX_GROUPS && steps[k]! >= first ? [steps[k]!] : [];
    });
    late.set(grouped, hosts.length > 0 ? Math.min(...hosts) : first);
  });
  return late;
}

/** Whether it makes new values of state alone, none of which the graph or its results need. */
const isLast = ({ nodes }: Grouped, { outputs }: Form, { states, readers, returned }: Facts): boolean =>
  outputs.every((x) => {
    const buffer = states.get(x.value);
    return (
      buffer !== undefined &&
      !returned.has(buffer) &&
      !returned.has(x.value) &&
      (readers.get(x.value) ?? []).every((r) => nodes.includes(r))
    );
  });

/** Regions that are launched together, by the first of them; what is no region, and large ones, alone. */
export function sharedLaunches(all: readonly Grouped[], facts: Facts): (readonly Grouped[])[] {
  const steps = launchSteps(all, facts);
  const late = lateWriters(all, facts, steps);
  const launches: Grouped[][] = [];
  /** By their step. */
  const open = new Map<number, Grouped[][]>();
  all.forEach((grouped, i) => {
    const region = formIn(grouped);
    if (region === null || groupsOf(region) > MAX_GROUPS || (writesReadState(grouped, region, facts) && !late.has(grouped))) {
      launches.push([grouped]);
      return;
    }
    const at = late.get(grouped) ?? steps[i]!;
    const step = open.get(at) ?? [];
    const list = step.find((other) => fits([...other, grouped], facts));
    if (list !== undefined) {
      list.push(grouped);
      return;
    }
    const begun = [grouped];
    launches.push(begun);
    open.set(at, [...step, begun]);
  });
  return inOrder(launches, all, facts, new Set(late.keys()));
}

/** Whether it writes a state whose old value other nodes read: it can be written in place only after they have. */
function writesReadState({ nodes }: Grouped, { outputs }: Form, { states, readers, results }: Facts): boolean {
  return outputs.some((x) => {
    const buffer = states.get(x.value);
    return buffer !== undefined && (results.has(buffer) || (readers.get(buffer) ?? []).some((reader) => !nodes.includes(reader)));
  });
}

/** Whether one reads what another one writes in part. */
function readsUpdated(forms: readonly Form[]): boolean {
  const updated = new Set(forms.flatMap(({ sources }) => sources.flatMap(({ value, isUpdated }) => (isUpdated === true ? [value] : []))));
  const times = forms.flatMap(({ sources }) => [...new Set(sources.map(({ value }) => value))]).filter((value) => updated.has(value));
  return times.length > updated.size;
}

function fits(list: readonly Grouped[], facts: Facts): boolean {
  const forms = list.map((grouped) => formIn(grouped)!);
  const nodes = list.reduce((n, x) => n + x.nodes.length, 0);
  const skips = forms.reduce((n, form) => n + skipsOf(form).length, 0);
  const sections = forms.reduce((n, form) => n + (form.rows === null ? sectionsOf(form).length : 0), 0);
  if (skips > MAX_SKIPS || (list.length > 1 && skips + sections + list.length > MAX_NUMBERS)) return false;
  return (
    !readsUpdated(forms) && nodes <= MAX_NODES && list.length <= MAX_PARTS && canShareThreads(forms) && fitViews(forms, facts.maxBuffers)
  );
}

/** As the regions were ordered, by the last of each launch, but behind what it depends on. */
function inOrder(launches: readonly Grouped[][], all: readonly Grouped[], facts: Facts, late: ReadonlySet<Grouped>): Grouped[][] {
  const positions = new Map(all.map((grouped, i) => [grouped, i]));
  const launchOf = new Map(launches.flatMap((list) => list.flatMap(({ nodes }) => nodes.map((node) => [node, list] as const))));
  const done = new Set<Grouped[]>();
  const result: Grouped[][] = [];
  /** Launches that read what a late one writes over. */
  const overwritten = (list: Grouped[]): Grouped[][] =>
    list.filter((grouped) => late.has(grouped)).flatMap((grouped) =>
      formIn(grouped)!.outputs.flatMap((x) => {
        const buffer = facts.states.get(x.value);
        const readers = buffer === undefined ? [] : (facts.readers.get(buffer) ?? []);
        return readers.map((node) => launchOf.get(node)!).filter((needed) => needed !== list && !done.has(needed));
      }),
    ); // prettier-ignore
  const before = (list: Grouped[]): Grouped[][] => [
    ...overwritten(list),
    ...list.flatMap(({ nodes }) =>
      nodes.flatMap((node) =>
        [...node.inputs.map((x) => x?.value), ...(node.after ?? [])].flatMap((value) => {
          const maker = value === undefined ? undefined : facts.makers.get(value);
          const needed = maker === undefined ? list : launchOf.get(maker)!;
          return needed === list || done.has(needed) ? [] : [needed];
        }),
      ),
    ),
  ];
  const last = (list: Grouped[]): number => Math.max(...list.map((grouped) => positions.get(grouped)!));
  for (const launch of launches.toSorted((a, b) => last(a) - last(b))) {
    const stack = [launch];
    for (let at = stack.at(-1); at !== undefined; at = stack.at(-1)) {
      const needed = done.has(at) ? [] : before(at);
      if (needed.length > 0) {
        stack.push(...needed);
        continue;
      }
      stack.pop();
      if (!done.has(at)) result.push(at);
      done.add(at);
    }
  }
  return result;
}
