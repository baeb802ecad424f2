/** Compiled shaders in the cache folder: found by later processes, and never taken from a file that is damaged, foreign or another shader's. */
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { containerFolder, readContainer, shrink, writeContainer } from "../../../src/shader/dxbc/container-store.ts";
import { emitShader, type CompiledShader } from "../../../src/shader/dxbc/emit.ts";
import { announcingContainers, makeCode, ShaderProgram } from "../../../src/shader/dxbc/shader-program.ts";
import type { Shader } from "../../../src/shader/ir.ts";
import { Scope } from "../../../src/shader/language.ts";

const variables = ["XDG_CACHE_HOME", "LOCALAPPDATA", "DXTENSOR_SHADER_CACHE", "DXTENSOR_VERIFY"] as const;
let folder: string;
let before: (string | undefined)[];
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "dxtensor-containers-"));
  before = variables.map((name) => process.env[name]);
  process.env.XDG_CACHE_HOME = process.env.LOCALAPPDATA = folder;
  process.env.DXTENSOR_SHADER_CACHE = "1";
});
afterEach(() => {
  variables.forEach((name, i) => {
    if (before[i] === undefined) delete process.env[name];
    else process.env[name] = before[i];
  });
  rmSync(folder, { recursive: true, force: true });
});

const buffers = { x: { element: "f32", isWritable: false }, y: { element: "f32", isWritable: true } } as const;
const traits = { seesTexels: false, roundsHalf: false };

function source(factor: number): Shader {
  const s = new Scope<{ x: "f32"; y: "f32" }, { n: "u32" }>("scaled", 64, buffers, { n: "u32" }, false);
  const i = s.thread;
  s.if(i.lt(s.params.n), () => s.buffers.y.store(i, s.buffers.x.load(i).mul(factor)));
  return { ...s.finish(), isPrecise: false };
}

/** A program whose code is that of a factor, and how often its source was made. */
function later(factor: number, code = `scaled by ${factor}`): { readonly program: ShaderProgram; readonly made: () => number } {
  let count = 0;
  const make = (): Shader => (count++, source(factor));
  return { program: new ShaderProgram({ name: "scaled", threads: 64, buffers: Object.values(buffers), code, make }), made: () => count };
}

const files = (): string[] => readdirSync(containerFolder()).map((name) => join(containerFolder(), name));
const plain = ({ bytes, views, uniforms, instructions, registers }: CompiledShader): unknown => ({ bytes: [...bytes], views: [...views], uniforms, instructions, registers }); // prettier-ignore

/** A program with a loop of so many trips, which is unrolled. */
function unrolled(trips: number): { readonly program: ShaderProgram; readonly made: () => number } {
  let count = 0;
  const make = (): Shader => {
    count++;
    const s = new Scope<{ x: "f32"; y: "f32" }, Record<string, never>>("sum", 64, buffers, {}, false);
    const sum = s.variable(s.f32(0));
    s.for(0, trips, (i) => void (sum.value = sum.value.add(s.buffers.x.load(s.thread.mul(i)))), { unroll: true });
    s.buffers.y.store(s.thread, sum.value);
    return { ...s.finish(), isPrecise: false };
  };
  const code = `sum of ${trips}`;
  return { program: new ShaderProgram({ name: "sum", threads: 64, buffers: Object.values(buffers), code, make }), made: () => count };
}

it("those of a program are made as long ones first, behind what an earlier process has made", () => {
  unrolled(3).program.compiled(traits);
  const all = [2, 9, 3, 30, 5].map((trips) => unrolled(trips));
  const facts = { shapes: { x: [64], y: [64] }, params: {} };
  const calls = all.map(({ program }) => program.call(traits, 1, facts));
  const told: CompiledShader[] = [];
  announcingContainers((made) => told.push(made), () => makeCode([...calls, calls[0]!])); // prettier-ignore
  expect(told.map(({ bytes }) => bytes)).toEqual([2, 3, 1, 4, 0].map((i) => calls[i]!.bytes));
  expect(all.map(({ made }) => made())).toEqual([1, 1, 0, 1, 1]);
  // All of them again: nothing is made, and all are told of.
  const again: CompiledShader[] = [];
  announcingContainers((made) => again.push(made), () => makeCode(calls)); // prettier-ignore
  expect(again.map(({ bytes }) => bytes)).toEqual(calls.map(({ bytes }) => bytes));
});

