/** Augmentations of images as lists of numbers, in float64: for given parameters, pixel by pixel. */
export interface Images {
  readonly shape: readonly [n: number, c: number, h: number, w: number];
  readonly data: readonly number[];
}
type Each<T> = (n: number) => T;

/** New images, pixel by pixel. at(n, c, y, x) reads the old ones; outside of them is NaN. */
function build(
  images: Images,
  [h, w]: readonly [number, number],
  pixel: (at: (n: number, c: number, y: number, x: number) => number, n: number, c: number, y: number, x: number) => number,
): number[] {
  const [batch, channels, height, width] = images.shape;
  const at = (n: number, c: number, y: number, x: number): number =>
    y < 0 || x < 0 || y >= height || x >= width ? NaN : images.data[((n * channels + c) * height + y) * width + x]!;
  const out: number[] = [];
  for (let n = 0; n < batch; n++)
    for (let c = 0; c < channels; c++) for (let y = 0; y < h; y++) for (let x = 0; x < w; x++) out.push(pixel(at, n, c, y, x));
  return out;
}
const sizeOf = ({ shape }: Images): readonly [number, number] => [shape[2], shape[3]];
const orElse = (v: number, fill: number): number => (Number.isNaN(v) ? fill : v);

export const crop = (
  images: Images,
  size: readonly [number, number],
  top: Each<number>,
  left: Each<number>,
  pad: number,
  fill: number,
): number[] => build(images, size, (at, n, c, y, x) => orElse(at(n, c, y + top(n) - pad, x + left(n) - pad), fill));

export const flip = (images: Images, flipped: Each<boolean>, isVertical: boolean): number[] => {
  const [h, w] = sizeOf(images);
  return build(images, [h, w], (at, n, c, y, x) => {
    if (!flipped(n)) return at(n, c, y, x);
    return isVertical ? at(n, c, h - 1 - y, x) : at(n, c, y, w - 1 - x);
  });
};

export type Box = readonly [top: number, left: number, height: number, width: number];
const isInside = ([top, left, height, width]: Box, y: number, x: number): boolean =>
  y >= top && y < top + height && x >= left && x < left + width;

export const erase = (images: Images, box: Each<Box>, value: Each<number>): number[] =>
  build(images, sizeOf(images), (at, n, c, y, x) => (isInside(box(n), y, x) ? value(c) : at(n, c, y, x)));

const previous = (images: Images, n: number): number => (n + images.shape[0] - 1) % images.shape[0];

export const cutmix = (images: Images, box: Each<Box>): number[] =>
  build(images, sizeOf(images), (at, n, c, y, x) => at(isInside(box(n), y, x) ? previous(images, n) : n, c, y, x));

export const mixup = (images: Images, weight: Each<number>): number[] =>
  build(images, sizeOf(images), (at, n, c, y, x) => weight(n) * at(n, c, y, x) + (1 - weight(n)) * at(previous(images, n), c, y, x));

/** The map of a pixel of x to a pixel of the result, around the centre: torchvision's rotation, shear and scale. */
export interface Affine {
  readonly angle: number;
  readonly translate: readonly [number, number];
  readonly scale: number;
  readonly shear: readonly [number, number];
}

export function affine(images: Images, parameters: Each<Affine>, isBilinear: boolean, fill: number): number[] {
  const [h, w] = sizeOf(images);
  return build(images, [h, w], (at, n, c, y, x) => {
    const { angle, translate, scale, shear } = parameters(n);
    const [r, sx, sy] = [angle, ...shear].map((v) => (v * Math.PI) / 180) as [number, number, number];
    // The matrix is a rotation after a shear along y, and that after one along x: solved here by Cramer's rule.
    const rotate = [[Math.cos(r), -Math.sin(r)], [Math.sin(r), Math.cos(r)]]; // prettier-ignore
    const lower = [[1, 0], [-Math.tan(sy), 1]]; // prettier-ignore
    const upper = [[1, -Math.tan(sx)], [0, 1]]; // prettier-ignore
    const times = (a: number[][], b: number[][]): number[][] =>
      a.map((row) => [0, 1].map((j) => row[0]! * b[0]![j]! + row[1]! * b[1]![j]!));
    const m = times(times(rotate, lower), upper).map((row) => row.map((v) => v * scale));
    const [px, py] = [x + 0.5 - w / 2 - translate[0], y + 0.5 - h / 2 - translate[1]];
    const det = m[0]![0]! * m[1]![1]! - m[0]![1]! * m[1]![0]!;
    const sourceX = (m[1]![1]! * px - m[0]![1]! * py) / det + w / 2 - 0.5;
    const sourceY = (-m[1]![0]! * px + m[0]![0]! * py) / det + h / 2 - 0.5;
    const read = (yy: number, xx: number): number => orElse(at(n, c, yy, xx), fill);
    if (!isBilinear) return read(Math.round(sourceY), Math.round(sourceX));
    const [y0, x0] = [Math.floor(sourceY), Math.floor(sourceX)];
    const [fy, fx] = [sourceY - y0, sourceX - x0];
    return (1 - fy) * ((1 - fx) * read(y0, x0) + fx * read(y0, x0 + 1)) + fy * ((1 - fx) * read(y0 + 1, x0) + fx * read(y0 + 1, x0 + 1));
  });
}

const limit = (v: number): number => Math.min(1, Math.max(0, v));
const grey = ([r, g, b]: readonly number[]): number => 0.2989 * r! + 0.587 * g! + 0.114 * b!;

/** The hue by the textbook: degrees of six sectors, and back. */
function shiftHue([r, g, b]: readonly number[], by: number): number[] {
  const [max, min] = [Math.max(r!, g!, b!), Math.min(r!, g!, b!)];
  const spread = max - min;
  if (spread === 0) return [r!, g!, b!];
  const hue = max === r ? (g! - b!) / spread : max === g ? 2 + (b! - r!) / spread : 4 + (r! - g!) / spread;
  const hued = (((hue / 6 + by) % 1) + 1) % 1;
  const [i, f] = [Math.floor(hued * 6), hued * 6 - Math.floor(hued * 6)];
  const s = spread / max;
  const [p, q, t] = [max * (1 - s), max * (1 - s * f), max * (1 - s * (1 - f))];
  return [[max, t, p], [q, max, p], [p, max, t], [p, q, max], [t, p, max], [max, p, q]][i % 6]!; // prettier-ignore
}

export interface Factors {
  readonly brightness: number;
  readonly contrast: number;
  readonly saturation: number;
  readonly hue: number;
}

export function colorJitter({ shape: [n, c, h, w], data }: Images, factors: Each<Factors>): number[] {
  const plane = h * w;
  const out = [...data];
  for (let k = 0; k < n; k++) {
    const { brightness, contrast, saturation, hue } = factors(k);
    const index = (p: number, j: number): number => (k * c + j) * plane + p;
    let pixels = Array.from({ length: plane }, (_, p) => [0, 1, 2].map((j) => limit(data[index(p, j)]! * brightness)));
    const mean = pixels.reduce((sum, p) => sum + grey(p), 0) / plane;
    pixels = pixels.map((p) => p.map((v) => limit(mean + (v - mean) * contrast)));
    pixels = pixels.map((p) => p.map((v) => limit(grey(p) + (v - grey(p)) * saturation)));
    pixels.map((p) => shiftHue(p, hue)).forEach((p, i) => p.forEach((v, j) => (out[index(i, j)] = v)));
  }
  return out;
}
