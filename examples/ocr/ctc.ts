/** Greedy decoding of connectionist temporal classification: the best class at each time, repetitions and blanks left out. */
export interface ReadText {
  readonly text: string;
  /** The mean probability of its characters; 0 for an empty text. */
  readonly score: number;
}

/** best, probability: the best class at each time, and how probable it is. characters: of class 1 on; class 0 is the blank. */
export function ctcText(best: ArrayLike<number>, probability: ArrayLike<number>, characters: readonly string[]): ReadText {
  let [text, sum, count] = ["", 0, 0];
  for (let t = 0; t < best.length; t++) {
    if (best[t] === 0 || (t > 0 && best[t] === best[t - 1])) continue;
    text += characters[best[t]! - 1] ?? "";
    sum += probability[t]!;
    count++;
  }
  return { text, score: count === 0 ? 0 : sum / count };
}
