export interface Growth {
  readonly early: number;
  readonly late: number;
  readonly perHour: number;
  /** null: too few samples, or too short a time. */
  readonly isFlat: boolean | null;
}

/** A sample, as work.mjs writes it. */
export interface Sample {
  readonly seconds: number;
  readonly counts: { readonly asked: number; readonly answered: number; readonly wrong: number };
}

export function median(list: readonly number[]): number;
export function growthOf(samples: readonly Sample[], field: string): Growth;
export function verdictOf(
  samples: readonly Sample[],
  exit: { readonly code: number | null; readonly signal: string | null },
): { readonly problems: readonly string[]; readonly unjudged: readonly string[]; readonly growth: Readonly<Record<string, Growth>> };
