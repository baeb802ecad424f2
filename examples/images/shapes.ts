/** Folders of made-up images, one for each class: shapes of any colour and position on a noisy ground. */
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import * as dx from "dxtensor";
import { saveImage } from "dxtensor/images";

const [height, width] = [40, 48];

/** Whether a point is inside of the shape of radius 1 around the origin. */
const shapes: Readonly<Record<string, (x: number, y: number) => boolean>> = {
  circle: (x, y) => x * x + y * y < 1,
  cross: (x, y) => Math.max(Math.abs(x), Math.abs(y)) < 1 && Math.min(Math.abs(x), Math.abs(y)) < 0.35,
  ring: (x, y) => x * x + y * y < 1 && x * x + y * y > 0.4,
  square: (x, y) => Math.max(Math.abs(x), Math.abs(y)) < 0.85,
};

/** Pixels of one image, uint8 [3, height, width]. */
function draw(isInside: (x: number, y: number) => boolean, generator: dx.Generator): dx.Tensor {
  const uniform = (): number => generator.nextBelow(2 ** 24) / 2 ** 24;
  const radius = 8 + 8 * uniform();
  const [cx, cy] = [radius + (width - 2 * radius) * uniform(), radius + (height - 2 * radius) * uniform()];
  const ground = [uniform(), uniform(), uniform()].map((level) => level * 110);
  const ink = ground.map((level) => level + 70 + 60 * uniform());
  const pixels = new Uint8Array(3 * height * width);
  for (let i = 0, c = 0; c < 3; c++)
    for (let y = 0; y < height; y++)
      for (let x = 0; x < width; x++) pixels[i++] = (isInside((x - cx) / radius, (y - cy) / radius) ? ink : ground)[c]! + 15 * uniform();
  return dx.tensor(pixels, { shape: [3, height, width], device: "cpu" });
}

/** Writes `count` PNG files into a folder of each class. */
export async function writeShapes(root: string, count: number, generator: dx.Generator): Promise<void> {
  for (const [name, isInside] of Object.entries(shapes)) {
    await mkdir(join(root, name), { recursive: true });
    for (let i = 0; i < count; i++) {
      const image = draw(isInside, generator);
      await saveImage(image, join(root, name, `${String(i).padStart(4, "0")}.png`));
      image.dispose();
    }
  }
}
