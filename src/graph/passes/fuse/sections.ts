/** Which threads of a launch write which outputs of a region, and the code of each. */
import type { Uint } from "../../../shader/numbers.ts";
import { isByte } from "../../../shader/operations/code.ts";
import { givesState } from "../../../shader/operations/draws.ts";
import type { Expr } from "../../graph.ts";
import type { AnyScope, Lanes } from "./lanes.ts";
import { RegionCode, type NamedRegion } from "./region-code.ts";
import type { Facts, Region } from "./region.ts";
import { writtenOf } from "./partial-writes.ts";

/** Outputs of as many elements, which the same threads write. */
export interface Section {
  readonly outputs: readonly number[];
  readonly elements: number;
  /** Elements of a thread. */
  readonly width: number;
}

/** Elements from which a thread computes several, whatever their number; and from which it does where no thread has fewer. */
const [MANY, SOME] = [2 ** 15, 4096];
/** Threads of a group, and of one where there are few: so more cores of a device have work. */
const [THREADS, FEW_THREADS] = [256, 64];

/** Elements that are written together, as words are. */
const wordOf = (outputs: readonly Expr[]): number =>
  outputs.some((x) => isByte(x.dtype)) ? 4 : outputs.some((x) => x.dtype === "float16") ? 2 : 1;

function widthFor(outputs: readonly Expr[], elements: number): number {
  if (elements >= MANY) return outputs.every((x) => x.dtype === "float16") ? 8 : 4;
  return elements >= SOME && elements % 4 === 0 ? 4 : wordOf(outputs);
}

export function sectionsOf({ nodes, outputs }: Pick<Region, "nodes" | "outputs">): Section[] {
  const states = new Set(nodes.filter(givesState).map((node) => node.outputs[0]!.value));
  const written = new Map(nodes.map((node) => [node.outputs[0]!.value, writtenOf(node)]));
  const sections = new Map<number, number[]>();
  const alone: Section[] = [];
  outputs.forEach((x, i) => {
    const n = written.get(x.value)!;
    // By one thread: it is written over what it is made of.
    if (states.has(x.value)) alone.push({ outputs: [i], elements: n, width: n });
    else sections.set(n, [...(sections.get(n) ?? []), i]);
  });
  const others = [...sections].map(([elements, list]): Section => {
    const width = widthFor(list.map((i) => outputs[i]!), elements); // prettier-ignore
    return { outputs: list, elements, width };
  });
  return [...others, ...alone];
}

/** Whether the last thread has fewer elements than the others. */
export const hasTail = (sections: readonly Section[]): boolean => sections.some(({ elements, width }) => elements % width !== 0);

export const launchedThreads = (sections: readonly Section[]): number => Math.max(...sections.map((x) => Math.ceil(x.elements / x.width)));
export const threadsFor = (sections: readonly Section[]): number => (launchedThreads(sections) < 2 ** 14 ? FEW_THREADS : THREADS);

/** size: the section's elements, a number of the launch. group: its index among those of the region. */
export function emitSection(s: AnyScope, region: NamedRegion, section: Section, size: Uint, facts: Facts, group: Uint): void {
  const { elements, width } = section;
  const at = group.mul(s.threads).add(s.local).mul(width);
  const run: Lanes = { kind: "run", base: at, step: 1, alignment: width & -width };
  const whole = (): void => write(s, region, section, facts, width, at, run);
  if (elements % width === 0) {
    s.if(at.lt(size), whole);
    return;
  }
  const last = size.sub(1);
  s.if(at.add(width).le(size), whole, () => s.if(at.lt(size), () => tail(s, region, section, facts, at, last))); // prettier-ignore
}

/** Computes all outputs before it writes the first: one may be written over what another one is made of. last: as RegionCode.store has it. */
function write(
  s: AnyScope,
  region: NamedRegion,
  { outputs }: Section,
  facts: Facts,
  width: number,
  at: Uint,
  lanes: Lanes,
  last: Uint | null = null,
): void {
  const code = new RegionCode(s, region, facts, width);
  const made = outputs.map((i) => code.result(facts.makers.get(region.outputs[i]!.value)!, lanes));
  outputs.forEach((i, k) => code.write(i, region.outputs[i]!.dtype, at, made[k]!, last));
}

/** The last thread, word by word. Elements outside of the tensor, in its last word, repeat the last one. */
function tail(s: AnyScope, region: NamedRegion, section: Section, facts: Facts, at: Uint, last: Uint): void {
  const each = wordOf(section.outputs.map((i) => region.outputs[i]!));
  for (let k = 0; k < section.width; k += each) {
    const start = at.add(k);
    s.if(start.le(last), () => {
      const lanes: Lanes = { kind: "each", at: Array.from({ length: each }, (_, lane) => start.add(lane).min(last)) };
      write(s, region, section, facts, each, start, lanes, last);
    });
  }
}
