"""Records logits and greedy tokens of small models of the Llama family: python llama.py > llama.json (transformers 5.24, torch 2.15)."""
import json
import sys
import torch
from transformers import AutoModelForCausalLM, LlamaConfig, MistralConfig, Qwen2Config, Qwen3Config


def fill(model, scale=0.3):
    """Weights that a test makes again: a hash of the name and the position."""
    with torch.no_grad():
        for name, p in model.named_parameters():
            start = sum((i + 1) * ord(c) for i, c in enumerate(name))
            n = torch.arange(p.numel(), dtype=torch.int64)
            bits = ((n + start) * 2654435761 + start * 40503) % 2**32
            bits = ((bits ^ (bits >> 15)) * 2246822519) % 2**32
            values = (bits.double() / 2**32 - 0.5) * 2 * scale
            if name.endswith("norm.weight") or "layernorm" in name:
                values = values + 1
            p.copy_(values.float().reshape(p.shape))


base = dict(vocab_size=37, hidden_size=32, intermediate_size=48, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
            max_position_embeddings=64, rms_norm_eps=1e-5, bos_token_id=None, eos_token_id=None, pad_token_id=0)
long = dict(base, max_position_embeddings=256)
cases = {
    "llama": (LlamaConfig, dict(base, tie_word_embeddings=True)),
    "llama, own heads, biases": (LlamaConfig, dict(base, num_key_value_heads=4, attention_bias=True, mlp_bias=True, hidden_act="gelu")),
    "linear": (LlamaConfig, dict(base, rope_scaling=dict(rope_type="linear", factor=4.0))),
    "llama3": (LlamaConfig, dict(long, rope_scaling=dict(rope_type="llama3", factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0,
                                                        original_max_position_embeddings=32))),
    "yarn": (LlamaConfig, dict(long, rope_scaling=dict(rope_type="yarn", factor=4.0, original_max_position_embeddings=64))),
    "mistral": (MistralConfig, dict(base, sliding_window=None, head_dim=8)),
    "qwen2": (Qwen2Config, dict(base)),
    "qwen3": (Qwen3Config, dict(base, head_dim=12)),
}
prompts = [[3, 1, 4, 1, 5, 9, 2, 6], [35, 8, 9]]
result = {"prompts": prompts, "cases": {}}
for name, (make, values) in cases.items():
    config = make(**values)
    config._attn_implementation = "eager"
    model = AutoModelForCausalLM.from_config(config).eval()
    fill(model)
    tokens = torch.tensor([prompts[0], prompts[0][::-1]])
    with torch.no_grad():
        logits = model(tokens).logits
        greedy = [model.generate(torch.tensor([p]), attention_mask=torch.ones(1, len(p), dtype=torch.int64), do_sample=False, max_new_tokens=20)[0, len(p):].tolist() for p in prompts]
    # As config.json has it, of today and of earlier versions.
    asked = {"model_type": config.model_type, **values, "rope_theta": 10000.0}
    result["cases"][name] = {"config": asked, "names": list(model.state_dict().keys()),
                             "logits": [round(v, 6) for v in logits.flatten().tolist()], "greedy": greedy}
json.dump(result, sys.stdout, separators=(",", ":"))
