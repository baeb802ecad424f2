/** summary(): the layers of a module with shapes, parameters, multiply-adds and memory, found without computing anything. */
import { inspect } from "node:util";
import { ValueError } from "../core/errors.ts";
import type { DType } from "../core/dtype.ts";
import type { Shape } from "../core/shape.ts";
import type { Tensor } from "../core/tensor.ts";
import { onTrial } from "./lazy.ts";
import type { Module } from "./module.ts";
import { Inventory } from "./summary-rows.ts";
import { runOnMeta } from "./summary-run.ts";
import { COLUMN_NAMES, tableOf } from "./summary-table.ts";

/** A column of a summary's table, behind the layers' names. */
export type SummaryColumn = "input" | "output" | "parameters" | "trainable" | "parameterBytes" | "outputBytes" | "multiplyAdds";

/** A shape with the dtype that an input has. */
export interface SummaryInputSpec {
  /** Length of each axis. */
  readonly shape: readonly number[];
  /** Default: float32. */
  readonly dtype?: DType | undefined;
}

/** Options of summary(). Reference: torchinfo.summary. */
export interface SummaryOptions {
  /** How deep the table shows modules in modules; deeper ones are added to the one that they are in. Default: 3. */
  readonly depth?: number | undefined;
  /** The table's columns. Default: input, output, parameters, multiplyAdds. */
  readonly columns?: readonly SummaryColumn[] | undefined;
  /** The mode in which the module is called; "same": that of each module. Default: "eval". */
  readonly mode?: "eval" | "train" | "same" | undefined;
}

/** One call of a module, or a module with parameters that was not called. */
export interface SummaryRow {
  /** The module's first dotted name, "encoder.0"; "" for the module itself. */
  readonly name: string;
  /** The name of its class. */
  readonly type: string;
  /** How many calls it is in. */
  readonly depth: number;
  /** Shapes of the tensors passed to forward(). */
  readonly input: readonly Shape[];
  /** Shapes of the tensors that forward() gave. */
  readonly output: readonly Shape[];
  /** Bytes of the tensors that forward() gave. */
  readonly outputBytes: number;
  /** Elements of the parameters of the module and those inside, each counted once. */
  readonly parameters: number;
  /** Those that require a gradient. */
  readonly trainableParameters: number;
  /** Elements of the module's own parameters that no row before has counted. */
  readonly ownParameters: number;
  /** Those that require a gradient. */
  readonly ownTrainableParameters: number;
  /** Bytes of the parameters in ownParameters. */
  readonly ownParameterBytes: number;
  /** Multiply-adds of the call, with those of the calls inside. */
  readonly multiplyAdds: number;
  /** Multiply-adds of operations that the module's own forward() calls. */
  readonly ownMultiplyAdds: number;
  /** False for a module whose forward() was not called: another one reads its parameters. */
  readonly isCalled: boolean;
  /** Whether a row before shows a call of the same module. */
  readonly isRecursive: boolean;
}

/** What summary() found. As text it is a table. */
export class ModuleSummary {
  /** The calls in their order, outer ones before those inside, at any depth. */
  readonly rows: readonly SummaryRow[];
  /** Elements of all parameters, shared ones counted once. */
  readonly parameters: number;
  /** Elements of the parameters that require a gradient. */
  readonly trainableParameters: number;
  /** Bytes of all parameters. */
  readonly parameterBytes: number;
  /** Bytes of all buffers. */
  readonly bufferBytes: number;
  /** Bytes of the inputs. */
  readonly inputBytes: number;
  /** Bytes of what modules gave: each buffer once, views and inputs not counted. */
  readonly activationBytes: number;
  /** Multiply-adds of the call. */
  readonly multiplyAdds: number;
  readonly #depth: number;
  readonly #columns: readonly SummaryColumn[];