describe("compiled shaders", () => {
  it("are found by a later program with the same code, whose source is not made", () => {
    const expected = emitShader(source(2), traits);
    const first = later(2);
    expect(plain(first.program.compiled(traits))).toEqual(plain(expected));
    const second = later(2);
    expect(plain(second.program.compiled(traits))).toEqual(plain(expected));
    expect([first.made(), second.made()]).toEqual([1, 0]);
    const facts = { shapes: { x: [100], y: [100] }, params: { n: 100 } };
    expect(second.program.call(traits, 2, facts).constants).toEqual(first.program.call(traits, 2, facts).constants);
    // Its source is there where it is given again.
    expect(() => second.program.source).toThrow(/found compiled/);
    expect(second.program.later(() => source(2)).source.name).toBe("scaled");
    const other = later(3);
    other.program.compiled(traits);
    expect(other.made()).toBe(1);
    expect(files()).toHaveLength(2);
  });

  it("are made when a launch's code is read, and told of once each", () => {
    const [first, second] = [later(2), later(3)];
    const facts = { shapes: { x: [100], y: [100] }, params: { n: 100 } };
    const calls = [first, first, second].map(({ program }) => program.call(traits, 2, facts));
    expect(calls.map(({ groups }) => groups)).toEqual([[2, 1, 1], [2, 1, 1], [2, 1, 1]]); // prettier-ignore
    expect([first.made(), second.made()]).toEqual([0, 0]);
    expect(calls[0]!.id).toBe(calls[1]!.id);
    const told: CompiledShader[] = [];
    announcingContainers(
      (made) => told.push(made),
      () => {
        expect([...calls[0]!.constants]).toEqual([100, 100, 100, 2]);
        expect(calls[1]!.bytes).toBe(calls[0]!.bytes);
        expect(calls[0]!.views).toBe(told[0]!.views);
      },
    );
    expect([first.made(), second.made()]).toEqual([1, 0]);
    expect(told).toHaveLength(1);
    expect(told[0]!.bytes).toBe(calls[0]!.bytes);
    expect(calls[2]!.bytes.length).toBeGreaterThan(0);
    expect(told).toHaveLength(1);
  });

  it("are of one form of device each", () => {
    later(2).program.compiled(traits);
    const texels = later(2);
    expect(plain(texels.program.compiled({ ...traits, seesTexels: true }))).toEqual(
      plain(emitShader(source(2), { ...traits, seesTexels: true })),
    );
    expect(texels.made()).toBe(1);
  });

  it("are made again where a file is cut off, changed, empty, foreign or another shader's, and written again", () => {
    later(2).program.compiled(traits);
    later(3).program.compiled(traits);
    const [path, other] = files() as [string, string];
    const content = readFileSync(path);
    const changed = (at: number): Buffer => {
      const bytes = Buffer.from(content);
      bytes[at]! ^= 1;
      return bytes;
    };
    const damaged = [content.subarray(0, 20), content.subarray(0, -1), Buffer.alloc(0), Buffer.from("{}"), readFileSync(other), ...[0, 9, 40, content.length - 40, content.length - 1].map(changed)]; // prettier-ignore
    for (const bytes of damaged) {
      writeFileSync(path, bytes);
      const all = [later(2), later(3)];
      for (const { program } of all) program.compiled(traits);
      expect(all.map(({ made }) => made()).reduce((a, b) => a + b)).toBe(1);
      expect(readFileSync(path).equals(content)).toBe(true);
    }
  });

  it.skipIf(process.platform === "win32")("are not taken from a file that others may write", () => {
    later(2).program.compiled(traits);
    chmodSync(files()[0]!, 0o666);
    const again = later(2);
    again.program.compiled(traits);
    expect(again.made()).toBe(1);
  });

  it("are made where the folder cannot be made, and where the cache is off", () => {
    writeFileSync(join(folder, "dxtensor"), "a file");
    const first = later(2);
    expect(first.program.compiled(traits).instructions).toBeGreaterThan(0);
    rmSync(join(folder, "dxtensor"));
    process.env.DXTENSOR_SHADER_CACHE = "0";
    later(2).program.compiled(traits);
    expect(readdirSync(folder)).toEqual([]);
  });

  it("are compared with new ones where DXTENSOR_VERIFY is on", () => {
    later(2, "same").program.compiled(traits);
    process.env.DXTENSOR_VERIFY = "1";
    expect(later(2, "same").program.compiled(traits).bytes.length).toBeGreaterThan(0);
    expect(() => later(3, "same").program.compiled(traits)).toThrow(/the cache has other code/);
  });

  it("leave no parts of files, and are not kept in a folder that is no folder", () => {
    const shader = emitShader(source(2), traits);
    for (let i = 0; i < 3; i++) writeContainer("one", shader);
    expect(plain(readContainer("one")!)).toEqual(plain(shader));
    const [path] = files() as [string];
    expect(files()).toEqual([path]);
    rmSync(path);
    mkdirSync(path);
    writeContainer("one", shader);
    expect(readContainer("one")).toBeNull();
    expect(files()).toEqual([path]);
  });

  it("are removed where there are too many, those that were used least recently first", () => {
    mkdirSync(folder, { recursive: true });
    const now = Date.now() / 1000;
    for (let i = 0; i < 10; i++) {
      writeFileSync(join(folder, `${i}.bin`), Buffer.alloc(100));
      utimesSync(join(folder, `${i}.bin`), now, now - 1000 * (i % 2 === 0 ? 100 - i : i));
    }
    writeFileSync(join(folder, "left.part"), "");
    utimesSync(join(folder, "left.part"), now, now - 200_000);
    shrink(folder, 1000);
    expect(readdirSync(folder)).toHaveLength(10);
    shrink(folder, 800);
    expect(readdirSync(folder).toSorted()).toEqual(["1.bin", "3.bin", "5.bin", "7.bin", "8.bin", "9.bin"]);
  });

  it("that are read late in their life count as used", () => {
    later(2).program.compiled(traits);
    const [path] = files() as [string];
    const long = Date.now() / 1000 - 500_000;
    utimesSync(path, long, long);
    later(2).program.compiled(traits);
    expect(Date.now() - statSync(path).mtimeMs).toBeLessThan(100_000);
  });
});
