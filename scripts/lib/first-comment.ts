// The first sentence of a source file's first comment: the title of its API page.

/** The first sentence of a file's first documentation comment, without its end; `fallback` where there is none. */
export function firstSentence(text: string, fallback: string): string {
  const found = /^\/\*\*\s*([\s\S]*?)\*\//.exec(text);
  if (found === null) return fallback;
  const line = found[1]!
    .replace(/^\* /, "")
    .replaceAll(/\n \* ?/g, " ")
    .replace(/@\w+[^.]*$/, "")
    .trim();
  return line.split(/(?<=[.:]) /)[0]!.replace(/[.:]$/, "");
}
