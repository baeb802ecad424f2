/** Recurrent networks in float64, step by step and sample by sample. Reference: torch.nn.LSTM, GRU, RNN (their formulas). */

/** What a network is like. */
export interface Network {
  readonly kind: "lstm" | "gru" | "tanh" | "relu";
  readonly steps: number;
  readonly batch: number;
  readonly inputs: number;
  readonly width: number;
  readonly layers: number;
  readonly directions: 1 | 2;
  readonly bias: boolean;
  /** Width of an LSTM's projected hidden states; 0: they are not projected. */
  readonly projection: number;
  readonly lengths: readonly number[] | null;
}

export const GATES = { lstm: 4, gru: 3, tanh: 1, relu: 1 } as const;

/** Shapes of the operands: x [T, N, I], the states (an LSTM's cells too), then for each layer and direction W, R, (both biases), (the projection). */
export function operandShapes(n: Network): readonly (readonly number[])[] {
  const kept = n.projection === 0 ? n.width : n.projection;
  const count = n.layers * n.directions;
  const rows = GATES[n.kind] * n.width;
  const weights = Array.from({ length: count }, (_, i) => [
    [rows, i < n.directions ? n.inputs : n.directions * kept],
    [rows, kept],
    ...(n.bias ? [[rows], [rows]] : []),
    ...(n.projection === 0 ? [] : [[kept, n.width]]),
  ]);
  const cells = n.kind === "lstm" ? [[count, n.batch, n.width]] : [];
  return [[n.steps, n.batch, n.inputs], [count, n.batch, kept], ...cells, ...weights.flat()];
}

/** matrix [rows, columns] times a vector. */
function times(matrix: Float64Array, vector: readonly number[]): number[] {
  const columns = vector.length;
  const product: number[] = [];
  for (let start = 0; start < matrix.length; start += columns) {
    let sum = 0;
    for (let c = 0; c < columns; c++) sum += matrix[start + c]! * vector[c]!;
    product.push(sum);
  }
  return product;
}
const sigmoid = (v: number): number => 1 / (1 + Math.exp(-v));

interface State {
  readonly hidden: readonly number[];
  readonly cell: readonly number[];
}

function step(n: Network, x: readonly number[], { hidden, cell }: State, weights: readonly Float64Array[]): State {
  const [input, recurrence, ...rest] = weights as [Float64Array, Float64Array, ...Float64Array[]];
  const biased = (v: number[], bias: Float64Array | undefined): number[] => v.map((e, i) => e + (n.bias ? bias![i]! : 0));
  const a = biased(times(input, x), rest[0]);
  const b = biased(times(recurrence, hidden), rest[1]);
  const each = (f: (j: number) => number): number[] => Array.from({ length: n.width }, (_, j) => f(j));
  const gate = (k: number, j: number): number => a[k * n.width + j]! + b[k * n.width + j]!;
  if (n.kind === "lstm") {
    const next = each((j) => sigmoid(gate(1, j)) * cell[j]! + sigmoid(gate(0, j)) * Math.tanh(gate(2, j)));
    const shown = each((j) => sigmoid(gate(3, j)) * Math.tanh(next[j]!));
    return { hidden: n.projection === 0 ? shown : times(rest.at(-1)!, shown), cell: next };
  }
  if (n.kind === "gru") {
    const z = each((j) => sigmoid(gate(1, j)));
    const candidate = each((j) => Math.tanh(a[2 * n.width + j]! + sigmoid(gate(0, j)) * b[2 * n.width + j]!));
    return { hidden: each((j) => (1 - z[j]!) * candidate[j]! + z[j]! * hidden[j]!), cell };
  }
  return { hidden: each((j) => (n.kind === "tanh" ? Math.tanh(gate(0, j)) : Math.max(gate(0, j), 0))), cell };
}

/** Outputs [T, N, D * H], the last hidden states and an LSTM's cells [layers * D, N, H], flat. */
export function forward(n: Network, operands: readonly Float64Array[]): readonly number[][] {
  const isLstm = n.kind === "lstm";
  const kept = n.projection === 0 ? n.width : n.projection;
  const [x, starts] = operands as [Float64Array, Float64Array];
  const first = isLstm ? 3 : 2;
  const each = 2 + (n.bias ? 2 : 0) + (n.projection === 0 ? 0 : 1);
  // values[t][b]
  let values = Array.from({ length: n.steps }, (_, t) =>
    Array.from({ length: n.batch }, (__, b) => [...x.subarray((t * n.batch + b) * n.inputs, (t * n.batch + b + 1) * n.inputs)]),
  );
  const hiddens: number[] = [];
  const cells: number[] = [];
  for (let layer = 0; layer < n.layers; layer++) {
    const next: number[][][] = values.map((row) => row.map(() => []));
    for (let d = 0; d < n.directions; d++) {
      const index = layer * n.directions + d;
      const weights = operands.slice(first + index * each, first + (index + 1) * each);
      for (let b = 0; b < n.batch; b++) {
        const at = (all: Float64Array, width: number): number[] => [
          ...all.subarray((index * n.batch + b) * width, (index * n.batch + b + 1) * width),
        ];
        let state: State = { hidden: at(starts, kept), cell: isLstm ? at(operands[2]!, n.width) : [] };
        const length = n.lengths?.[b] ?? n.steps;
        for (let i = 0; i < n.steps; i++) {
          const t = d === 0 ? i : n.steps - 1 - i;
          if (t < length) state = step(n, values[t]![b]!, state, weights);
          next[t]![b]!.push(...(t < length ? state.hidden : state.hidden.map(() => 0)));
        }
        hiddens.push(...state.hidden);
        cells.push(...state.cell);
      }
    }
    values = next;
  }
  return [values.flat(2), hiddens, ...(isLstm ? [cells] : [])];
}

/** Derivatives of the sum of all outputs, each times its factor, by every operand: central differences. */
export function gradients(n: Network, operands: readonly Float64Array[], factors: readonly (readonly number[])[]): readonly number[][] {
  const loss = (): number => forward(n, operands).reduce((sum, out, i) => sum + out.reduce((s, v, j) => s + v * factors[i]![j]!, 0), 0);
  const h = 1e-5;
  return operands.map((operand) =>
    Array.from(operand, (value, i) => {
      operand[i] = value + h;
      const above = loss();
      operand[i] = value - h;
      const below = loss();
      operand[i] = value;
      return (above - below) / (2 * h);
    }),
  );
}
