/** llama.cpp by node-llama-cpp, which is no dependency: DXTENSOR_LLAMA is the folder that holds node_modules/node-llama-cpp. */
import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

/** The part of its interface that is used. */
interface NodeLlamaCpp {
  getLlama(options: {
    readonly gpu: false;
    readonly build: "never";
    readonly maxThreads: number;
    readonly logLevel: "error";
  }): Promise<Llama>;
}
interface Llama {
  loadModel(options: { readonly modelPath: string }): Promise<Model>;
  dispose(): Promise<void>;
}
interface Model {
  createContext(options: { readonly contextSize: number; readonly threads: number }): Promise<Context>;
}
interface Context {
  getSequence(): Sequence;
}
interface Sequence {
  evaluate(tokens: readonly number[], options: { readonly temperature: 0; readonly yieldEogToken: true }): AsyncGenerator<number>;
  clearHistory(): Promise<void>;
}

/** A model in llama.cpp. */
export interface LlamaCppModel extends AsyncDisposable {
  /** The most probable tokens behind a prompt, so many. */
  generate(prompt: readonly number[], count: number): Promise<readonly number[]>;
}

/** Null where it is not installed. */
export async function openLlamaCpp(file: string, threads: number): Promise<LlamaCppModel | null> {
  const { DXTENSOR_LLAMA: folder } = process.env;
  if (folder === undefined || folder === "") return null;
  const path = createRequire(join(folder, "package.json")).resolve("node-llama-cpp");
  const { getLlama } = (await import(pathToFileURL(path).href)) as NodeLlamaCpp;
  const llama = await getLlama({ gpu: false, build: "never", maxThreads: threads, logLevel: "error" });
  const context = await (await llama.loadModel({ modelPath: file })).createContext({ contextSize: 128, threads });
  const sequence = context.getSequence();
  return {
    async generate(prompt, count) {
      await sequence.clearHistory();
      const made: number[] = [];
      for await (const token of sequence.evaluate(prompt, { temperature: 0, yieldEogToken: true })) if (made.push(token) === count) break;
      return made;
    },
    [Symbol.asyncDispose]: () => llama.dispose(),
  };
}
