/** Voice activity: a WAV file in, the parts with speech out, by Silero's ONNX model, chunk by chunk as from a microphone. */
import * as dx from "dxtensor";
import { progress } from "../shared/progress.ts";
import {
  ExampleError,
  exampleCommand,
  isMain,
  real,
  requireOptions,
  runExample,
  saying,
  whole,
  type CommonOptions,
} from "../shared/command.ts";
import { VoiceDetector } from "./detector.ts";
import { padded, Segmenter, type Segment } from "./segments.ts";

interface Options extends CommonOptions {
  readonly model: string;
  readonly wav: string;
  readonly threshold: number;
  readonly minSpeech: number;
  readonly minSilence: number;
  readonly pad: number;
  readonly probabilities: boolean;
}

const command = exampleCommand(
  "speech",
  "Finds the parts of a WAV file in which somebody speaks, by the ONNX model of the package silero-vad.",
)
  .option("--model <file>", "silero_vad.onnx")
  .option("--wav <file>", "the sound: 8000 samples a second, 16000, or a multiple of 16000; channels are averaged")
  .option("--threshold <p>", "speech begins at this probability", real(0, 1), 0.5)
  .option("--min-speech <ms>", "shorter speech is left out", whole(0), 250)
  .option("--min-silence <ms>", "shorter silence does not end speech", whole(0), 100)
  .option("--pad <ms>", "what is added to both ends of speech", whole(0), 30)
  .option("--probabilities", "the probability of each chunk, too", false);

interface Sound {
  readonly samples: Float32Array;
  readonly sampleRate: 8000 | 16000;
  /** Samples of the file for one of these. */
  readonly step: number;
}

/** One channel of the rate that the model has; from a multiple of it every so many samples, as Silero's own package does. */
async function readSound(file: string): Promise<Sound> {
  const { waveform, sampleRate } = await saying(`The sound ${file} can't be read`, dx.io.wav.read(file));
  const [channels, frames] = waveform.shape;
  const step = sampleRate % 16000 === 0 ? sampleRate / 16000 : 1;
  if (step === 1 && sampleRate !== 8000 && sampleRate !== 16000)
    throw new ExampleError(`${file} has ${sampleRate} samples a second. Convert it: ffmpeg -i ${file} -ar 16000 out.wav`);
  const samples = new Float32Array(Math.ceil(frames / step));
  for (let c = 0; c < channels; c++)
    for (let i = 0; i < samples.length; i++) samples[i]! += waveform.data[c * frames + i * step]! / channels;
  return { samples, sampleRate: sampleRate === 8000 ? 8000 : 16000, step };
}

export async function run(options: Options, say: (text: string) => void): Promise<void> {
  requireOptions(command, options, ["model", "wav"]);
  const { samples, sampleRate, step } = await readSound(options.wav);
  const detector = await VoiceDetector.load(options.model, sampleRate, options.device);
  try {
    const ofMs = (ms: number): number => (sampleRate * ms) / 1000;
    const { chunk } = detector;
    const segmenter = new Segmenter({
      chunk,
      threshold: options.threshold,
      minSpeech: ofMs(options.minSpeech),
      minSilence: ofMs(options.minSilence),
    });
    const probabilities: number[] = [];
    const found: Segment[] = [];
    const bar = progress(Math.ceil(samples.length / chunk), options.json);
    const begin = performance.now();
    for (let at = 0; at < samples.length; at += chunk) {
      const probability = await detector.push(samples.subarray(at, at + chunk));
      probabilities.push(probability);
      const segment = segmenter.push(probability);
      if (segment !== null) found.push(segment);
      bar.update(probabilities.length, { speech: segmenter.isSpeech ? "yes" : "no" });
    }
    bar.stop();
    const last = segmenter.end(samples.length);
    if (last !== null) found.push(last);
    const ms = performance.now() - begin;
    const segments = padded(found, ofMs(options.pad), samples.length);
    const seconds = (sample: number): number => sample / sampleRate;
    for (const { start, end } of segments) say(`${seconds(start).toFixed(2)} s to ${seconds(end).toFixed(2)} s`);
    if (segments.length === 0) say("No speech.");
    say(`${seconds(samples.length).toFixed(1)} s of sound in ${(ms / 1000).toFixed(2)} s, ${(ms / Math.max(1, probabilities.length)).toFixed(2)} ms for each of ${probabilities.length} chunks.`); // prettier-ignore
    if (options.probabilities) say(probabilities.map((p) => p.toFixed(3)).join(" "));
    if (options.json)
      console.log(
        JSON.stringify({
          device: String(options.device),
          sampleRate: sampleRate * step,
          samples: samples.length * step,
          segments: segments.map(({ start, end }) => ({ start: start * step, end: end * step })),
          ...(options.probabilities ? { probabilities } : {}),
        }),
      );
  } finally {
    detector[Symbol.dispose]();
  }
}

if (isMain(import.meta.url)) await runExample<Options>(command, run);
