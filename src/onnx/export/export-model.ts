/** Modules and functions as ONNX files. What traces and translates them is in pending-model.ts, which the first call imports. */
import { pathOf, type FilePath } from "../../host/source.ts";
import type { ExportExample, ExportOptions, ExportSource } from "./options.ts";

/**
 * Writes a module or a function of tensors as an ONNX file, which appears whole or not at all. It is traced once or twice and computes nothing; a
 * module is taken in evaluation mode. example: a tensor for each argument, of which only shape and dtype count. Weights keep their names of
 * stateDict(). Data of more than 2 GB in all are written into a file next to it, `file` with ".data" behind.
 *
 * Throws UnsupportedError with all operations that have no form in ONNX, before anything is written; TraceError for a function that reads
 * data; ValueError for options that do not fit. Reference: torch.onnx.export.
 */
export async function exportModel(
  source: ExportSource,
  example: ExportExample,
  file: FilePath,
  options: ExportOptions = {},
): Promise<void> {
  options.signal?.throwIfAborted();
  const path = pathOf("onnx.export", "file", file);
  const { PendingModel } = await import("./pending-model.ts");
  await new PendingModel("onnx.export", source, example, options).write(path);
}

/** What export() writes, as bytes: for models of at most 2 GB. Throws as export() does. */
export async function serialize(
  source: ExportSource,
  example: ExportExample,
  options: Omit<ExportOptions, "externalData"> = {},
): Promise<Uint8Array> {
  options.signal?.throwIfAborted();
  const { PendingModel } = await import("./pending-model.ts");
  return new PendingModel("onnx.serialize", source, example, options).bytes();
}

/** The names of the operations that export() writes, sorted: those of profiles and of explain(). */
export async function exportable(): Promise<string[]> {
  return (await import("./forms.ts")).exportable();
}
