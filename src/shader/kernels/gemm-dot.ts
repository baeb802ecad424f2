/**
 * C = epilogue(alpha A B^T + beta bias) in float32, where rows of both operands are contiguous: a thread multiplies four elements of each of four rows of A and four of B
 * at a time, 64 threads share the rows, and add their sums in the end. No barrier until then: for few results and long rows.
 */
import type { LaunchFacts } from "../dxbc/shader-program.ts";
import type { BufferElements } from "../language.ts";
import { epilogueBuffers, NO_EPILOGUE } from "./epilogue.ts";
import { castOf, elementsOf, endOf, formName, type GemmForm, type GemmScope } from "./gemm.ts";
import { kernel, type Kernel } from "./kernel.ts";

/** Rows of A and of B whose products a team of threads makes, threads of a team, and teams of a group. */
const [SIDE, TEAM, TEAMS] = [4, 64, 4];
/** Threads of a group. @package */
export const dotThreads = TEAM * TEAMS;
/** Words between the sums of one result: neighbours in other banks. */
const STRIDE = dotThreads + 4;

/** Groups of a launch for c [M, N]. @package */
export const groupsOfDot = (m: number, n: number): number => Math.ceil((Math.ceil(m / SIDE) * Math.ceil(n / SIDE)) / TEAMS);

/** a: [M, K], b: [N, K], c: [M, N]; K is a multiple of four. */
export function gemmDot(form: GemmForm): Kernel {
  const { bias, epilogue, scales } = form;
  const names = ["a", "b", ...(bias === null ? [] : ["bias"]), ...epilogueBuffers(epilogue)];
  const inputs = elementsOf(form, names);
  const groups = ({ shapes }: LaunchFacts): number => groupsOfDot(shapes["c"]![0]!, shapes["c"]![1]!);
  const params = scales ? ({ alpha: "f32", beta: "f32" } as const) : {};
  return kernel(`gemm of rows${formName(form)}`, { inputs, outputs: { c: "f32" }, params, threads: dotThreads, groups, isOneOfMany: epilogue !== NO_EPILOGUE }, (s) => dotBody(s as unknown as GemmScope, form)); // prettier-ignore
}

/** What the kernel does. @package */
export function dotBody(s: GemmScope, form: GemmForm): void {
  const { a, b, c } = s.buffers as { readonly [K in "a" | "b" | "c"]: BufferElements<"f32"> };
  const [m, n, k] = [c.dim(0), c.dim(1), a.dim(1)];
  const across = n.add(SIDE - 1).div(SIDE);
  const [team, own] = [s.local.div(TEAM), s.local.mod(TEAM)];
  const tile = s.group.mul(TEAMS).add(team);
  const [row, column] = [tile.div(across).mul(SIDE), tile.mod(across).mul(SIDE)];
  const sides = Array.from({ length: SIDE }, (_, i) => i);
  // Rows that are not there are read as the first, and not written.
  const startsA = sides.map((i) => row.add(i).lt(m).select(row.add(i), 0).mul(k));
  const startsB = sides.map((i) => column.add(i).lt(n).select(column.add(i), 0).mul(k));
  const sums = sides.map(() => sides.map(() => s.variable(s.f32(0))));
  s.for(
    0,
    k,
    (from) => {
      const at = from.add(own.mul(4));
      const inside = at.lt(k);
      const [rows, columns] = [[startsA, a] as const, [startsB, b] as const].map(([starts, x]) =>
        starts.map((start) =>
          castOf(form, x === a ? "a" : "b", x.loadsInside(inside.select(start.add(at), 0), 4)).map((v) => inside.select(v, 0)),
        ),
      );
      rows!.forEach((x, i) =>
        columns!.forEach((y, j) => {
          const sum = sums[i]![j]!;
          x.forEach((v, q) => (sum.value = v.fma(y[q]!, sum.value)));
        }),
      );
    },
    { step: 4 * TEAM, unroll: false },
  );
  const shared = s.shared("f32", SIDE * SIDE * STRIDE);
  sums.forEach((rowSums, i) => rowSums.forEach((sum, j) => shared.store(s.local.add((i * SIDE + j) * STRIDE), sum.value)));
  s.barrier();
  const end = endOf(s, form);
  s.if(s.local.lt(TEAMS * SIDE * SIDE), () => {
    const [ofTeam, result] = [s.local.div(SIDE * SIDE), s.local.mod(SIDE * SIDE)];
    const first = result.mul(STRIDE).add(ofTeam.mul(TEAM));
    const parts = Array.from({ length: TEAM / 4 }, (_, i) => shared.loads(first.add(4 * i), 4));
    const [total] = [parts.reduce((x, y) => x.map((v, q) => v.add(y[q]!))).reduce((x, y) => x.add(y))];
    const index = s.group.mul(TEAMS).add(ofTeam);
    const [y, x] = [index.div(across).mul(SIDE).add(result.div(SIDE)), index.mod(across).mul(SIDE).add(result.mod(SIDE))];
    s.if(y.lt(m).and(x.lt(n)), () => {
      const at = y.mul(n).add(x);
      c.storesInside(at, end([total], at, x));
    });
  });
}
