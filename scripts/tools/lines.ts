// Text into lines: pieces of an output end anywhere.
import { stripVTControlCharacters } from "node:util";

interface LineReader {
  take(text: string): void;
  /** Hands on what came after the last line's end. */
  end(): void;
}

/** Characters: what has no end is handed on in pieces, instead of being kept. */
const longest = 1 << 16;

/** Hands each line on without its end and without colours. */
export function lineReader(onLine: (line: string) => void): LineReader {
  let rest = "";
  return {
    take(text) {
      const lines = (rest + text).split(/\r?\n/);
      rest = lines.pop() ?? "";
      for (const line of lines) onLine(stripVTControlCharacters(line));
      if (rest.length < longest) return;
      onLine(stripVTControlCharacters(rest));
      rest = "";
    },
    end() {
      if (rest !== "") onLine(stripVTControlCharacters(rest));
      rest = "";
    },
  };
}
