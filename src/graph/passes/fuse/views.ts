/** How many views the buffers of a launch take. A buffer that is accessed by words as well as by texels of four has two. */
import { MAX_BUFFERS } from "../../../shader/dxbc/emit.ts";
import type { GraphNode } from "../../graph.ts";
import type { Form } from "./region-form.ts";
import { hasTail, sectionsOf } from "./sections.ts";
import { gathers } from "../../../shader/operations/table.ts";
import { isScatter } from "./partial-writes.ts";
import { readsMany } from "./work.ts";

/** Elements of a texel. */
const TEXEL = 4;

/** Whether a node may read one buffer by texels here and by words there. */
const readsBoth = (node: GraphNode): boolean => readsMany(node) || gathers(node);

export interface Accesses {
  readonly texels: boolean;
  readonly words: boolean;
}

/** Whether threads of several elements may write some by words: those that indices choose. */
const writesBoth = (form: Form): boolean => form.nodes.some(isScatter) && (form.rows !== null || sectionsOf(form).some((x) => x.width > 1));

/** How a region's shader may access its buffers. */
export function accessesOf(form: Form): Accesses {
  if (form.nodes.some(readsBoth) || writesBoth(form)) return { texels: true, words: true };
  if (form.rows !== null) return { texels: form.rows.plan.width >= TEXEL, words: true };
  const sections = sectionsOf(form);
  return { texels: sections.some((x) => x.width >= TEXEL), words: hasTail(sections) || sections.some((x) => x.width < TEXEL) };
}

/** Whether all buffers of a region may have two views. */
export const bindsWords = (form: Form): boolean =>
  form.rows !== null || form.nodes.some(readsBoth) || writesBoth(form) || hasTail(sectionsOf(form));

/** Whether the buffers of regions fit into one launch. maxBuffers: views, where there are texels, else buffers. */
export function fitViews(forms: readonly Form[], maxBuffers: number): boolean {
  const views = new Map<string, Accesses>();
  for (const form of forms) {
    const own = accessesOf(form);
    for (const { value, element, dtype, isUpdated = false } of form.sources) {
      const key = `${value.id} ${element} ${dtype}`;
      if (isUpdated) {
        views.set(`begin ${value.id}`, { texels: false, words: true });
        continue;
      }
      const before = views.get(key);
      views.set(key, { texels: own.texels || before?.texels === true, words: own.words || before?.words === true });
    }
    for (const { value } of form.outputs) views.set(`result ${value.id}`, own);
  }
  if (maxBuffers <= MAX_BUFFERS) return views.size <= maxBuffers;
  return [...views.values()].reduce((n, { texels, words }) => n + Number(texels) + Number(words), 0) <= maxBuffers;
}
