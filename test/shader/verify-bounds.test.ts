/** Accesses of launches are proven to be inside of their memory; a shader without proof is refused. */
import { afterEach, describe, expect, it, vi } from "vitest";
import { ShaderError } from "../../src/core/errors.ts";
import { lowered } from "../../src/shader/dxbc/emit.ts";
import { evaluateShader } from "../../src/shader/evaluate.ts";
import type { Shader, UniformSource } from "../../src/shader/ir.ts";
import { kernel } from "../../src/shader/kernels/kernel.ts";
import type { Scope } from "../../src/shader/language.ts";
import { lower } from "../../src/shader/lower-memory.ts";
import type { Bool, Float, Uint } from "../../src/shader/numbers.ts";
import { simplify } from "../../src/shader/simplify.ts";
import { verifyBounds } from "../../src/shader/verify-bounds.ts";
import { isWhole } from "../share.ts";
import { generator } from "./random.ts";
import { build } from "./support.ts";

type Buffers = { readonly x: "f32"; readonly h: "f16"; readonly out: "f32" };
type S = Scope<Buffers, { readonly n: "u32"; readonly width: "u32" }>;
interface Unguarded {
  loadsInside(at: Uint, count: number): Float[];
  loadsInView(at: Uint, count: number): Float[];
  storesInside(at: Uint, values: readonly Float[]): void;
}
const unguarded = (of: unknown): Unguarded => of as Unguarded;
const put = (s: S, at: Uint, count = 1): void =>
  unguarded(s.buffers.out).storesInside(
    at,
    Array.from({ length: count }, () => s.f32(1)),
  );

const THREADS = 64;
interface Numbers {
  readonly sizes: { readonly x?: number; readonly h?: number; readonly out: number };
  readonly n?: number;
  readonly width?: number;
  readonly groups?: number;
  readonly rows?: number;
}

const make = (body: (s: S) => void): Shader => build({ x: "f32", h: "f16", out: "f32" }, { n: "u32", width: "u32" }, THREADS, body);

/** With structures and with texels. Gives the message of what is refused, null where all is proven. */
function verified(shader: Shader, { sizes, n = 0, width = 0, groups = 1, rows = 1 }: Numbers): string | null {
  const messages = [false, true].map((seesTexels) => {
    const { shader: made, strides } = lowered(shader, { seesTexels, roundsHalf: true });
    const numbers: { readonly [key: string]: number } = { n, width, ...sizes };
    const uniform = ({ source }: { readonly source: UniformSource }): number =>
      source.kind === "grid" ? groups : (numbers[source.kind === "parameter" ? source.name : source.buffer] ?? 0);
    try {
      verifyBounds(made, strides, { threads: THREADS, groups: [groups, rows], uniform });
      return null;
    } catch (error) {
      expect(error).toBeInstanceOf(ShaderError);
      return (error as ShaderError).message;
    }
  });
  return messages.find((m) => m !== null) ?? null;
}

