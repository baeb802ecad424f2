/** "rtx-*" against an id. */
export function matches(id: string, patterns: readonly string[]): boolean {
  return patterns.some((pattern) => {
    const parts = pattern.split("*").map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));
    return new RegExp(`^${parts.join(".*")}$`).test(id);
  });
}

export interface CellKey {
  readonly platform: string;
  readonly node: string;
  readonly gpu: string;
}

/** Whether a rule of matrix.yaml names this cell. */
export const holds = (
  rule: { readonly platform: readonly string[]; readonly node: readonly string[]; readonly gpu: readonly string[] },
  key: CellKey,
): boolean => matches(key.platform, rule.platform) && matches(key.node, rule.node) && matches(key.gpu, rule.gpu);