  /** @internal */
  constructor(totals: Omit<ModuleSummary, "flops" | "toJSON" | typeof inspect.custom>, depth: number, columns: readonly SummaryColumn[]) {
    this.rows = totals.rows;
    this.parameters = totals.parameters;
    this.trainableParameters = totals.trainableParameters;
    this.parameterBytes = totals.parameterBytes;
    this.bufferBytes = totals.bufferBytes;
    this.inputBytes = totals.inputBytes;
    this.activationBytes = totals.activationBytes;
    this.multiplyAdds = totals.multiplyAdds;
    this.#depth = depth;
    this.#columns = columns;
  }

  /** Floating-point operations of the call: two for each multiply-add. */
  get flops(): number {
    return 2 * this.multiplyAdds;
  }

  /** The table. */
  toString(): string {
    return tableOf(this, this.#depth, this.#columns);
  }

  /** All numbers as plain data. */
  toJSON(): Readonly<Record<string, unknown>> {
    return { ...Object.fromEntries(Object.entries(this)), flops: this.flops };
  }

  /** @internal console.log shows the table. */
  [inspect.custom](): string {
    return this.toString();
  }
}

/**
 * The layers of a module as a table: shapes, parameters, multiply-adds, memory. Calls the module once on the device `meta`, where tensors have
 * shapes and dtypes and no elements: nothing is computed, no device is opened, and the module stays as it is. console.log shows the table; the numbers are fields.
 *
 * A lazy layer shows what it becomes in its first call, and stays lazy.
 *
 * input: what forward() takes: a tensor, a shape (of float32), or { shape, dtype }; a list of these, and of whatever else, for several arguments.
 * A multiply-add is one of matrix products, linear layers, convolutions, attention and recurrent layers; norms count 5 for each element (4 without
 * weights; RMSNorm 3 or 2; batch norm by running statistics 2). Elementwise functions count nothing.
 *
 * Throws ValueError for options out of their range, DxError with the name of the layer whose forward() fails, TraceError inside a compiled function.
 * Reference: torchinfo.summary.
 */
export function summary(
  module: Module,
  input: Tensor | SummaryInputSpec | readonly unknown[],
  { depth = 3, columns = ["input", "output", "parameters", "multiplyAdds"], mode = "eval" }: SummaryOptions = {},
): ModuleSummary {
  if (!(depth >= 0) || (depth !== Infinity && !Number.isInteger(depth)))
    throw new ValueError("summary", "depth", "an integer of at least 0, or Infinity", depth);
  for (const column of columns)
    if (!COLUMN_NAMES.includes(column)) throw new ValueError("summary", "columns", `of ${COLUMN_NAMES.join(", ")}`, column);
  if (!["eval", "train", "same"].includes(mode)) throw new ValueError("summary", "mode", '"eval", "train" or "same"', mode);
  return onTrial(module.modules(), () => measured(module, input, depth, columns, mode));
}

function measured(
  module: Module,
  input: unknown,
  depth: number,
  columns: readonly SummaryColumn[],
  mode: NonNullable<SummaryOptions["mode"]>,
): ModuleSummary {
  const inventory = new Inventory(module);
  const buffers = new Set(module.buffers());
  const run = runOnMeta({
    operation: "summary",
    call: module as unknown as (...inputs: unknown[]) => unknown,
    argument: "module",
    names: inventory.names,
    input,
    training: mode === "same" ? null : mode === "train",
  });
  const rows = inventory.rows(run.root!);
  const sum = (value: (row: SummaryRow) => number): number => rows.reduce((all, row) => all + value(row), 0);
  const totals = {
    rows,
    parameters: sum((r) => r.ownParameters),
    trainableParameters: sum((r) => r.ownTrainableParameters),
    parameterBytes: sum((r) => r.ownParameterBytes),
    bufferBytes: [...buffers].reduce((all, b) => all + b.desc.sizeInBytes, 0),
    inputBytes: run.inputBytes,
    activationBytes: run.activationBytes,
    multiplyAdds: rows[0]!.multiplyAdds,
  };
  return new ModuleSummary(totals, depth, [...columns]);
}
