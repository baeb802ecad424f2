import { expect, it } from "vitest";
import * as dx from "../../src/index.ts";
import { measureDevice } from "../../src/measure/measure.ts";
import { SHADERS } from "../../src/shader/choice.ts";
import { eachDevice } from "../device.ts";

eachDevice("the measurement", (name) => {
  it("times both forms of all that there are shaders for, and finds their results equal", { timeout: 300_000 }, async () => {
    const before = process.env.DXTENSOR_SHADERS;
    const seen: string[] = [];
    const found = await measureDevice(dx.device(name), { quick: true, onCase: (text) => seen.push(text) });
    expect(process.env.DXTENSOR_SHADERS).toBe(before);
    expect(new Set(found.map((m) => m.shader))).toEqual(new Set(SHADERS));
    expect(found.map((m) => `${m.shader} ${m.dtype} ${m.place} ${m.extent}`)).toEqual(seen);
    expect(found.filter((m) => m.isWrong || m.byShader === null)).toEqual([]);
    expect(found.every(({ directml, byShader }) => directml > 0 && byShader! > 0)).toBe(true);
    expect(dx.counters(name).shadersCompiled).toBeGreaterThan(0);
    dx.closeDevice(name);
  });

  it("stops when it is told to", async () => {
    const options = { quick: true, onCase: () => {}, signal: AbortSignal.abort(new Error("enough")) };
    await expect(measureDevice(dx.device(name), options)).rejects.toThrow("enough");
  });
});
