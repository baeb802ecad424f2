/** The order of contractions of several tensors that costs least. Pure. @package */

type Labels = readonly string[];

/** Pairs of operand indices; the result of a pair goes to the end of the list without them. */
export type Order = readonly (readonly [number, number])[];

/** More operands than these are paired greedily. */
const MAXIMUM = 5;

const volume = (labels: Iterable<string>, lengths: ReadonlyMap<string, number>): number => {
  let n = 1;
  for (const l of labels) n *= lengths.get(l)!;
  return n;
};

const union = (a: Labels, b: Labels): string[] => [...new Set([...a, ...b])];

/** Labels of a contraction of two operands that the others or the output need. */
function left(a: Labels, b: Labels, others: readonly Labels[], output: Labels): string[] {
  const needed = new Set([...others.flat(), ...output]);
  return union(a, b).filter((l) => needed.has(l));
}

/** All orders are looked at for few operands: costs are multiplications, ties go to the smaller intermediate. */
export function cheapestOrder(operands: readonly Labels[], output: Labels, lengths: ReadonlyMap<string, number>): Order {
  return operands.length > MAXIMUM ? greedy(operands, output, lengths) : best(operands, output, lengths, Infinity).order;
}

interface Found {
  readonly cost: number;
  readonly order: [number, number][];
}

function best(operands: readonly Labels[], output: Labels, lengths: ReadonlyMap<string, number>, limit: number): Found {
  if (operands.length < 2) return { cost: 0, order: [] };
  let found: Found = { cost: limit, order: [] };
  let isFirst = true;
  for (let i = 0; i < operands.length; i++)
    for (let j = i + 1; j < operands.length; j++) {
      const cost = volume(union(operands[i]!, operands[j]!), lengths);
      if (!isFirst && cost >= found.cost) continue;
      const others = operands.filter((_, k) => k !== i && k !== j);
      const rest = best([...others, left(operands[i]!, operands[j]!, others, output)], output, lengths, found.cost - cost);
      if (isFirst || cost + rest.cost < found.cost) found = { cost: cost + rest.cost, order: [[i, j], ...rest.order] };
      isFirst = false;
    }
  return found;
}

function greedy(operands: readonly Labels[], output: Labels, lengths: ReadonlyMap<string, number>): Order {
  const order: [number, number][] = [];
  let parts = operands;
  while (parts.length > 1) {
    let [bestPair, bestCost]: [[number, number], number] = [[0, 1], Infinity];
    for (let i = 0; i < parts.length; i++)
      for (let j = i + 1; j < parts.length; j++) {
        const cost = volume(union(parts[i]!, parts[j]!), lengths);
        if (cost < bestCost) [bestPair, bestCost] = [[i, j], cost];
      }
    const [i, j] = bestPair;
    const others = parts.filter((_, k) => k !== i && k !== j);
    parts = [...others, left(parts[i]!, parts[j]!, others, output)];
    order.push(bestPair);
  }
  return order;
}
