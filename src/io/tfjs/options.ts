/** Types of reading TensorFlow.js's models. */

/** A model in memory, as TensorFlow.js's `io.ModelArtifacts`: what a model.json has, and the bytes of the weights. */
export interface TfjsArtifacts {
  /** Keras's configuration, or TensorFlow's graph. */
  readonly modelTopology: object;
  /** "layers-model" or "graph-model". Default: what the topology is. */
  readonly format?: string | undefined;
  /** Names, shapes and dtypes of the weights, in their order in `weightData`. */
  readonly weightSpecs?: readonly object[] | undefined;
  /** In place of `weightSpecs`: the groups of a model.json. */
  readonly weightsManifest?: readonly object[] | undefined;
  /** The bytes of all weights, in one part or several. */
  readonly weightData?: ArrayBuffer | ArrayBufferView | readonly (ArrayBuffer | ArrayBufferView)[] | undefined;
  /** Inputs and outputs of a graph model. */
  readonly signature?: object | undefined;
  /** Where early files have the signature. */
  readonly userDefinedMetadata?: object | undefined;
}
