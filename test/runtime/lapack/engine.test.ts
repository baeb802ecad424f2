import { afterEach, expect, it, vi } from "vitest";
import * as dx from "../../../src/index.ts";
import { engine, useEngine } from "../../../src/runtime/lapack/engine.ts";
import { portable } from "../../../src/runtime/lapack/portable.ts";

afterEach(() => {
  vi.unstubAllEnvs();
  useEngine(null);
});

it("is chosen once, by DXTENSOR_LAPACK or by what the system has", () => {
  vi.stubEnv("DXTENSOR_LAPACK", "portable");
  useEngine(null);
  expect([engine(), engine()]).toEqual([portable, portable]);
  vi.stubEnv("DXTENSOR_LAPACK", "/no/such/lapack.so");
  expect(engine()).toBe(portable);
  useEngine(null);
  expect(() => engine()).toThrow(dx.NativeLoadError);
  expect(() => engine()).toThrow(/no such file/);
});

it("an engine that is given is the one that operations use", () => {
  const asked: number[] = [];
  useEngine({
    ...portable,
    lu: (m, n, a, pivots) => {
      asked.push(m, n);
      return portable.lu(m, n, a, pivots);
    },
  });
  expect(dx.linalg.det(dx.eye(3).mul(2)).itemSync()).toBeCloseTo(8, 5);
  expect(asked).toEqual([3, 3]);
});
