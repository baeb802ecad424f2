/** PP-OCR: three networks that find lines of text, see which are upside down, and read them. Pictures are float32 [1, 3, H, W], BGR, 0 to 255, on the device. */
import * as dx from "dxtensor";
import { boxesOf, type BoxOptions } from "./boxes.ts";
import { ctcText, type ReadText } from "./ctc.ts";
import { distance, projection, type Box, type Point } from "./geometry.ts";

export interface Models {
  readonly det: dx.io.onnx.OnnxModel;
  readonly cls: dx.io.onnx.OnnxModel | null;
  readonly rec: dx.io.onnx.OnnxModel;
}

export interface FoundLine extends ReadText {
  readonly box: Box;
}

export interface ReadOptions extends BoxOptions {
  /** The network that finds text gets a picture whose shorter side has at least so many pixels. */
  readonly side: number;
  /** Lines that the network reads with less certainty are left out. */
  readonly minScore: number;
}

const HEIGHT = 48;
const CLS_WIDTH = 192;
const REC_WIDTH = 320;
/** Widths are rounded up to multiples, so that few programs are compiled. */
const ROUNDED_TO = 64;
const BATCH = 6;
/** Larger pictures are made smaller. */
const MAX_SIDE = 2000;
/** Of a picture without rows around it, and how much wider than high it is. */
const MIN_HEIGHT = 30;
const MAX_RATIO = 8;

const { interpolate, gridSample, pad } = dx.nn.functional;

/** Bytes again, as of a picture that was stored between two steps. */
const rounded = (x: dx.Tensor): dx.Tensor => x.round().clamp(0, 255);
const normalized = (x: dx.Tensor): dx.Tensor => x.div(127.5).sub(1);
const resized = (x: dx.Tensor, height: number, width: number): dx.Tensor =>
  rounded(interpolate(x, { size: [height, width], mode: "bilinear", alignCorners: false }));
const only = (model: dx.io.onnx.OnnxModel, x: dx.Tensor): dx.Tensor => model.call(x)[model.outputs[0]!.name]!;

/** Lengths for the network that finds text: multiples of 32. */
export function sizeForDetection(height: number, width: number, side: number): readonly [number, number] {
  const ratio = Math.max(1, side / Math.min(height, width));
  const of = (length: number): number => Math.max(32, Math.round(Math.trunc(length * ratio) / 32) * 32);
  return [of(height), of(width)];
}

async function find(det: dx.io.onnx.OnnxModel, picture: dx.Tensor, options: ReadOptions): Promise<Box[]> {
  const [height, width] = picture.shape.slice(2) as [number, number];
  const map = dx.scope(() => only(det, normalized(resized(picture, ...sizeForDetection(height, width, options.side)))));
  try {
    const [h, w] = map.shape.slice(2) as [number, number];
    return boxesOf({ data: (await map.data()) as Float32Array, height: h, width: w }, { height, width }, options);
  } finally {
    map.dispose();
  }
}

/** What a box shows, straightened; a high narrow one is rotated to the left. */
function cropOf(picture: dx.Tensor, box: Box): dx.Tensor {
  const [H, W] = picture.shape.slice(2) as [number, number];
  const width = Math.max(1, Math.trunc(Math.max(distance(box[0], box[1]), distance(box[2], box[3]))));
  const height = Math.max(1, Math.trunc(Math.max(distance(box[0], box[3]), distance(box[1], box[2]))));
  const at = projection(width, height, box);
  const grid = new Float32Array(height * width * 2);
  for (let v = 0, i = 0; v < height; v++)
    for (let u = 0; u < width; u++, i += 2) {
      const [x, y] = at(u, v);
      grid[i] = (2 * x) / Math.max(1, W - 1) - 1;
      grid[i + 1] = (2 * y) / Math.max(1, H - 1) - 1;
    }
  const coordinates = dx.tensor(grid, { shape: [1, height, width, 2], device: picture.device });
  const crop = rounded(gridSample(picture, coordinates, { mode: "bicubic", paddingMode: "border", alignCorners: true }));
  return height / width >= 1.5 ? crop.rot90(1, [2, 3]) : crop;
}

const ratioOf = (crop: dx.Tensor): number => crop.shape[3]! / crop.shape[2]!;

