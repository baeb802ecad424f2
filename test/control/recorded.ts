/** PyTorch's recorded values of control flow (recorded/control-flow.py). */
import { readFileSync } from "node:fs";
import { expect } from "vitest";
import * as dx from "../../src/index.ts";
import { numbers, type Mode } from "../device.ts";
import { expectClose } from "../tolerance.ts";

interface Row {
  readonly name: string;
  readonly results: readonly (number | readonly number[])[];
  readonly gradients: readonly (readonly number[])[];
}

const { x, w, rows } = JSON.parse(readFileSync(new URL("recorded/control-flow.json", import.meta.url), "utf8")) as {
  readonly x: number[];
  readonly w: number[];
  readonly rows: readonly Row[];
};

export type Body = (x: dx.Tensor, w: dx.Tensor) => readonly dx.Tensor[];

/** Compares results and gradients of the sum of their squares with PyTorch's. */
export function expectRecorded(mode: Mode, name: string, body: Body): void {
  const row = rows.find((r) => r.name === name)!;
  const inputs = [dx.tensor(x, { requiresGrad: true }), dx.tensor(w, { requiresGrad: true })] as const;
  const both = (...own: dx.Tensor[]): dx.Tensor[] => {
    const results = body(own[0]!, own[1]!);
    const loss = results.map((r) => r.to("float32").square().sum()).reduce((a, b) => a.add(b));
    return [...results, ...dx.grad(loss, own)];
  };
  const found = mode.run(both, ...inputs);
  const want = [...row.results, ...row.gradients];
  expect(found.length).toBe(want.length);
  found.forEach((t, i) => {
    expectClose(t, [want[i]!].flat(3) as number[]);
    expect(numbers(t).length).toBe([want[i]!].flat(3).length);
  });
}
