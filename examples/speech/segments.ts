/** From the probability of speech in each chunk to segments of speech. Pure: knows no model. Reference: silero_vad.get_speech_timestamps. */

/** In samples: where speech begins, and where it has ended. */
export interface Segment {
  readonly start: number;
  readonly end: number;
}

export interface SegmentOptions {
  /** Samples of a chunk. */
  readonly chunk: number;
  /** Speech begins at this probability. It ends 0.15 below, so that it does not flicker. */
  readonly threshold: number;
  /** Samples: shorter speech is left out. */
  readonly minSpeech: number;
  /** Samples: shorter silence does not end speech. */
  readonly minSilence: number;
}

/** Takes one probability after the other, as they come, and gives each segment as soon as it has ended. */
export class Segmenter {
  readonly #options: SegmentOptions;
  #position = 0;
  #start: number | null = null;
  /** Where the silence began that may end the speech. */
  #silence: number | null = null;

  constructor(options: SegmentOptions) {
    this.#options = options;
  }

  /** Whether the last chunk was inside of speech. */
  get isSpeech(): boolean {
    return this.#start !== null;
  }

  push(probability: number): Segment | null {
    const { chunk, threshold, minSilence } = this.#options;
    const here = this.#position;
    this.#position += chunk;
    if (probability >= threshold) {
      this.#silence = null;
      this.#start ??= here;
      return null;
    }
    if (probability >= Math.max(threshold - 0.15, 0.01) || this.#start === null) return null;
    this.#silence ??= here;
    return here - this.#silence < minSilence ? null : this.#finish(this.#silence);
  }

  /** The segment that lasts until the end of the sound, which has so many samples. */
  end(samples: number): Segment | null {
    return this.#start === null ? null : this.#finish(samples);
  }

  #finish(end: number): Segment | null {
    const start = this.#start!;
    this.#start = null;
    this.#silence = null;
    return end - start > this.#options.minSpeech ? { start, end } : null;
  }
}

/** Segments with so many samples more on both sides; two that would overlap share the silence between them. */
export function padded(segments: readonly Segment[], pad: number, samples: number): Segment[] {
  const found = segments.map(({ start, end }) => ({ start, end }));
  for (const [i, segment] of found.entries()) {
    const next = found[i + 1];
    if (i === 0) segment.start = Math.trunc(Math.max(0, segment.start - pad));
    const silence = next === undefined ? Infinity : next.start - segment.end;
    if (silence < 2 * pad) {
      segment.end += Math.floor(silence / 2);
      next!.start = Math.max(0, next!.start - Math.floor(silence / 2));
      continue;
    }
    segment.end = Math.trunc(Math.min(samples, segment.end + pad));
    if (next !== undefined) next.start = Math.trunc(Math.max(0, next.start - pad));
  }
  return found;
}
