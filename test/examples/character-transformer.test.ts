import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { raw, run } from "./run.ts";

const small = ["--steps", "60", "--window", "32", "--width", "48", "--layers", "1", "--length", "60"];

interface Result {
  readonly characters: number;
  readonly firstLoss: number;
  readonly lastLoss: number;
  readonly written: string;
}

it("learns which characters follow which, and writes the same from the same seed", async () => {
  const [first, second] = await Promise.all([run<Result>("character-transformer", small), run<Result>("character-transformer", small)]);
  // An untrained network knows as much as the number of characters says.
  expect(first.firstLoss).toBeGreaterThan(Math.log(first.characters) - 0.5);
  expect(first.lastLoss).toBeLessThan(2.8);
  const known = new Set(readFileSync("examples/character-transformer/text.txt", "utf8"));
  expect(known.size).toBe(first.characters);
  expect(first.written).toHaveLength(60);
  expect(Array.from(first.written).every((c) => known.has(c))).toBe(true);
  expect(second).toEqual(first);
  const other = await run<Result>("character-transformer", [...small, "--seed", "2"]);
  expect(other.written).not.toBe(first.written);
});

it.each([
  [["--width", "50"], "--width must be a multiple of 4, the number of heads; received 50."],
  [["--prompt", "2 + 2"], 'The text that is learned has no "2": leave it out of --prompt.'],
  [["--prompt", ""], "--prompt must have at least one character."],
  [["--text", "nowhere.txt"], "The text can't be read: ENOENT: no such file or directory, open 'nowhere.txt'"],
  [["--window", "100000"], /must have more than 100000 characters; it has \d+\.$/],
])("%s is refused in words", async (args, message) => {
  const { exitCode, stderr } = await raw("character-transformer", ["--device", "cpu", ...args]);
  expect(exitCode).toBe(1);
  expect(stderr).toMatch(message);
});
