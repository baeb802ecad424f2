/** Runs all records of this folder, and lists differences by operation. */
import * as dx from "../../../src/index.ts";
import { Missing, type Case } from "../cases.ts";
import { answer, type GraphRow } from "./graph.ts";
import { differentiableCases, readRecorded, runsHere } from "./recorded.ts";
import { savedAnswer, type SavedRow } from "./saved.ts";
import { judgeSpecial, type SpecialRow } from "./special.ts";

export type Record = "graph" | "saved" | "special";

export interface Judged {
  /** Questions that were asked. */
  readonly asked: number;
  /** What differs, by PyTorch's name of the operation. */
  readonly differences: ReadonlyMap<string, readonly string[]>;
}

const unequal = (got: string, want: string): string | null => (got === want ? null : `${got} instead of ${want}`);

/** Each question of a record: its case, what it is called, and what differs. */
function* questions(record: Record): Generator<{ readonly id: string; readonly what: string; ask(c: Case): string | null }> {
  if (record === "graph")
    for (const { id, q } of readRecorded<GraphRow>("graph.jsonl.gz"))
      for (const [which, seeded, want] of q)
        yield { id, what: `${which}, ${seeded}`, ask: (c) => unequal(answer(c, which, seeded === 1), want) };
  else if (record === "saved")
    for (const { id, q } of readRecorded<SavedRow>("saved.jsonl.gz"))
      for (const [which, want] of q) yield { id, what: which, ask: (c) => unequal(savedAnswer(c, which), want) };
  else for (const row of readRecorded<SpecialRow>("special.jsonl.gz")) yield { id: row.id, what: row.k, ask: (c) => judgeSpecial(c, row) };
}

/** Asks all questions of a record about these operations on the default device. */
export function judge(record: Record, isAsked: (op: string) => boolean): Judged {
  const cases = differentiableCases();
  const differences = new Map<string, string[]>();
  let asked = 0;
  for (const { id, what, ask } of questions(record)) {
    const c = cases.get(id);
    if (c === undefined || !isAsked(c.op) || !runsHere(c)) continue;
    const wrong = attempt(() => ask(c));
    if (wrong === undefined) continue;
    asked++;
    if (wrong !== null) differences.set(c.op, [...(differences.get(c.op) ?? []), `${id} ${what}: ${wrong}`]);
  }
  return { asked, differences };
}

/** undefined: the call does not exist here. */
function attempt(ask: () => string | null): string | null | undefined {
  try {
    // A scope takes tensors out of it, not texts: the answer is carried out by hand.
    let wrong: string | null = null;
    dx.scope(() => {
      wrong = ask();
    });
    return wrong;
  } catch (error) {
    if (error instanceof Missing) return undefined;
    if (error instanceof dx.DxError) return `${error.name}: ${error.message.split("\n")[0]}`;
    throw error;
  }
}
