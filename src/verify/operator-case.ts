/** Runs one operator on both devices and compares the results or the errors. */
import { agrees, differs, type Context, type Finding, type Result } from "./case.ts";
import type { OperatorDescription } from "../native/binding.ts";
import { compare, differenceText } from "./differences.ts";
import { inputsFor } from "./input-values.ts";
import { tensorsOf } from "./operators/operators.ts";
import { hash, Random } from "./values/seeded-random.ts";
import type { Outcome, Refusal } from "./side.ts";
import { textOf, description, type Described } from "./values/operator-text.ts";
import { kindWith, toleranceOf, type Tolerance } from "./values/tolerances.ts";
import { typeOf, type DataType } from "./values/types.ts";

const refusalText = ({ code, call }: Refusal): string => (call === "" ? code : `${code} from ${call}`);

/** How many elements of an output have a meaning: NONZERO_COORDINATES writes only as many rows as it counts. */
function limitOf(described: Described, output: string, want: Extract<Outcome, { outputs: unknown }>): number {
  if (described.row.name !== "NONZERO_COORDINATES" || output !== "outputCoordinates") return Infinity;
  const count = new DataView(want.outputs[0]!).getUint32(0, true);
  return (
    count *
    tensorsOf(
      described,
      described.row.fields.findIndex((f) => f.name === output),
    )[0]!.sizes.at(-1)!
  );
}

/** The name of the activation in an operator. */
function fusedIn({ row, fields }: Described): string | null {
  const index = row.fields.findIndex((f) => f.name === "fusedActivation");
  const inner = index < 0 ? null : (fields[index] as OperatorDescription | null);
  return inner === null ? null : textOf(inner).split(" ")[0]!;
}

export interface Options {
  /** Instead of the operator's. */
  readonly tolerance?: (type: DataType) => Tolerance;
}

export function compareOutcomes(described: Described, got: Outcome, want: Outcome, options: Options = {}): Result {
  const about = `\n  ${textOf(description(described))}`;
  if ("refusal" in want) {
    if (want.refusal.kind === "unsupported" && want.refusal.call !== "IDMLDevice::CreateOperator")
      return { kind: "skipped", reason: `the reference does not execute ${described.row.name}` };
    if (!("refusal" in got)) return differs(`accepted, but refused by the reference: ${want.refusal.message}${about}`);
    return differs(`refused by both, though the table allows it: ${refusalText(got.refusal)} and ${refusalText(want.refusal)}${about}`);
  }
  if ("refusal" in got) return differs(`refused: ${got.refusal.message}${about}`);
  const kind = kindWith(described.row.name, fusedIn(described));
  const findings: Finding[] = [];
  let output = 0;
  described.row.fields.forEach((f, i) => {
    if (f.kind !== "output") return;
    const tensors = tensorsOf(described, i);
    if (tensors.length === 0 && f.type === "tensor") output++;
    for (const t of tensors) {
      const type = typeOf(t.dataType)!;
      const tolerance = options.tolerance?.(type) ?? toleranceOf(kind, type);
      const at = output++;
      const difference = compare(t, got.outputs[at]!, want.outputs[at]!, tolerance, limitOf(described, f.name, want));
      if (difference !== null)
        findings.push({ label: f.name, text: `${f.name}: ${differenceText(difference)}${about}`, elements: difference.differing });
    }
  });
  return findings.length === 0 ? agrees : { kind: "differs", findings };
}

/** A random stream that depends on the case and the seed, not on the order of cases nor on the layout. */
export const randomFor = (id: string, seed: number): Random => new Random(hash(`${seed}:${id}`));

export function runOperatorCase(id: string, described: Described, { device, peer, seed }: Context, options: Options = {}): Result {
  const inputs = inputsFor(described, randomFor(id, seed));
  return compareOutcomes(described, device.run(described, inputs), peer.run(described, inputs), options);
}
