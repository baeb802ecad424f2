/** What the page of a training shows, as plain data. */

/** A point of a curve: optimizer step and value; null for NaN and infinities. */
export type PagePoint = readonly [step: number, value: number | null];

export interface PageState {
  readonly title: string;
  /** "running", or how the training ended. */
  status: string;
  step: number;
  epoch: number;
  epochs: number | null;
  steps: number | null;
  secondsLeft: number | null;
  readonly configuration: (readonly [name: string, value: string])[];
  /** By chart ("loss", "accuracy", …), and in it by line ("training", "evaluation"). */
  readonly curves: { readonly [chart: string]: { readonly [line: string]: PagePoint[] } };
  /** Steps that were the best so far, and the monitored value. */
  best: PagePoint | null;
}

/** What an event changes: fields to replace, and points to append. */
export interface PageChange {
  readonly fields?: Partial<Omit<PageState, "curves" | "title">>;
  readonly points?: readonly (readonly [chart: string, line: string, point: PagePoint])[];
}

/** The most points of a line: then every second is left out. */
const MOST_POINTS = 2000;

export const point = (step: number, value: number): PagePoint => [step, Number.isFinite(value) ? value : null];

/** Applies a change to a state. */
export function apply(state: PageState, { fields, points = [] }: PageChange): void {
  Object.assign(state, fields);
  const curves = state.curves as Record<string, Record<string, PagePoint[]>>;
  for (const [chart, line, added] of points) {
    const lines = (curves[chart] ??= {});
    const all = (lines[line] ??= []);
    all.push(added);
    if (all.length > MOST_POINTS) lines[line] = all.filter((_, i) => i % 2 === 1 || i === all.length - 1);
  }
}
