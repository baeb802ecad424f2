/** Tokens that a small model proposes and the model checks, several at a time. Reference: Leviathan et al., Fast Inference from Transformers via Speculative Decoding. */
import type { GeneratedToken } from "./options.ts";
import type { Request } from "./prompts.ts";
import { take, type Row } from "./text-rows.ts";
import { differenceOf, distributionOf, drawFrom, mostProbable, penalize, probabilityOf, type Distribution } from "./token-sampling.ts";
import { bucketOf, releaseSession, takeSession, type Session } from "./session.ts";

/** The distribution of the token behind a text: at temperature 0 only the most probable one. */
function nextOf({ limits }: Request, logits: Float32Array, text: readonly number[]): Distribution {
  penalize(logits, text, limits.penalty);
  if (limits.temperature > 0) return distributionOf(logits, limits);
  return { tokens: Int32Array.of(mostProbable(logits)), probabilities: Float64Array.of(1) };
}

/** One text, by proposals of the draft. The results have the distribution of the model alone; at temperature 0 they are its tokens. */
export async function* propose(request: Request, row: Row, session: Session, positions: number): AsyncGenerator<GeneratedToken> {
  const { options, draftTokens, stopTokens } = request;
  const draft = request.draft!;
  const drafting = takeSession(draft, request.texts, positions, options.reuse ?? true);
  try {
    // All but the last token of the text is held: the model checks from there on.
    if (row.tokens.length > 1) {
      const before = [row.tokens.slice(0, -1)];
      if (session.held[0]!.length < before[0]!.length) (await session.prefill(before, "nothing", options.signal)).dispose();
    }
    while (row.end === null) {
      options.signal?.throwIfAborted();
      const count = Math.min(draftTokens, row.most - row.tokens.length - 1, draft.causal.maxLength - row.tokens.length);
      const proposed = await proposals(request, drafting, row, Math.max(0, count));
      const accepted = await check(request, session, row, proposed);
      for (const token of accepted) {
        yield take(row, token, stopTokens);
        if (row.end !== null) break;
      }
      for (const s of [session, drafting]) s.held[0]!.length = Math.min(s.held[0]!.length, row.tokens.length - 1);
    }
  } catch (error) {
    drafting.forget();
    throw error;
  } finally {
    releaseSession(draft, drafting);
  }
}

interface Proposal {
  readonly token: number;
  readonly of: Distribution;
}

/** Tokens that the draft puts behind a text. */
async function proposals(request: Request, drafting: Session, row: Row, count: number): Promise<Proposal[]> {
  const made: Proposal[] = [];
  const text = [...row.tokens];
  while (made.length < count) {
    const result = await drafting.prefill([text], "logits", request.options.signal);
    const logits = (await result.data()) as Float32Array;
    result.dispose();
    const of = nextOf(request, logits, text);
    const token = drawFrom(of, row.next());
    made.push({ token, of });
    text.push(token);
  }
  return made;
}

/** The tokens that the model takes of the proposals, and one more of its own. */
async function check(request: Request, session: Session, row: Row, proposed: readonly Proposal[]): Promise<number[]> {
  const first = row.tokens.length - 1;
  const fed = [row.tokens.at(-1)!, ...proposed.map(({ token }) => token)];
  const width = bucketOf(fed.length);
  const tokens = new Int32Array(width);
  const positions = new Int32Array(width).fill(-1);
  for (const [i, token] of fed.entries()) [tokens[i], positions[i]] = [token, first + i];
  session.held[0]!.push(...fed);
  const result = session.run("allLogits", tokens, positions, 0);
  const logits = (await result.data()) as Float32Array;
  result.dispose();
  const vocabulary = logits.length / width;
  const text = [...row.tokens];
  const taken: number[] = [];
  const own = (i: number): Distribution => nextOf(request, logits.subarray(i * vocabulary, (i + 1) * vocabulary), text);
  for (const [i, { token, of }] of proposed.entries()) {
    const p = own(i);
    if (row.next() * probabilityOf(of, token) >= probabilityOf(p, token)) return [...taken, drawFrom(differenceOf(p, of), row.next())];
    taken.push(token);
    text.push(token);
  }
  return [...taken, drawFrom(own(proposed.length), row.next())];
}
