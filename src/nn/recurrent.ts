/** LSTM, GRU, RNN and their cells. Names and layouts of the state are PyTorch's. */
import { recurrent, recurrentCell } from "../ops/exports/autocast.generated.ts";
import { ValueError } from "../core/errors.ts";
import type { Generator as RandomGenerator } from "../ops/random/random.ts";
import {
  GATES,
  type RecurrentKind,
  type RecurrentOptions,
  type RecurrentResult,
  type RecurrentWeights,
} from "../ops/recurrent/recurrent.ts";
import { requireProbability } from "../ops/random/dropout.ts";
import type { Tensor } from "../core/tensor.ts";
import { INNER } from "./inner.ts";
import { Module } from "./module.ts";
import { requireCount, requireLayers, uniformParameter, type LayerOptions } from "./options.ts";
import type { Parameter } from "./parameter.ts";
import { oneByPosition } from "../ops/declare/positional.ts";

/** Options of recurrent layers. Reference: torch.nn.RNN. */
export interface RecurrentLayerOptions extends LayerOptions {
  /** Layers one upon the other. Default: 1. */
  readonly numLayers?: number | undefined;
  /** @deprecated Use numLayers. */
  readonly layers?: number | undefined;

  /** Whether there are biases. Default: true. */
  readonly bias?: boolean | undefined;
  /** Whether sequences are [N, T, …], instead of [T, N, …]. Default: false. */
  readonly batchFirst?: boolean | undefined;
  /** Probability with which elements between layers are left out in training. Default: 0. */
  readonly dropout?: number | undefined;
  /** Whether a second layer runs from the end to the start. Default: false. */
  readonly bidirectional?: boolean | undefined;
}
/** Options of lstm(). Reference: torch.nn.LSTM. */
export interface LSTMOptions extends RecurrentLayerOptions {
  /** Width to which hidden states are projected; 0: they are not. Default: 0. */
  readonly projSize?: number | undefined;
  /** @deprecated Use projSize. */
  readonly projection?: number | undefined;
}
/** Options of rnn(). Reference: torch.nn.RNN. */
export interface RNNOptions extends RecurrentLayerOptions {
  /** Default: "tanh". */
  readonly nonlinearity?: "tanh" | "relu" | undefined;
}

/** All that a recurrent layer takes, by name. */
interface Arguments extends LSTMOptions, RNNOptions {
  /** Features of each input. */
  readonly inputSize: number;
  /** Features of the hidden state. */
  readonly hiddenSize: number;
}

/** Arguments of a call in addition to the sequence. */
export type RecurrentCall = Pick<RecurrentOptions, "hidden" | "cell" | "lengths">;

function weightsOf(parameters: ReadonlyMap<string, Parameter>): RecurrentWeights[] {
  const at = (name: string): Parameter | null => parameters.get(name) ?? null;
  return [...parameters.keys()]
    .filter((name) => name.startsWith("weight_ih_"))
    .map((name) => {
      const suffix = name.slice("weight_ih_".length);
      return {
        input: at(name)!,
        hidden: at(`weight_hh_${suffix}`)!,
        inputBias: at(`bias_ih_${suffix}`),
        hiddenBias: at(`bias_hh_${suffix}`),
        projection: at(`weight_hr_${suffix}`),
      };
    });
}

abstract class Recurrent extends Module {
  /** Features of each input. */
  readonly inputs: number;
  /** Features of the hidden state. */
  readonly width: number;
  /** The options passed to the constructor. */
  readonly options: LSTMOptions & RNNOptions;
  /** The source of random numbers. Default: the device's default generator. */
  readonly generator: RandomGenerator | undefined;
  /** @internal */ readonly [INNER]: { readonly kind: RecurrentKind; readonly parameters: Map<string, Parameter> };

