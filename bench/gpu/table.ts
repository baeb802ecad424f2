// Tables of a report in Markdown.

export const number = (value) =>
  value === null || value === undefined || Number.isNaN(value) ? "–" : Number(value.toPrecision(3)).toString();
const row = (cells) => `| ${cells.join(" | ")} |`;
export const table = (head, rows) => [row(head), row(head.map(() => "---")), ...rows.map(row)].join("\n");
