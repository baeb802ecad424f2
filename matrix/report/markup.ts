/** HTML from templates: every value is escaped unless it is markup itself. */
export class Markup {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

const entities: Readonly<Record<string, string>> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;" };

export const escape = (text: string): string => text.replace(/[&<>"']/g, (c) => entities[c]!);

export type Part = Markup | string | number | null | readonly Part[];

function show(part: Part): string {
  if (part === null) return "";
  if (part instanceof Markup) return part.text;
  if (typeof part === "object") return part.map(show).join("");
  return escape(String(part));
}

export const markup = (strings: TemplateStringsArray, ...parts: readonly Part[]): Markup =>
  new Markup(strings.map((text, i) => text + (i < parts.length ? show(parts[i]!) : "")).join(""));