/** Right shaders, and what becomes of each by one mistake. */
const cases: readonly (readonly [
  name: string,
  numbers: Numbers,
  right: (s: S) => void,
  wrong: { readonly [mistake: string]: (s: S) => void },
])[] = [
  [
    "elements of threads",
    { sizes: { out: 100 }, groups: 2 },
    (s) => s.if(s.thread.lt(s.buffers.out.size), () => put(s, s.thread)),
    {
      "without a comparison": (s) => put(s, s.thread),
      "one element too many": (s) => s.if(s.thread.le(s.buffers.out.size), () => put(s, s.thread)),
      "the next element": (s) => s.if(s.thread.lt(s.buffers.out.size), () => put(s, s.thread.add(1))),
      "a comparison of another index": (s) => s.if(s.local.lt(s.buffers.out.size), () => put(s, s.thread)),
      "in the other branch": (s) =>
        s.if(
          s.thread.lt(s.buffers.out.size),
          () => s.print("inside"),
          () => put(s, s.thread),
        ),
      "behind the branch": (s) => {
        s.if(s.thread.lt(s.buffers.out.size), () => put(s, s.thread));
        put(s, s.thread);
      },
      "one of two comparisons": (s) => s.if(s.thread.lt(s.buffers.out.size).or(s.local.lt(3)), () => put(s, s.thread)),
      "a signed comparison": (s) => s.if(s.thread.toInt().lt(s.buffers.out.size.toInt()), () => put(s, s.thread.sub(1))),
      "the size of another buffer": (s) => s.if(s.thread.lt(s.buffers.x.size.add(128)), () => put(s, s.thread)),
    },
  ],
  [
    "four elements at once",
    { sizes: { out: 4 * 30 } },
    (s) => s.if(s.thread.mul(4).lt(s.buffers.out.size), () => put(s, s.thread.mul(4), 4)),
    {
      "the next four": (s) => s.if(s.thread.mul(4).lt(s.buffers.out.size), () => put(s, s.thread.mul(4).add(4), 4)),
      "a comparison of a multiple of two": (s) => s.if(s.thread.mul(2).lt(s.buffers.out.size), () => put(s, s.thread.mul(4), 4)),
      "eight by eight": (s) => s.if(s.thread.mul(4).lt(s.buffers.out.size), () => put(s, s.thread.mul(8), 4)),
    },
  ],
  [
    "rows and columns",
    { sizes: { out: 7 * 9 }, n: 7, width: 9, groups: 4 },
    (s) => {
      const [row, column] = [s.thread.div(16), s.thread.mod(16)];
      s.if(row.lt(s.params.n).and(column.lt(s.params.width)), () => put(s, row.mul(s.params.width).add(column)));
    },
    {
      "a wrong stride": (s) => {
        const [row, column] = [s.thread.div(16), s.thread.mod(16)];
        s.if(row.lt(s.params.n).and(column.lt(s.params.width)), () => put(s, row.mul(s.params.width.add(1)).add(column)));
      },
      "columns that are not compared": (s) => {
        const [row, column] = [s.thread.div(16), s.thread.mod(16)];
        s.if(row.lt(s.params.n), () => put(s, row.mul(s.params.width).add(column)));
      },
      "rows that are not compared": (s) => {
        const [row, column] = [s.thread.div(16), s.thread.mod(16)];
        s.if(column.lt(s.params.width), () => put(s, row.mul(s.params.width).add(column)));
      },
      "rows and columns exchanged": (s) => {
        const [row, column] = [s.thread.div(16), s.thread.mod(16)];
        s.if(row.lt(s.params.n).and(column.lt(s.params.width)), () => put(s, column.mul(s.params.width).add(row)));
      },
    },
  ],
  [
    "neighbours, which may lie before the first element",
    { sizes: { x: 40, out: THREADS } },
    (s) => {
      const at = s.thread.sub(3);
      const inside = at.lt(s.buffers.x.size);
      const [value] = unguarded(s.buffers.x).loadsInside(inside.select(at, 0), 1);
      put(s, s.thread.min(s.u32(THREADS - 1)));
      s.buffers.out.store(s.thread, value!);
    },
    {
      "no choice": (s) => s.buffers.out.store(s.thread, unguarded(s.buffers.x).loadsInside(s.thread.sub(3), 1)[0]!),
      "the wrong choice": (s) => {
        const at = s.thread.sub(3);
        const inside = at.lt(s.buffers.x.size);
        s.buffers.out.store(s.thread, unguarded(s.buffers.x).loadsInside(inside.select(s.u32(0), at), 1)[0]!);
      },
    },
  ],
  [
    "a mask of taps",
    { sizes: { x: 10, out: THREADS } },
    (s) => {
      const taps = [0, 1, 2].map((i) => s.thread.add(i).sub(1));
      const mask = taps.map((at, i) => at.lt(10).select(s.u32(1 << i), 0)).reduce((a, b) => a.or(b));
      taps.forEach((at, i) =>
        s.buffers.out.store(
          s.thread,
          unguarded(s.buffers.x).loadsInside(
            mask
              .and(1 << i)
              .ne(0)
              .select(at, 0),
            1,
          )[0]!,
        ),
      );
    },
    {
      "another tap's bit": (s) => {
        const taps = [0, 1, 2].map((i) => s.thread.add(i).sub(1));
        const mask = taps.map((at, i) => at.lt(10).select(s.u32(1 << i), 0)).reduce((a, b) => a.or(b));
        const at = mask.and(1).ne(0).select(taps[2]!, 0);
        s.buffers.out.store(s.thread, unguarded(s.buffers.x).loadsInside(at, 1)[0]!);
      },
    },
  ],
  [
    "loops",
    { sizes: { x: 50, out: 50 }, n: 50 },
    (s) => s.for(s.local, s.params.n, (i) => put(s, i), { step: THREADS, unroll: false }),
    {
      "a trip too many": (s) => s.for(s.local, s.params.n.add(1), (i) => put(s, i), { step: THREADS, unroll: false }),
      "several elements of a trip": (s) => s.for(0, s.params.n, (i) => put(s, i, 4), { step: 3, unroll: false }),
      "a variable that grows": (s) => {
        const at = s.variable(s.local.min(s.u32(49)));
        s.for(0, s.params.n, () => {
          put(s, at.value);
          at.value = at.value.add(1);
        }, { unroll: false }); // prettier-ignore
      },
    },
  ],
  [
    "a position that wraps around in a loop",
    { sizes: { x: 20, out: 20 }, n: 7, width: 20 },
    (s) => {
      const at = s.variable(s.local.min(s.params.width.sub(1)));
      s.for(0, 100, () => {
        put(s, at.value);
        const next = at.value.add(s.params.n);
        at.value = next.ge(s.params.width).select(next.sub(s.params.width), next);
      }, { unroll: false }); // prettier-ignore
    },
    {
      "one late": (s) => {
        const at = s.variable(s.local.min(s.params.width.sub(1)));
        s.for(0, 100, () => {
          put(s, at.value);
          const next = at.value.add(s.params.n);
          at.value = next.gt(s.params.width).select(next.sub(s.params.width), next);
        }, { unroll: false }); // prettier-ignore
      },
    },
  ],
  [
    "what is left of a loop by a break",
    { sizes: { out: 33 } },
    (s) =>
      s.for(0, 40, (i) => {
        s.if(i.ge(s.buffers.out.size), () => s.break());
        put(s, i);
      }, { unroll: false }), // prettier-ignore
    {
      "before the break": (s) =>
        s.for(0, 40, (i) => {
          put(s, i);
          s.if(i.ge(s.buffers.out.size), () => s.break());
        }, { unroll: false }), // prettier-ignore
    },
  ],
  [
    "copies by parts of a quotient",
    { sizes: { x: 5 * 18, out: THREADS }, n: 5, groups: 3 },
    (s) =>
      s.for(s.local, 36, (i) => {
        const first = s.group.mul(2);
        const inside = first.add(i.div(18)).lt(s.params.n);
        s.buffers.out.store(s.local, unguarded(s.buffers.x).loadsInside(inside.select(first.mul(18).add(i), 0), 1)[0]!);
      }, { step: THREADS, unroll: false }), // prettier-ignore
    {
      "another divisor": (s) =>
        s.for(s.local, 36, (i) => {
          const first = s.group.mul(2);
          const inside = first.add(i.div(20)).lt(s.params.n);
          s.buffers.out.store(s.local, unguarded(s.buffers.x).loadsInside(inside.select(first.mul(18).add(i), 0), 1)[0]!);
        }, { step: THREADS, unroll: false }), // prettier-ignore
    },
  ],
  [
    "shared memory",
    { sizes: { out: THREADS } },
    (s) => {
      const all = s.shared("f32", 80);
      unguarded(all).storesInside(s.local.add(16), [s.f32(1)]);
      s.barrier();
      put(s, s.local);
      s.buffers.out.store(s.local, unguarded(all).loadsInside(s.u32(79).sub(s.local), 1)[0]!);
    },
    {
      "a store behind it": (s) => unguarded(s.shared("f32", 80)).storesInside(s.local.add(17), [s.f32(1)]),
      "a load behind it": (s) => s.buffers.out.store(s.local, unguarded(s.shared("f32", 80)).loadsInside(s.local.mul(2), 1)[0]!),
      "a load that says that a view bounds it": (s) =>
        s.buffers.out.store(s.local, unguarded(s.shared("f32", 80)).loadsInView(s.local.mul(2), 1)[0]!),
    },
  ],
  [
    "halves",
    { sizes: { h: 65, out: THREADS } },
    (s) => s.buffers.out.store(s.local, unguarded(s.buffers.h).loadsInside(s.local.min(s.u32(64)), 1)[0]!),
    {
      "two behind the last": (s) => s.buffers.out.store(s.local, unguarded(s.buffers.h).loadsInside(s.local.add(3), 1)[0]!),
      "eight at once": (s) => s.buffers.out.store(s.local, unguarded(s.buffers.h).loadsInside(s.local.mul(8), 8)[0]!),
    },
  ],
];

