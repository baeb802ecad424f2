/** From a map of text probabilities to boxes around lines of text: the post-processing of DB (differentiable binarization). Reference: PaddleOCR's DBPostProcess. */
import { cornersOf, distance, smallestRectangle, ordered, type Box, type Point } from "./geometry.ts";

export interface BoxOptions {
  /** A pixel above this probability is text. */
  readonly threshold: number;
  /** Boxes whose mean probability is below this are left out. */
  readonly boxThreshold: number;
  /** How far a box grows: its area times this, divided by its circumference. */
  readonly unclipRatio: number;
}

/** A map of probabilities [height, width] in row-major order. */
export interface ProbabilityMap {
  readonly data: Float32Array;
  readonly height: number;
  readonly width: number;
}

const MIN_SIDE = 3;
const MAX_BOXES = 1000;

/** 1 where a pixel, or one to its left, above it or both, is text. */
function dilated({ data, height, width }: ProbabilityMap, threshold: number): Uint8Array {
  const mask = new Uint8Array(data.length);
  for (let y = 0, i = 0; y < height; y++)
    for (let x = 0; x < width; x++, i++) {
      const isText =
        data[i]! > threshold ||
        (x > 0 && data[i - 1]! > threshold) ||
        (y > 0 && (data[i - width]! > threshold || (x > 0 && data[i - width - 1]! > threshold)));
      if (isText) mask[i] = 1;
    }
  return mask;
}

/** The pixels at the left and right ends of each row of each connected part; parts connect by corners too. The mask is cleared. */
function* partsOf(mask: Uint8Array, width: number): Generator<Point[]> {
  const height = mask.length / width;
  const stack: number[] = [];
  for (let first = 0; first < mask.length; first++) {
    if (mask[first] === 0) continue;
    const rows = new Map<number, [left: number, right: number]>();
    mask[first] = 0;
    stack.push(first);
    for (let at = stack.pop(); at !== undefined; at = stack.pop()) {
      const [x, y] = [at % width, Math.floor(at / width)];
      const row = rows.get(y);
      if (row === undefined) rows.set(y, [x, x]);
      else {
        row[0] = Math.min(row[0], x);
        row[1] = Math.max(row[1], x);
      }
      for (let v = Math.max(0, y - 1); v <= Math.min(height - 1, y + 1); v++)
        for (let u = Math.max(0, x - 1); u <= Math.min(width - 1, x + 1); u++)
          if (mask[v * width + u] === 1) {
            mask[v * width + u] = 0;
            stack.push(v * width + u);
          }
    }
    yield [...rows].flatMap(([y, [left, right]]): Point[] => [[left, y], [right, y]]); // prettier-ignore
  }
}

/** The mean probability of the pixels in a box. */
export function meanIn({ data, height, width }: ProbabilityMap, box: Box): number {
  const points = box.map(([x, y]): Point => [Math.trunc(x), Math.trunc(y)]);
  const ys = points.map(([, y]) => y);
  let [sum, count] = [0, 0];
  for (let y = Math.max(0, Math.min(...ys)); y <= Math.min(height - 1, Math.max(...ys)); y++) {
    let [left, right] = [Infinity, -Infinity];
    for (const [i, [ax, ay]] of points.entries()) {
      const [bx, by] = points[(i + 1) % 4]!;
      if (y < Math.min(ay, by) || y > Math.max(ay, by)) continue;
      const ends = ay === by ? [ax, bx] : [ax + ((y - ay) * (bx - ax)) / (by - ay)];
      left = Math.min(left, ...ends);
      right = Math.max(right, ...ends);
    }
    for (let x = Math.max(0, Math.round(left)); x <= Math.min(width - 1, Math.round(right)); x++) {
      sum += data[y * width + x]!;
      count++;
    }
  }
  return count === 0 ? 0 : sum / count;
}

/** Boxes in the pixels of an image of another size, whose map this is. */
export function boxesOf(map: ProbabilityMap, image: { readonly height: number; readonly width: number }, options: BoxOptions): Box[] {
  const boxes: Box[] = [];
  for (const points of partsOf(dilated(map, options.threshold), map.width)) {
    if (boxes.length === MAX_BOXES) break;
    const small = smallestRectangle(points);
    const [w, h] = small.size;
    if (Math.min(w, h) < MIN_SIDE || meanIn(map, cornersOf(small)) < options.boxThreshold) continue;
    // A rectangle whose sides move out by this.
    const grown = (w * h * options.unclipRatio) / (2 * (w + h));
    const large = { ...small, size: [w + 2 * grown, h + 2 * grown] as const };
    if (Math.min(...large.size) < MIN_SIDE + 2) continue;
    const scaled = cornersOf(large).map(([x, y]): Point => {
      const inside = (v: number, length: number): number => Math.min(length - 1, Math.max(0, Math.round(v)));
      return [inside((x / map.width) * image.width, image.width), inside((y / map.height) * image.height, image.height)];
    });
    const box = ordered(scaled);
    if (Math.floor(distance(box[0], box[1])) > MIN_SIDE && Math.floor(distance(box[0], box[3])) > MIN_SIDE) boxes.push(box);
  }
  return inReadingOrder(boxes);
}

/** From top to bottom; boxes whose upper edges differ by less than 10 pixels from left to right. */
export function inReadingOrder(boxes: readonly Box[]): Box[] {
  const sorted = boxes.toSorted(([a], [b]) => a[1] - b[1] || a[0] - b[0]);
  for (let i = 0; i + 1 < sorted.length; i++)
    for (let j = i; j >= 0; j--) {
      const [a, b] = [sorted[j]!, sorted[j + 1]!];
      if (Math.abs(b[0][1] - a[0][1]) >= 10 || b[0][0] >= a[0][0]) break;
      [sorted[j], sorted[j + 1]] = [b, a];
    }
  return sorted;
}
