/** The loop of generate(): a step of the model for each token, and what is done with the token. */
import type { Tensor } from "../../core/tensor.ts";
import { DTypeError } from "../../core/errors.ts";
import { CausalModel } from "../causal-model.ts";
import type { LanguageModel } from "../options.ts";
import type { GenerateOptions, GeneratedText, GeneratedToken, GenerationEnd, PromptTokens } from "./options.ts";
import { requestOf, type LogitsRule, type Request } from "./prompts.ts";
import { distributionOf, drawFrom, mostProbable, penalize } from "./token-sampling.ts";
import { releaseSession, releaseSessions, takeSession, type Session } from "./session.ts";
import { rowsOf, take, type Row } from "./text-rows.ts";
import { propose } from "./speculative.ts";

/** A stream of tokens. The texts advance together; those that have ended wait for the others. */
export async function* streamTokens(
  operation: string,
  model: LanguageModel,
  tokens: PromptTokens,
  options: GenerateOptions,
): AsyncGenerator<GeneratedToken, void, undefined> {
  yield* streamOf(await requestOf(operation, model, tokens, options));
}

async function* streamOf(request: Request): AsyncGenerator<GeneratedToken, void, undefined> {
  const { model, options } = request;
  const rows = rowsOf(request);
  const full = rows.filter((row) => row.tokens.length >= row.most);
  if (full.length > 0) {
    // Texts that fill all positions have no token behind them.
    for (const row of full) row.end = "length";
    if (full.length === rows.length) return;
  }
  const positions = Math.max(...rows.map((row) => row.most)) + (request.draft === null ? 0 : request.draftTokens + 1);
  const session = takeSession(model, request.texts, positions, options.reuse ?? true);
  try {
    if (request.draft !== null) yield* propose(request, rows[0]!, session, positions);
    else if (request.limits.temperature === 0 && request.limits.penalty === 1 && request.rule === null)
      yield* greedy(request, rows, session);
    else yield* drawn(request, rows, session);
  } catch (error) {
    session.forget();
    throw error;
  } finally {
    releaseSession(model, session);
  }
}

/** Where the next token of each text goes: -1 for those that have ended. */
const positionsOf = (rows: readonly Row[]): Int32Array => Int32Array.from(rows, (row) => (row.end === null ? row.tokens.length - 1 : -1));

/** Tokens stay on the device: the next step is on its way before the last one's token is read. */
async function* greedy(
  { texts, stopTokens, options: { signal } }: Request,
  rows: readonly Row[],
  session: Session,
): AsyncGenerator<GeneratedToken> {
  let made = await session.prefill(texts, "token", signal);
  try {
    while (rows.some((row) => row.end === null)) {
      signal?.throwIfAborted();
      // The position behind the token that is on its way.
      const positions = Int32Array.from(rows, (row) => (row.end === null && row.tokens.length + 1 < row.most ? row.tokens.length : -1));
      const isNeeded = positions.some((p) => p >= 0);
      const following: Tensor | null = isNeeded ? session.run("token", made, positions, 0) : null;
      let values: ArrayLike<number>;
      try {
        values = (await made.data()) as Int32Array;
      } catch (error) {
        following?.dispose();
        throw error;
      }
      made.dispose();
      if (following !== null) made = following;
      for (const row of rows) {
        if (row.end !== null) continue;
        const token = values[row.index]!;
        if (positions[row.index]! >= 0) session.held[row.index]!.push(token);
        yield take(row, token, stopTokens);
      }
    }
  } finally {
    made.dispose();
  }
}

/** Tokens are drawn on the host, of the logits. */
async function* drawn(
  { texts, limits, stopTokens, rule, options: { signal } }: Request,
  rows: readonly Row[],
  session: Session,
): AsyncGenerator<GeneratedToken> {
  let made = await session.prefill(texts, "logits", signal);
  for (;;) {
    const logits = (await made.data()) as Float32Array;
    made.dispose();
    const width = logits.length / rows.length;
    for (const row of rows) {
      if (row.end !== null) continue;
      const own = logits.subarray(row.index * width, (row.index + 1) * width);
      rule?.(own, row.tokens.slice(row.prompt));
      penalize(own, row.tokens, limits.penalty);
      yield take(row, limits.temperature === 0 ? mostProbable(own) : drawFrom(distributionOf(own, limits), row.next()), stopTokens);
    }
    if (rows.every((row) => row.end !== null)) return;
    signal?.throwIfAborted();
    const positions = positionsOf(rows);
    for (const row of rows) if (row.end === null) session.held[row.index]!.push(row.tokens.at(-1)!);
    made = session.run(
      "logits",
      Int32Array.from(rows, (row) => row.tokens.at(-1)!),
      positions,
      0,
    );
  }
}

/** All of a stream, as texts. */
export async function generateTexts(
  operation: string,
  model: LanguageModel,
  tokens: PromptTokens,
  options: GenerateOptions,
  rule: LogitsRule | null = null,
): Promise<GeneratedText[]> {
  const request = await requestOf(operation, model, tokens, options, rule);
  const texts = request.texts.map(() => ({ tokens: [] as number[], text: "", end: "length" as GenerationEnd }));
  for await (const { row, token, text, end } of streamOf(request)) {
    const made = texts[row]!;
    made.tokens.push(token);
    made.text += text;
    if (end !== null) made.end = end;
  }
  return texts.map((made) => ({ ...made, tokens: Int32Array.from(made.tokens) }));
}

/** Frees what is kept for a model. */
export function release(operation: string, model: LanguageModel): void {
  if (!(model instanceof CausalModel)) throw new DTypeError(operation, "model", "a language model of dx.models", model);
  releaseSessions(model);
}