  constructor(kind: RecurrentKind, { inputSize, hiddenSize, ...options }: Arguments) {
    super();
    const layer = new.target.name;
    const { numLayers: layers = 1, bias = true, projSize: projection = 0, dropout = 0 } = options;
    requireCount(layer, "inputSize", inputSize);
    requireCount(layer, "hiddenSize", hiddenSize);
    requireLayers(layer, "numLayers", layers);
    requireProbability(layer, dropout);
    if (!Number.isInteger(projection) || projection < 0 || projection >= hiddenSize)
      throw new ValueError(layer, "projSize", `0, or an integer below ${hiddenSize}`, projection);
    this.inputs = inputSize;
    this.width = hiddenSize;
    this.options = options;
    this.generator = options.generator;
    this[INNER] = { kind, parameters: new Map() };
    const directions = options.bidirectional === true ? ["", "_reverse"] : [""];
    const kept = projection === 0 ? hiddenSize : projection;
    const rows = GATES[kind] * hiddenSize;
    const add = (name: string, shape: readonly number[]): void =>
      void this[INNER].parameters.set(name, uniformParameter(shape, hiddenSize, options));
    for (let l = 0; l < layers; l++)
      for (const d of directions) {
        add(`weight_ih_l${l}${d}`, [rows, l === 0 ? inputSize : kept * directions.length]);
        add(`weight_hh_l${l}${d}`, [rows, kept]);
        if (bias) {
          add(`bias_ih_l${l}${d}`, [rows]);
          add(`bias_hh_l${l}${d}`, [rows]);
        }
        if (projection > 0) add(`weight_hr_l${l}${d}`, [projection, hiddenSize]);
      }
  }

  /** The parameters by their names in the state, "weight_ih_l0". */
  override *members(): Generator<[string, Parameter]> {
    yield* this[INNER].parameters;
  }

  /** The parameter of a name in the state, "weight_ih_l0". */
  parameter(name: string): Parameter {
    const p = this[INNER].parameters.get(name);
    if (p === undefined)
      throw new ValueError(this.constructor.name, "name", `one of ${[...this[INNER].parameters.keys()].join(", ")}`, name);
    return p;
  }

  /** x: [T, N, inputs], [T, inputs], or with batchFirst [N, T, inputs]. */
  forward(x: Tensor, call: RecurrentCall = {}): RecurrentResult {
    const { bidirectional, batchFirst, dropout } = this.options;
    return recurrent(this[INNER].kind, x, weightsOf(this[INNER].parameters), {
      ...call,
      bidirectional,
      batchFirst,
      dropout,
      training: this.training,
      generator: this.generator,
    });
  }

  protected override describeOptions(): string {
    const { numLayers: layers = 1, bidirectional = false } = this.options;
    return `${this.inputs}, ${this.width}${layers === 1 ? "" : `, numLayers=${layers}`}${bidirectional ? ", bidirectional" : ""}`;
  }
}
/** A long short-term memory network. forward gives {output, hidden, cell}. Reference: torch.nn.LSTM. */
export class LSTM extends Recurrent {
  constructor(inputSize: number, hiddenSize: number, numLayers?: number | LSTMOptions, options?: LSTMOptions) {
    super("lstm", { inputSize, hiddenSize, ...oneByPosition("LSTM", "numLayers", numLayers, options) });
  }
}
/** A network of gated recurrent units. forward gives {output, hidden}. Reference: torch.nn.GRU. */
export class GRU extends Recurrent {
  constructor(inputSize: number, hiddenSize: number, numLayers?: number | RecurrentLayerOptions, options?: RecurrentLayerOptions) {
    super("gru", { inputSize, hiddenSize, ...oneByPosition("GRU", "numLayers", numLayers, options) });
  }
}
/** Elman's network: h' = tanh (or relu) of the input's and the state's products. Reference: torch.nn.RNN. */
export class RNN extends Recurrent {
  constructor(inputSize: number, hiddenSize: number, numLayers?: number | RNNOptions, options?: RNNOptions) {
    const settings = oneByPosition<RNNOptions>("RNN", "numLayers", numLayers, options);
    const { nonlinearity = "tanh" } = settings;
    if (nonlinearity !== "tanh" && nonlinearity !== "relu") throw new ValueError("RNN", "nonlinearity", '"tanh" or "relu"', nonlinearity);
    super(nonlinearity, { inputSize, hiddenSize, ...settings });
  }
}

/** Options of lstmCell(), gruCell() and rnnCell(). Reference: torch.nn.LSTMCell. */
export interface CellOptions extends LayerOptions {
  /** Whether there are biases. Default: true. */
  readonly bias?: boolean | undefined;
}

abstract class Cell extends Module {
  /** Features of each input. */
  readonly inputs: number;
  /** Features of the hidden state. */
  readonly width: number;
  /** [gates * width, inputs]: the weights of the input. */
  weight_ih: Parameter;
  /** [gates * width, width]: the weights of the hidden state. */
  weight_hh: Parameter;
  /** [gates * width]: the bias of the input's part; null without bias. */
  bias_ih: Parameter | null;
  /** [gates * width]: the bias of the hidden state's part; null without bias. */
  bias_hh: Parameter | null;
  /** @internal */ readonly [INNER]: RecurrentKind;

