/** A device's capabilities, for `lower` functions and the planner. They test capabilities, never names of devices. */
import { DTYPES, type DType } from "../core/dtype.ts";
import type { OperationCall, OperationDescription } from "../native/binding.ts";
import { OPERATORS, type OperatorName } from "./operators.generated.ts";

/** Where a shader of the library's is known to be faster on a device than DirectML's operator. */
export interface ShaderRange {
  readonly shader: string;
  readonly dtype: DType;
  /** alone: in an eager call; compiled: among others, in a compiled function. */
  readonly place: "alone" | "compiled";
  /** Of rows, the columns; of a matrix multiplication, the smallest of its sizes; else the elements. */
  readonly from: number;
  /** Inclusive; null: any number from there on. */
  readonly to: number | null;
}

/** Kernels that a device has for whole operations of the library's. */
export interface OperationKernels {
  has(operation: string): boolean;
  /** Null where there is none for these tensors or attributes. */
  prepare(call: OperationCall): OperationDescription | null;
}

/** What shaders are made for. */
export type ShaderTraits = Pick<Capabilities, "seesTexels" | "roundsHalf">;

export class Capabilities {
  readonly name: string;
  /** 0x5000 for 5.0. */
  readonly featureLevel: number;
  /** Bit i: DML_TENSOR_DATA_TYPE i. */
  readonly dataTypes: number;
  /** Compiled graphs fuse their nodes, so that regions should be large. */
  readonly fusesGraphs: boolean;
  /** The smallest number of lanes of a wave; 0 without wave operations. */
  readonly waveLanes: number;
  /** It runs compute shaders of our own. */
  readonly runsShaders: boolean;
  /** Shaders move aligned words best four at once, as texels. */
  readonly seesTexels: boolean;
  /** ROI_ALIGN_GRAD over images of one element adds rows in their order, as fast as memory is read. */
  readonly addsRowsInOrder: boolean;
  /** TOP_K1 takes NaN for the greatest, both zeros for equal, and keeps the order of equal elements. */
  readonly ordersAllNumbers: boolean;
  /** MAX_POOLING2 of integers, by windows from an axis's start to each index, takes one pass. */
  readonly runsMaxima: boolean;
  /** MAX_POOLING2 gives -Infinity for a window of nothing else, not the smallest finite number. */
  readonly poolsInfinity: boolean;
  /** Atomics of shaders, on unordered indices, cost little more than writes. */
  readonly hasCheapAtomics: boolean;
  /** Shaders without loops are soon compiled: a CPU adapter needs minutes for some. */
  readonly compilesLongShaders: boolean;
  /** A node of an operator that it lacks runs on the software adapter: only what is composed of others asks hasOperator(). */
  readonly fallsBackByNode: boolean;
  /** It takes DirectML's graphs; false: a dispatch for each node. */
  readonly takesGraphs: boolean;
  /** Null: it has none. */
  readonly operationKernels: OperationKernels | null;
  readonly #missing: Set<OperatorName>;
  readonly #fasterShaders: () => readonly ShaderRange[];
  readonly #roundsHalf: () => boolean;
  #isRounding: boolean | null = null;
  #ranges: readonly ShaderRange[] | null = null;

  constructor(data: {
    name: string;
    featureLevel: number;
    dataTypes: number;
    fusesGraphs: boolean;
    waveLanes: number;
    runsShaders?: boolean | undefined;
    seesTexels?: boolean | undefined;
    addsRowsInOrder?: boolean | undefined;
    ordersAllNumbers?: boolean | undefined;
    runsMaxima?: boolean | undefined;
    poolsInfinity?: boolean | undefined;
    hasCheapAtomics?: boolean | undefined;
    compilesLongShaders?: boolean | undefined;
    fallsBackByNode?: boolean | undefined;
    takesGraphs?: boolean | undefined;
    operationKernels?: OperationKernels | null;
    missing?: Iterable<OperatorName>;
    /** Called when it is first asked for. */
    fasterShaders?: (() => readonly ShaderRange[]) | undefined;
    /** Likewise. */
    roundsHalf?: (() => boolean) | undefined;
  }) {
    this.name = data.name;
    this.featureLevel = data.featureLevel;
    this.dataTypes = data.dataTypes;
    this.fusesGraphs = data.fusesGraphs;
    this.waveLanes = data.waveLanes;
    this.runsShaders = data.runsShaders ?? false;
    this.seesTexels = data.seesTexels ?? false;
    this.addsRowsInOrder = data.addsRowsInOrder ?? false;
    this.ordersAllNumbers = data.ordersAllNumbers ?? false;
    this.runsMaxima = data.runsMaxima ?? false;
    this.poolsInfinity = data.poolsInfinity ?? false;
    this.hasCheapAtomics = data.hasCheapAtomics ?? false;
    this.compilesLongShaders = data.compilesLongShaders ?? false;
    this.fallsBackByNode = data.fallsBackByNode ?? false;
    this.takesGraphs = data.takesGraphs ?? true;
    this.operationKernels = data.operationKernels ?? null;
    this.#missing = new Set(data.missing);
    this.#fasterShaders = data.fasterShaders ?? (() => []);
    this.#roundsHalf = data.roundsHalf ?? (() => false);
  }

  /** Where shaders of the library's were measured to be faster. */
  get fasterShaders(): readonly ShaderRange[] {
    return (this.#ranges ??= this.#fasterShaders());
  }

  /** Shaders convert float32 to the nearest float16 by one instruction. */
  get roundsHalf(): boolean {
    return (this.#isRounding ??= this.#roundsHalf());
  }

  hasOperator(operator: OperatorName): boolean {
    return OPERATORS[operator].featureLevel <= this.featureLevel && !this.#missing.has(operator);
  }

  hasDType(dtype: DType): boolean {
    return ((this.dataTypes >> DTYPES[dtype].dml) & 1) === 1;
  }

  /** Noted when the device refused an operator that its feature level promises. */
  markMissing(operator: OperatorName): void {
    this.#missing.add(operator);
  }

  describe(): string {
    return `${this.name}, feature level ${this.featureLevel >> 12}.${(this.featureLevel >> 8) & 15}`;
  }
}
