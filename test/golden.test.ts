/** PyTorch's recorded results: every case of the operations delivered, forward, in place, gradients and errors. */
import { afterAll, describe, expect, test } from "vitest";
import * as dx from "../src/index.ts";
import { clean, devices, isMicrosoft, modes, refusedProduct, storageOf } from "./device.ts";
import { Call } from "./golden/call.ts";
import { Excluded, dtypeOf, elementsOf, readCases, tensorsOf, type Case, type GoldenTensor, type Path } from "./golden/cases.ts";
import { exclusions, looser, sumsOfProducts, microsoft } from "./golden/exclusions.ts";
import files from "./golden/files.json" with { type: "json" };
import { table, type Result } from "./golden/table.ts";
import { near, TOLERANCE } from "./tolerance.ts";
import { values } from "../src/ops/data.ts";

interface Count {
  passed: number;
  compiled: number;
  gradients: number;
  inPlace: number;
  errors: number;
  failed: number;
  excluded: Map<string, number>;
}
const counts = new Map<string, Count>();

const flatten = (r: Result): (dx.Tensor | number | boolean | string)[] =>
  Array.isArray(r) ? (r as readonly Result[]).flatMap(flatten) : [r as dx.Tensor];

/** What differs between a tensor and the expected one, or null. */
function difference(
  got: dx.Tensor,
  want: GoldenTensor,
  compare: string,
  tol: { rtol: number; atol: number } | undefined,
  extra?: { rtol: number; atol: number },
): string | null {
  const dtype = dtypeOf(want.t);
  if (got.dtype !== dtype || got.shape.join() !== want.shape.join())
    return `${got.describe()} instead of ${dtype}[${want.shape.join(", ")}]`;
  if (compare === "meta") return null;
  const wanted = elementsOf(want);
  const found = values(got.dtype, got.dataSync());
  const own = extra ?? TOLERANCE[dtype];
  const bound = { rtol: Math.max(tol?.rtol ?? 0, own?.rtol ?? 0), atol: Math.max(tol?.atol ?? 0, own?.atol ?? 0) };
  const at = wanted.findIndex((w, i) => {
    const g = found[i]!;
    if (typeof w === "bigint") return BigInt(g) !== w;
    return compare === "close" ? !near(Number(g), w, bound) : Number(g) !== w && !(Number.isNaN(Number(g)) && Number.isNaN(w));
  });
  return at < 0 ? null : `element ${at} is ${String(found[at])} instead of ${String(wanted[at])}`;
}

/** The bound of what Microsoft's library computes less exactly. */
const lessExact = (c: Case): { rtol: number; atol: number } | undefined =>
  isMicrosoft(dx.defaultDevice().toString()) ? looser[c.op] : undefined;

/** A wider bound than the dtype's, where there is a reason. */
function looserBound(c: Case, want: GoldenTensor): { rtol: number; atol: number } | undefined {
  const known = lessExact(c);
  if (known !== undefined || want.t !== "f32" || !sumsOfProducts.test(c.op)) return known;
  const largest = Math.max(
    ...elementsOf(want)
      .map((v) => Math.abs(Number(v)))
      .filter(Number.isFinite),
    0,
  );
  return { rtol: 1e-5, atol: Math.max(1e-5, 4 * 2 ** -24 * largest) };
}

function checkOutputs(c: Case, outputs: readonly (dx.Tensor | number | boolean | string)[]): string | null {
  const out = c.out!;
  const wanted = tensorsOf(out);
  if (wanted.length === 0) {
    const want = typeof out === "object" && out !== null && "k" in out && out.k === "dtype" ? dtypeOf(out.v) : out;
    return outputs[0] === want ? null : `${String(outputs[0])} instead of ${JSON.stringify(out)}`;
  }
  if (wanted.length !== outputs.length) return `${outputs.length} results instead of ${wanted.length}`;
  for (const [i, want] of wanted.entries()) {
    const got = outputs[i]!;
    if (!(got instanceof dx.Tensor)) return `${String(got)} instead of a tensor`;
    const problem = difference(got, want, c.compare?.[i] ?? "exact", c.tol, looserBound(c, want));
    if (problem !== null) return wanted.length === 1 ? problem : `result ${i}: ${problem}`;
  }
  return null;
}

function checkGradients(c: Case, call: Call, outputs: readonly dx.Tensor[]): string | null {
  const seeds = c.gradOutputs!.map((g) =>
    g === null ? null : dx.tensor(new Float32Array(elementsOf(g) as number[]), { shape: g.shape, dtype: dtypeOf(g.t) }),
  );
  const roots = outputs.filter((t, i) => seeds[i] != null && t.requiresGrad);
  if (roots.length > 0) dx.backward(roots, { gradient: seeds.filter((s, i): s is dx.Tensor => s !== null && outputs[i]!.requiresGrad) });
  for (const { path, grad } of c.grads!) {
    const leaf = leafAt(call, path);
    if (grad === null) {
      if (leaf.grad !== null) return `a gradient of ${JSON.stringify(path)} where there is none`;
      continue;
    }
    const got = leaf.grad ?? dx.zeros(leaf.shape, { dtype: leaf.dtype });
    const problem = difference(got, grad, "close", c.gradTol, lessExact(c));
    leaf.grad?.dispose();
    leaf.grad = null;
    if (problem !== null) return `gradient of ${JSON.stringify(path)}: ${problem}`;
  }
  return null;
}

