/** The example "speech": segments as Silero's package makes them, and the whole program on a small model with Silero's inputs. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, it } from "vitest";
import { padded, Segmenter, type Segment } from "../../examples/speech/segments.ts";
import * as dx from "../../src/index.ts";
import { raw, run } from "./run.ts";

const folder = mkdtempSync(join(tmpdir(), "dxtensor-speech-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function segmentsOf(probabilities: readonly number[], minSpeech: number, minSilence: number, pad: number): Segment[] {
  const segmenter = new Segmenter({ chunk: 512, threshold: 0.5, minSpeech, minSilence });
  const samples = probabilities.length * 512;
  const found = probabilities.map((p) => segmenter.push(p));
  return padded([...found, segmenter.end(samples)].filter((s) => s !== null), pad, samples); // prettier-ignore
}

/** What silero_vad 6.2.3's get_speech_timestamps_from_probs() gives. */
it("makes the segments that Silero's package makes", () => {
  // prettier-ignore
  const cases: readonly (readonly [readonly number[], number, number, number, readonly (readonly number[])[]])[] = [
    [[0.15, 0.68, 0.72, 0.68, 0.66, 0.69, 0.69, 0.72, 0.08, 0.12, 0.09, 0.08, 0.13, 0.08, 0.11, 0.4, 0.39, 0.42, 0.1, 0.38, 0.41, 0.39, 0.39, 0.38, 0.43, 0.12, 0.07, 0.07, 0.71, 0.08, 0.13, 0.14, 0.42, 0.1, 0.0, 0.03, 0.06, 0.03, 0.01, 0.06, 0.05, 0.05, 0.03, 0.0, 0.02, 0.08, 0.05, 0.1, 0.0, 0.08, 0.1, 0.09, 0.09, 0.01, 0.09, 0.09, 0.09, 0.0, 0.02, 0.07], 100, 300, 30, [[32, 4576]]],
    [[0.19, 0.21, 0.18, 0.2, 0.19, 0.14, 0.93, 0.93, 0.85, 0.94, 0.37, 0.4, 0.43, 0.08, 0.01, 0.09, 0.1, 0.04, 0.06, 0.02, 0.01, 0.07, 0.01, 0.4, 0.4, 0.35, 0.36, 0.43, 0.45, 0.35, 0.42, 0.67, 0.09, 0.09, 0.03, 0.01, 0.07, 0.08, 0.07, 0.01, 0.0, 0.65, 0.07, 0.08, 0.09, 0.07, 0.1, 0.08, 0.1, 0.06, 0.14, 0.44, 0.02, 0.9, 0.94, 0.91, 0.91, 0.89, 0.73, 0.69], 50, 50, 200, [[0, 9856], [23936, 30720]]],
    [[0.21, 0.22, 0.74, 0.05, 0.07, 0.06, 0.01, 0.01, 0.09, 0.05, 0.07, 0.06, 0.1, 0.03, 0.08, 0.09, 0.13, 0.72, 0.13, 0.11, 0.12, 0.09, 0.15, 0.07, 0.1, 0.02, 0.36, 0.42, 0.37, 0.89], 0, 0, 0, [[1024, 1536], [8704, 9216], [14848, 15360]]],
  ];
  for (const [probabilities, minSpeech, minSilence, pad, expected] of cases) {
    const found = segmentsOf(probabilities, 16 * minSpeech, 16 * minSilence, 16 * pad);
    expect(found.map(({ start, end }) => [start, end])).toEqual(expected);
  }
});

/** A model with Silero's inputs: speech where the samples of the window are loud; the state counts the calls. */
async function writeModel(file: string): Promise<void> {
  const f = (input: dx.Tensor, state: dx.Tensor, sr: dx.Tensor): dx.Tensor[] => [
    dx.sigmoid(input.abs().mean(1, { keepdim: true }).mul(100).sub(5).add(sr.to("float32").mul(0))),
    state.add(1),
  ];
  const device = "cpu";
  const example = [dx.zeros([1, 576], { device }), dx.zeros([2, 1, 128], { device }), dx.tensor(16000, { dtype: "int64", device })];
  await dx.io.onnx.export(f, example, file, { names: { inputs: ["input", "state", "sr"], outputs: ["output", "stateN"] } });
}

it("finds the loud parts of a WAV file", async () => {
  const model = join(folder, "model.onnx");
  await writeModel(model);
  const wav = join(folder, "sound.wav");
  const isLoud = (i: number): boolean => (i >= 16384 && i < 32768) || i >= 49152;
  const samples = Float32Array.from({ length: 65536 }, (_, i) => (isLoud(i) ? 0.5 * Math.sin(i / 3) : 0));
  await dx.io.wav.save(wav, dx.tensor(samples, { shape: [1, samples.length], device: "cpu" }), { sampleRate: 16000 });
  const args = ["--model", model, "--wav", wav];
  const found = await run<{ segments: readonly Segment[]; probabilities: readonly number[] }>("speech", [...args, "--probabilities"]);
  expect(found.probabilities.length).toBe(128);
  expect(found.probabilities[40]).toBeGreaterThan(0.99);
  // 64 samples of the chunk before belong to the window, and 30 ms are added.
  expect(found.segments).toEqual([{ start: 16384 - 480, end: 32768 + 480 }, { start: 49152 - 480, end: 65536 }]); // prettier-ignore
  const { exitCode, stderr } = await raw("speech", ["--device", "cpu", "--model", model, "--wav", model]);
  expect([exitCode, stderr]).toEqual([1, expect.stringContaining(`The sound ${model} can't be read`)]);
});
