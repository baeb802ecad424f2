/** A cache of keys and values with the programs that fill it and read it. A model keeps its sessions, so that later calls find programs and cache. */
import { compileKeeping, type Compiled } from "../../compile/compile.ts";
import type { Tensor } from "../../core/tensor.ts";
import { labelled } from "../../host/call-site.ts";
import { noGrad } from "../../autograd/grad-mode.ts";
import { tensor } from "../../ops/creation/creation.ts";
import { indexSelect } from "../../ops/index/gather.ts";
import { argmax } from "../../ops/reduce/extrema.ts";
import { reshape } from "../../ops/shape/movement.ts";
import { toDType } from "../../ops/data/conversion.ts";
import { holdYoungGeneration } from "../../host/young-generation.ts";
import { enabledAdapters } from "../../nn/lora-layer.ts";
import type { CausalModel } from "../causal-model.ts";
import { CachedPass, KeyValueCache } from "./cached-pass.ts";

/** What a program gives: nothing, the most probable token, the logits; of the last token, or of each. */
export type Wanted = "nothing" | "token" | "logits" | "tokens" | "allLogits";

/** The most tokens of a program. */
const LONGEST = 512;
/** Positions that caches have at least. */
const SHORTEST_CACHE = 128;

/** Sizes are rounded up to powers of two, so that few programs serve all. */
export const bucketOf = (n: number, least = 1): number => Math.max(least, 2 ** Math.ceil(Math.log2(n)));

type Program = Compiled<[tokens: Tensor, positions: Tensor, last: Tensor], Tensor>;

/** What programs depend on besides their arguments: other weights, layers or modes need other programs. */
function structureOf(model: CausalModel): readonly unknown[] {
  const found: unknown[] = [];
  for (const module of model.modules()) found.push(module, module.training);
  for (const [, t] of model.stateTensors()) found.push(t.storage);
  return found;
}

/** What the results depend on besides: values of weights, and which adapters count. */
const versionsOf = (model: CausalModel): readonly unknown[] => [
  ...Array.from(model.stateTensors(), ([, t]) => t.storage.version),
  ...enabledAdapters(model),
];

const areEqual = (a: readonly unknown[], b: readonly unknown[]): boolean => a.length === b.length && a.every((x, i) => x === b[i]);

export class Session {
  readonly cache: KeyValueCache;
  /** The tokens of each text whose keys and values the cache holds. */
  readonly held: number[][];
  readonly #model: CausalModel;
  readonly #structure: readonly unknown[];
  readonly #programs = new Map<string, Program>();
  #versions: readonly unknown[];
  isBusy = false;
  /** Held until the programs of a prompt and of a token are made. */
  readonly #releaseYoung: () => void;
  #runs = 0;

  constructor(model: CausalModel, batch: number, length: number) {
    const { device, dtype } = model.parameters()[0]!;
    this.#model = model;
    this.#structure = structureOf(model);
    this.#versions = versionsOf(model);
    this.cache = new KeyValueCache(model.causal, batch, length, device, dtype);
    this.held = Array.from({ length: batch }, () => []);
    this.#releaseYoung = holdYoungGeneration();
  }

