/** Pieces of an output into lines. */
import { expect, it } from "vitest";
import { lineReader, lineStream } from "../../scripts/tools/lines.ts";

it("come whole out of pieces that cut characters and line ends", async () => {
  const lines: string[] = [];
  const stream = lineStream((line) => lines.push(line));
  const bytes = Buffer.from("grün\r\nzwei\nrest");
  for (const byte of bytes) stream.write(Buffer.from([byte]));
  await new Promise<void>((resolve) => {
    stream.end(resolve);
  });
  expect(lines).toEqual(["grün", "zwei", "rest"]);
});

it("are without colours, and the last needs no end", () => {
  const lines: string[] = [];
  const reader = lineReader((line) => lines.push(line));
  for (const piece of ["\x1b[31mred\x1b[0m\n", "\n", "la", "st"]) reader.take(piece);
  expect(lines).toEqual(["red", ""]);
  reader.end();
  reader.end();
  expect(lines).toEqual(["red", "", "last"]);
});
