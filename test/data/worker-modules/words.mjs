/** Samples of different lengths. */
export default (options) =>
  Array.from({ length: options?.length ?? 7 }, (_, i) => Int32Array.from({ length: 1 + ((i * 3) % 5) }, (_, j) => 10 * i + j));
