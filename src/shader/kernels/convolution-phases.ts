/**
 * The data gradient of a convolution with strides: pixels of dx that lie equally between the windows' steps (a phase) have the same taps, so that none is multiplied by
 * the zeros between the elements of dy. A group computes a tile of one phase.
 */
import type { Float, Uint } from "../numbers.ts";
import type { Numbers } from "./kernel.ts";
import { loadWhere, together, type ConvolutionForm, type ConvolutionNumbers, type ConvolutionTile, type Operand, type S } from "./convolution-tiles.ts"; // prettier-ignore
import { multiplied, sharedTiles, threadsOf, unitsFor, written } from "./convolution-tiles.ts";

/** Along one axis: pixels at + stride * i, which read taps `taps` of dy at i + offsets. */
interface Phase {
  readonly at: number;
  readonly taps: readonly number[];
  readonly offsets: readonly number[];
}

type Windows = Pick<ConvolutionForm, "kind" | "kernel" | "stride" | "dilation" | "padding">;

/** Each phase has code of its own. */
const MAX_PHASES = 4;

/** Whether the data gradient goes by phases. */
export const isPhased = ({ kind, kernel, stride }: Pick<Windows, "kind" | "kernel" | "stride">): boolean =>
  kind === "inputGradient" && stride[0] * stride[1] > 1 && stride[0] * stride[1] <= MAX_PHASES && kernel[0] * kernel[1] <= 9;

function phasesAlong({ kernel, stride, dilation, padding }: Windows, axis: 0 | 1): Phase[] {
  return Array.from({ length: stride[axis] }, (_, at) => {
    const reached = Array.from({ length: kernel[axis] }, (_, tap) => ({ tap, from: at + padding[axis] - tap * dilation[axis] }));
    const own = reached.filter(({ from }) => from % stride[axis] === 0);
    return { at, taps: own.map(({ tap }) => tap), offsets: own.map(({ from }) => from / stride[axis]) };
  });
}

const phasesOf = (form: Windows): (readonly [Phase, Phase])[] => phasesAlong(form, 0).flatMap((y) => phasesAlong(form, 1).map((x) => [y, x] as const)); // prettier-ignore

const tapsOf = ([y, x]: readonly [Phase, Phase]): number => y.taps.length * x.taps.length;

const gcd = (a: number, b: number): number => (b === 0 ? a : gcd(b, a % b));

/** Filters that every phase's step divides. */
export function phasedStep(form: Windows, tile: ConvolutionTile): number {
  const steps = phasesOf(form).flatMap((phase) => (tapsOf(phase) === 0 ? [] : [unitsFor(tile, tapsOf(phase))]));
  return steps.reduce((a, b) => (a * b) / gcd(a, b), 1);
}

/** Pixels along an axis of one phase. */
const pixelsAlong = (size: number, stride: number, at: number): number => Math.max(0, Math.ceil((size - at) / stride));

/** Columns of C in each phase. */
export const phasedColumns = (form: Windows, n: Pick<ConvolutionNumbers, "images" | "height" | "width">): number[] =>
  phasesOf(form).map(([y, x]) => n.images * pixelsAlong(n.height, form.stride[0], y.at) * pixelsAlong(n.width, form.stride[1], x.at));

