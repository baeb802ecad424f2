/** Rectangles around sets of points, and the projection that a quadrilateral is seen by. Pure. */

export type Point = readonly [x: number, y: number];
/** Clockwise from the corner at the upper left. */
export type Box = readonly [Point, Point, Point, Point];

export const distance = ([ax, ay]: Point, [bx, by]: Point): number => Math.hypot(ax - bx, ay - by);

/** The corners of the convex hull, by Andrew's monotone chains. */
export function convexHull(points: readonly Point[]): Point[] {
  const sorted = points.toSorted((a, b) => a[0] - b[0] || a[1] - b[1]);
  if (sorted.length < 3) return sorted;
  const half = (list: readonly Point[]): Point[] => {
    const hull: Point[] = [];
    for (const p of list) {
      for (; hull.length > 1; hull.pop()) {
        const [[ax, ay], [bx, by]] = [hull.at(-2)!, hull.at(-1)!];
        if ((bx - ax) * (p[1] - ay) - (by - ay) * (p[0] - ax) > 0) break;
      }
      hull.push(p);
    }
    return hull.slice(0, -1);
  };
  return [...half(sorted), ...half(sorted.toReversed())];
}

/** A rectangle of any direction. */
export interface Rectangle {
  readonly center: Point;
  /** Of the first side. */
  readonly direction: Point;
  /** Along the direction, and across. */
  readonly size: readonly [number, number];
}

/** The smallest rectangle around points: one of its sides lies on a side of their hull. */
export function smallestRectangle(points: readonly Point[]): Rectangle {
  const hull = convexHull(points);
  let best: Rectangle = { center: hull[0]!, direction: [1, 0], size: [0, 0] };
  let area = Infinity;
  for (const [i, a] of hull.entries()) {
    const b = hull[(i + 1) % hull.length]!;
    const length = distance(a, b);
    if (length === 0) continue;
    const [dx, dy] = [(b[0] - a[0]) / length, (b[1] - a[1]) / length];
    let [along, alongMax, across, acrossMax] = [Infinity, -Infinity, Infinity, -Infinity];
    for (const [x, y] of hull) {
      along = Math.min(along, x * dx + y * dy);
      alongMax = Math.max(alongMax, x * dx + y * dy);
      across = Math.min(across, y * dx - x * dy);
      acrossMax = Math.max(acrossMax, y * dx - x * dy);
    }
    const size = [alongMax - along, acrossMax - across] as const;
    if (size[0] * size[1] >= area) continue;
    area = size[0] * size[1];
    const [u, v] = [(along + alongMax) / 2, (across + acrossMax) / 2];
    best = { center: [u * dx - v * dy, u * dy + v * dx], direction: [dx, dy], size };
  }
  return best;
}

/** The corners, clockwise, that of the least x and y first: of the two on the left the upper one, then of the two on the right. */
export function ordered(points: readonly Point[]): Box {
  const byX = points.toSorted((a, b) => a[0] - b[0]);
  const [topLeft, bottomLeft] = byX.slice(0, 2).toSorted((a, b) => a[1] - b[1]) as [Point, Point];
  const [topRight, bottomRight] = byX.slice(2).toSorted((a, b) => a[1] - b[1]) as [Point, Point];
  return [topLeft, topRight, bottomRight, bottomLeft];
}

export function cornersOf({ center: [x, y], direction: [dx, dy], size: [w, h] }: Rectangle): Box {
  const corner = (s: number, t: number): Point => [x + (s * w * dx - t * h * dy) / 2, y + (s * w * dy + t * h * dx) / 2];
  return ordered([corner(-1, -1), corner(1, -1), corner(1, 1), corner(-1, 1)]);
}

/** Solves a system of linear equations, rows with the right side behind, by elimination with pivots. */
function solve(rows: number[][]): number[] {
  const n = rows.length;
  for (let i = 0; i < n; i++) {
    let pivot = i;
    for (let r = i + 1; r < n; r++) if (Math.abs(rows[r]![i]!) > Math.abs(rows[pivot]![i]!)) pivot = r;
    [rows[i], rows[pivot]] = [rows[pivot]!, rows[i]!];
    for (let r = 0; r < n; r++) {
      if (r === i) continue;
      const factor = rows[r]![i]! / rows[i]![i]!;
      for (let c = i; c <= n; c++) rows[r]![c]! -= factor * rows[i]![c]!;
    }
  }
  return rows.map((row, i) => row[n]! / row[i]!);
}

/** The projection from [0, width] x [0, height] to a quadrilateral. */
export function projection(width: number, height: number, box: Box): (u: number, v: number) => Point {
  const from: Point[] = [
    [0, 0],
    [width, 0],
    [width, height],
    [0, height],
  ];
  const rows = from.flatMap(([u, v], i) => {
    const [x, y] = box[i]!;
    return [
      [u, v, 1, 0, 0, 0, -u * x, -v * x, x],
      [0, 0, 0, u, v, 1, -u * y, -v * y, y],
    ];
  });
  const [a, b, c, d, e, f, g, h] = solve(rows) as [number, number, number, number, number, number, number, number];
  return (u, v) => {
    const w = g * u + h * v + 1;
    return [(a * u + b * v + c) / w, (d * u + e * v + f) / w];
  };
}
