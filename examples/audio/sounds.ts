/** Made-up sounds of five kinds, as WAV files: any pitch, loudness and start, with noise. */
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import * as dx from "dxtensor";

export const sampleRate = 8000;
/** Frames of each file: half a second. */
export const frames = 4000;

/** The phase in turns after t seconds, and the loudness, of each kind with base pitch f in Hz. */
const kinds: Readonly<Record<string, (t: number, f: number) => readonly [phase: number, loudness: number]>> = {
  beeps: (t, f) => [f * t, (t * 10) % 1 < 0.5 ? 1 : 0],
  falling: (t, f) => [2 * f * t - f * t * t * 1.6, 1],
  rising: (t, f) => [f * t + f * t * t * 1.6, 1],
  steady: (t, f) => [f * t, 1],
  trill: (t, f) => [f * t - (f / 60) * Math.cos(2 * Math.PI * 12 * t), 1],
};

export const kindNames = Object.keys(kinds);

/** Writes `count` files of each kind into a folder; their paths and classes. */
export async function writeSounds(
  folder: string,
  count: number,
  generator: dx.Generator,
): Promise<(readonly [path: string, label: number])[]> {
  const uniform = (): number => generator.nextBelow(2 ** 24) / 2 ** 24;
  await mkdir(folder, { recursive: true });
  const files: (readonly [path: string, label: number])[] = [];
  for (const [label, kind] of Object.values(kinds).entries())
    for (let i = 0; i < count; i++) {
      const [pitch, level, start] = [400 + 600 * uniform(), 0.2 + 0.6 * uniform(), 0.1 * uniform()];
      const wave = Float32Array.from({ length: frames }, (_, n) => {
        const t = n / sampleRate - start;
        const [phase, loudness] = kind(Math.max(t, 0), pitch);
        const isOn = t >= 0 && t < 0.38;
        return (isOn ? level * loudness * Math.sin(2 * Math.PI * phase) : 0) + 0.1 * (uniform() - 0.5);
      });
      const path = join(folder, `${kindNames[label]}-${i}.wav`);
      const tensor = dx.tensor(wave, { shape: [1, frames], device: "cpu" });
      await dx.io.wav.save(path, tensor, { sampleRate, encoding: "int16" });
      tensor.dispose();
      files.push([path, label]);
    }
  return files;
}
