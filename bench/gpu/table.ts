// Tables of a report in Markdown.

export const number = (value: number | null | undefined): string =>
  value === null || value === undefined || Number.isNaN(value) ? "–" : Number(value.toPrecision(3)).toString();
const row = (cells: readonly unknown[]) => `| ${cells.join(" | ")} |`;
export const table = (head: readonly string[], rows: readonly (readonly unknown[])[]): string =>
  [row(head), row(head.map(() => "---")), ...rows.map(row)].join("\n");
