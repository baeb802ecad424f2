/** Draws boxes into a picture's bytes. */
import type { Box } from "./geometry.ts";

/** Bytes [3, height, width], red, green, blue. */
export interface Picture {
  readonly data: Uint8Array;
  readonly height: number;
  readonly width: number;
}

/** The edges of a box, as thick as so many pixels. */
export function drawBox({ data, height, width }: Picture, box: Box, color: readonly [number, number, number], thickness: number): void {
  for (const [i, [ax, ay]] of box.entries()) {
    const [bx, by] = box[(i + 1) % 4]!;
    const steps = Math.max(1, Math.ceil(Math.max(Math.abs(bx - ax), Math.abs(by - ay))));
    for (let s = 0; s <= steps; s++) {
      const left = Math.round(ax + ((bx - ax) * s) / steps - (thickness - 1) / 2);
      const top = Math.round(ay + ((by - ay) * s) / steps - (thickness - 1) / 2);
      for (let y = Math.max(0, top); y < Math.min(height, top + thickness); y++)
        for (let x = Math.max(0, left); x < Math.min(width, left + thickness); x++)
          for (let c = 0; c < 3; c++) data[(c * height + y) * width + x] = color[c]!;
    }
  }
}
