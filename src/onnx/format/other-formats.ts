/** Files that are given where an ONNX file is expected, by how they begin. None of these is the beginning of an ONNX file. */

interface OtherFormat {
  readonly name: string;
  /** What opens it. */
  readonly hint: string;
}

/** What a file is that is no ONNX file; null where its beginning does not say. */
export function otherFormatOf(bytes: Uint8Array): OtherFormat | null {
  const first = Buffer.from(bytes.subarray(0, 9)).toString("latin1");
  if (first.startsWith("GGUF"))
    return { name: "a GGUF file", hint: "dx.models.fromPretrained() runs language models of it, and dx.io.gguf.open() reads its tensors." };
  // The length of a header in 8 bytes, and its JSON.
  if (first.endsWith("\0\0\0\0{"))
    return { name: "a safetensors file", hint: "It has weights, but no graph: dx.io.safetensors.load() reads it." };
  if (first.startsWith("PK\u0003\u0004"))
    return {
      name: "a ZIP archive, as torch.save() and NumPy's savez() write",
      hint: "It has no graph: dx.io.pytorch.load() reads the weights of a .pt, dx.io.npz.load() a .npz. torch.onnx.export() writes ONNX.",
    };
  if (first.startsWith("\u0093NUMPY")) return { name: "a file of NumPy's", hint: "dx.io.npy.load() reads it." };
  if (first.startsWith("{")) return { name: "JSON text", hint: "dx.io.tfjs.load() reads a model.json of TensorFlow.js." };
  return null;
}
