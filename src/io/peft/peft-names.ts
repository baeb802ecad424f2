/** Names in PEFT's files. @package */

export const MODEL_FILE = "adapter_model.safetensors";
export const CONFIG_FILE = "adapter_config.json";
/** Before the names of layers. */
export const PREFIX = "base_model.model.";

/** Settings of a config that ask for more than LoRA: they may not be set. */
export const VARIANTS = [
  "use_dora", "use_qalora", "use_bdlora", "alora_invocation_tokens", "arrow_config", "corda_config", "eva_config", "kasa_config", "layer_replication",
  "lora_ga_config", "megatron_config", "monteclora_config", "target_parameters", "trainable_token_indices", "velora_config",
] as const; // prettier-ignore