const leafAt = (call: Call, path: Path): dx.Tensor => call.tensors.get(JSON.stringify(path))!;

/** Runs a case; the text of what is wrong, or null. */
function run(c: Case, names: readonly string[], count: Count): string | null {
  const entry = table[c.op]!;
  if (c.kind === "error") {
    const call = new Call(c, names);
    try {
      for (const r of flatten(entry.run(call))) if (r instanceof dx.Tensor && r.size > 0) r.dataSync();
    } catch (error) {
      if (error instanceof Excluded) throw error;
      if (!(error instanceof dx.DxError)) return `threw ${String(error)}, which is none of the library's errors`;
      count.errors++;
      return null;
    }
    return `did not throw (${c.error!.message})`;
  }
  const call = new Call(c);
  const problem = checkOutputs(c, flatten(dx.noGrad(() => entry.run(call))));
  if (problem !== null) return problem;
  if (UNCOMPILED.has(c.op)) return afterForward(c, call, count);
  const compiled = modes.find((m) => m.name === "compiled")!;
  const again = checkOutputs(c, flatten(dx.noGrad(() => compiled.run(() => entry.run(call)))));
  if (again !== null) return `compiled: ${again}`;
  count.compiled++;
  return afterForward(c, call, count);
}

/** Give no tensors, so there is nothing to compile. */
const UNCOMPILED = new Set(["numel", "promote_types"]);

/** Views, gradients and the in-place form of a case whose result is right. */
function afterForward(c: Case, call: Call, count: Count): string | null {
  const entry = table[c.op]!;
  for (const [i, t] of (c.alias ?? []).entries()) {
    const out = flatten(dx.noGrad(() => entry.run(call)))[i];
    if (t && out instanceof dx.Tensor && call.x.isContiguous && storageOf(out) !== storageOf(call.x))
      return `result ${i} is a copy instead of a view`;
  }
  if (c.grads !== undefined && c.gradOutputs !== undefined) {
    const again = new Call(c);
    for (const { path } of c.grads) leafAt(again, path).requiresGrad_();
    const wrong = checkGradients(c, again, flatten(entry.run(again)) as dx.Tensor[]);
    if (wrong !== null) return wrong;
    count.gradients++;
  }
  if (c.inplace !== undefined && entry.inPlace !== undefined) {
    const fresh = new Call(c);
    try {
      entry.inPlace(fresh);
    } catch (error) {
      if (c.inplace === "throws" && error instanceof dx.DxError) {
        count.inPlace++;
        return null;
      }
      throw error;
    }
    if (c.inplace === "throws") return "the in-place form did not throw";
    const changed = checkOutputs(c, [fresh.x]);
    if (changed !== null) return `in place: ${changed}`;
    count.inPlace++;
  }
  return null;
}

const reasonOf = (c: Case, device: string): string | null =>
  (exclusions.find((e) => e.applies(c)) ?? (isMicrosoft(device) ? microsoft.find((e) => e.applies(c)) : undefined))?.reason ?? null;

for (const device of devices) {
  const count: Count = { passed: 0, compiled: 0, gradients: 0, inPlace: 0, errors: 0, failed: 0, excluded: new Map() };
  counts.set(device, count);
  describe(`golden cases on ${device}`, () => {
    for (const { op, file } of files) {
      test(op, async () => {
        expect(table[op], `an entry for ${op}`).toBeDefined();
        const failures: string[] = [];
        await clean(
          device,
          () => {
            const cases = readCases(file);
            // Refused calls bring no parameter names: those of the longest good call serve.
            const names = cases.reduce<readonly string[]>(
              (best, c) => (c.names !== undefined && c.names.length > best.length ? c.names : best),
              [],
            );
            for (const c of cases) {
              const exclude = (reason: string): void => void count.excluded.set(reason, (count.excluded.get(reason) ?? 0) + 1);
              const reason = reasonOf(c, device);
              if (reason !== null) {
                exclude(reason);
                continue;
              }
              try {
                const problem = dx.scope(() => run(c, names, count));
                if (problem === null) count.passed++;
                else failures.push(`${c.id}: ${problem}`);
              } catch (error) {
                const refused = op === "prod" && /^[iu]|^b/.test(c.dtype) ? refusedProduct(error, device) : null;
                if (error instanceof Excluded) exclude(error.message);
                else if (refused !== null) exclude(refused);
                else failures.push(`${c.id}: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`);
              }
            }
          },
          { collect: true },
        );
        count.failed += failures.length;
        expect(failures).toEqual([]);
      });
    }
    test("counts", () => {
      expect(count.passed).toBeGreaterThan(1500);
      expect(count.gradients).toBeGreaterThan(500);
    });
  });
}

afterAll(() => {
  for (const [device, c] of counts) {
    const excluded = [...c.excluded.values()].reduce((a, b) => a + b, 0);
    console.log(
      `golden on ${device}: ${c.passed} passed (${c.compiled} compiled too, ${c.gradients} with gradients, ${c.inPlace} in place, ${c.errors} errors), ${c.failed} failed, ${excluded} excluded`,
    );
    for (const [reason, n] of c.excluded) console.log(`  ${n}: ${reason}`);
  }
});
