/** The example "ocr": its post-processing, and the whole program on small networks that see coloured bars. */
import { appendFileSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, it } from "vitest";
import { boxesOf, inReadingOrder } from "../../examples/ocr/boxes.ts";
import { ctcText } from "../../examples/ocr/ctc.ts";
import { cornersOf, smallestRectangle, projection, type Box, type Point } from "../../examples/ocr/geometry.ts";
import * as dx from "../../src/index.ts";
import { decodePixels, saveImage } from "../../src/peers/images/index.ts";
import { raw, run } from "./run.ts";

const folder = mkdtempSync(join(tmpdir(), "dxtensor-ocr-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

it("finds the smallest rectangle around points in any direction, and the projection to it", () => {
  const [c, s] = [Math.cos(0.3), Math.sin(0.3)];
  const points: Point[] = [];
  for (let u = 0; u <= 40; u++) for (let v = 0; v <= 10; v++) points.push([100 + c * u - s * v, 50 + s * u + c * v]);
  const rectangle = smallestRectangle(points);
  expect(rectangle.size.toSorted((a, b) => a - b)).toEqual([expect.closeTo(10, 6), expect.closeTo(40, 6)]);
  const box = cornersOf(rectangle);
  expect(box.flat()).toEqual([100, 50, 100 + 40 * c, 50 + 40 * s, 100 + 40 * c - 10 * s, 50 + 40 * s + 10 * c, 100 - 10 * s, 50 + 10 * c].map((v) => expect.closeTo(v, 6))); // prettier-ignore
  const at = projection(40, 10, box);
  expect(at(20, 5)).toEqual([expect.closeTo(100 + 20 * c - 5 * s, 6), expect.closeTo(50 + 20 * s + 5 * c, 6)]);
  // A corner that is nearer: the middle of the rectangle is not the middle of the corners.
  const trapezoid: Box = [[0, 0], [10, 0], [8, 6], [2, 6]]; // prettier-ignore
  expect(projection(4, 2, trapezoid)(4, 2)).toEqual([expect.closeTo(8, 6), expect.closeTo(6, 6)]);
  expect(projection(4, 2, trapezoid)(2, 1)[1]).toBeGreaterThan(3);
  expect(smallestRectangle([[3, 4]]).size).toEqual([0, 0]);
});

it("makes boxes of a map of probabilities", () => {
  const [height, width] = [40, 80];
  const data = new Float32Array(height * width);
  const fill = (x: number, y: number, w: number, h: number, p: number): void => {
    for (let v = y; v < y + h; v++) data.fill(p, v * width + x, v * width + x + w);
  };
  fill(10, 10, 30, 5, 0.9);
  fill(50, 12, 20, 5, 0.8);
  fill(10, 25, 30, 5, 0.4); // below the threshold of boxes
  fill(60, 30, 2, 2, 0.99); // too small
  const options = { threshold: 0.3, boxThreshold: 0.5, unclipRatio: 1.6 };
  // Dilated by one pixel to the right and below: 30 x 5 pixel centres, which grow by 30 · 5 · 1.6 / 70 = 3.43.
  const boxes = boxesOf({ data, height, width }, { height: 2 * height, width: 2 * width }, options);
  expect(boxes).toEqual([
    [[13, 13], [87, 13], [87, 37], [13, 37]], // prettier-ignore
    [[94, 18], [146, 18], [146, 40], [94, 40]], // prettier-ignore
  ]);
  expect(boxesOf({ data: new Float32Array(6), height: 2, width: 3 }, { height: 2, width: 3 }, options)).toEqual([]);
  const at = (x: number, y: number): Box => [[x, y], [x + 1, y], [x + 1, y + 1], [x, y + 1]]; // prettier-ignore
  expect(inReadingOrder([at(50, 12), at(5, 30), at(10, 15)]).map(([p]) => p)).toEqual([[10, 15], [50, 12], [5, 30]]); // prettier-ignore
});

it("decodes classes to text", () => {
  expect(ctcText([0, 1, 1, 0, 1, 2, 2, 0], [0.1, 0.9, 0.2, 0.1, 0.7, 0.8, 0.1, 0.1], ["a", "b"])).toEqual({ text: "aab", score: expect.closeTo(0.8, 6) as number }); // prettier-ignore
  expect(ctcText([0, 0], [1, 1], ["a"])).toEqual({ text: "", score: 0 });
});

const device = "cpu";
const BGR = { blue: [1, 0, 0], red: [0, 0, 1] };

/** Text is what is not white; a column is read by its colour; upside down is what is red on the right. */
async function writeModels(): Promise<void> {
  const save = (name: string, f: (x: dx.Tensor) => dx.Tensor, example: dx.Tensor, axes: Record<number, string>): Promise<unknown> =>
    dx.io.onnx.export(f, [example], join(folder, name), { names: { inputs: ["x"], outputs: ["y"] }, dynamicAxes: { x: axes } });
  const weigh = (x: dx.Tensor, weights: readonly number[]): dx.Tensor => x.mul(dx.tensor([...weights], { device }).view(1, 3, 1, 1)).sum(1, { keepdim: true }); // prettier-ignore
  await save("det.onnx", (x) => dx.sigmoid(x.mean(1, { keepdim: true }).sub(0.8).mul(-50)), dx.zeros([1, 3, 64, 96], { device }), { 2: "h", 3: "w" }); // prettier-ignore
  // Red minus blue in the means of 8 columns: classes blank, "R", "B".
  const classes = (x: dx.Tensor): dx.Tensor => {
    const c = dx.nn.functional
      .avgPool2d(weigh(x, BGR.red).sub(weigh(x, BGR.blue)), [48, 8])
      .squeeze(1)
      .squeeze(1)
      .mul(5);
    return dx.softmax(dx.stack([c.mul(0).add(2), c, c.neg()], 2), 2);
  };
  await save("rec.onnx", classes, dx.zeros([2, 3, 48, 320], { device }), { 0: "n", 3: "w" });
  // metadata_props, field 14 of a model: { key: "character", value: "R\nB" }.
  const entry = Buffer.concat([Buffer.from([0x0a, 9]), Buffer.from("character"), Buffer.from([0x12, 3]), Buffer.from("R\nB")]);
  appendFileSync(join(folder, "rec.onnx"), Buffer.concat([Buffer.from([0x72, entry.length]), entry]));
  const isUpsideDown = (x: dx.Tensor): dx.Tensor => {
    const c = weigh(x, BGR.red).sub(weigh(x, BGR.blue)).mean(2).squeeze(1);
    return dx.softmax(dx.stack([c.narrow(1, 0, 30).mean(1), c.narrow(1, 150, 30).mean(1)], 1).mul(10), 1);
  };
  await save("cls.onnx", isUpsideDown, dx.zeros([2, 3, 48, 192], { device }), { 0: "n" });
}

it("reads a picture, and draws what it has found", async () => {
  await writeModels();
  const [height, width] = [160, 300];
  const data = new Uint8Array(3 * height * width).fill(255);
  const fill = (x: number, y: number, w: number, h: number, color: readonly number[]): void => {
    for (let c = 0; c < 3; c++) for (let v = y; v < y + h; v++) data.fill(color[c]!, (c * height + v) * width + x, (c * height + v) * width + x + w); // prettier-ignore
  };
  const [red, blue] = [[255, 0, 0], [0, 0, 255]]; // prettier-ignore
  fill(40, 30, 60, 24, red);
  fill(100, 30, 60, 24, blue);
  fill(40, 100, 50, 24, blue); // upside down: its red end is on the right
  fill(90, 100, 50, 24, red);
  const image = join(folder, "bars.png");
  await saveImage(dx.tensor(data, { shape: [3, height, width], dtype: "uint8", device }), image);
  const boxes = join(folder, "boxes.png");
  const names = ["--det", "det.onnx", "--cls", "cls.onnx", "--rec", "rec.onnx"];
  const args = ["--models", folder, "--image", image, ...names, "--side", "64"];
  const { lines } = await run<{ lines: readonly { text: string; box: Box }[] }>("ocr", [...args, "--output", boxes, "--unclip", "0"]);
  expect(lines.map((l) => l.text)).toEqual(["RB", "RB"]);
  const corners = lines[0]!.box.flat();
  for (const [i, v] of [40, 30, 160, 30, 160, 54, 40, 54].entries()) expect(Math.abs(corners[i]! - v)).toBeLessThanOrEqual(3);
  const drawn = await decodePixels(boxes);
  expect(drawn.shape).toEqual([3, height, width]);
  const [x, y] = lines[1]!.box[0];
  expect([0, 1, 2].map((c) => drawn.data[(c * height + y) * width + x])).toEqual([220, 20, 60]);
  const { exitCode, stderr } = await raw("ocr", ["--device", "cpu", "--models", folder, "--image", join(folder, "det.onnx"), ...names]);
  expect([exitCode, stderr]).toEqual([1, expect.stringMatching(/The picture .*det\.onnx can't be read/)]);
});