describe.each(cases)("%s", (_, numbers, right, wrong) => {
  it("are proven to be inside", () => expect(verified(make(right), numbers)).toBeNull());
  it.each(Object.entries(wrong))("%s: refused", (__, body) => {
    expect(verified(make(body), numbers)).toMatch(
      /^test: (store|load) \d+ is not proven to be inside of (x|h|out|shared0): it may touch byte \d+ of \d+/,
    );
  });
});

it("names the access, the memory and how far it may reach", () => {
  const shader = make((s) => {
    s.if(s.thread.lt(s.buffers.out.size), () => put(s, s.thread));
    s.if(s.thread.le(s.buffers.out.size), () => put(s, s.thread));
  });
  expect(verified(shader, { sizes: { out: 50 } })).toMatch(
    /^test: store 1 is not proven to be inside of out: it may touch byte 203 of 200 \(.*verify-bounds\.test\.ts:\d+/,
  );
});

it("a launch of more groups, of fewer elements or of other numbers is refused", () => {
  const shader = make((s) => put(s, s.thread.mul(s.params.n)));
  const launch: Numbers = { sizes: { out: 3 * 127 + 1 }, n: 3, groups: 2 };
  expect(verified(shader, launch)).toBeNull();
  for (const other of [{ groups: 3 }, { rows: 2 }, { n: 4 }, { sizes: { out: 3 * 127 } }])
    expect(verified(shader, { ...launch, ...other })).toMatch(/store 0 is not proven/);
});

it("what no thread reaches is inside", () => {
  const shader = make((s) => s.if(s.thread.ge(s.params.n), () => put(s, s.thread.mul(1000))));
  expect(verified(shader, { sizes: { out: 1 }, n: 64 })).toBeNull();
  expect(verified(shader, { sizes: { out: 1 }, n: 63 })).toMatch(/store 0/);
});

it("what is known where no thread comes says nothing of what follows", () => {
  const shader = make((s) => {
    const at = s.thread.lt(s.params.width).select(s.thread, s.thread.mul(2));
    s.if(s.params.n.ge(116), () => put(s, at));
    put(s, at);
  });
  const launch: Numbers = { sizes: { out: 127 }, n: 11, width: 7 };
  expect(verified(shader, launch)).toBeNull();
  expect(verified(shader, { ...launch, sizes: { out: 126 } })).toMatch(/store 1 is not proven/);
});

it("a load that a view bounds needs no proof, a store does", () => {
  const load = make((s) => s.buffers.out.store(s.local, unguarded(s.buffers.x).loadsInView(s.thread.mul(s.thread), 1)[0]!));
  expect(verified(load, { sizes: { x: 1, out: 1 } })).toBeNull();
});

describe("with DXTENSOR_VERIFY", () => {
  afterEach(() => vi.unstubAllEnvs());

  it("a launch of the library's is refused where its numbers are not those of its buffers", () => {
    vi.stubEnv("DXTENSOR_VERIFY", "1");
    const traits = { seesTexels: false, roundsHalf: true };
    const { program } = kernel(
      "rows of a test",
      { inputs: { x: "f32" }, outputs: { y: "f32" }, params: { rows: "u32", width: "u32" }, threads: 64, groups: () => 4 },
      (s) => {
        const [row, column] = [s.thread.div(s.params.width), s.thread.mod(s.params.width)];
        const at = row.mul(s.params.width).add(column);
        s.if(row.lt(s.params.rows), () => unguarded(s.buffers.y).storesInside(at, [s.buffers.x.load(at)]));
      },
    );
    const call = (rows: number, size: number) => program.call(traits, 4, { shapes: { x: [size], y: [size] }, params: { rows, width: 9 } });
    expect([...call(7, 63).constants]).toContain(63);
    expect(() => call(8, 63).constants).toThrow(/rows of a test: store 0 is not proven to be inside of y: it may touch byte 287 of 252/);
    expect(() => call(7, 62).constants).toThrow(ShaderError);
    vi.stubEnv("DXTENSOR_VERIFY", "0");
    expect([...call(7, 62).constants]).toContain(62);
  });
});

/** Random addresses behind random comparisons. */
function randomAccess(seed: number): { readonly shader: Shader; readonly numbers: Required<Omit<Numbers, "rows">> } {
  const random = generator(seed);
  const numbers = {
    sizes: { x: 8 + random(200), h: 1, out: 1 + random(400) },
    n: 1 + random(12),
    width: 1 + random(12),
    groups: 1 + random(3),
  };
  const constants = [1, 2, 3, 4, 5, 8, 16, numbers.width, numbers.n];
  const shader = make((s) => {
    const values: Uint[] = [s.local, s.group, s.thread, s.params.n, s.params.width];
    const pick = <T>(of: readonly T[]): T => of[random(of.length)]!;
    const number = (): number => pick(constants);
    const compare = (): Bool => {
      const [a, b] = [pick(values), random(3) === 0 ? pick(values) : s.u32(random(120))];
      const one = pick([a.lt(b), a.ge(b), a.eq(b), a.ne(b), a.le(b), a.toInt().lt(b.toInt()), a.toInt().ge(b.toInt())]);
      return random(4) === 0 ? one.and(pick(values).lt(number())) : random(6) === 0 ? one.or(pick(values).lt(number())) : one;
    };
    const value = (): Uint => {
      const a = pick(values);
      switch (random(14)) {
        case 0:
        case 1:
          return a.add(pick(values));
        case 2:
          return a.mul(number());
        case 3:
          return a.div(number());
        case 4:
          return a.mod(number());
        case 5:
          return a.sub(number());
        case 6:
          return a.min(pick(values));
        case 7:
          return a.max(number());
        case 8:
          return a.and(pick([1, 3, 7, 12, 15]));
        case 9:
          return a.shiftRight(random(4));
        case 10:
          return compare().select(a, pick(values));
        case 11:
          return a.or(number());
        case 12:
          return a.mul(pick(values)).mod(64);
        default:
          return a.add(number());
      }
    };
    const access = (): void => {
      const count = pick([1, 1, 2, 4]);
      const at = count === 1 ? pick(values) : pick(values).mul(count);
      put(s, at, count);
    };
    const block = (depth: number): void => {
      const before = values.length;
      for (let i = 0; i < 4; i++) values.push(value());
      const which = random(5);
      if (depth > 0 && which < 3) s.if(compare(), () => block(depth - 1), () => (random(2) === 0 ? block(depth - 1) : access())); // prettier-ignore
      else if (depth > 0 && which === 3)
        s.for(pick([s.u32(0), s.local]), pick([s.params.n, s.u32(20), pick(values).min(s.u32(30))]), (i) => {
          values.push(i);
          const kept = s.variable(pick(values));
          block(depth - 1);
          kept.value = kept.value.add(number()).mod(pick([7, 64]));
          values.push(kept.value);
          block(depth - 1);
          values.length -= 2;
        }, { step: number(), unroll: false }); // prettier-ignore
      access();
      values.length = before;
    };
    block(3);
  });
  return { shader, numbers };
}

it("nothing that is proven is outside in a run, of random addresses behind random comparisons", () => {
  let [proven, refused, outside] = [0, 0, 0];
  const seeds = isWhole ? 2000 : 200;
  // The first was once proven by what is known in a part that no thread reaches.
  for (const seed of [2279, ...Array.from({ length: seeds }, (_, i) => i)]) {
    const { shader, numbers } = randomAccess(seed);
    const message = verified(shader, numbers);
    if (message === null) proven++;
    else refused++;
    if (message !== null && seed % 8 !== 0) continue;
    const { sizes, groups, n, width } = numbers;
    const buffers = { x: new Uint32Array(sizes.x!), h: new Uint32Array(1), out: new Uint32Array(sizes.out) };
    // Words at byte addresses: there an index of 2^30 and more begins again at 0.
    const { faults } = evaluateShader(simplify(lower(simplify(shader), true)), { groups, buffers, uniforms: { n, width } });
    const found = faults.filter(({ kind }) => kind === "unguarded");
    if (found.length > 0) outside++;
    if (message === null) expect(found, `seed ${seed}`).toEqual([]);
  }
  // Many of each kind, or the test says little.
  expect([proven > seeds / 8, refused > seeds / 4, outside > seeds / 40], `${proven}, ${refused}, ${outside}`).toEqual([true, true, true]);
});
