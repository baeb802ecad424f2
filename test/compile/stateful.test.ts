import { expect, it } from "vitest";
import * as dx from "../../src/index.ts";
import { clean, eachDevice, numbers } from "../device.ts";
import { difference, programOf, textOf } from "./stateful.ts";
import { isWhole } from "../share.ts";

/** DXTENSOR_FUZZ_PROGRAMS: more of them, for a long run; DXTENSOR_FUZZ_SEED: the first one. */
const PROGRAMS = Number(process.env.DXTENSOR_FUZZ_PROGRAMS ?? (isWhole ? 400 : 100));
const FIRST = Number(process.env.DXTENSOR_FUZZ_SEED ?? 1);
const BATCH = 100;

/** However small they are. */
const recorded = { lists: 3 };

eachDevice("functions with state", (device) => {
  it("set a buffer to zero and return a sum, call after call", async () =>
    clean(
      device,
      () => {
        const t = dx.zeros([64]);
        const f = dx.compile((x: dx.Tensor) => {
          t.zero_();
          return x.sum();
        }, recorded);
        const x = dx.ones([64]);
        for (let i = 0; i < 5; i++) expect(numbers(f(x))).toEqual([64]);
        f.dispose();
      },
      { collect: true },
    ));

  it("fill a part that begins inside a word", async () =>
    clean(
      device,
      () => {
        for (const regions of ["whole", "head", "none"] as const) {
          const t = dx.tensor([1, 2, 3, 4, 5, 6], { dtype: "uint8" });
          const f = dx.compile(
            (x: dx.Tensor) => {
              t.narrow(0, 3, 3).fill_(9);
              const sum = t.add(x);
              t.copy_(sum);
              return sum;
            },
            { ...recorded, regions },
          );
          for (let i = 0; i < 3; i++) {
            const wanted = [2 + i, 3 + i, 4 + i, 10, 10, 10];
            expect(numbers(f(dx.tensor([1], { dtype: "uint8" })))).toEqual(wanted);
            expect(numbers(t)).toEqual(wanted);
          }
          f.dispose();
        }
      },
      { collect: true },
    ));

  it("return old and new values of buffers", async () =>
    clean(
      device,
      () => {
        for (const n of [5, 64, 5000]) {
          const [a, b] = [dx.full([n], 1), dx.full([n], 10)];
          const moved = dx.compile((x: dx.Tensor) => {
            const old = a.clone();
            a.copy_(old.mul(2).add(x));
            return old;
          }, recorded);
          const swapped = dx.compile(() => {
            const [old, other] = [a.clone(), b.clone()];
            const sum = old.add(other);
            a.copy_(other);
            b.copy_(old);
            return [old, other, sum];
          }, recorded);
          const x = dx.ones([n]);
          const all = (value: number) => Array<number>(n).fill(value);
          for (let i = 0, [was, other] = [1, 10]; i < 4; i++, [was, other] = [other, 2 * was + 1]) {
            expect(numbers(moved(x))).toEqual(all(was));
            const now = 2 * was + 1;
            expect(numbers(a)).toEqual(all(now));
            expect(swapped().map(numbers)).toEqual([all(now), all(other), all(now + other)]);
            expect([numbers(a), numbers(b)]).toEqual([all(other), all(now)]);
          }
          moved.dispose();
          swapped.dispose();
        }
      },
      { collect: true },
    ));

  it("set two buffers whose first use is a copy in another group, program after program", async () =>
    clean(
      device,
      () => {
        const programs = Array.from({ length: 100 }, () => {
          const [b, f] = [dx.tensor([1.5]), dx.tensor([1, 2, 3, 4, 5, 6], { shape: [2, 3] })];
          const program = dx.compile(() => {
            b.zero_();
            f.fill_(3);
          }, recorded);
          program();
          expect([...numbers(b), ...numbers(f)]).toEqual([0, 3, 3, 3, 3, 3, 3]);
          return program;
        });
        for (const program of programs) program.dispose();
      },
      { collect: true },
    ));

  for (let from = FIRST; from < FIRST + PROGRAMS; from += BATCH) {
    const to = Math.min(from + BATCH, FIRST + PROGRAMS);
    it(`do compiled what they do eagerly, random programs ${from} to ${to - 1}`, () => {
      for (let seed = from; seed < to; seed++) {
        const program = programOf(seed);
        let found: string | null;
        try {
          found = difference(program, device);
        } catch (error) {
          found = String(error);
        }
        if (found !== null) expect.fail(`${found}\n${textOf(program)}`);
      }
    });
  }
});
