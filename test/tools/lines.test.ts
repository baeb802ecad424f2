/** Pieces of an output into lines. */
import { expect, it } from "vitest";
import { lineReader } from "../../scripts/tools/lines.ts";

function read(pieces: Iterable<string>): string[] {
  const lines: string[] = [];
  const reader = lineReader((line) => lines.push(line));
  for (const piece of pieces) reader.take(piece);
  reader.end();
  reader.end();
  return lines;
}

it("come whole out of pieces that cut line ends", () => {
  expect(read("grün\r\nzwei\nrest")).toEqual(["grün", "zwei", "rest"]);
});

it("are without colours, and the last needs no end", () => {
  expect(read(["\x1b[31mred\x1b[0m\n", "\n", "la", "st"])).toEqual(["red", "", "last"]);
});

it("are handed on in pieces where they do not end", () => {
  const lines = read(Array.from({ length: 1000 }, () => "x".repeat(1000)));
  expect(lines.length).toBeGreaterThan(10);
  expect(lines.join("")).toBe("x".repeat(1_000_000));
});
