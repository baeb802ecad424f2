/**
 * The differences from Microsoft's libraries that stay: each with the cases it touches, the devices it shows on, the reason and
 * the evidence. A difference that is not here fails; an entry whose cases all agree is reported, and fails with --strict.
 */

/** What an entry may depend on. */
export interface DeviceFacts {
  /** 0x6200 for 6.2. */
  readonly featureLevel: number;
  /** True where the adapter is a processor that stands for a GPU. */
  readonly onProcessor: boolean;
  /** True for Microsoft's DirectML, false for the software adapter. */
  readonly microsoft: boolean;
}

export interface Known {
  /** Ids of the cases. */
  readonly cases: RegExp;
  /** Of these cases' findings ("id: label", newline, text) those that match; all of them when left out. */
  readonly findings?: RegExp;
  /** Where it shows; everywhere when left out. */
  readonly on?: { readonly leastLevel?: number; readonly highestLevel?: number; readonly onProcessor?: boolean };
  readonly reason: string;
  readonly evidence: string;
}

export function applies({ on = {} }: Known, facts: DeviceFacts): boolean {
  return (
    facts.microsoft &&
    facts.featureLevel >= (on.leastLevel ?? 0) &&
    facts.featureLevel <= (on.highestLevel ?? Infinity) &&
    (on.onProcessor ?? facts.onProcessor) === facts.onProcessor
  );
}

export const known: readonly Known[] = [];
