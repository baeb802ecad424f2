import { expect, it } from "vitest";
import { raw, run } from "./run.ts";

interface Result {
  readonly accuracy: number;
  readonly f1: number;
  readonly rocAuc: number;
  readonly confusion: readonly (readonly number[])[];
  readonly curve: readonly { readonly loss: number; readonly rocAuc: number }[];
}

it("the network tells who leaves, and its metrics agree with each other", async () => {
  const { accuracy, f1, rocAuc, confusion, curve } = await run<Result>("tables", ["--rows", "2000", "--epochs", "8", "--goal", "0.8"]);
  const [[stays, alarms], [missed, found]] = confusion as [[number, number], [number, number]];
  expect(stays + alarms + missed + found).toBe(400);
  expect(accuracy).toBe((stays + found) / 400);
  expect(f1).toBeCloseTo((2 * found) / (2 * found + alarms + missed), 12);
  expect(rocAuc).toBeGreaterThan(0.8);
  expect(curve).toHaveLength(8);
  expect(curve.at(-1)!.loss).toBeLessThan(curve[0]!.loss);
});

it("a goal that is missed is an error", async () => {
  const { exitCode, stdout } = await raw("tables", ["--device", "cpu", "--rows", "300", "--epochs", "1", "--goal", "1", "--json"]);
  expect(exitCode).toBe(1);
  expect(stdout).toMatch(/"error":\{"name":"ExampleError","message":"The goal of 1 was missed: /);
});