  constructor(kind: RecurrentKind, inputSize: number, hiddenSize: number, options: CellOptions) {
    super();
    requireCount(new.target.name, "inputSize", inputSize);
    requireCount(new.target.name, "hiddenSize", hiddenSize);
    this.inputs = inputSize;
    this.width = hiddenSize;
    this[INNER] = kind;
    const rows = GATES[kind] * hiddenSize;
    this.weight_ih = uniformParameter([rows, inputSize], hiddenSize, options);
    this.weight_hh = uniformParameter([rows, hiddenSize], hiddenSize, options);
    this.bias_ih = options.bias === false ? null : uniformParameter([rows], hiddenSize, options);
    this.bias_hh = options.bias === false ? null : uniformParameter([rows], hiddenSize, options);
  }

  protected next(x: Tensor, hidden: Tensor | null, cell: Tensor | null): { readonly hidden: Tensor; readonly cell: Tensor | null } {
    const weights = { input: this.weight_ih, hidden: this.weight_hh, inputBias: this.bias_ih, hiddenBias: this.bias_hh };
    return recurrentCell(this[INNER], x, weights, { hidden, cell });
  }

  protected override describeOptions(): string {
    return `${this.inputs}, ${this.width}`;
  }
}

/** One step of an LSTM: {hidden, cell}. Reference: torch.nn.LSTMCell. */
export class LSTMCell extends Cell {
  constructor(inputSize: number, hiddenSize: number, options: CellOptions = {}) {
    super("lstm", inputSize, hiddenSize, options);
  }

  forward(
    x: Tensor,
    {
      hidden = null,
      cell = null,
    }: {
      /** The next hidden state. */
      readonly hidden?: Tensor | null; /** The next cell state; null for kinds without one. */
      readonly cell?: Tensor | null;
    } = {},
  ): {
    /** The next hidden state. */
    readonly hidden: Tensor; /** The next cell state; null for kinds without one. */
    readonly cell: Tensor;
  } {
    const next = this.next(x, hidden, cell);
    return { hidden: next.hidden, cell: next.cell! };
  }
}
/** One step of a GRU: the hidden state. Reference: torch.nn.GRUCell. */
export class GRUCell extends Cell {
  constructor(inputSize: number, hiddenSize: number, options: CellOptions = {}) {
    super("gru", inputSize, hiddenSize, options);
  }

  forward(x: Tensor, hidden: Tensor | null = null): Tensor {
    return this.next(x, hidden, null).hidden;
  }
}
/** One step of Elman's network: the hidden state. Reference: torch.nn.RNNCell. */
export class RNNCell extends Cell {
  constructor(
    inputSize: number,
    hiddenSize: number,
    {
      nonlinearity = "tanh",
      ...options
    }: CellOptions & {
      /** The activation. Default: "tanh". */
      readonly nonlinearity?: "tanh" | "relu";
    } = {},
  ) {
    super(nonlinearity, inputSize, hiddenSize, options);
  }

  forward(x: Tensor, hidden: Tensor | null = null): Tensor {
    return this.next(x, hidden, null).hidden;
  }
}

export const lstm = (inputSize: number, hiddenSize: number, numLayers?: number | LSTMOptions, options?: LSTMOptions): LSTM =>
  new LSTM(inputSize, hiddenSize, numLayers, options);
export const gru = (
  inputSize: number,
  hiddenSize: number,
  numLayers?: number | RecurrentLayerOptions,
  options?: RecurrentLayerOptions,
): GRU => new GRU(inputSize, hiddenSize, numLayers, options);
export const rnn = (inputSize: number, hiddenSize: number, numLayers?: number | RNNOptions, options?: RNNOptions): RNN =>
  new RNN(inputSize, hiddenSize, numLayers, options);
export const lstmCell = (inputSize: number, hiddenSize: number, options: CellOptions = {}): LSTMCell =>
  new LSTMCell(inputSize, hiddenSize, options);
export const gruCell = (inputSize: number, hiddenSize: number, options: CellOptions = {}): GRUCell =>
  new GRUCell(inputSize, hiddenSize, options);
export const rnnCell = (
  inputSize: number,
  hiddenSize: number,
  options: CellOptions & {
    /** The activation. Default: "tanh". */
    readonly nonlinearity?: "tanh" | "relu";
  } = {},
): RNNCell => new RNNCell(inputSize, hiddenSize, options);
