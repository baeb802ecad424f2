/** The pages for users whose blocks of TypeScript are one program, and the JavaScript of these programs. */
import { readFileSync } from "node:fs";
import { transformSync } from "rolldown/utils";

export const pages =
  "autograd checkpoints compile control-flow data-augment data-workers data deploying devices fft install kernels linalg lora memory metrics mixed-precision models modules onnx optimizers performance profiler readers-peers readers saving shaders tensorboard tensorflow-js tour training-loop write-a-backend"
    .split(" ")
    .map((name) => `docs/${name}.md`)
    .concat("README.md");

/** The program of a page. */
export const textOf = (page: string): string => {
  const text = readFileSync(new URL(`../${page}`, import.meta.url), "utf8");
  return [...text.matchAll(/^```ts\n([\s\S]*?)^```$/gm)].map((m) => m[1]!).join("\n");
};

/** The JavaScript of a page's program. */
export function withoutTypes(page: string, text: string): string {
  const { code, errors } = transformSync(`${page}.ts`, text, { lang: "ts", target: "es2023", tsconfig: false });
  if (errors.length > 0) throw new Error(`${page}: ${errors[0]!.message}`);
  return code;
}
