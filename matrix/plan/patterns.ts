/** "rtx-*" against an id. */
export function matches(id: string, patterns: readonly string[]): boolean {
  return patterns.some((pattern) => {
    const parts = pattern.split("*").map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));
    return new RegExp(`^${parts.join(".*")}$`).test(id);
  });
}

export interface Place {
  readonly platform: string;
  readonly node: string;
  readonly gpu: string;
}

/** Whether a rule of matrix.yaml means this place. */
export const holds = (
  rule: { readonly platform: readonly string[]; readonly node: readonly string[]; readonly gpu: readonly string[] },
  place: Place,
): boolean => matches(place.platform, rule.platform) && matches(place.node, rule.node) && matches(place.gpu, rule.gpu);