/** As `gathered` of the data gradient. */
export function phased(s: S, form: ConvolutionForm, tile: ConvolutionTile): void {
  const { bm, bn } = tile;
  const { fits, stride } = form;
  const p = s.params;
  const phases = phasesOf(form);
  const rows = p.channels;
  const [plane, outPlane] = [p.height.mul(p.width), p.outHeight.mul(p.outWidth)];
  const sizes = phases.map(([y, x]) => {
    const [height, width] = [p.height.add(stride[0] - 1 - y.at).div(stride[0]), p.width.add(stride[1] - 1 - x.at).div(stride[1])];
    const columns = p.images.mul(height).mul(width);
    return { height, width, columns, tiles: columns.add(bn - 1).div(bn) };
  });
  const down = rows.add(bm - 1).div(bm);
  const across = sizes.map((size) => size.tiles).reduce((a, b) => a.add(b));
  const part = s.group.div(down);
  const rest = part.div(across);
  const [row, group, split] = [s.group.mod(down).mul(bm), rest.mod(p.groups), rest.div(p.groups)];
  const depths = phases.map((phase) => tapsOf(phase) * unitsFor(tile, Math.max(1, tapsOf(phase))));
  const shared = sharedTiles(s, tile, Math.max(...depths));
  const offset = form.isPartial ? split.mul(p.size) : s.u32(0);
  const first = split.mul(p.perSplit);
  const end = first.add(p.perSplit).min(p.filters);

  /** One phase, of the tile of this index among its own. */
  const compute = (i: number, index: Uint): void => {
    const [py, px] = phases[i]!;
    const { height, width, columns } = sizes[i]!;
    const column = index.mul(bn);
    const pixelOf = (c: Uint): { image: Uint; y: Uint; x: Uint } => {
      const [above, x] = [c.div(width), c.mod(width)];
      return { image: above.div(height), y: above.mod(height), x };
    };
    const taps = tapsOf(phases[i]!);
    const operands = (): readonly [Operand, Operand, number] => {
      const units = unitsFor(tile, taps);
      const threads = threadsOf(tile);
      const at = together(tile);
      const [within, sub] = [s.local.mod(bn), s.local.div(bn)];
      const c = column.add(within);
      const pixel = pixelOf(c);
      const isLast = form.layouts.x === "NHWC";
      // From one pixel to the next, and from one channel to the next.
      const [perPixel, perChannel] = isLast ? [p.groups.mul(p.filters), s.u32(1)] : [s.u32(1), outPlane];
      const base = isLast
        ? pixel.image.mul(outPlane).mul(perPixel).add(group.mul(p.filters))
        : pixel.image.mul(p.groups).add(group).mul(p.filters).mul(outPlane);
      const along = (phase: Phase, from: Uint, size: Uint) =>
        phase.offsets.map((shift) => ({ at: from.add(shift >>> 0), inside: from.add(shift >>> 0).lt(size) }));
      const [ys, xs] = [along(py, pixel.y, p.outHeight), along(px, pixel.x, p.outWidth)];
      const seen = ys.flatMap((y) => xs.map((x) => ({ at: y.at.mul(p.outWidth).add(x.at).mul(perPixel), inside: y.inside.and(x.inside) })));
      const bits = seen.map(({ inside }, q) => inside.select(s.u32(1 << q), 0)).reduce((a, b) => a.or(b));
      const mask = fits.columns ? bits : c.lt(columns).select(bits, 0);
      const dy = s.buffers["x"] as Numbers;
      const b: Operand = {
        fetch: (from) =>
          Array.from({ length: units / at }, (_, k): Float[] => {
            const u = from.add(k * at).add(sub);
            const channel = base.add(u.mul(perChannel));
            const own = fits.depth ? mask : u.lt(p.filters).select(mask, 0);
            return seen.map((tap, q) => loadWhere(dy, own.and(1 << q).ne(0), channel.add(tap.at))[0]!);
          }).flat(),
        put: (to, strideB, values) => {
          for (let k = 0; k < units / at; k++)
            for (let q = 0; q < taps; q++) to.store(sub.add(k * at).mul(taps).add(q).mul(strideB).add(within), values[k * taps + q]!); // prettier-ignore
        },
      };
      const w = s.buffers["w"] as Numbers;
      const all = form.kernel[0] * form.kernel[1];
      // Taps of a phase are equally far apart.
      const tapAt = (phase: Phase, k: Uint): Uint => k.mul(phase.taps.length < 2 ? 0 : phase.taps[1]! - phase.taps[0]!).add(phase.taps[0]!);
      const positions = Array.from({ length: (bm * units * taps) / threads }, (_, k) => {
        const e = s.local.add(k * threads);
        const [unit, inUnit] = [e.div(bm * taps), e.mod(bm * taps)];
        const [m, tap] = [inUnit.div(taps), inUnit.mod(taps)];
        const inKernel = tapAt(py, tap.div(xs.length))
          .mul(form.kernel[1])
          .add(tapAt(px, tap.mod(xs.length)));
        return { m, unit, k: unit.mul(taps).add(tap), inKernel };
      });
      const a: Operand = {
        fetch: (from) =>
          positions.map(({ m, unit, inKernel }) => {
            const u = from.add(unit);
            const rowInside = fits.rows ? null : row.add(m).lt(rows);
            const unitInside = fits.depth ? null : u.lt(p.filters);
            const inside = rowInside === null ? unitInside : unitInside === null ? rowInside : rowInside.and(unitInside);
            return loadWhere(w, inside, group.mul(p.filters).add(u).mul(rows).add(row).add(m).mul(all).add(inKernel))[0]!;
          }),
        put: (to, strideA, values) => positions.forEach(({ m, k }, q) => to.store(k.mul(strideA).add(m), values[q]!)),
      };
      return [a, b, units];
    };
    const sums = ((): ReturnType<typeof multiplied> => {
      // No window reaches these pixels.
      if (taps === 0) return Array.from({ length: tile.tm }, () => Array.from({ length: tile.tn }, () => s.variable(s.f32(0))));
      const [a, b, units] = operands();
      return multiplied(s, tile, { depth: units * taps, step: units, from: first, end, shared }, a, b);
    })();
    written(s, form, tile, sums, {
      row,
      column,
      rows,
      columns,
      at: (c) => {
        const { image, y, x } = pixelOf(c);
        const inPlane = y.mul(stride[0]).add(py.at).mul(p.width).add(x.mul(stride[1])).add(px.at);
        return offset.add(image.mul(p.groups).add(group).mul(rows).mul(plane)).add(inPlane);
      },
      rowStride: plane,
      firstBias: group.mul(rows),
    });
  };
  const next = (i: number, index: Uint): void => {
    if (i === phases.length - 1) compute(i, index);
    else
      s.if(
        index.lt(sizes[i]!.tiles),
        () => compute(i, index),
        () => next(i + 1, index.sub(sizes[i]!.tiles)),
      );
  };
  next(0, part.mod(across));
}
