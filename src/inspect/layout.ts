/** Positions of a graph's nodes: layers from the inputs down, edges through their own lanes (Sugiyama). Pure. */

export interface Box {
  readonly x: number;
  readonly y: number;
}

export interface Layout {
  readonly width: number;
  readonly height: number;
  /** The centre of each node. */
  readonly nodes: readonly Box[];
  /** The points of each edge, from its first node to its second. */
  readonly edges: readonly (readonly Box[])[];
}

export const NODE_WIDTH = 132;
const GAP = 20;
const LANE = 10;
const LAYER = 64;
/** Lanes take time and space; of larger graphs the longest edges go straight. */
const MAX_LANES = 30_000;
const SWEEPS = 6;

interface Item {
  /** -1 for an edge's lane. */
  readonly node: number;
  readonly width: number;
  readonly above: number[];
  readonly below: number[];
  x: number;
}

/** Each node's layer: one more than the lowest before it. Edges that close a cycle, which no model has, count for nothing. */
function layersOf(count: number, edges: readonly (readonly [number, number])[]): number[] {
  const after: number[][] = Array.from({ length: count }, () => []);
  const waiting = new Array<number>(count).fill(0);
  for (const [a, b] of edges) {
    after[a]!.push(b);
    waiting[b]!++;
  }
  const layers = new Array<number>(count).fill(0);
  const ready = waiting.flatMap((n, i) => (n === 0 ? [i] : []));
  for (let node = ready.pop(); node !== undefined; node = ready.pop())
    for (const next of after[node]!) {
      layers[next] = Math.max(layers[next]!, layers[node]! + 1);
      if (--waiting[next]! === 0) ready.push(next);
    }
  // What needs nothing, as a constant does, goes next to what needs it.
  const hasInput = new Set(edges.map(([, b]) => b));
  for (let i = count - 1; i >= 0; i--)
    if (!hasInput.has(i) && after[i]!.length > 0) layers[i] = Math.max(0, Math.min(...after[i]!.map((n) => layers[n]!)) - 1);
  return layers;
}

const mean = (items: readonly Item[], of: readonly number[], own: number): number =>
  of.length === 0 ? own : of.reduce((n, i) => n + items[i]!.x, 0) / of.length;

/** Puts a layer's items as near to where they want to be as their widths let them, in that order. */
function spread(items: readonly Item[], layer: number[], wanted: ReadonlyMap<number, number>): void {
  layer.sort((a, b) => wanted.get(a)! - wanted.get(b)!);
  let right = -Infinity;
  let shift = 0;
  for (const i of layer) {
    const item = items[i]!;
    item.x = Math.max(wanted.get(i)!, right + item.width / 2);
    shift += wanted.get(i)! - item.x;
    right = item.x + item.width / 2;
  }
  for (const i of layer) items[i]!.x += shift / layer.length;
}

export function layoutOf(count: number, edges: readonly (readonly [number, number])[]): Layout {
  const layers = layersOf(count, edges);
  const items: Item[] = layers.map((_, node) => ({ node, width: NODE_WIDTH + GAP, above: [], below: [], x: 0 }));
  const rows: number[][] = [];
  const put = (item: number, layer: number): void => void (rows[layer] ??= []).push(item);
  layers.forEach((layer, i) => put(i, layer));
  const span = ([a, b]: readonly [number, number]): number => layers[b]! - layers[a]!;
  const routes: number[][] = edges.map(() => []);
  const order = edges.map((_, i) => i).sort((a, b) => span(edges[a]!) - span(edges[b]!));
  for (const index of order) {
    const [from, to] = edges[index]!;
    const route = [from];
    const isStraight = items.length + span(edges[index]!) > count + MAX_LANES;
    for (let layer = layers[from]! + 1; !isStraight && layer < layers[to]!; layer++) {
      put(items.length, layer);
      route.push(items.length);
      items.push({ node: -1, width: LANE, above: [], below: [], x: 0 });
    }
    route.push(to);
    for (let i = 1; i < route.length; i++) {
      items[route[i - 1]!]!.below.push(route[i]!);
      items[route[i]!]!.above.push(route[i - 1]!);
    }
    routes[index] = route;
  }
  for (const row of rows) spread(items, row, new Map(row.map((i, at) => [i, at * (NODE_WIDTH + GAP)])));
  for (let sweep = 0; sweep < SWEEPS; sweep++) {
    const isDown = sweep % 2 === 0;
    for (const row of isDown ? rows : rows.toReversed())
      spread(items, row, new Map(row.map((i) => [i, mean(items, isDown ? items[i]!.above : items[i]!.below, items[i]!.x)])));
  }
  const left = items.reduce((n, { x }) => Math.min(n, x), 0) - NODE_WIDTH;
  const right = items.reduce((n, { x }) => Math.max(n, x), 0) + NODE_WIDTH;
  const rowOf = new Map(rows.flatMap((row, layer) => row.map((i) => [i, layer] as const)));
  const box = (i: number): Box => ({ x: Math.round(items[i]!.x - left), y: rowOf.get(i)! * LAYER + LAYER / 2 });
  return {
    width: Math.ceil(right - left),
    height: rows.length * LAYER,
    nodes: layers.map((_, i) => box(i)),
    edges: routes.map((route) => route.map(box)),
  };
}