/** One batch of crops of one height, filled up at the right by zeros. */
function batchOf(crops: readonly dx.Tensor[], width: number): dx.Tensor {
  return dx.cat(
    crops.map((crop) => {
      const own = Math.min(width, Math.ceil(HEIGHT * ratioOf(crop)));
      return pad(normalized(resized(crop, HEIGHT, own)), [0, width - own]);
    }),
  );
}

/** Turns crops that are upside down. */
async function upright(cls: dx.io.onnx.OnnxModel, crops: readonly dx.Tensor[]): Promise<dx.Tensor[]> {
  const found: dx.Tensor[] = [];
  for (let at = 0; at < crops.length; at += BATCH) {
    const part = crops.slice(at, at + BATCH);
    const scores = (await only(cls, batchOf(part, CLS_WIDTH)).toArray()) as number[][];
    found.push(...part.map((crop, i) => (scores[i]![1]! > 0.9 ? crop.flip([2, 3]) : crop)));
  }
  return found;
}

/** The characters of the network's classes: its file has them, with the space behind. */
export function charactersOf(rec: dx.io.onnx.OnnxModel): string[] {
  const text = rec.metadata["character"];
  if (text === undefined) throw new dx.FormatError("ocr", "the network that reads", "with its characters in its metadata", "none");
  return [...text.replace(/\r?\n$/, "").split(/\r?\n/), " "];
}

async function readCrops(rec: dx.io.onnx.OnnxModel, crops: readonly dx.Tensor[]): Promise<ReadText[]> {
  const characters = charactersOf(rec);
  const order = crops.map((_, i) => i).toSorted((a, b) => ratioOf(crops[a]!) - ratioOf(crops[b]!));
  const found: ReadText[] = [];
  for (let at = 0; at < order.length; at += BATCH) {
    const part = order.slice(at, at + BATCH);
    const widest = Math.max(REC_WIDTH, ...part.map((i) => Math.trunc(HEIGHT * ratioOf(crops[i]!))));
    const width = ROUNDED_TO * Math.ceil(widest / ROUNDED_TO);
    const { values, indices } = only(rec, batchOf(part.map((i) => crops[i]!), width)).max(2); // prettier-ignore
    const probabilities = (await values.toArray()) as number[][];
    const best = (await indices.toArray()) as number[][];
    for (const [k, i] of part.entries()) found[i] = ctcText(best[k]!, probabilities[k]!, characters);
  }
  return found;
}

/** A picture in which the networks find text well, and how its pixels are those of the first one: times `scale`, after `top` rows. */
function resizedForText(picture: dx.Tensor): { readonly picture: dx.Tensor; readonly scale: number; readonly top: number } {
  const [height, width] = picture.shape.slice(2) as [number, number];
  const scale = Math.max(1, Math.max(height, width) / MAX_SIDE);
  const of = (length: number): number => Math.max(1, Math.round(length / scale));
  const small = scale === 1 ? picture : resized(picture, of(height), of(width));
  const [h, w] = small.shape.slice(2) as [number, number];
  if (h > MIN_HEIGHT && w / h <= MAX_RATIO) return { picture: small, scale, top: 0 };
  // A banner gets black rows above and below.
  const top = Math.trunc(Math.abs(2 * Math.max(Math.trunc(w / MAX_RATIO), MIN_HEIGHT) - h) / 2);
  return { picture: pad(small, [0, 0, top, top]), scale, top };
}

/** The lines of text in a picture, in reading order. */
export const readPicture = (models: Models, picture: dx.Tensor, options: ReadOptions): Promise<FoundLine[]> =>
  dx.scope(async () => {
    const seen = resizedForText(picture);
    const boxes = await find(models.det, seen.picture, options);
    const crops = boxes.map((box) => cropOf(seen.picture, box));
    const texts = await readCrops(models.rec, models.cls === null ? crops : await upright(models.cls, crops));
    const [height, width] = picture.shape.slice(2) as [number, number];
    const inPicture = ([x, y]: Point): Point => [
      Math.min(width, x * seen.scale),
      Math.min(height, Math.max(0, (y - seen.top) * seen.scale)),
    ];
    const lines = boxes.map((box, i) => ({ box: box.map(inPicture) as unknown as Box, ...texts[i]! }));
    return lines.filter(({ score }) => score >= options.minScore);
  });
