/** Descriptions that are wrong in one thing: both devices must refuse them, or both accept them. */
import type { Case, Context, Finding, Result } from "../case.ts";
import { mutants } from "../mutate.ts";
import { instantiate, isDefined, rows, tableAllows, choices } from "../operators/operators.ts";
import { hash } from "../values/seeded-random.ts";
import type { Refusal } from "../side.ts";
import { parse, textOf, type Described } from "../values/operator-text.ts";

/** Of the many mutants the quick set takes every so many, another choice for each seed. */
const QUICK_STEP = 12;

const answer = (refusal: Refusal | null): string => refusal?.code ?? "accepted";

function judge(good: Described, { device, peer, seed, quick, trace }: Context): Result {
  const findings: Finding[] = [];
  for (const { label, operator } of mutants(good)) {
    if (quick && hash(`${seed}:${label}`) % QUICK_STEP !== 0) continue;
    trace?.(`  ${label}`);
    const got = answer(device.createOperator(operator));
    const want = answer(peer.createOperator(operator));
    if (got === "DXGI_ERROR_DEVICE_REMOVED") device.reopen();
    if (got !== want) findings.push({ label, text: `${label}: ${got} instead of ${want}: ${textOf(operator)}` });
  }
  return findings.length === 0 ? { kind: "agrees" } : { kind: "differs", findings };
}

/** The first choice of types that the level has, for each row. */
export function* refusalCases(level: number, quick: boolean): Generator<Case> {
  const numbers = new Map<string, number>();
  for (const row of rows) {
    const name = row.slice(0, row.indexOf(" "));
    const number = (numbers.get(name) ?? 0) + 1;
    numbers.set(name, number);
    if (number > (quick ? 1 : 3)) continue;
    const good = choices(row)
      .map((types) => parse(instantiate(row, types)))
      .find((d) => tableAllows(d, level) && isDefined(d));
    if (good !== undefined) yield { id: `refusal/${name}/${number}`, run: (context) => judge(good, context) };
  }
}