  /** Whether the programs are of the model as it is now. Values of weights may differ: then the cache is empty. */
  isCurrent(): boolean {
    if (this.cache.layers.some(({ keys }) => keys.isDisposed) || this.#model.parameters().some((p) => p.isDisposed)) return false;
    if (!areEqual(structureOf(this.#model), this.#structure)) return false;
    const versions = versionsOf(this.#model);
    if (!areEqual(versions, this.#versions)) this.forget();
    this.#versions = versions;
    return true;
  }

  /** Takes nothing of the cache for known: after a run that failed, it may lack what it should hold. */
  forget(): void {
    for (const row of this.held) row.length = 0;
  }

  /** Positions that texts may have: the last is that of padding. */
  get positions(): number {
    return this.cache.length - 1;
  }

  /**
   * Runs tokens [B, L] at positions, those of padding at -1, and gives what is wanted of the tokens in column `last`. Tokens: numbers, or a result
   * of this function.
   */
  run(wanted: Wanted, tokens: Tensor | Int32Array, positions: Int32Array, last: number): Tensor {
    if (this.#runs++ === 2) this.releaseYoungGeneration();
    const { batch, length } = this.cache;
    const count = positions.length / batch;
    let highest = 0;
    const at = positions.map((p) => {
      highest = Math.max(highest, p);
      return p < 0 ? length - 1 : p;
    });
    // Steps of 4: a longer text needs few more programs, and a short one reads little.
    let seen = SHORTEST_CACHE;
    while (seen <= highest) seen *= 4;
    seen = Math.min(seen, length);
    const { device } = this.cache.layers[0]!.keys;
    return noGrad(() => {
      const own = tokens instanceof Int32Array ? tensor(tokens, { shape: [batch, count], device }) : reshape(tokens, [batch, count]);
      const where = tensor(at, { shape: [batch, count], device });
      const rows = tensor(
        Int32Array.from({ length: batch }, (_, row) => row * count + last),
        { device },
      );
      // Without a label each operation formats a stack to find the caller's line, which is no longer on the stack after an await.
      const result = labelled("at generate()", () => this.#program(wanted, seen)(own, where, rows));
      for (const t of [own, where, rows]) t.dispose();
      return result;
    });
  }

  #program(wanted: Wanted, seen: number): Program {
    const key = `${wanted} ${seen}`;
    let program = this.#programs.get(key);
    if (program === undefined) {
      const model = this.#model;
      const { cache } = this;
      program = compileKeeping(
        (tokens: Tensor, positions: Tensor, last: Tensor) => {
          const hidden = model.hiddenStates(tokens, new CachedPass(cache, positions, seen));
          const width = hidden.shape[2]!;
          if (wanted === "tokens") return toDType(argmax(model.logitsOf(hidden), -1), "int32");
          if (wanted === "allLogits") return toDType(model.logitsOf(hidden), "float32");
          const ends = hidden.shape[1] === 1 ? reshape(hidden, [cache.batch, width]) : indexSelect(reshape(hidden, [-1, width]), 0, last);
          if (wanted === "nothing") return ends;
          const logits = model.logitsOf(ends);
          return wanted === "token" ? toDType(argmax(logits, -1), "int32") : toDType(logits, "float32");
        },
        { check: false, name: `generate ${key}` },
        false,
      );
      this.#programs.set(key, program);
    }
    return program;
  }

  /**
   * Makes the cache hold the beginning of all texts, and gives what is wanted of their last tokens. Texts begin with what the cache holds of them, and
   * have at least one token more.
   */
  async prefill(texts: readonly (readonly number[])[], wanted: Wanted, signal: AbortSignal | undefined): Promise<Tensor> {
    const { batch } = this.cache;
    const rests = texts.map((text, row) => text.slice(this.held[row]!.length));
    let left = Math.max(...rests.map((rest) => rest.length));
    for (;;) {
      signal?.throwIfAborted();
      // All texts end in the last part: shorter ones begin later.
      const isLast = left <= LONGEST;
      const real = isLast ? left : LONGEST;
      const count = isLast ? bucketOf(real) : LONGEST;
      const tokens = new Int32Array(batch * count);
      const positions = new Int32Array(batch * count).fill(-1);
      for (const [row, rest] of rests.entries())
        for (let column = 0; column < real; column++) {
          const index = rest.length - left + column;
          if (index < 0) continue;
          tokens[row * count + column] = rest[index]!;
          positions[row * count + column] = this.held[row]!.length;
          this.held[row]!.push(rest[index]!);
        }
      const result = this.run(isLast ? wanted : "nothing", tokens, positions, real - 1);
      if (isLast) return result;
      // The host does not run ahead of a long text.
      await result.data();
      result.dispose();
      left -= real;
    }
  }

  /** Nobody runs it now. */
  releaseYoungGeneration(): void {
    this.#releaseYoung();
  }

  dispose(): void {
    this.releaseYoungGeneration();
    for (const program of this.#programs.values()) program.dispose();
    this.#programs.clear();
    this.cache.dispose();
  }
}

const sessions = new WeakMap<CausalModel, Session[]>();
/** Sessions that a model keeps while nobody uses them. */
const KEPT = 2;

/** A session of a model for texts of so many positions, marked as used. The one that holds most of the texts is taken. */
export function takeSession(model: CausalModel, texts: readonly (readonly number[])[], positions: number, reuse: boolean): Session {
  const known = sessions.get(model) ?? [];
  const current = known.filter((session) => session.isBusy || session.isCurrent());
  for (const session of known) if (!current.includes(session)) session.dispose();
  const usable = current.filter(({ isBusy, cache, positions: p }) => !isBusy && cache.batch === texts.length && p >= positions);
  const common = (session: Session): number => texts.reduce((n, text, row) => n + commonLength(text, session.held[row]!), 0);
  let session = usable.sort((a, b) => common(b) - common(a) || a.cache.length - b.cache.length)[0];
  if (session === undefined) {
    session = new Session(model, texts.length, bucketOf(positions + 1, SHORTEST_CACHE));
    current.push(session);
  }
  session.isBusy = true;
  for (const [row, text] of texts.entries()) session.held[row]!.length = reuse ? commonLength(text, session.held[row]!) : 0;
  sessions.set(model, current);
  return session;
}

/** Gives a session back. */
export function releaseSession(model: CausalModel, session: Session): void {
  session.isBusy = false;
  session.releaseYoungGeneration();
  const known = sessions.get(model) ?? [];
  const others = known.filter((s) => s !== session && !s.isBusy);
  // The one that was used last is kept, and the newest of the others.
  for (const old of others.slice(0, Math.max(0, others.length - (KEPT - 1)))) old.dispose();
  const dropped = new Set(others.slice(0, Math.max(0, others.length - (KEPT - 1))));
  sessions.set(model, [...known.filter((s) => s !== session && !dropped.has(s)), session]);
}

/** Frees the caches and programs of a model that nobody uses. */
export function releaseSessions(model: CausalModel): void {
  const known = sessions.get(model) ?? [];
  for (const session of known) if (!session.isBusy) session.dispose();
  sessions.set(
    model,
    known.filter((session) => session.isBusy),
  );
}

/** Tokens that two texts begin with; at least the last of the first is left. */
function commonLength(text: readonly number[], held: readonly number[]): number {
  const most = Math.min(text.length - 1, held.length);
  let n = 0;
  while (n < most && text[n] === held[n]) n++;
  return n;
}
