/** Text in pictures: PP-OCR's three ONNX models, from an image file to its lines of text. */
import { join } from "node:path";
import * as dx from "dxtensor";
import { decodePixels, saveImage } from "dxtensor/images";
import { exampleCommand, isMain, real, requireOptions, runExample, saying, whole, type CommonOptions } from "../shared/command.ts";
import { drawBox } from "./drawing.ts";
import { readPicture, type Models } from "./reader.ts";

interface Options extends CommonOptions {
  readonly models: string;
  readonly det: string;
  readonly cls: string;
  readonly rec: string;
  readonly image: string;
  readonly output?: string;
  readonly side: number;
  readonly threshold: number;
  readonly boxThreshold: number;
  readonly unclip: number;
  readonly minScore: number;
  readonly upright: boolean;
}

const command = exampleCommand(
  "ocr",
  "Reads the text in a picture, by the ONNX models of the package rapidocr-onnxruntime. Needs the package sharp.",
)
  .option("--models <folder>", "where the three models are")
  .option("--image <file>", "a picture: PNG, JPEG, WebP, ...")
  .option("--output <file>", "writes the picture with boxes around the lines of text")
  .option("--det <file>", "the model that finds text", "ch_PP-OCRv4_det_infer.onnx")
  .option("--cls <file>", "the model that sees what is upside down", "ch_ppocr_mobile_v2.0_cls_infer.onnx")
  .option("--rec <file>", "the model that reads", "ch_PP-OCRv4_rec_infer.onnx")
  .option("--upright", "no text is upside down: leaves out the model that sees it", false)
  .option("--side <n>", "the shorter side of the picture in which text is found", whole(32, 4096), 736)
  .option("--threshold <p>", "a pixel above this probability is text", real(0, 1), 0.3)
  .option("--box-threshold <p>", "lines of text below this mean probability are left out", real(0, 1), 0.5)
  .option("--unclip <ratio>", "how far boxes grow", real(0, 10), 1.6)
  .option("--min-score <p>", "lines read with less certainty are left out", real(0, 1), 0.5);

/** [1, 3, H, W], BGR as the models were trained. */
async function load(file: string, device: dx.Device): Promise<{ readonly picture: dx.Tensor; readonly bytes: Uint8Array }> {
  const { data, shape } = await saying(`The picture ${file} can't be read`, decodePixels(file));
  const bytes = data as Uint8Array;
  const picture = dx.scope(() =>
    dx
      .tensor(bytes, { shape: [1, ...shape], dtype: "uint8", device })
      .to("float32")
      .flip(1),
  );
  return { picture, bytes };
}

export async function run(options: Options, say: (text: string) => void): Promise<void> {
  requireOptions(command, options, ["models", "image"]);
  const { device, models: folder } = options;
  const { picture, bytes } = await load(options.image, device);
  const open = (name: string): Promise<dx.io.onnx.OnnxModel> => dx.io.onnx.load(join(folder, name), { device });
  const models: Models = {
    det: await open(options.det),
    cls: options.upright ? null : await open(options.cls),
    rec: await open(options.rec),
  };
  const begin = performance.now();
  const lines = await readPicture(models, picture, { ...options, unclipRatio: options.unclip });
  const seconds = (performance.now() - begin) / 1000;
  for (const { text } of lines) say(text);
  say(`${lines.length === 0 ? "No text" : `${lines.length} lines`} in ${seconds.toFixed(2)} s.`);
  const [height, width] = picture.shape.slice(2) as [number, number];
  if (options.output !== undefined) {
    for (const { box } of lines) drawBox({ data: bytes, height, width }, box, [220, 20, 60], Math.max(1, Math.round(width / 500)));
    await saveImage(dx.tensor(bytes, { shape: [3, height, width], dtype: "uint8", device: "cpu" }), options.output);
    say(`Boxes: ${options.output}`);
  }
  if (options.json) console.log(JSON.stringify({ device: String(device), height, width, lines }));
  picture.dispose();
  for (const model of Object.values(models)) (model as dx.io.onnx.OnnxModel | null)?.dispose();
}

if (isMain(import.meta.url)) await runExample<Options>(command, run);
